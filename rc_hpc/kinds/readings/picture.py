"""A reading as a figure: discs that were found and atoms that were read, over the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.kinds.common.picture import element_handles
from rc_hpc.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Pictures side by side, and the side of one, in.
COLUMNS, SIDE_IN = 3, 2.3
#: A disc within this of an atom is its own, px.
NEAR = 1.5
#: How much of a picture's contrast is kept.
PALE = 0.45


@dataclass(frozen=True)
class Shown:
    """What is drawn of one camera.

    Attributes
    ----------
    name
        Of the camera.
    picture : (size, size, 3) uint8 or None
    centres : (n, 2) float64
        Of the discs found, px.
    radii : (n,) float64
        Their radii, px.
    atoms : (k, 2) float64
        Places of the atoms read, px.
    size
        px.
    """

    name: str
    picture: np.ndarray | None
    centres: np.ndarray
    radii: np.ndarray
    atoms: np.ndarray
    size: int


def draw_reading(title: str, views: Sequence[Shown], numbers: np.ndarray) -> Figure:
    """Every camera's picture, pale, with the discs found as circles and the atoms read as marks.

    Circles are dashed where no atom read has its place.

    Parameters
    ----------
    title
    views
    numbers
        Of the elements found, of which the legend says what colours they have.
    """
    columns = min(COLUMNS, len(views))
    rows = -(-len(views) // columns)
    with style.styled():
        figure, axes = style.figure(SIDE_IN * columns, (SIDE_IN + 0.2) * rows + 0.6, rows, columns)
        for ax in axes.ravel():
            ax.set_axis_off()
        for ax, view in zip(axes.ravel(), views, strict=False):
            _view(ax, view)
        figure.suptitle(title, fontsize="medium")
        style.below(figure, 2, axes[0, 0])
        if handles := element_handles(numbers, PALE):
            figure.legend(handles=handles, loc="outside right upper")
    return figure


def _view(ax: Axes, view: Shown) -> None:
    from matplotlib.collections import EllipseCollection

    if view.picture is not None:
        pale = 255 - (255 - view.picture.astype(float)) * PALE
        ax.imshow(pale.astype(np.uint8), extent=(0, view.size, view.size, 0))
    near = np.linalg.norm(view.atoms[:, None] - view.centres[None], axis=2) < NEAR
    seen, meant = near.any(axis=1), near.any(axis=0)
    for own, dash, label in (
        (meant, "solid", "disc found"),
        (~meant, (0, (2, 2)), "disc found where no atom was read"),
    ):
        sides = 2 * view.radii[own]
        ax.add_collection(
            EllipseCollection(
                sides, sides, np.zeros(len(sides)), units="xy", offsets=view.centres[own],
                offset_transform=ax.transData, facecolors="none", edgecolors="black",
                linewidths=0.8, linestyles=dash,
            )
        )  # fmt: skip
        ax.plot([], [], color="black", linewidth=0.8, linestyle=dash, label=label)
    for kept, mark, colour, label in (
        (seen, ".", "black", "atom read, its disc found"),
        (~seen, "x", "#D55E00", "atom read, no disc of its own"),
    ):
        at = view.atoms[kept]
        ax.plot(
            at[:, 0], at[:, 1], mark, color=colour, markersize=4, markeredgewidth=0.9, label=label
        )
    ax.set_xlim(0, view.size)
    ax.set_ylim(view.size, 0)
    ax.set_aspect("equal")
    ax.set_title(view.name)
