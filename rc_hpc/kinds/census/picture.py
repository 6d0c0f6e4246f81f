"""A ceiling as a picture: what each camera sees, the phantoms, and all view subsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.core.vocabulary import LabelStatus
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.census.coincidence import clearest
from rc_hpc.kinds.common.picture import (
    COLUMNS,
    LEGEND_COLUMNS,
    LEGEND_IN,
    RADII,
    VIEWS_IN,
    draw_discs,
    element_handles,
    in_notebooks,
    projected,
    same_scale,
    scales,
)
from rc_hpc.kinds.common.subsets import CRYSTALS, Labels
from rc_hpc.oracle.cell import tile
from rc_hpc.report import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Height of a pair of views side by side, in.
PAIR_IN = 3.1
#: Atoms that are named of those seen at one place.
_NAMED = 3
#: Subsets of which each can still have a place of its own.
MOST_SUBSETS = 64
#: Heights of the bars, and of a camera's line below them, in.
BARS_IN, ROW_IN = 1.2, 0.16
_PHANTOM: dict[str, Any] = {
    "color": "#B23C00",
    "marker": "x",
    "linestyle": "none",
    "markersize": 5,
    "markeredgewidth": 1.2,
    "zorder": 9,
}
#: A ring in the discs' own radius around an atom that causes a phantom.
_RING: dict[str, Any] = {"fill": False, "edgecolor": "black", "linewidth": 1.8, "zorder": 8}
#: Least radius of a ring, pt.
RING_PT = 6
#: White around marks, so that they are seen on any colour.
_HALO = 2.2
#: Phantoms above which marks are smaller.
_CROWD = 60


def draw_views(
    cell: Any,
    protocol: Protocol,
    subsets: pd.DataFrame,
    subset: str,
    phantoms: pd.DataFrame,
    labels: Labels = CRYSTALS,
) -> Figure:
    """The views of a structure with its phantoms, above the phantoms of each subset.

    Between them one phantom is shown in the two views whose rays meet there, with the atoms on
    which these rays fall.

    Parameters
    ----------
    cell
        Lattice, positions and numbers of the conventional cell, or of a molecule.
    subsets, phantoms
        See `rc_hpc.api.results.Ceiling`; the phantoms are those of `subset`.
    labels
        What the structure is labelled by.
    """
    from matplotlib.figure import Figure

    _, positions, numbers = tile(cell.lattice, cell.positions, cell.numbers, protocol.tiling)
    points = phantoms[["x", "y", "z"]].to_numpy(float)
    rows = -(-len(protocol.views) // COLUMNS)
    several = len(subsets) <= MOST_SUBSETS
    below = BARS_IN + ROW_IN * len(protocol.views) if several else 0.0
    elements = element_handles(numbers, with_glyphs=True)
    legend = LEGEND_IN * -(-len(elements) // LEGEND_COLUMNS)
    heights = [VIEWS_IN] * rows + [legend] + [PAIR_IN] * bool(len(phantoms)) + [below] * several
    with style.styled():
        figure = Figure(figsize=(style.PAGE_IN, sum(heights)), layout="constrained")
        parts = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        seen = []
        for row in range(rows):
            axes = parts[row].subplots(1, COLUMNS, squeeze=False)[0]
            for place, ax in enumerate(axes):
                camera = row * COLUMNS + place
                ax.set_axis_off()
                if camera < len(protocol.views):
                    _view(ax, protocol, camera, positions, numbers, points)
                    marked = protocol.views[camera] in subset.split("+")
                    ax.set_title(protocol.views[camera], color="black" if marked else "0.6")
                    seen.append(ax)
        same_scale(seen)
        parts[rows].legend(handles=elements, loc="center", ncols=LEGEND_COLUMNS)
        if len(phantoms):
            _pair(parts[rows + 1], protocol, positions, numbers, phantoms)
        if several:
            _all_subsets(parts[-1], protocol, subsets, subset, labels)
        figure.suptitle(
            f"{subsets.loc[subset, 'n_phantoms']} phantoms (×) on {subset}", fontsize="medium"
        )
    in_notebooks(figure)
    return figure


def _pair(
    part: Any,
    protocol: Protocol,
    positions: np.ndarray,
    numbers: np.ndarray,
    phantoms: pd.DataFrame,
) -> None:
    """The clearest phantom in its two views with the atoms that are seen where it is.

    Beside them the view that contradicts it most: there nothing of the element is seen near it.
    """
    coincidence = clearest(protocol, positions, numbers, phantoms)
    refuting = coincidence.refuting
    axes = part.subplots(1, 2 + (refuting is not None))
    for ax, camera, atoms in zip(axes[:2], coincidence.cameras, coincidence.atoms, strict=True):
        ax.set_axis_off()
        _view(ax, protocol, camera, positions, numbers, coincidence.position[None])
        names = ", ".join(f"{coincidence.element} {atom + 1}" for atom in atoms[:_NAMED])
        more = ", ..." if len(atoms) > _NAMED else ""
        ax.set_title(f"{protocol.views[camera]}: × where {names}{more} is seen")
    if refuting is not None:
        axes[2].set_axis_off()
        _view(axes[2], protocol, refuting, positions, numbers, coincidence.position[None])
        axes[2].set_title(f"{protocol.views[refuting]}: no {coincidence.element} is seen at ×")
    same_scale(axes)
    for ax, camera, atoms in zip(axes[:2], coincidence.cameras, coincidence.atoms, strict=True):
        _rings(ax, protocol, camera, positions, numbers, atoms)
    part.suptitle(
        f"a phantom {coincidence.element}: the nearest {coincidence.element} is "
        f"{coincidence.distance:.3g} Å away",
        fontsize="medium",
    )


def _rings(
    ax: Axes,
    protocol: Protocol,
    camera: int,
    positions: np.ndarray,
    numbers: np.ndarray,
    atoms: np.ndarray,
) -> None:
    """Rings around some atoms, over everything that hides them, and around the cross on them."""
    from ase.data import covalent_radii
    from matplotlib.patches import Circle

    screen, depth = projected(protocol, camera, positions[atoms])
    radii = RADII * covalent_radii[numbers[atoms]] * scales(protocol, camera, depth)
    (low, high), (left, right) = ax.get_ylim(), ax.get_xlim()
    per_point = max((high - low) / PAIR_IN, (right - left) / (style.PAGE_IN / 3)) / 72
    for centre, radius in zip(screen, np.maximum(radii, RING_PT * per_point), strict=True):
        ring = Circle(tuple(centre), radius, **_RING)
        ring.set_path_effects(_halo(_RING["linewidth"]))
        ax.add_patch(ring)


def _halo(width: float, share: float = 1.0) -> list[Any]:
    """What draws a mark over a white band of itself, of this share of its usual width."""
    from matplotlib.patheffects import Normal, Stroke

    return [Stroke(linewidth=width + share * _HALO, foreground="white"), Normal()]


def _view(
    ax: Axes,
    protocol: Protocol,
    camera: int,
    positions: np.ndarray,
    numbers: np.ndarray,
    phantoms: np.ndarray,
) -> None:
    """Atoms as discs, the nearest on top, and phantoms as crosses."""
    draw_discs(ax, protocol, camera, positions, numbers)
    if len(phantoms):
        share = 1 if len(phantoms) <= _CROWD else 0.5
        small = {name: share * _PHANTOM[name] for name in ("markersize", "markeredgewidth")}
        (marks,) = ax.plot(*projected(protocol, camera, phantoms)[0].T, **_PHANTOM | small)
        marks.set_path_effects(_halo(small["markeredgewidth"], share))
    ax.autoscale_view()
    ax.set_aspect("equal", anchor="N")


def _all_subsets(
    part: Any, protocol: Protocol, subsets: pd.DataFrame, chosen: str, labels: Labels
) -> None:
    """Phantoms of each subset as bars, above the cameras that it has."""
    bars, members = part.subplots(
        2, 1, sharex=True, height_ratios=(BARS_IN, ROW_IN * len(protocol.views))
    )
    places = np.arange(len(subsets))
    right = subsets[f"correct_{labels.coarsest}"].to_numpy(bool)
    read = (subsets["label_status"] != LabelStatus.not_done.name).to_numpy(bool)
    looks = (
        (right, "black", "right"),
        (read & ~right, "white", "wrong"),
        (~read, "0.8", "not labelled"),
    )
    for which, color, label in looks:
        if which.any():
            bars.bar(
                places[which],
                subsets["n_phantoms"].to_numpy()[which],
                color=color,
                edgecolor="black",
                linewidth=0.7,
                label=f"{labels.noun} {label}",
            )
    bars.set_ylabel("phantoms")
    bars.set_ylim(0, max(1.0, 1.05 * subsets["n_phantoms"].max()))
    bars.yaxis.get_major_locator().set_params(integer=True)
    bars.tick_params(axis="x", length=0, labelbottom=False)
    bars.legend(loc="upper right")
    for place, name in enumerate(subsets.index):
        cameras = [protocol.views.index(camera) for camera in name.split("+")]
        marked = set(name.split("+")) == set(chosen.split("+"))
        color = _PHANTOM["color"] if marked else "black"
        members.plot(
            [place] * len(cameras), cameras, color=color, marker="o", markersize=2.5, linewidth=0.8
        )
    style.categories(members, protocol.views)
    members.tick_params(axis="x", length=0, labelbottom=False)
    members.spines[["left", "bottom"]].set_visible(False)
