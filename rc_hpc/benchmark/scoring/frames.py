"""Scores as frames: accuracies, paired differences, the ladder, splits.

What is compared is the expected score: of tied letters each is worth one over their number, so that
whoever leaves k options open scores 1/k, as what pictures determine is scored too. Intervals are
percentiles of a bootstrap over base structures. Where answers are missing there is
no number, unless partial scores are asked for: then missing ones are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.benchmark.letters import ARMS
from rc_hpc.benchmark.records import STRATA
from rc_hpc.benchmark.scoring.evidence import Answers, Evidence
from rc_hpc.stats.clusters import cluster_sums, percentiles, ratio_draws

if TYPE_CHECKING:
    import pandas as pd

#: All questions together, and the plain mean over the strata.
ALL, MEAN = "all", "mean of strata"
IMAGE, TEXT, NO_IMAGE = ARMS
#: Arms that are compared on the same questions.
PAIRS = ((IMAGE, TEXT), (IMAGE, NO_IMAGE), (TEXT, NO_IMAGE))


class Missing(Exception):
    """A table cannot be made: the message says which input it needs."""


class Sample:
    """Values of some questions, grouped for the bootstrap.

    Parameters
    ----------
    evidence
    chosen : (n,) bool
        The questions.
    columns
        Values (n,) of each statistic.
    """

    def __init__(self, evidence: Evidence, chosen: np.ndarray, *columns: np.ndarray):
        self.options = evidence.options
        self.values = np.column_stack([column[chosen].astype(float) for column in columns])
        names, self.places = np.unique(evidence.clusters[chosen], return_inverse=True)
        self.strata = evidence.strata[chosen]
        self.n, self.n_clusters = len(self.values), len(names)

    def means(self) -> np.ndarray:
        """Mean of each column (m,); NaN without questions."""
        return self.values.mean(axis=0) if self.n else np.full(self.values.shape[1], np.nan)

    def draws(self) -> np.ndarray:
        """Bootstrapped means (B, m); none where one base structure alone is there."""
        sums = cluster_sums(self.values, self.places, self.n_clusters)
        sizes = np.bincount(self.places, minlength=self.n_clusters)[:, None]
        return self._drawn(sums, sizes)

    def mean_of_strata(self) -> tuple[np.ndarray, np.ndarray]:
        """Means over the strata of the means within (m,), and the same of every draw (B, m)."""
        m = self.values.shape[1]
        present = [stratum for stratum in STRATA if (self.strata == stratum).any()]
        split = [self.values * (self.strata == stratum)[:, None] for stratum in present]
        there = [(self.strata == stratum).astype(float)[:, None] for stratum in present]
        if not present:
            return np.full(m, np.nan), np.empty((0, m))
        within = np.column_stack(split).sum(axis=0).reshape(-1, m)
        means = (within / np.column_stack(there).sum(axis=0)[:, None]).mean(axis=0)
        sums = cluster_sums(np.column_stack(split), self.places, self.n_clusters)
        sizes = cluster_sums(np.column_stack(there), self.places, self.n_clusters)
        drawn = self._drawn(sums, np.repeat(sizes, m, axis=1))
        return means, drawn.reshape(len(drawn), len(present), m).mean(axis=1)

    def _drawn(self, sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        if self.n_clusters < 2:
            return np.empty((0, sums.shape[1]))
        return ratio_draws(sums, sizes, self.options.resamples, self.options.seed)


def strata_of(evidence: Evidence) -> Iterator[tuple[str, np.ndarray]]:
    """Strata that the set has, all questions, and the mean of strata, with their questions."""
    for stratum in STRATA:
        if (evidence.strata == stratum).any():
            yield stratum, evidence.strata == stratum
    everything = np.ones(len(evidence.questions), bool)
    yield ALL, everything
    yield MEAN, everything


def estimates(evidence: Evidence, name: str, chosen: np.ndarray, *columns: np.ndarray):
    """Sample, means (m,) and draws (B, m) of columns over questions, or over strata."""
    sample = Sample(evidence, chosen, *columns)
    if name == MEAN:
        return sample, *sample.mean_of_strata()
    return sample, sample.means(), sample.draws()


def _limits(drawn: np.ndarray, ending: str = "") -> dict[str, float]:
    interval = percentiles(drawn)
    return {f"{ending}lowboot95": interval.low, f"{ending}highboot95": interval.high}


def files(evidence: Evidence) -> pd.DataFrame:
    """Every file: what was asked, what came back."""
    rows = []
    for one in evidence.answers:
        asked, missing = int(one.asked.sum()), int(one.missing.sum())
        invalid = int(one.invalid.sum())
        rows.append(
            {
                "file": one.file.source,
                "model": one.model,
                "arm": one.arm,
                "samples": one.file.k,
                "asked": asked,
                "answered": asked - missing - invalid,
                "invalid": invalid,
                "missing": missing,
                "coverage": (asked - missing) / asked if asked else np.nan,
                "unscored": evidence.why_unscored(one),
            }
        )
    return _frame(rows)


def accuracy(evidence: Evidence) -> pd.DataFrame:
    """Every model and arm by stratum."""
    rows = []
    for one in evidence.answers:
        for name, within in strata_of(evidence):
            chosen = within & one.known
            if not (within & one.asked).any():
                continue
            row: dict[str, Any] = {"model": one.model, "arm": one.arm, "stratum": name}
            sample, means, drawn = estimates(evidence, name, chosen, one.right, one.expected)
            scored = evidence.scored(one)
            row |= {
                "n": sample.n if scored else int((within & one.asked).sum()),
                "base_structures": sample.n_clusters,
                "right": int(one.right[chosen].sum()) if scored and name != MEAN else None,
                "accuracy": means[0] if scored else np.nan,
                **_limits(drawn[:, 0] if scored else drawn[:0, 0]),
                "expected": means[1] if scored else np.nan,
                **_limits(drawn[:, 1] if scored else drawn[:0, 0], "expected_"),
                "missing": int((within & one.missing).sum()),
                "unscored": evidence.why_unscored(one),
            }
            rows.append(row)
    return _frame(rows, right="Int64")


def models(evidence: Evidence) -> pd.DataFrame:
    """Models side by side: a row a model and arm, a column a stratum."""
    rows = []
    for one in evidence.answers:
        row: dict[str, Any] = {"model": one.model, "arm": one.arm, "n": int(one.known.sum())}
        strata = dict(strata_of(evidence))
        for name, within in ({ALL: strata[ALL]} | strata).items():  # all first
            _, means, _ = _quick(evidence, name, within & one.known, one.expected)
            row[name] = means[0] if evidence.scored(one) else np.nan
        rows.append(row | {"unscored": evidence.why_unscored(one)})
    return _frame(rows)


def _quick(evidence: Evidence, name: str, chosen: np.ndarray, *columns: np.ndarray):
    """Estimates without draws."""
    sample = Sample(evidence, chosen, *columns)
    if name != MEAN:
        return sample, sample.means(), None
    by_stratum = [
        column[chosen & (evidence.strata == stratum)].mean()
        for column in columns
        for stratum in STRATA
        if (chosen & (evidence.strata == stratum)).any()
    ]
    return sample, np.reshape(by_stratum, (len(columns), -1)).mean(axis=1), None


def differences(evidence: Evidence) -> pd.DataFrame:
    """Arms of a model against each other, on the same questions only."""
    rows = []
    for model, arms in evidence.models.items():
        for first, second in PAIRS:
            if first in arms and second in arms:
                rows += list(_paired(evidence, arms[first], arms[second], {"model": model}))
    if not rows:
        raise Missing("needs two arms of a model, such as image and text")
    return _frame(rows)


def contrasts(evidence: Evidence) -> pd.DataFrame:
    """Pairs of models in the same arm, on all questions that both answered."""
    rows = []
    for arm in ARMS:
        among = [one for one in evidence.answers if one.arm == arm]
        for first, second in combinations(among, 2):
            told = {"model": first.model, "against": second.model, "arm": arm}
            pairs = _paired(evidence, first, second, told)
            rows += [row for row in pairs if row["stratum"] in (ALL, MEAN)]
    if not rows:
        raise Missing("needs two models in one arm")
    return _frame(rows).drop(columns="difference_of")


def _paired(evidence: Evidence, first: Answers, second: Answers, told: dict) -> Iterator[dict]:
    """Difference of two arms or models by stratum; the same draws for both."""
    for name, within in strata_of(evidence):
        if not (within & first.asked & second.asked).any():
            continue
        chosen = within & first.known & second.known
        scored = evidence.scored(first, second)
        sample, means, drawn = estimates(evidence, name, chosen, first.expected, second.expected)
        if not scored:
            means, drawn = np.full(2, np.nan), drawn[:0]
        yield told | {
            "difference_of": f"{first.arm} - {second.arm}",
            "stratum": name,
            "n": sample.n,
            "base_structures": sample.n_clusters,
            "first": means[0],
            "second": means[1],
            "difference": means[0] - means[1],
            **_limits(drawn[:, 0] - drawn[:, 1]),
            "unscored": evidence.why_unscored(first, second),
        }


def ceilings(evidence: Evidence) -> pd.DataFrame:
    """What the pictures determine by stratum, by every reading of them."""
    rows = []
    for ceiling in _ceilings(evidence):
        for name, within in strata_of(evidence):
            chosen = within & ceiling.known
            if not chosen.any():
                continue
            columns = (ceiling.determined, ceiling.expected)
            sample, means, drawn = estimates(evidence, name, chosen, *columns)
            rows.append(
                {
                    "reading": ceiling.name,
                    "stratum": name,
                    "n": sample.n,
                    "base_structures": sample.n_clusters,
                    "unknown": int((within & ~ceiling.known).sum()),
                    "determined": means[0],
                    **_limits(drawn[:, 0], "determined_"),
                    "expected": means[1],
                    **_limits(drawn[:, 1], "expected_"),
                }
            )
    return _frame(rows)


def ladder(evidence: Evidence) -> pd.DataFrame:
    """Determined, text and image of every model, on the same questions within each row.

    Where a stratum cannot be asked as text, what is lost is not told apart.
    """
    rows = []
    for ceiling in _ceilings(evidence):
        for model, arms in evidence.models.items():
            if IMAGE in arms:
                rows += list(_rungs(evidence, ceiling, model, arms))
    if not rows:
        raise Missing("needs answers of the arm image")
    return _frame(rows)


def _rungs(evidence: Evidence, ceiling, model: str, arms: dict[str, Answers]) -> Iterator[dict]:
    image, text = arms[IMAGE], arms.get(TEXT)
    for name, within in strata_of(evidence):
        asked = within & ceiling.known & image.known
        with_text = text is not None and bool((asked & text.asked).any())
        chosen, used = asked, [image]
        if text is not None and with_text:
            chosen, used = asked & text.known, [image, text]
        if not chosen.any():
            continue
        reading = text.expected if text is not None and with_text else np.zeros(len(chosen))
        columns = (ceiling.determined, ceiling.expected, reading, image.expected)
        sample, means, drawn = estimates(evidence, name, chosen, *columns)
        scored = evidence.scored(*used)
        if not scored:
            means, drawn = np.r_[means[:2], np.nan, np.nan], drawn[:0]
        if not with_text:
            means[2] = np.nan
        rows = {
            "model": model,
            "reading": ceiling.name,
            "stratum": name,
            "n": sample.n,
            "base_structures": sample.n_clusters,
            "determined": means[0],
            "expected": means[1],
            "text": means[2],
            "image": means[3],
        }
        losses = {"reasoning": (1, 2), "looking": (2, 3), "both": (1, 3)}
        for loss, (above, below) in losses.items():
            told = with_text or loss == "both"
            gap = drawn[:, above] - drawn[:, below] if told else drawn[:0, 0]
            rows |= {f"lost_{loss}": means[above] - means[below], **_limits(gap, f"{loss}_")}
        yield rows | {"unscored": evidence.why_unscored(*used)}


def undetermined(evidence: Evidence) -> pd.DataFrame:
    """Scores on questions that their pictures determine, and on those that they do not."""
    rows = []
    for ceiling in _ceilings(evidence):
        for one in evidence.answers:
            for name, within in strata_of(evidence):
                if name == MEAN:
                    continue
                for settled in (True, False):
                    among = within & ceiling.known & (ceiling.determined == settled)
                    chosen = among & one.known
                    if not chosen.any():
                        continue
                    columns = (one.expected, ceiling.expected)
                    sample, means, drawn = estimates(evidence, name, chosen, *columns)
                    scored = evidence.scored(one)
                    rows.append(
                        {
                            "model": one.model,
                            "arm": one.arm,
                            "reading": ceiling.name,
                            "stratum": name,
                            "determined": "yes" if settled else "no",
                            "n": sample.n,
                            "base_structures": sample.n_clusters,
                            "score": means[0] if scored else np.nan,
                            **_limits(drawn[:, 0] if scored else drawn[:0, 0]),
                            "honest_reader": means[1],
                            "unscored": evidence.why_unscored(one),
                        }
                    )
    return _frame(rows)


def traps(evidence: Evidence) -> pd.DataFrame:
    """Q3 by whether the first picture shows the wrong order of the distances."""
    rows = []
    for one in evidence.answers:
        trap, plain = (one.known & (evidence.traps == code) for code in (1, 0))
        if not trap.any() or not plain.any():
            continue
        right = one.expected
        both = Sample(evidence, trap | plain, right * trap, right * plain, trap, plain)
        sums = cluster_sums(both.values, both.places, both.n_clusters)
        drawn = both._drawn(sums[:, :2], sums[:, 2:])
        trapped, straight = right[trap].mean(), right[plain].mean()
        if not evidence.scored(one):
            trapped, straight, drawn = np.nan, np.nan, drawn[:0]
        rows.append(
            {
                "model": one.model,
                "arm": one.arm,
                "n_traps": int(trap.sum()),
                "traps": trapped,
                **_limits(drawn[:, 0], "traps_"),
                "n_plain": int(plain.sum()),
                "plain": straight,
                **_limits(drawn[:, 1], "plain_"),
                "difference": trapped - straight,
                **_limits(drawn[:, 0] - drawn[:, 1], "difference_"),
                "unscored": evidence.why_unscored(one),
            }
        )
    if not rows:
        raise Missing("needs questions of Q3 whose meta tells depth_trap")
    return _frame(rows)


def _ceilings(evidence: Evidence):
    if not evidence.ceilings:
        raise Missing("needs --determined FILE")
    return evidence.ceilings


def _frame(rows: list[dict], **types: str) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(rows)
    return frame.astype({name: kind for name, kind in types.items() if name in frame})
