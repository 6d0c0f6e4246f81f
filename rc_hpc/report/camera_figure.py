"""Cameras around a cell, as arrows on a sphere."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.report.plot import Given, Plot
from rc_hpc.report.style import PAGE_IN, figure, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: From where the sphere is looked at.
_SIGHT = (2.2, 1.3, 1.0)
#: Protocols side by side, and height of a row of them, in.
_COLUMNS, _ROW_IN = 3, 2.5
#: Half the length of a cell's longest diagonal beside the sphere's radius.
_CELL = 0.42
#: Height of a line of letters beside the sphere's radius.
_LINE = 0.17


def draw(given: Given) -> Figure:
    """One sphere for each protocol.

    Cameras look from the dots towards the cell in the middle, that of the structure where one
    was given; dots behind the sphere are hollow.
    """
    frame = given.frame
    names = list(dict.fromkeys(frame["protocol"]))
    columns = min(_COLUMNS, len(names))
    rows = -(-len(names) // columns)
    made, axes = figure(PAGE_IN * columns / _COLUMNS, _ROW_IN * rows, rows, columns)
    lattice = np.array(given.options.get("lattice", np.eye(3)), float)
    for ax in axes.flat:
        ax.set_axis_off()
    for number, (ax, name) in enumerate(zip(axes.flat, names, strict=False)):
        own = frame[frame["protocol"] == name]
        _sphere(ax, lattice)
        _cameras(ax, own[["x", "y", "z"]].to_numpy(float), list(own["camera"]), number)
        ax.set_title(f"{name}: {len(own)} cameras")
        ax.set_aspect("equal")
        ax.set_xlim(-1.55, 1.55)
        ax.set_ylim(-1.4, 1.4)
    return made


def _screen(points: np.ndarray) -> np.ndarray:
    """Screen coordinates and depth of points, (n, 3), seen from `_SIGHT` with z upwards."""
    towards = np.array(_SIGHT) / np.linalg.norm(_SIGHT)
    right = np.cross((0.0, 0.0, 1.0), towards)
    right /= np.linalg.norm(right)
    return np.asarray(points, float) @ np.column_stack((right, np.cross(towards, right), towards))


def _sphere(ax: Axes, lattice: np.ndarray) -> None:
    turn = np.linspace(0, 2 * np.pi, 121)
    ax.plot(np.cos(turn), np.sin(turn), color="0.8", linewidth=0.7)
    ring = _screen(np.column_stack((np.cos(turn), np.sin(turn), 0 * turn)))
    for front, style in ((True, "-"), (False, ":")):
        shown = np.where((ring[:, 2] >= 0) == front, ring[:, 1], np.nan)
        ax.plot(ring[:, 0], shown, color="0.8", linewidth=0.6, linestyle=style)
    corners = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) @ lattice
    corners *= _CELL / np.linalg.norm(corners, axis=1).max()
    seen = _screen(corners)
    for a, b in itertools.combinations(range(8), 2):
        if (a ^ b).bit_count() == 1:
            ax.plot(*seen[[a, b], :2].T, color="black", linewidth=0.8)
    for axis, letter in enumerate("abc"):
        end = corners[0] + 1.18 * (corners[[4, 2, 1][axis]] - corners[0])
        x, y, _ = _screen(end[None])[0]
        ax.text(x, y, letter, fontsize=7, color="0.25", ha="center", va="center")


def _cameras(ax: Axes, directions: np.ndarray, names: list[str], number: int) -> None:
    look = series(number)
    ends = _screen(directions)
    inner = _screen(0.5 * directions)
    taken: list[np.ndarray] = []
    for end, start, name in zip(ends, inner, names, strict=True):
        ax.annotate(
            "",
            xy=tuple(start[:2]),
            xytext=tuple(end[:2]),
            arrowprops={"arrowstyle": "-|>", "color": look["color"], "linewidth": 0.9},
        )
        ax.plot(
            *end[:2],
            marker="o",
            markersize=4.5,
            markeredgecolor=look["color"],
            markerfacecolor=look["color"] if end[2] >= 0 else "white",
        )
        place = end[:2] * 1.2 if np.linalg.norm(end[:2]) > 0.3 else end[:2] + (0.0, 0.2)
        while any(
            abs(place[1] - other[1]) < _LINE and abs(place[0] - other[0]) < 0.8 for other in taken
        ):
            place = place + (0.0, _LINE if place[1] >= 0 else -_LINE)
        taken.append(place)
        side = "left" if place[0] > 0.25 else "right" if place[0] < -0.25 else "center"
        ax.annotate(
            name,
            xy=tuple(end[:2]),
            xytext=tuple(place),
            fontsize=7,
            ha=side,
            va="center",
            arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.5, "shrinkB": 3},
        )


CAMERAS = Plot("cameras", "directions", draw)
