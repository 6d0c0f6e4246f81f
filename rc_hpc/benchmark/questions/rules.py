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


def trait(text: str) -> str:
    """What a text has in common with others of its kind, in words; itself, where that is nothing.

    Of the content of a cell its number of formula units, of a direction its indices by size, of a
    number whether it is even.
    """
    if found := _DIRECTION.fullmatch(text.strip()):
        sizes = sorted((abs(int(one)) for one in found.groups() if one is not None), reverse=True)
        return f"indices {' '.join(map(str, sizes))}"
    if counts := counts_of(text):
        return f"{gcd(*counts.values())} formula units"
    if _NUMBER.fullmatch(text.strip()):
        return "odd" if int(text) % 2 else "even"
    return text


def frequent_hits(options: Sequence[Sequence[str]], answers: Sequence[str]) -> np.ndarray:
    """Chance to name each right option by the text that all these questions show most, (n,)."""
    shown = Counter(text for texts in options for text in texts)
    found = []
    for texts, answer in zip(options, answers, strict=True):
        often = [shown[text] for text in texts]
        found.append((shown[answer] == max(often)) / often.count(max(often)))
    return np.array(found, float)


def hits(sets: Sequence[Sequence[Seen]], right: Sequence[int]) -> np.ndarray:
    """Chance of each rule to name each right option, (n, 7).

    Where a rule cannot choose (words have no numbers, nothing is shared), that of chance; where
    it names several, its share of them.

    Parameters
    ----------
    sets
        Four options each.
    right
        Index of the right one of each.
    """
    found = np.full((len(sets), len(RULES)), CHANCE)
    if not len(sets):
        return found
    place = np.asarray(right, np.intp)[:, None]
    values = np.array([[np.nan if o.value is None else o.value for o in one] for one in sets])
    told = ~np.isnan(values).any(axis=1) & (np.ptp(values, axis=1) > SAME)
    if told.any():
        v, here = values[told], place[told]
        ordered = np.sort(v, axis=1)
        named = [np.abs(v - ordered[:, [rank]]) <= SAME for rank in range(4)]
        gaps = np.abs(v[:, :, None] - v[:, None, :]) + np.diag(np.full(4, np.inf))
        nearest = gaps.min(axis=2)
        named.append(nearest <= nearest.min(axis=1, keepdims=True) + SAME)
        away = np.abs(v - v.mean(axis=1, keepdims=True))
        named.append(away <= away.min(axis=1, keepdims=True) + SAME)
        for rule, one in enumerate(named):
            found[told, rule] = _shares(one, here)
    shared = np.array([_shared(one) for one in sets])
    some = np.ptp(shared, axis=1) > 0
    if some.any():
        most = shared[some] == shared[some].max(axis=1, keepdims=True)
        found[some, 6] = _shares(most, place[some])
    return found


def _shared(options: Sequence[Seen]) -> list[int]:
    """Parts that each option shares with the others."""
    if not any(one.parts for one in options):
        return [0] * len(options)
    there = Counter(part for one in options for part in one.parts)
    return [sum(there[part] - 1 for part in one.parts) for one in options]


def _shares(named: np.ndarray, place: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.take_along_axis(named, place, axis=1)[:, 0] / named.sum(axis=1)
    return found


def prior_hits(
    options: Sequence[Sequence[str]], answers: Sequence[str], clusters: Sequence[str]
) -> np.ndarray:
    """Chance of the option prior to name each right option, (n,); see `prior_named`."""
    return _named_right(prior_named(options, answers, clusters), options, answers)


def prior_floor(
    options: Sequence[Sequence[str]], answers: Sequence[str], clusters: Sequence[str]
) -> np.ndarray:
    """The same of `floor_named`, (n,): a quarter each where the prior names fewer."""
    return _named_right(floor_named(options, answers, clusters), options, answers)


def floor_named(
    options: Sequence[Sequence[str]], answers: Sequence[str], clusters: Sequence[str]
) -> list[np.ndarray]:
    """Options that the option prior names; all four where it names fewer right ones than chance.

    Of options in balance, what is right in a structure that is left out was right less often
    elsewhere than what is wrong in it: the prior names the wrong ones, and who knows that draws.
    """
    named = prior_named(options, answers, clusters)
    if len(named) and _named_right(named, options, answers).mean() < CHANCE:
        return [np.ones(len(best), bool) for best in named]
    return named


def _named_right(named, options, answers) -> np.ndarray:
    right = [list(texts).index(answer) for texts, answer in zip(options, answers, strict=True)]
    found = [best[place] / best.sum() for best, place in zip(named, right, strict=True)]
    return np.array(found, float)


def prior_named(
    options: Sequence[Sequence[str]], answers: Sequence[str], clusters: Sequence[str]
) -> list[np.ndarray]:
    """Options that the option prior names in each question, several where they tie.

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
    found = []
    for texts, cluster in zip(options, clusters, strict=True):
        rates = []
        for text in texts:
            seen_elsewhere = shown[text] - shown_of[cluster, text]
            hit = right[text] - right_of[cluster, text]
            rates.append(hit / seen_elsewhere if seen_elsewhere else CHANCE)
        found.append(np.array(rates) >= max(rates) - SAME)
    return found
