"""Figures of a noise sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.report import style
from rc_hpc.report.plot import Given, Plot
from rc_hpc.stats.crossing import LEVEL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def noise(given: Given) -> Figure:
    """R1 over sigma: a panel per rule and estimator, a line per protocol, the crossing of 0.95."""
    frame, crossings = given.frame, given.others["crossings"]
    readings = list(dict.fromkeys(zip(frame["rule"], frame["estimator"], strict=True)))
    protocols = list(dict.fromkeys(frame["protocol"]))
    columns = min(2, len(readings))
    rows = -(-len(readings) // columns)
    made, axes = style.figure(
        style.PAGE_IN if columns > 1 else style.COLUMN_IN,
        0.9 + 2.2 * rows,
        rows,
        columns,
        sharex=True,
        sharey=True,
    )
    for place, ax in list(enumerate(axes.flat))[len(readings) :]:
        ax.remove()
        axes.flat[place - columns].tick_params(labelbottom=True)  # now the lowest of its column
    for ax, (rule, estimator) in zip(axes.flat, readings, strict=False):
        curves, ends = (
            table[(table["rule"] == rule) & (table["estimator"] == estimator)]
            for table in (frame, crossings)
        )
        recorded = [entry for entry in given.recorded if entry["rule"] == rule]
        _curves(ax, curves, ends, protocols, recorded)
        ax.set_title(f"tolerance rule {rule}, estimator {estimator}")
        ax.set_xlabel("sigma of a screen coordinate (Å)")
        ax.legend(
            **style.legend_entries(ax),
            loc="lower left",
            frameon=True,
            facecolor="white",
            edgecolor="none",
            framealpha=0.9,
        )
    style.share_limits(axes[0, 0], [*frame["R1_lowboot95"], LEVEL])
    style.plain_lengths(axes[0, 0])
    for ax in axes[:, 0]:
        ax.set_ylabel("R1, share of structures\n(bootstrap over structures, 95 %)")
    return made


def _curves(
    ax: Axes,
    frame: pd.DataFrame,
    crossings: pd.DataFrame,
    protocols: list[str],
    recorded: list[dict[str, Any]],
) -> None:
    ax.axhline(LEVEL, label=f"R1 = {LEVEL:g}", **style.GUIDE)
    for number, protocol in enumerate(protocols):
        line, sigma = (table[table["protocol"] == protocol] for table in (frame, crossings))
        at = float(sigma["crossing_angstrom"].iloc[0]) if len(sigma) else np.nan
        crosses = (
            f"{LEVEL:g} at {at:.3g} Å {_ends(sigma)}"
            if np.isfinite(at)
            else f"above {LEVEL:g}"
            if at > 0
            else f"below {LEVEL:g}"
        )
        look = style.series(number)
        ax.errorbar(
            line["sigma_angstrom"],
            line["R1"],
            style.interval(line["R1"], line["R1_lowboot95"], line["R1_highboot95"]),
            label=f"{protocol}: {crosses}",
            **look,
        )
        if np.isfinite(at):
            ax.plot(
                [at, at],
                [0, LEVEL],
                color=look["color"],
                linestyle=look["linestyle"],
                linewidth=0.8,
            )
        for entry in recorded:
            if entry["protocol"] == protocol:
                ax.plot(
                    entry["sigma_angstrom"],
                    entry["R1"],
                    label=style.RECORDED_LABEL if number == 0 else "_",
                    **style.RECORDED,
                )


def _ends(crossings: pd.DataFrame) -> str:
    """Interval over structures of a crossing; a limit beyond the sweep is named, no number."""
    ends = (float(crossings[f"crossing_{end}boot95"].iloc[0]) for end in ("low", "high"))
    beyond = {True: "above", False: "below"}
    told = (f"{end:.3g}" if np.isfinite(end) else beyond[end > 0] for end in ends)
    return f"[{', '.join(told)}]"


def kappa(given: Given) -> Figure:
    """kappa of every camera pair against the angle of its view lines: the law, and as measured."""
    frame = given.frame
    made, ((ax,),) = style.figure(style.COLUMN_IN, 2.9)
    pairs = frame[frame["angle_degrees"].notna()]
    smallest = max(0.5, 0.8 * pairs["angle_degrees"].min())
    angle = np.geomspace(smallest, 90, 200)
    ax.plot(
        angle,
        1 / (np.sqrt(2) * np.sin(np.radians(angle) / 2)),
        label="1 / (√2 sin(θ/2))",
        **style.GUIDE | {"linewidth": 1.0},
    )
    for number, (protocol, rows) in enumerate(pairs.groupby("protocol", sort=False)):
        ax.errorbar(
            rows["angle_degrees"],
            rows["kappa"],
            label=protocol,
            **style.points(number, filled=not given.recorded),
        )
        ax.plot(
            rows["angle_degrees"],
            rows["largest_measured"],
            linestyle="none",
            marker="_",
            markersize=9,
            color="black",
            label="_" if number else "largest measured",
        )
    for number, entry in enumerate(given.recorded):
        ax.plot(
            entry["angle_degrees"],
            entry["kappa"],
            label="_" if number else style.RECORDED_LABEL,
            **style.RECORDED | {"markersize": 4},
        )
    style.log_lengths(ax)
    ax.set_yscale("log", base=2)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_ylim(bottom=0.9)
    ax.set_xlabel("angle θ between the view lines (degrees)")
    ax.set_ylabel("kappa (Å of position per Å)")
    style.below(made, 2, ax)
    return made


PLOTS = (
    Plot("noise", "noise", noise, also=("crossings",)),
    Plot("kappa", "kappa", kappa),
)
