"""What is read over size, compression, noise and number of pictures, from the records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.common import RECORDS
from bench.reader_cells import right
from bench.reader_noise import by_condition
from rc_hpc.report import style
from rc_hpc.stats.intervals import wilson

#: Panels: the kind of condition, and what its axis says.
VARIED = (
    ("size", "width of the pictures, px"),
    ("JPEG quality", "JPEG quality"),
    ("noise", "noise of each colour, grey levels"),
    ("views, K0", "pictures, K0"),
)
#: Conditions without an order.
NAMED = ("convention", "cameras", "renderer", "resampled")
#: Conditions whose names are too long for an axis.
SHORT = {
    "cameras designed": "designed",
    "resampled 1536 to 768": "resampled",
    "renderer ASE": "ASE",
}
#: What each kind is where nothing is done to the pictures.
UNTOUCHED = {"size": 768, "JPEG quality": "none", "noise": 0}
GUIDE = style.GUIDE | {"linestyle": ":"}
PLAIN, ALL_VIEWS = "convention C1", "views, K0 5"


def draw(records: Path, folder: Path) -> list[Path]:
    """Write ``reader.png`` and ``reader.pdf``; returns their paths."""
    rows = [
        row
        for what in ("noise", "views")
        if (path := records / "reader" / f"reader_{what}.json").is_file()
        for row in json.loads(path.read_text(encoding="utf-8"))["rows"]
    ]
    conditions = by_condition(rows)
    with style.styled():
        figure, axes = style.figure(style.PAGE_IN, 5.6, 2, 3)
        flat = axes.ravel()
        for ax, (kind, label) in zip(flat, VARIED, strict=False):
            _varied(ax, conditions, kind)
            ax.set_xlabel(label)
        _varied(flat[4], conditions, "views, K1")
        flat[4].set_xlabel("pictures, K1")
        _named(flat[5], conditions)
        for row in axes:
            row[0].set_ylabel("share of structures")
        if ALL_VIEWS in conditions:
            flat[3].plot([], [], label="R1, all five cameras", **GUIDE)
        if any("nearest colours" in name for name in conditions):
            label = "R2, of the nearest colours, never certified"
            flat[3].plot([], [], label=label, **style.points(3, filled=False))
        style.below(figure, 2, flat[3])
        paths = [folder / f"reader.{end}" for end in ("png", "pdf")]
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            figure.savefig(path, dpi=200)
    return paths


def _varied(ax, conditions: dict[str, list[dict]], kind: str) -> None:
    """One kind of condition along an axis, even steps from the least to the most spoilt."""
    found = {
        name.removeprefix(f"{kind} "): rows
        for name, rows in conditions.items()
        if name.startswith(f"{kind} ")
    }
    if kind in UNTOUCHED and PLAIN in conditions:
        found[str(UNTOUCHED[kind])] = conditions[PLAIN]
    if not found:
        ax.set_axis_off()
        return
    order = sorted(found, key=lambda name: float("inf") if name == "none" else float(name))
    if kind != "noise":
        order.reverse()
    _series(ax, [found[name] for name in order])
    ax.set_xticks(range(len(order)), order)
    mended = [
        (at, conditions[f"{kind}, nearest colours {name}"])
        for at, name in enumerate(order)
        if f"{kind}, nearest colours {name}" in conditions
    ]
    if mended:
        shares = [sum(map(right, rows)) / len(rows) for _, rows in mended]
        ax.plot([at for at, _ in mended], shares, **style.points(3, filled=False))
    if kind in UNTOUCHED and ALL_VIEWS in conditions:
        exact = np.mean([row["exact"] for row in conditions[ALL_VIEWS]])
        ax.axhline(exact, **GUIDE)


def _named(ax, conditions: dict[str, list[dict]]) -> None:
    found = {name: rows for name, rows in conditions.items() if name.startswith(NAMED)}
    _series(ax, list(found.values()), line=False)
    names = [SHORT.get(name, name.removeprefix("convention ")) for name in found]
    ax.set_xticks(range(len(names)), names, rotation=60, ha="right")


def _series(ax, groups: Sequence[Sequence[dict]], line: bool = True) -> None:
    at = np.arange(len(groups))
    counts = {
        "R2, right": [sum(map(right, rows)) for rows in groups],
        "R2, right and certified": [
            sum(right(row) and row["certified"] for row in rows) for rows in groups
        ],
    }
    if all("exact" in row for rows in groups for row in rows) and groups:
        counts["R1, exact projections"] = [sum(row["exact"] for row in rows) for rows in groups]
    sizes = [len(rows) for rows in groups]
    for number, (label, own) in enumerate(counts.items()):
        share = np.array(own) / np.array(sizes)
        limits = np.array([wilson(count, n) for count, n in zip(own, sizes, strict=True)])
        look = style.series(number, filled=number != 1)
        ax.errorbar(
            at + style.dodge(number, len(counts), 0.3),
            share,
            yerr=style.interval(share, *limits.T),
            label=label,
            elinewidth=0.7,
            **look | ({} if line else {"linestyle": "none"}),
        )
    ax.set_ylim(-0.04, 1.06)
    ax.set_xlim(-0.5, len(groups) - 0.5)


def main() -> None:
    """Draw it anew."""
    for path in draw(RECORDS, Path(__file__).parent / "pictures"):
        print(path.name)
