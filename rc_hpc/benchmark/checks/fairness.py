"""What can be known without looking: dead options, giveaways, rules of thumb."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.questions.rules import CHANCE, RULES, hits, prior_hits, seen
from rc_hpc.benchmark.records import LETTERS, STRATA, Question

#: A finding is what fair options would show in fewer than this share of packages, in all the
#: strata and rules together.
LEVEL = 1e-3
#: What is right for so many base structures gives something away; for one, it is its answer.
SEVERAL = 4
#: A text shown in so many questions, and right in none, is dead whatever chance says.
NEVER = 16
#: An option whose number is so many times smaller or larger than the next is picked by nobody.
FAR = 6.0
#: Right options of fixed ones that the card itself has right more often than others.
CARD_FLOORS = {"Q5": 0.5}


def check_fairness(questions: Sequence[Question]) -> Iterator[Finding]:
    """Findings on the options of each stratum."""
    for stratum in STRATA:
        own = [q for q in questions if q.stratum == stratum]
        if own:
            yield from _far(own)
            yield from _dead(stratum, own)
            yield from _rules(stratum, own)


def rule_scores(questions: Sequence[Question]) -> dict[str, float]:
    """Share of right options that each rule names, with that of the option prior last."""
    options = [[seen(q.options[x]) for x in LETTERS] for q in questions]
    right = [LETTERS.index(q.answer) for q in questions]
    shares = hits(options, right).mean(axis=0)
    found = dict(zip(RULES, shares.tolist(), strict=True))
    prior = prior_hits(
        [[q.options[x] for x in LETTERS] for q in questions],
        [q.options[q.answer] for q in questions],
        [q.cluster for q in questions],
    )
    longest = [max(len(q.options[x]) for x in LETTERS) for q in questions]
    length = [
        (len(q.options[q.answer]) == most) / sum(len(q.options[x]) == most for x in LETTERS)
        for q, most in zip(questions, longest, strict=True)
    ]
    found["longest text"] = float(np.mean(length))
    found["option prior"] = float(prior.mean())
    return found


def _far(questions) -> Iterator[Finding]:
    """Options that nobody would pick, by their numbers."""
    for q in questions:
        values = [seen(q.options[x]).value for x in LETTERS]
        numbers = sorted(v for v in values if v is not None)
        if len(numbers) < len(LETTERS) or q.qtype == "Q6":
            continue
        low, high = numbers[1] / max(numbers[0], 0.1), numbers[-1] / max(numbers[-2], 0.1)
        if max(low, high) > FAR:
            far = numbers[0] if low > high else numbers[-1]
            text = q.options[LETTERS[values.index(far)]]
            yield Finding("implausible-option", q.id, f"{text!r} is far from all others")


def _dead(stratum: str, questions) -> Iterator[Finding]:
    """Texts that are right too seldom, or too often, to be a matter of chance."""
    from scipy.stats import binom

    of: dict[str, set[str]] = defaultdict(set)
    for q in questions:
        of[q.options[q.answer]].add(q.cluster)
    shown = Counter(text for q in questions for text in q.options.values())
    right = Counter(q.options[q.answer] for q in questions)
    fixed = len(shown) == len(LETTERS)
    level = LEVEL / (2 * len(shown) * len(STRATA))
    for text, number in sorted(shown.items()):
        hit = right[text]
        rare = binom.cdf(hit, number, CHANCE) < level and not fixed
        if rare or (not hit and number >= NEVER):
            yield Finding(
                "dead-option", stratum, f"{text!r} is right in {hit} of {number} questions"
            )
        most = CARD_FLOORS.get(stratum, CHANCE)
        if binom.sf(hit - 1, number, most) < level and len(of[text]) >= SEVERAL:
            yield Finding("giveaway", stratum, f"{text!r} is right in {hit} of {number} questions")


def _rules(stratum: str, questions) -> Iterator[Finding]:
    from scipy.stats import binom

    scores, n = rule_scores(questions), len(questions)
    level = LEVEL / (len(scores) * len(STRATA))
    floor = CARD_FLOORS.get(stratum, CHANCE)
    for rule, share in scores.items():
        chance = floor if rule == "option prior" else CHANCE
        if binom.sf(int(np.ceil(share * n - 1e-9)) - 1, n, chance) < level:
            yield Finding(
                "rule-of-thumb",
                stratum,
                f"the rule {rule!r} names {share:.0%} of the right options, where chance is "
                f"{chance:.0%}",
            )
