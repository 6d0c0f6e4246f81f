"""Letters of right options: even within strata, and not told by a row's place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.questions.rules import CHANCE
from rc_hpc.benchmark.records import LETTERS, STRATA, Question

#: A finding is what fair letters would show in fewer than this share of packages, in all.
LEVEL = 1e-3
#: Rows so far apart are compared at most.
FARTHEST = 12


def check_letters(
    questions: Sequence[Question], mini: Sequence[Question], ours: bool
) -> Iterator[Finding]:
    """Letters that a stratum has too often, or that follow from those of earlier rows.

    Parameters
    ----------
    ours
        Whether letters are as even as they can be in each stratum; else as chance leaves them.
    """
    for where, rows in (("questions", questions), ("mini", mini)):
        for stratum in STRATA:
            own = [q.answer for q in rows if q.stratum == stratum]
            if own and _uneven(own, ours):
                counts = Counter(own)
                told = ", ".join(f"{x} {counts[x]}" for x in LETTERS)
                yield Finding("letters-stratum", where, f"{stratum}: right letters are {told}")
        yield from _running(rows, where)


def _uneven(letters: Sequence[str], ours: bool) -> bool:
    from scipy.stats import binom

    counts = [letters.count(x) for x in LETTERS]
    if ours:
        return max(counts) - min(counts) > 1
    level = LEVEL / (2 * len(STRATA) * len(LETTERS))
    return bool(binom.sf(max(counts) - 1, len(letters), CHANCE) < level)


def _running(rows: Sequence[Question], where: str) -> Iterator[Finding]:
    """The letter is a step on from that of a row before, more often than chance has it."""
    from scipy.stats import binom

    places = [LETTERS.index(q.answer) for q in rows]
    level = LEVEL / (2 * FARTHEST * len(LETTERS))
    for back in range(1, min(FARTHEST, len(places) - 1) + 1):
        steps = Counter(
            (later - earlier) % 4 for earlier, later in zip(places, places[back:], strict=False)
        )
        n = len(places) - back
        for step, number in sorted(steps.items()):
            if binom.sf(number - 1, n, CHANCE) < level:
                told = (
                    f"the letter of {number} of {n} rows is {step} on from that of the row "
                    f"{back} before"
                )
                yield Finding("letters-running", where, told)
                return
