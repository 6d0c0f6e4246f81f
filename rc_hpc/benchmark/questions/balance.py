"""Of several sets of wrong options, the one after which no rule of thumb knows more than chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rc_hpc.benchmark.questions.rules import CHANCE, Seen, hits, seen

#: Rounds through all questions at most.
ROUNDS = 12
#: Weight of texts that are right too often or too seldom, against the hits of the rules.
TEXTS = 0.5


class Wrong(NamedTuple):
    """A wrong option and the rule by which it was made."""

    text: str
    rule: str


def balanced(
    answers: Sequence[str],
    sets: Sequence[Sequence[tuple[Wrong, ...]]],
    rng: np.random.Generator,
) -> list[tuple[Wrong, ...]]:
    """One set of three wrong options for each question.

    Coordinate descent on the sum over `RULES` of (hits less a quarter)^2, and over texts of
    (times right less a quarter of the times shown)^2 with a weight.

    Parameters
    ----------
    answers
        Right option of each question.
    sets
        Sets that each question may have, one or more.
    """
    known: dict[str, Seen] = {}
    for texts in ([*answers], *([w.text for w in one] for own in sets for one in own)):
        for text in texts:
            known.setdefault(text, seen(text))
    scores = [
        hits([[known[a], *(known[w.text] for w in one)] for one in own], [0] * len(own)) - CHANCE
        for a, own in zip(answers, sets, strict=True)
    ]
    taken = [int(rng.integers(len(own))) for own in sets]
    total = np.sum([scores[k][taken[k]] for k in range(len(sets))], axis=0)
    # four times right, less times shown: zero where a text tells nothing
    excess: Counter[str] = Counter()
    for k, answer in enumerate(answers):
        excess[answer] += 3
        excess.subtract(w.text for w in sets[k][taken[k]])
    for _ in range(ROUNDS):
        changed = False
        for k in rng.permutation(len(sets)).tolist():
            own = sets[k]
            if len(own) == 1:
                continue
            without = total - scores[k][taken[k]]
            for wrong in own[taken[k]]:
                excess[wrong.text] += 1
            cost = ((without + scores[k]) ** 2).sum(axis=1)
            # (e - 1)^2 - e^2 of each wrong text
            change = [sum(1 - 2 * excess[w.text] for w in one) for one in own]
            cost = cost + TEXTS / 16 * np.array(change)
            best = int(np.argmin(cost))
            if cost[best] < cost[taken[k]] - 1e-9:
                taken[k], changed = best, True
            total = without + scores[k][taken[k]]
            excess.subtract(w.text for w in own[taken[k]])
        if not changed:
            break
    return [own[k] for own, k in zip(sets, taken, strict=True)]
