"""A pair of crystals with the same pictures, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.geometry.cameras import rotation_from_direction
from rc_hpc.kinds.common.picture import element_handles, glyph_corners, glyphs
from rc_hpc.kinds.unique.pairs import Pair
from rc_hpc.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Direction from which a pair of crystals does not look alike, towards the viewer.
APART = (0.55, -0.78, 0.32)
#: Disc radius in units of the covalent radius.
_RADIUS = 0.35
#: Lengths of the scale, Å.
_SCALES = (1, 2, 5, 10, 20, 50)


def draw_pair(pair: Pair, protocol: Mapping[str, Any]) -> Figure:
    """A structure above the other crystal: from where they differ, and in the cameras.

    Parameters
    ----------
    pair
    protocol
        As options record it.
    """
    views = pair.subset.split("+")
    rotations = [rotation_from_direction(np.array(APART))]
    rotations += [np.array(protocol["rotations"][protocol["views"].index(v)]) for v in views]
    made, axes = style.figure(style.PAGE_IN, 5.2, 2, len(rotations))
    kind = "crystal" if np.isfinite(pair.lattice).all() else "molecule"
    for row, chosen in enumerate((pair.atom, pair.witness)):
        for ax, rotation in zip(axes[row], rotations, strict=True):
            _draw(ax, pair, chosen, rotation)
        axes[row, 0].set_ylabel(f"{(pair.id, f'another {kind}')[row]}\n{pair.labels[row]}")
    for column, name in enumerate(("from elsewhere", *views)):
        axes[0, column].set_title(f"camera {name}" if column else name)
        _same_limits(axes[:, column])
        _scale(*axes[:, column])
    handles = element_handles(pair.numbers[pair.atom | pair.witness], with_glyphs=True)
    made.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    told = "; ".join(pair.policies)
    made.suptitle(
        f"The same image points under {' and '.join(views)} (policies: {told})", fontsize=9
    )
    return made


def _draw(ax: Axes, pair: Pair, chosen: np.ndarray, rotation: np.ndarray) -> None:
    from ase.data import covalent_radii
    from ase.data.colors import jmol_colors
    from matplotlib.patches import Circle, Polygon

    of_number = glyphs(pair.numbers[pair.atom | pair.witness])
    corners = np.array(list(product((0, 1), repeat=3)))
    if not np.isfinite(pair.lattice).all():
        corners = corners[:0]  # molecules have no cell
    for a, b in ((a, b) for a in corners for b in corners if (b - a).sum() == 1 and (b >= a).all()):
        ends = np.array([a, b]) @ pair.lattice @ rotation
        ax.plot(ends[:, 0], ends[:, 1], color="0.6", linewidth=0.6, zorder=0)
    seen = pair.positions[chosen] @ rotation
    for rank, k in enumerate(np.argsort(seen[:, 2], kind="stable")):
        number = int(pair.numbers[chosen][k])
        radius = _RADIUS * covalent_radii[number]
        if glyph := glyph_corners(of_number[number]):
            bars = seen[k, :2] + radius * np.array(glyph)
            look: dict[str, Any] = {"facecolor": "white", "edgecolor": "black", "linewidth": 0.3}
            ax.add_patch(Polygon(bars, zorder=1.5 + rank, **look))
        ax.add_patch(
            Circle(
                seen[k, :2],
                radius,
                facecolor=jmol_colors[number],
                edgecolor="black",
                linewidth=0.6,
                zorder=1 + rank,
            )
        )
    ax.set_aspect("equal")
    ax.autoscale_view()
    ax.margins(0.08)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)


def _same_limits(axes: np.ndarray) -> None:
    """Both crystals at one scale and place."""
    for which in ("x", "y"):
        limits = np.array([getattr(ax, f"get_{which}lim")() for ax in axes])
        for ax in axes:
            getattr(ax, f"set_{which}lim")(limits[:, 0].min(), limits[:, 1].max())


def _scale(above: Axes, ax: Axes) -> None:
    """A bar of a round length, Å, under the lower of two panels of one scale."""
    low, high = ax.get_xlim()
    length = max((one for one in _SCALES if one < (high - low) / 2), default=_SCALES[0])
    bottom, top = ax.get_ylim()
    at = bottom - 0.06 * (top - bottom)
    ax.plot([low, low + length], [at, at], color="black", linewidth=2, clip_on=False)
    ax.text(low + length, at, f"  {length} Å", va="center", fontsize=7)
    for one in (above, ax):
        one.set_ylim(at - 0.02 * (top - bottom), top)
