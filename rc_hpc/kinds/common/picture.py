"""Atoms as cameras see them: discs, the nearest on top."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.geometry.protocol import Protocol
from rc_hpc.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

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
    from matplotlib.patches import Circle

    screen, depth = projected(protocol, camera, positions)
    order = np.argsort(depth, kind="stable")
    radii = RADII * covalent_radii[numbers] * scales(protocol, camera, depth)
    discs = [Circle(tuple(screen[atom]), radii[atom]) for atom in order]
    colors = jmol_colors[numbers[order]]
    ax.add_collection(PatchCollection(discs, facecolor=colors, edgecolor="black", linewidth=0.5))


def element_handles(numbers: np.ndarray, pale: float = 1.0) -> list[Line2D]:
    """Entries of a legend: which colour is which element; `pale` is what is left of contrast."""
    from ase.data import chemical_symbols
    from ase.data.colors import jmol_colors
    from matplotlib.lines import Line2D

    return [
        Line2D(
            [],
            [],
            linestyle="none",
            marker="o",
            markersize=7,
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
        handles = element_handles(numbers)
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
