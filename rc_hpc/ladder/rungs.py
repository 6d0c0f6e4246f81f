"""The attribution ladder: what a model loses to perception and what remains after it.

For one model on n structures, with the ceiling what the pictures determine (R1, of exact
projections; R2, of pixels), R3 the model on coordinates as text and R4 the model on pictures, all
as numbers of structures: P = R3 - R4 (perception), S = ceiling - R3 (what remains),
share = P / (P + S) where neither is negative. A model is residual-dominant iff P < S. All arrays
are over the same structures in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.ladder import shares
from rc_hpc.stats import statistics
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Rungs:
    """R3 and R4 of m models on n structures.

    Attributes
    ----------
    models : (m,) tuple of str
    r4, r3 : (m, n)
        Credit of each model on each structure: true or false, or a fraction where ties share.
    unscored : (m,) tuple of str
        Why a model's row is shown but not scored; empty for the scored ones.
    """

    models: tuple[str, ...]
    r4: np.ndarray
    r3: np.ndarray
    unscored: tuple[str, ...]

    @property
    def scored(self) -> np.ndarray:
        """(m,) bool."""
        return np.array([not reason for reason in self.unscored], dtype=bool)

    def only_scored(self) -> Rungs:
        """The scored models alone."""
        keep = self.scored
        kept = [
            (name, reason)
            for name, reason in zip(self.models, self.unscored, strict=True)
            if not reason
        ]
        return Rungs(
            tuple(name for name, _ in kept),
            self.r4[keep],
            self.r3[keep],
            tuple(reason for _, reason in kept),
        )

    def on(self, structures: np.ndarray) -> Rungs:
        """The same on some structures: a mask or indices."""
        return replace(self, r4=self.r4[:, structures], r3=self.r3[:, structures])

    def parts(self, ceiling: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """P, S (structures) and share of each model under the ceiling (n,).

        The share is NaN where it has no meaning, see `shares.share_of`.
        """
        r4, r3 = self.r4.sum(axis=1), self.r3.sum(axis=1)
        p, s = r3 - r4, np.sum(ceiling) - r3
        return p, s, shares.share_of(p, s)


def table(rungs: Rungs, ceilings: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """One row per model, best R4 first.

    Parameters
    ----------
    ceilings
        Which structures the pictures determine, (n,) bool, by the name of the ceiling.

    Returns
    -------
    DataFrame
        `R4_count` and `R3_count` of `n` with Wilson limits, `P`, then `S` and `share` per
        ceiling, the share with bootstrap limits over structures, the discordant pairs `R3_only`
        and `R4_only` with their exact McNemar `p`, and `unscored`, the reason why a row is out
        of the statistics.
    """
    import pandas as pd

    rungs = replace(rungs, r4=rungs.r4.astype(bool), r3=rungs.r3.astype(bool))
    r4, r3, n = rungs.r4, rungs.r3, rungs.r4.shape[1]
    frame = pd.DataFrame({"model": rungs.models, "n": n})
    for name, rung in (("R4", r4), ("R3", r3)):
        frame[f"{name}_count"] = rung.sum(axis=1)
        frame[name] = frame[f"{name}_count"] / n
        limits = [wilson(int(count), n) for count in frame[f"{name}_count"]]
        frame[f"{name}_low95"], frame[f"{name}_high95"] = (
            (list(side) for side in zip(*limits, strict=True)) if limits else ([], [])
        )
    for name, ceiling in ceilings.items():
        frame["P"], frame[f"S_{name}"], frame[f"share_{name}"] = rungs.parts(ceiling)
        ends = shares.intervals(r4, r3, ceiling)
        frame[f"share_{name}_lowboot95"], frame[f"share_{name}_highboot95"] = ends.T
    frame["R3_only"], frame["R4_only"] = (r3 & ~r4).sum(axis=1), (r4 & ~r3).sum(axis=1)
    frame["p"] = [
        statistics.sign_test(*pair) for pair in zip(frame["R3_only"], frame["R4_only"], strict=True)
    ]
    frame["unscored"] = rungs.unscored
    return frame.sort_values("R4_count", ascending=False, kind="stable", ignore_index=True)


def over_models(rungs: Rungs, ceilings: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Statistics over the scored models, per ceiling.

    Returns
    -------
    DataFrame
        Columns ceiling, quantity, value, low, high, coverage, count, n, p, models. Every
        order-statistic interval of the median with a coverage of 93 to 99 % is a row of its own.
    """
    rungs = rungs.only_scored()
    m, size = rungs.r4.shape
    r4 = rungs.r4.sum(axis=1)
    only3, only4 = (rungs.r3 > rungs.r4).sum(axis=1), (rungs.r4 > rungs.r3).sum(axis=1)
    gains = [
        statistics.sign_test(a, b) < statistics.ALPHA and a > b
        for a, b in zip(only3, only4, strict=True)
    ]
    records = []
    for name, ceiling in ceilings.items():
        p, s, _ = rungs.parts(ceiling)
        share = shares.ranked(p, s)
        interval = shares.median_interval(share)
        rung = "R2" if name.startswith("R2") else "R1"
        records.append({"ceiling": name, "quantity": rung, **_counted(int(np.sum(ceiling)), size)})
        records.append(
            {
                "ceiling": name,
                "quantity": "median share, bootstrap 95 %" if m > 1 else "share of the one model",
                "value": shares.median(share),
                "low": interval.low,
                "high": interval.high,
                "n": m,
            }
        )
        for first, last in _ranks(len(share)):
            interval = statistics.order_statistic_interval(share, first, last)
            records.append(
                {
                    "ceiling": name,
                    "quantity": f"median share, order statistics {first} and {last}",
                    "value": shares.median(share),
                    "low": _finite(interval.low),
                    "high": _finite(interval.high),
                    "coverage": interval.coverage,
                    "n": m,
                }
            )
        residual, other = shares.dominant(p, s)
        dominant = int(residual.sum())
        records.append(
            {
                "ceiling": name,
                "quantity": "residual-dominant models, sign test",
                **_counted(dominant, dominant + int(other.sum())),
                "p": statistics.sign_test(dominant, int(other.sum())),
                "models": _named(rungs.models, other, "all but "),
            }
        )
        for quantity, x, against in (
            ("share against R4", share, r4[p + s > 0]),
            ("P against R4", p, r4),
        ):
            rank = statistics.spearman(x, against)
            records.append(
                {
                    "ceiling": name,
                    "quantity": f"Spearman rho, {quantity}, {m} models",
                    "value": rank.rho,
                    "n": m,
                    "p": rank.p,
                }
            )
        records.append(
            {
                "ceiling": name,
                "quantity": f"R3 above R4 at p < {statistics.ALPHA}",
                **_counted(int(np.sum(gains)), m),
            }
        )
        records.append(
            {
                "ceiling": name,
                "quantity": "models with P <= 0",
                **_counted(int((p <= 0).sum()), m),
                "models": _named(rungs.models, p <= 0),
            }
        )
    return frame_of(
        records,
        ["ceiling", "quantity", "count", "n", "value", "low", "high", "coverage", "p", "models"],
        integers=("count", "n"),
    )


def sensitivity(readings: Mapping[str, Rungs], ceilings: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """The headline under other readings of the same votes, one row per ceiling and reading.

    Parameters
    ----------
    readings
        Rungs with the credit of each tie rule (or the per-sample accuracy), by its name.
    """
    records = [
        {"ceiling": name, "reading": reading, **_headline(rungs.only_scored(), ceiling)}
        for name, ceiling in ceilings.items()
        for reading, rungs in readings.items()
    ]
    return frame_of(records, ["ceiling", "reading", *_HEADLINE], integers=_HEADLINE_INTEGERS)


def by_group(rungs: Rungs, ceiling: np.ndarray, groups: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """The headline within groups of structures, one row per group.

    Parameters
    ----------
    groups
        Masks (n,) by the name of their group; empty groups are left out.
    """
    scored = rungs.only_scored()
    records = [
        {
            "group": name,
            "structures": int(np.sum(mask)),
            **_headline(scored.on(mask), ceiling[mask]),
        }
        for name, mask in groups.items()
        if np.any(mask)
    ]
    return frame_of(
        records,
        ["group", "structures", *_HEADLINE[:-1]],
        integers=("structures", *_HEADLINE_INTEGERS),
    )


def length(correct: np.ndarray, lengths: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """R3 correctness of m models against properties of the n structures, one row per property.

    Returns
    -------
    DataFrame
        Pooled Spearman `rho` with the p of independent pairs (`pooled_p`, too small: every
        structure counts m times) and of permuted structures (`clustered_p`); how many models are
        `negative` of `models`, with their sign test `negative_p`; how many of the models'
        own correlations have p < 0.05 (`significant`).
    """
    records = []
    for name, x in lengths.items():
        pooled, clustered = (
            statistics.pooled_spearman(correct, x),
            statistics.clustered_spearman(correct, x),
        )
        own = [statistics.spearman(x, row) for row in correct.astype(float)]
        negative, positive = sum(one.rho < 0 for one in own), sum(one.rho > 0 for one in own)
        records.append(
            {
                "against": name,
                "pairs": correct.size,
                "rho": pooled.rho,
                "pooled_p": pooled.p,
                "clustered_p": clustered.p,
                "models": len(own),
                "negative": negative,
                "negative_p": statistics.sign_test(negative, positive),
                "significant": sum(one.p < statistics.ALPHA for one in own),
            }
        )
    return frame_of(
        records,
        [
            "against",
            "pairs",
            "rho",
            "pooled_p",
            "clustered_p",
            "models",
            "negative",
            "negative_p",
            "significant",
        ],
        integers=("pairs", "models", "negative", "significant"),
    )


def length_split(correct: np.ndarray, lengths: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """R3 correctness at most against above the median length, with Fisher's p on pooled pairs.

    The median is rounded down.
    """
    records = []
    for name, x in lengths.items():
        border = int(np.floor(np.median(x)))
        short, long = correct[:, x <= border].astype(bool), correct[:, x > border].astype(bool)
        records.append(
            {
                "against": name,
                "border": border,
                "right_up_to": int(short.sum()),
                "pairs_up_to": short.size,
                "right_above": int(long.sum()),
                "pairs_above": long.size,
                "p": statistics.fisher(int(short.sum()), short.size, int(long.sum()), long.size),
            }
        )
    return frame_of(
        records,
        ["against", "border", "right_up_to", "pairs_up_to", "right_above", "pairs_above", "p"],
        integers=("border", "right_up_to", "pairs_up_to", "right_above", "pairs_above"),
    )


_HEADLINE = (
    "models",
    "mean_R4",
    "mean_R3",
    "median_share",
    "dominant",
    "dominant_p",
    "nonpositive_P",
    "nonpositive_models",
)
_HEADLINE_INTEGERS = ("models", "dominant", "nonpositive_P")


def _headline(rungs: Rungs, ceiling: np.ndarray) -> dict:
    p, s, _ = rungs.parts(ceiling)
    residual, other = shares.dominant(p, s)
    m, dominant = len(rungs.models), int(residual.sum())
    return {
        "models": m,
        "mean_R4": rungs.r4.mean() if m else np.nan,
        "mean_R3": rungs.r3.mean() if m else np.nan,
        "median_share": shares.median(shares.ranked(p, s)),
        "dominant": dominant,
        "dominant_p": statistics.sign_test(dominant, int(other.sum())),
        "nonpositive_P": int((p <= 0).sum()),
        "nonpositive_models": _named(rungs.models, p <= 0),
    }


def _finite(value: float) -> float:
    return value if np.isfinite(value) else float("nan")


def _ranks(m: int) -> list[tuple[int, int]]:
    """Rank pairs, symmetric or off by one, whose interval covers the median with 93 to 99 %."""
    pairs = [
        (first, last)
        for first in range(1, m // 2 + 1)
        for last in (m - first, m + 1 - first)
        if first < last
    ]
    return [
        pair
        for pair in pairs
        if 0.93 <= statistics.order_statistic_interval(np.arange(m), *pair).coverage <= 0.99
    ]


def _counted(count: int, n: int) -> dict:
    return {"count": count, "n": n, "value": count / n if n else np.nan}


def _named(models: tuple[str, ...], chosen: np.ndarray, before: str = "") -> str:
    names = ", ".join(name for name, yes in zip(models, chosen, strict=True) if yes)
    return before + names if names else ""
