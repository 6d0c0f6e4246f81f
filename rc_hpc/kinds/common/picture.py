"""Atoms as cameras see them: discs, the nearest on top."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.geometry.protocol import Protocol
from rc_hpc.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

#: Elements in a row of a legend, and its height, in.
LEGEND_COLUMNS, LEGEND_IN = 10, 0.25
#: Views side by side.
COLUMNS = 5
#: Height of a row of views, in.
VIEWS_IN = 1.7
#: Resolution at which a notebook shows a figure.
SHOWN_DPI = 120
#: Disc radius in covalent radii.
RADII = 0.5
#: Greys, of 0 to 1, that are too near to be told apart in print.
_ALIKE = 0.15
#: White glyphs on discs of elements that are alike in grey, as corners in disc radii: none, a bar,
#: a bar that stands, both, a slanted bar, and the other one.
_LONG, _THIN = 0.72, 0.2
_BAR = ((-_LONG, -_THIN), (_LONG, -_THIN), (_LONG, _THIN), (-_LONG, _THIN))
_CROSS = (
    *((-_LONG, -_THIN), (-_THIN, -_THIN), (-_THIN, -_LONG), (_THIN, -_LONG)),
    *((_THIN, -_THIN), (_LONG, -_THIN), (_LONG, _THIN), (_THIN, _THIN)),
    *((_THIN, _LONG), (-_THIN, _LONG), (-_THIN, _THIN), (-_LONG, _THIN)),
)
_TURNS: tuple[tuple[tuple[tuple[float, float], ...], int], ...] = (
    ((), 0),
    (_BAR, 0),
    (_BAR, 90),
    (_CROSS, 0),
    (_BAR, 45),
    (_BAR, 135),
)


def projected(protocol: Protocol, camera: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Screen coordinates (n, 2), Å where the picture is to scale, and depths (n,), Å."""
    rotation = protocol.rotations[camera]
    if protocol.centres is None or not protocol.pinhole[camera]:
        seen = points @ rotation
        return seen[:, :2], seen[:, 2]
    seen = (points - protocol.centres[camera]) @ rotation
    return seen[:, :2] * (protocol.focal[camera] / -seen[:, 2:]), seen[:, 2]


def scales(protocol: Protocol, camera: int, depth: np.ndarray) -> np.ndarray:
    """By how much discs at these depths are larger than they are to scale."""
    if protocol.pinhole[camera]:
        found: np.ndarray = protocol.focal[camera] / -depth
        return found
    return np.ones(len(depth))


def draw_discs(
    ax: Axes, protocol: Protocol, camera: int, positions: np.ndarray, numbers: np.ndarray
) -> None:
    """The discs of one view."""
    from ase.data import covalent_radii
    from ase.data.colors import jmol_colors
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle, Polygon

    screen, depth = projected(protocol, camera, positions)
    order = np.argsort(depth, kind="stable")
    radii = RADII * covalent_radii[numbers] * scales(protocol, camera, depth)
    of_number = glyphs(numbers)
    # In one collection, so that a disc hides the glyphs of those behind it.
    patches: list[Patch] = []
    colors, widths = [], []
    for atom in order:
        patches.append(Circle(tuple(screen[atom]), radii[atom]))
        colors.append(tuple(jmol_colors[numbers[atom]]))
        widths.append(0.5)
        if corners := glyph_corners(of_number[int(numbers[atom])]):
            patches.append(Polygon(screen[atom] + radii[atom] * np.array(corners)))
            colors.append((1.0, 1.0, 1.0))
            widths.append(0.3)
    ax.add_collection(
        PatchCollection(patches, facecolor=colors, edgecolor="black", linewidth=widths)
    )


def glyphs(numbers: np.ndarray) -> dict[int, int]:
    """By atomic number the glyph that tells its discs from others of nearly the same grey.

    Places in `_TURNS`: 0, none, of all that no other is like.
    """
    from ase.data import covalent_radii
    from ase.data.colors import jmol_colors

    greys = {n: float(jmol_colors[n] @ (0.299, 0.587, 0.114)) for n in np.unique(numbers).tolist()}
    found: dict[int, int] = {}
    # A glyph is seen best on a large disc.
    for number in sorted(greys, key=lambda n: covalent_radii[n]):
        near = {glyph for n, glyph in found.items() if abs(greys[n] - greys[number]) < _ALIKE}
        free = [glyph for glyph in range(len(_TURNS)) if glyph not in near]
        found[number] = free[0] if free else len(found) % len(_TURNS)
    return found


def glyph_corners(glyph: int) -> list[tuple[float, float]]:
    """Corners of a glyph in disc radii, counter-clockwise; empty of none."""
    if not glyph:
        return []
    corners, degrees = _TURNS[glyph]
    turn = np.radians(degrees)
    turned = np.array(corners) @ np.array(
        [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]
    )
    return [(float(x), float(y)) for x, y in turned]


def _marker(glyph: int) -> Any:
    """A disc with a glyph as a marker: the glyph is a hole in it."""
    from matplotlib.path import Path

    corners = glyph_corners(glyph)
    if not corners:
        return "o"
    hole = [*corners[::-1], corners[-1]]
    codes = [Path.MOVETO, *[Path.LINETO] * (len(corners) - 1), Path.CLOSEPOLY]
    return Path.make_compound_path(Path.unit_circle(), Path(hole, codes))


def element_handles(
    numbers: np.ndarray, pale: float = 1.0, with_glyphs: bool = False
) -> list[Line2D]:
    """Entries of a legend: which colour is which element.

    Parameters
    ----------
    pale
        What is left of contrast.
    with_glyphs
        As `draw_discs` draws them.
    """
    from ase.data import chemical_symbols
    from ase.data.colors import jmol_colors
    from matplotlib.lines import Line2D

    of_number = glyphs(numbers) if with_glyphs else {}
    return [
        Line2D(
            [],
            [],
            linestyle="none",
            marker=_marker(of_number.get(number, 0)),
            markersize=8,
            markerfacecolor=1 - (1 - jmol_colors[number]) * pale,
            markeredgecolor="black",
            markeredgewidth=0.5,
            label=chemical_symbols[number],
        )
        for number in np.unique(numbers).tolist()
    ]


def same_scale(axes: Sequence[Axes]) -> None:
    """Views side by side at one scale, each around its own middle."""
    limits = np.array([(*ax.get_xlim(), *ax.get_ylim()) for ax in axes])
    halves = (limits[:, 1::2] - limits[:, ::2]).max(axis=0) / 2
    for ax, (left, right, low, high) in zip(axes, limits, strict=True):
        ax.set_xlim((left + right) / 2 - halves[0], (left + right) / 2 + halves[0])
        ax.set_ylim((low + high) / 2 - halves[1], (low + high) / 2 + halves[1])


def draw_atoms(protocol: Protocol, positions: np.ndarray, numbers: np.ndarray) -> Figure:
    """A structure in all views of a protocol."""
    from matplotlib.figure import Figure

    rows = -(-len(protocol.views) // COLUMNS)
    with style.styled():
        figure = Figure(figsize=(style.PAGE_IN, VIEWS_IN * rows), layout="constrained")
        axes = figure.subplots(rows, COLUMNS, squeeze=False)
        for camera, ax in enumerate(axes.flat):
            ax.set_axis_off()
            if camera < len(protocol.views):
                draw_discs(ax, protocol, camera, positions, numbers)
                ax.autoscale_view()
                ax.set_aspect("equal", anchor="N")
                ax.set_title(protocol.views[camera])
        same_scale(axes.ravel()[: len(protocol.views)])
        handles = element_handles(numbers, with_glyphs=True)
        figure.legend(handles=handles, loc="outside lower center", ncols=LEGEND_COLUMNS)
    in_notebooks(figure)
    return figure


def in_notebooks(figure: Figure) -> None:
    """Make a notebook show a figure by itself, which it does only where pyplot is in use."""
    figure._repr_png_ = partial(_png, figure)


def _png(figure: Figure) -> bytes:
    sink = io.BytesIO()
    figure.savefig(sink, format="png", dpi=SHOWN_DPI)
    return sink.getvalue()
