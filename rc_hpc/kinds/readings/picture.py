"""A reading as a figure: discs that were found and atoms that were read, over the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.kinds.common.picture import element_handles
from rc_hpc.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Pictures side by side, and the side of one, in.
COLUMNS, SIDE_IN = 3, 2.1
#: Marks that the legend below tells of, and the height of each; width of the elements', in.
ENTRIES, LEGEND_IN, ELEMENTS_IN = 4, 0.15, 0.6
#: A disc within this of an atom is its own, px.
NEAR = 1.5
#: How much of a picture's contrast is kept.
PALE = 0.45
#: Colour of what has nothing that it belongs to.
STRANGE = "#D55E00"


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

    @property
    def near(self) -> np.ndarray:
        """Which atoms read are drawn at which discs found, (k, n) bool."""
        found: np.ndarray = np.linalg.norm(self.atoms[:, None] - self.centres, axis=2) < NEAR
        return found


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
        width, told = SIDE_IN * columns + ELEMENTS_IN, min(2, columns)
        height = (SIDE_IN + 0.2) * rows + 0.3 + LEGEND_IN * ENTRIES / told
        figure, axes = style.figure(width, height, rows, columns)
        for ax in axes.ravel():
            ax.set_axis_off()
        for ax, view in zip(axes.ravel(), views, strict=False):
            _view(ax, view)
        figure.suptitle(title, fontsize="medium")
        style.below(figure, told, axes[0, 0])
        if handles := element_handles(numbers, PALE):
            figure.legend(handles=handles, loc="outside right upper")
    return figure


def _view(ax: Axes, view: Shown) -> None:
    from matplotlib.collections import EllipseCollection

    if view.picture is not None:
        pale = 255 - (255 - view.picture.astype(float)) * PALE
        ax.imshow(pale.astype(np.uint8), extent=(0, view.size, view.size, 0))
    seen, meant = view.near.any(axis=1), view.near.any(axis=0)
    looks: tuple[tuple[Any, tuple[str, float, Any], str], ...] = (
        (meant, ("black", 0.8, "solid"), "disc found"),
        (~meant, (STRANGE, 1.2, (0, (2, 1))), "disc found where no atom was read"),
    )
    for own, (color, width, dash), label in looks:
        sides = 2 * view.radii[own]
        ax.add_collection(
            EllipseCollection(
                sides, sides, np.zeros(len(sides)), units="xy", offsets=view.centres[own],
                offset_transform=ax.transData, facecolors="none", edgecolors=color,
                linewidths=width, linestyles=dash,
            )
        )  # fmt: skip
        ax.plot([], [], color=color, linewidth=width, linestyle=dash, label=label)
    for kept, mark, colour, label in (
        (seen, ".", "black", "atom read, its disc found"),
        (~seen, "x", STRANGE, "atom read, no disc of its own"),
    ):
        at = view.atoms[kept]
        ax.plot(
            at[:, 0], at[:, 1], mark, color=colour, markersize=4, markeredgewidth=0.9, label=label
        )
    ax.set_xlim(0, view.size)
    ax.set_ylim(view.size, 0)
    ax.set_aspect("equal")
    ax.set_title(view.name)
