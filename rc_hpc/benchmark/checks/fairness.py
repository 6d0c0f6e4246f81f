"""What can be known without looking: dead options, giveaways, rules of thumb."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.questions.rules import (
    CHANCE,
    RULES,
    frequent_hits,
    hits,
    prior_floor,
    seen,
    trait,
)
from rc_hpc.benchmark.records import LETTERS, STRATA, Question

#: A finding is what fair options would show in fewer than this share of packages, in all the
#: strata and rules together.
LEVEL = 1e-3
#: What is right for so many base structures gives something away; for one, it is its answer.
SEVERAL = 4
#: A text shown in so many different questions, and right in none, is dead whatever chance says.
NEVER = 16
#: An option whose number is so many times smaller or larger than the next is picked by nobody.
FAR = 6.0
#: Rules that know what was right of other base structures: of a trait, of the text.
PRIORS = ("trait prior", "option prior")
#: Right options of fixed ones that the card itself has right more often than others.
CARD_FLOORS = {"Q5": 0.5}


def check_fairness(questions: Sequence[Question]) -> Iterator[Finding]:
    """Findings on the options of each stratum."""
    for stratum in STRATA:
        own = [q for q in questions if q.stratum == stratum]
        if own:
            yield from _far(own)
            yield from _dead(stratum, own)
            if any(trait(text) != text for q in own for text in q.options.values()):
                yield from _dead(stratum, own, trait)
            yield from _rules(stratum, own)


def rule_scores(questions: Sequence[Question]) -> dict[str, float]:
    """Share of right options that each rule names, the rules that know other questions last.

    These are priors of other base structures; chance where that is more, see `floor_named`.
    """
    options = [[seen(q.options[x]) for x in LETTERS] for q in questions]
    right = [LETTERS.index(q.answer) for q in questions]
    shares = hits(options, right).mean(axis=0)
    found = dict(zip(RULES, shares.tolist(), strict=True))
    texts = [[q.options[x] for x in LETTERS] for q in questions]
    answers = [q.options[q.answer] for q in questions]
    longest = [max(map(len, own)) for own in texts]
    length = [
        (len(answer) == most) / sum(len(text) == most for text in own)
        for own, answer, most in zip(texts, answers, longest, strict=True)
    ]
    found["longest text"] = float(np.mean(length))
    found["most frequent text"] = float(frequent_hits(texts, answers).mean())
    clusters = [q.cluster for q in questions]
    traits = [[trait(text) for text in own] for own in texts]
    of_traits = prior_floor(traits, [trait(answer) for answer in answers], clusters)
    found[PRIORS[0]] = float(of_traits.mean())
    found[PRIORS[1]] = float(prior_floor(texts, answers, clusters).mean())
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


def _dead(stratum: str, questions, name: Callable[[str], str] = str) -> Iterator[Finding]:
    """Texts, or traits of texts, that are right too seldom, or too often, to be chance."""
    from scipy.stats import binom

    named = [[name(text) for text in q.options.values()] for q in questions]
    answers = [name(q.options[q.answer]) for q in questions]
    of: dict[str, set[str]] = defaultdict(set)
    # questions of one structure with one answer are no different ones
    among: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for q, own, answer in zip(questions, named, answers, strict=True):
        of[answer].add(q.cluster)
        for one in own:
            among[one].add((q.cluster, answer))
    shown = Counter(one for own in named for one in own)
    right = Counter(answers)
    fixed = len(shown) == len(LETTERS)
    level = LEVEL / (2 * len(shown) * len(STRATA))
    for one, number in sorted(shown.items()):
        hit = right[one]
        different = len(among[one])
        rare = not fixed and all(
            binom.cdf(right_in, shown_in, CHANCE) < level
            for right_in, shown_in in ((hit, number), (len(of[one]), different))
        )
        if rare or (not hit and different >= NEVER):
            yield Finding("dead-option", stratum, f"{one!r} is right in {hit} of {number} options")
        most = CARD_FLOORS.get(stratum, CHANCE)
        if binom.sf(hit - 1, number, most) < level and len(of[one]) >= SEVERAL:
            yield Finding("giveaway", stratum, f"{one!r} is right in {hit} of {number} options")


def _rules(stratum: str, questions) -> Iterator[Finding]:
    from scipy.stats import binom

    scores, n = rule_scores(questions), len(questions)
    level = LEVEL / (len(scores) * len(STRATA))
    floor = CARD_FLOORS.get(stratum, CHANCE)
    for rule, share in scores.items():
        chance = floor if rule in PRIORS else CHANCE
        if binom.sf(int(np.ceil(share * n - 1e-9)) - 1, n, chance) < level:
            yield Finding(
                "rule-of-thumb",
                stratum,
                f"the rule {rule!r} names {share:.0%} of the right options, where chance is "
                f"{chance:.0%}",
            )
