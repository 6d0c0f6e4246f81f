"""Figures of a uniqueness sweep."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.geometry.cameras import rotation_from_direction
from rc_hpc.report import style
from rc_hpc.report.plot import Given, NothingToDraw, Plot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Parts of a bar, from below: column, label, grey, hatch. Those of luck come from the other table.
_PARTS = (
    ("unique", "unique", "0.35", ""),
    ("determined", "determined", "0.6", ""),
    ("luck", "undetermined, maximal right (luck)", "0.85", "////"),
    ("bad", "undetermined, maximal wrong", "white", "...."),
    ("unknown", "unknown", "white", "xxxx"),
    ("inadmissible", "inadmissible", "0.95", "----"),
)
#: R1 of readers beside the bars: column, label, marker.
_READERS = (
    ("R1_maximal", "R1, maximal", "D"),
    ("R1_most_symmetric", "R1, most symmetric", "^"),
    ("R1_random", "R1, random with counts", "v"),
)
#: Direction from which a pair of crystals does not look alike, towards the viewer.
APART = (0.55, -0.78, 0.32)
#: Disc radius in units of the covalent radius.
_RADIUS = 0.35


def statuses(given: Given) -> Figure:
    """Stacked shares of cells by status: a panel per number of views, a bar per policy."""
    frame = given.frame.merge(given.others["readers"], on=["structures", "views", "policy", "n"])
    sizes = sorted(set(frame["views"]))
    made, axes = style.figure(style.PAGE_IN, 3.4, 1, len(sizes))
    for ax, size in zip(axes[0], sizes, strict=True):
        _bars(ax, frame[frame["views"] == size])
        ax.set_title(f"{size} views")
    axes[0, 0].set_ylabel("share of structures and subsets")
    style.below(made, 3, axes[0, 0])
    return made


def _bars(ax: Axes, rows: pd.DataFrame) -> None:
    n, at = rows["n"].to_numpy(float), np.arange(len(rows))
    heights = {
        "unique": rows["forced"] + rows["unique"],
        "determined": rows["determined"],
        "luck": rows["luck"],
        "bad": rows["undetermined"] - rows["luck"],
        "unknown": rows["unknown"],
        "inadmissible": rows["inadmissible"],
    }
    bottom = np.zeros(len(rows))
    for name, label, color, hatch in _PARTS:
        share = heights[name].to_numpy(float) / n
        ax.bar(
            at,
            share,
            0.7,
            bottom,
            color=color,
            hatch=hatch,
            edgecolor="black",
            linewidth=0.6,
            label=label,
        )
        bottom += share
    for column, label, marker in _READERS:
        ax.plot(
            at,
            rows[column],
            linestyle="none",
            marker=marker,
            color="#D55E00",
            markeredgecolor="black",
            markeredgewidth=0.5,
            markersize=5,
            label=label,
        )
    ax.set_xticks(at, rows["policy"], rotation=35, ha="right")
    lowest = heights["unique"].to_numpy(float) / n
    style.share_limits(ax, [*lowest, *rows["R1_random"], *rows["R1_guaranteed"]])


def witness(given: Given) -> Figure:
    """A structure above its witness: from where they differ, and the pictures, which are equal."""
    frame = given.frame
    if not given.options:
        raise NothingToDraw("has no options to take the cameras from")
    protocol = given.options["protocol"]
    views = frame["subset"].iloc[0].split("+")
    rotations = [rotation_from_direction(np.array(APART))]
    rotations += [np.array(protocol["rotations"][protocol["views"].index(v)]) for v in views]
    made, axes = style.figure(style.PAGE_IN, 4.4, 2, len(rotations))
    lattice = frame[[f"{a}_{n}" for a in "abc" for n in "xyz"]].iloc[0].to_numpy(float)
    for row, (column, title) in enumerate(
        (("atom", frame["structure"].iloc[0]), ("witness", "another crystal"))
    ):
        atoms = frame[frame[column]]
        for ax, rotation, view in zip(
            axes[row], rotations, ("from elsewhere", *views), strict=True
        ):
            _draw(ax, atoms, lattice.reshape(3, 3), rotation)
            ax.set_title(f"{title}, {view}" if view == "from elsewhere" else view)
    return made


def _draw(ax: Axes, atoms: pd.DataFrame, lattice: np.ndarray, rotation: np.ndarray) -> None:
    from ase.data import covalent_radii
    from ase.data.colors import jmol_colors
    from matplotlib.patches import Circle

    corners = np.array(list(product((0, 1), repeat=3)))
    for a, b in ((a, b) for a in corners for b in corners if (b - a).sum() == 1 and (b >= a).all()):
        ends = np.array([a, b]) @ lattice @ rotation
        ax.plot(ends[:, 0], ends[:, 1], color="0.6", linewidth=0.6, zorder=0)
    seen = atoms[["x", "y", "z"]].to_numpy(float) @ rotation
    for rank, k in enumerate(np.argsort(seen[:, 2], kind="stable")):
        number = int(atoms["number"].iloc[k])
        ax.add_patch(
            Circle(
                seen[k, :2],
                _RADIUS * covalent_radii[number],
                facecolor=jmol_colors[number],
                edgecolor="black",
                linewidth=0.6,
                zorder=1 + rank,
            )
        )
    ax.set_aspect("equal")
    ax.autoscale_view()
    ax.margins(0.08)
    ax.set_axis_off()


PLOTS = (
    Plot("unique", "unique", statuses, ("readers",)),
    Plot("witness", "witness", witness),
)
