"""One structure of a frontier in words, and the deltas at which it has phantoms as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.core.vocabulary import ProfileKind
from rc_hpc.kinds.common.lists import options_in
from rc_hpc.kinds.common.subsets import labels_of
from rc_hpc.kinds.frontier.schema import FRONTIER
from rc_hpc.kinds.packed.about import about, chosen_subsets, ranges, row_of
from rc_hpc.kinds.packed.reader import RowReader
from rc_hpc.report import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Intervals that are told one by one.
_TOLD = 6


def show(
    path: Path, _packed: Path | None, id_: str, subset: str | None
) -> tuple[str, Figure | None]:
    """At which deltas a structure is read rightly, and has phantoms; none drawn of a refused one.

    Parameters
    ----------
    subset
        View subset, cameras joined by ``+``; None: all of the file.

    Raises
    ------
    UsageError
        There is no such structure or subset.
    """
    with RowReader(path, FRONTIER) as file:
        row = row_of(file, id_)
        lines, ok = about(file, row)
        chosen = chosen_subsets(file, subset)
        if not ok:
            return "\n".join(lines), None
        labels, options = labels_of(options_in(path)), options_in(path)
        deltas = file.read("axes/delta").tolist()
        readings = list(
            zip(
                *(map(str, file.read(f"axes/{one}")) for one in ("enumeration", "merge")),
                strict=True,
            )
        )
        right = file.read(f"frontier/correct_{labels.coarsest}", row, row + 1)[0][:, :, 0]
        table = file.rows(row, row + 1, ("profile",))[1]["profile"]
        horizon = float(file.read("structures/delta_max", row, row + 1)[0])
        separation = float(file.read("structures/separation", row, row + 1)[0])
    accepted = table["kind"] == ProfileKind.acceptance
    spans: dict[str, list[tuple[float, float]]] = {}
    for k, name in chosen:
        its = accepted & (table["subset"] == k)
        pairs = zip(table["delta_from"][its].tolist(), table["delta_to"][its].tolist(), strict=True)
        spans[name] = [(low, min(high, horizon)) for low, high in pairs if low <= horizon]
        told = [f"{_length(low)} to {high:.3g}" for low, high in spans[name][:_TOLD]]
        told += ["..."] * (len(spans[name]) > _TOLD)
        lines.append(f"{name}: phantoms at delta {', '.join(told) + ' Å' if told else 'none'}")
        for r, reading in enumerate(readings):
            wrong = ranges(deltas, ~right[r, :, k])
            said = f"another {labels.noun} at delta {wrong} Å" if wrong else "right at all deltas"
            lines.append(f"  {', '.join(reading)}: {said}")
    lines.append(
        f"up to {horizon:.3g} Å; certified where there is no phantom and delta is below half the "
        f"smallest distance of one species ({separation / 2:.3g} Å)"
    )
    return "\n".join(lines), _draw(spans, horizon, min(separation / 2, horizon), options["deltas"])


def _length(value: float) -> str:
    return "0" if value < CENSUS_ZERO else f"{value:.3g}"


def _draw(
    spans: dict[str, list[tuple[float, float]]], horizon: float, most: float, deltas: list[float]
) -> Figure:
    """A line each subset, dark where there are phantoms."""
    start = min(1e-3, deltas[0] / 2, most / 2)
    with style.styled():
        made, ((ax,),) = style.figure(style.PAGE_IN, 1.1 + 0.2 * len(spans))
        for place, intervals in enumerate(spans.values()):
            ax.broken_barh([(start, horizon - start)], (place - 0.3, 0.6), color="0.92", zorder=1)
            bars = [
                (max(low, start), max(high, start) - max(low, start)) for low, high in intervals
            ]
            ax.broken_barh(
                bars,
                (place - 0.3, 0.6),
                color="black",
                zorder=2,
                label="phantoms by acceptance" if bars else None,
            )
        style.categories(ax, list(spans))
        if most < horizon:
            ax.axvline(most, label="half the smallest distance of one species", **style.GUIDE)
        ax.set_xlim(start, horizon)
        style.log_lengths(ax)
        ax.set_xlabel("delta (Å; the left end stands for all below)")
        if ax.get_legend_handles_labels()[0]:
            handles = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
            ax.figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=2)
    return made
