"""How all figures look: sizes, letters, and series that differ in grey as well as in colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Widths of a column and of a page of a journal, in; figures are printed at their own size.
COLUMN_IN, PAGE_IN = 3.35, 6.9
#: Figures may be as high as a page, in.
HIGHEST_IN = 9.0

#: Letters of at least 7 pt at the printed size, as text in the PDF.
_SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.5,
    "errorbar.capsize": 2,
    "hatch.linewidth": 0.6,
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
    "axes.grid": False,
    "axes.axisbelow": True,
    "text.usetex": False,
}
#: Colours of Okabe and Ito, dark and light in turn, each with a marker and a dash of its own.
_SERIES = (
    ("#000000", "o", "-"),
    ("#D55E00", "s", (0, (5, 1.5))),
    ("#0072B2", "^", (0, (1, 1))),
    ("#E69F00", "D", (0, (5, 1, 1, 1))),
    ("#009E73", "v", (0, (3, 1, 1, 1, 1, 1))),
    ("#CC79A7", "P", (0, (8, 2))),
    ("#56B4E9", "X", (0, (2, 2))),
)
#: Lines that say something about the axes: chance, a tolerance, a ceiling.
GUIDE = {"color": "0.45", "linewidth": 0.8, "zorder": 0}
GRID = {"color": "0.88", "linewidth": 0.5, "zorder": -1}
#: Values of the published record.
RECORDED = {
    "linestyle": "none",
    "marker": "x",
    "markersize": 6.5,
    "markeredgewidth": 1.1,
    "color": "black",
    "markerfacecolor": "none",
    "zorder": 9,
}
RECORDED_LABEL = "recorded (paper)"


@contextmanager
def styled() -> Iterator[None]:
    """All figures are drawn and saved within."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def series(number: int, filled: bool = True) -> dict:
    """Colour, marker and dash of the series of this number.

    Hollow markers are a second kind of it.
    """
    color, marker, linestyle = _SERIES[number % len(_SERIES)]
    return {
        "color": color,
        "marker": marker,
        "linestyle": linestyle,
        "markerfacecolor": color if filled else "white",
        "markeredgecolor": color,
    }


def points(number: int, filled: bool = True) -> dict:
    """The same without a line between the points."""
    return series(number, filled) | {"linestyle": "none"}


def figure(
    width: float, height: float, rows: int = 1, columns: int = 1, **more
) -> tuple[Figure, np.ndarray]:
    """A figure (sizes in inches, at most as high as a page) and its axes, (rows, columns)."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, min(height, HIGHEST_IN)), layout="constrained")
    return made, made.subplots(rows, columns, squeeze=False, **more)


def share_limits(ax: Axes, values, which: str = "y", top: float = 1.0) -> None:
    """Limits of an axis of shares: from a round number below all values to a little above `top`."""
    values = np.asarray(values, float)
    lowest = np.min(values, initial=top, where=np.isfinite(values))
    step = 0.1 if top - lowest > 0.3 else 0.05 if top - lowest > 0.05 else 0.01
    low = max(0.0, np.floor((lowest - step / 5) / step) * step)
    getattr(ax, f"set_{which}lim")(low, top + 0.04 * (top - low))


def log_lengths(ax: Axes) -> None:
    """A logarithmic x axis of lengths.

    Plain numbers at 1, 2, 5 (or 1, 3) of a decade, powers of ten where the span is long.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    low, high = ax.get_xlim()
    decades = np.log10(high / low)
    if decades > 3.3:
        return
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.4 else (1, 3)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def plain_lengths(ax: Axes) -> None:
    """A linear x axis of lengths with at most six plain numbers."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def interval(center, low, high) -> np.ndarray:
    """Lengths (2, n) of error bars from the limits of intervals; none where a limit is missing."""
    center, low, high = (np.asarray(values, float) for values in (center, low, high))
    return np.nan_to_num(np.clip([center - low, high - center], 0, None))


def dodge(number: int, count: int, width: float = 0.7) -> float:
    """Shift of series `number` of `count` beside a category."""
    return (number - (count - 1) / 2) * width / max(count, 1)


def categories(ax: Axes, names: Sequence[str], **more) -> None:
    """Name the rows 0, 1, ... of a horizontal plot, from top to bottom, with a thin line each."""
    ax.set_yticks(range(len(names)), names, **more)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    for row in range(len(names)):
        ax.axhline(row, **GRID)


def below(made: Figure, columns: int, *axes: Axes) -> None:
    """The legend of these axes under the whole figure, in so many columns, or as many as fit."""
    entries = legend_entries(*axes)
    for number in range(columns if entries else 0, 0, -1):
        legend = made.legend(**entries, loc="outside lower center", ncols=number)
        if number == 1 or legend.get_window_extent().width <= made.bbox.width:
            break
        legend.remove()


def legend_entries(*axes: Axes) -> dict:
    """Handles and labels, each label once, series before guides; empty without any."""
    from matplotlib.container import Container

    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    pairs = [(handle, label) for label, handle in found.items()]
    pairs.sort(key=lambda pair: not isinstance(pair[0], Container))
    return dict(zip(("handles", "labels"), zip(*pairs, strict=True), strict=True)) if pairs else {}


def short_names(models: Sequence[str]) -> list[str]:
    """Models without their makers, where that keeps them apart."""
    names = [model.rsplit("/", 1)[-1] for model in models]
    return names if len(set(names)) == len(set(models)) else list(models)
