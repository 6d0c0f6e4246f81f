"""Rules of thumb that see options and nothing else: what a reader without pictures would try.

Wrong options are drawn so that no rule hits more often than chance; a checker asks the same of
any package.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

import numpy as np

from rc_hpc.benchmark.questions.texts import counts_of

#: Names of the rules, in the order of `hits`.
RULES = (
    "smallest",
    "second smallest",
    "third smallest",
    "largest",
    "one of the closest two",
    "nearest the mean",
    "most like the others",
)
#: Of four options.
CHANCE = 0.25
#: Values that differ by no more are one.
SAME = 1e-9
_DIRECTION = re.compile(r"\[(-?\d+) ?(-?\d+) ?(-?\d+)\]|\[(-?\d)(-?\d)(-?\d)\]")
_NUMBER = re.compile(r"\d+")


class Seen(NamedTuple):
    """What a rule sees of an option.

    Attributes
    ----------
    value
        Its number (of atoms, in all), or the squared length of its indices; None of words.
    parts
        What it may share with another option.
    """

    value: float | None
    parts: frozenset[str]


def seen(text: str) -> Seen:
    """What a rule sees of a text."""
    if found := _DIRECTION.fullmatch(text.strip()):
        indices = [int(one) for one in found.groups() if one is not None]
        return Seen(
            float(sum(k * k for k in indices)),
            frozenset(f"{axis}{k}" for axis, k in zip("uvw", indices, strict=True)),
        )
    if counts := counts_of(text):
        divisor = gcd(*counts.values())
        ratio = ":".join(f"{name}{n // divisor}" for name, n in sorted(counts.items()))
        return Seen(
            float(sum(counts.values())),
            frozenset({f"ratio {ratio}"} if len(counts) > 1 else set()),
        )
    if found := _NUMBER.fullmatch(text.strip()):
        return Seen(float(found[0]), frozenset())
    return Seen(None, frozenset(re.findall(r"\w+", text.lower())))


def hits(options: Sequence[Seen], right: int) -> np.ndarray:
    """Chance of each rule to name the right option, (7,); where it cannot choose, that of chance.

    Parameters
    ----------
    options
        Four of them.
    right
        Index of the right one.
    """
    found = np.full(len(RULES), CHANCE)
    values = np.array([np.nan if one.value is None else one.value for one in options])
    if not np.isnan(values).any() and np.ptp(values) > SAME:
        ordered = np.sort(values)
        for rank in range(4):
            found[rank] = _share(np.abs(values - ordered[rank]) <= SAME, right)
        gaps = np.abs(values[:, None] - values[None]) + np.diag(np.full(4, np.inf))
        nearest = gaps.min(axis=1)
        found[4] = _share(nearest <= nearest.min() + SAME, right)
        away = np.abs(values - values.mean())
        found[5] = _share(away <= away.min() + SAME, right)
    shared = np.array(
        [
            sum(len(one.parts & other.parts) for k, other in enumerate(options) if k != number)
            for number, one in enumerate(options)
        ]
    )
    if np.ptp(shared):
        found[6] = _share(shared == shared.max(), right)
    return found


def _share(named: np.ndarray, right: int) -> float:
    return float(named[right]) / int(named.sum())


def prior_hits(
    options: Sequence[Sequence[str]], answers: Sequence[str], clusters: Sequence[str]
) -> np.ndarray:
    """Chance of the option prior to name each right option, (n,).

    It takes the option that was right in the largest share of the questions that showed it,
    those of the same base structure left out; one never shown elsewhere counts as right in a
    quarter.
    """
    shown: Counter[str] = Counter()
    right: Counter[str] = Counter()
    shown_of: Counter[tuple[str, str]] = Counter()
    right_of: Counter[tuple[str, str]] = Counter()
    for texts, answer, cluster in zip(options, answers, clusters, strict=True):
        shown.update(texts)
        right[answer] += 1
        shown_of.update((cluster, text) for text in texts)
        right_of[cluster, answer] += 1
    found = np.empty(len(answers))
    for k, (texts, answer, cluster) in enumerate(zip(options, answers, clusters, strict=True)):
        rates = []
        for text in texts:
            seen_elsewhere = shown[text] - shown_of[cluster, text]
            hit = right[text] - right_of[cluster, text]
            rates.append(hit / seen_elsewhere if seen_elsewhere else CHANCE)
        best = np.array(rates) >= max(rates) - SAME
        found[k] = _share(best, list(texts).index(answer))
    return found
