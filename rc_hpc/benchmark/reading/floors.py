"""What readers get who do not reconstruct: expected scores, question by question."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np

from rc_hpc.benchmark.questions.rules import prior_floor
from rc_hpc.benchmark.questions.texts import SAME
from rc_hpc.benchmark.reading.answers import metric_systems
from rc_hpc.benchmark.reading.meanings import meanings
from rc_hpc.benchmark.reading.reader import Asked
from rc_hpc.benchmark.records import LETTERS, STRATA, Question
from rc_hpc.core.errors import RcError

#: Of a reader who draws one of four letters.
CHANCE = 0.25
#: Readers by name, and what each does: "a reader who ...".
FLOORS = {
    "chance": "draws one of the four letters",
    "prior": "takes the option text that was right most often in the questions of its stratum on "
    "other base structures, or draws where that names fewer of the stratum",
    "metric": "names the highest crystal system that lengths and angles of the cell allow (Q4); a "
    "bet, which a reader who draws among all that hidden atoms leave open does not make",
    "projection": "compares the distances in the first picture, as if it had no depth (Q3)",
    "formula": "knows the formula, and draws among the options of its ratio (Q1b)",
    "same": "always calls both structures the same (Q5)",
}


def priors(questions: Sequence[Question]) -> np.ndarray:
    """Expected score of the option prior, (n,), each stratum on its own.

    Of the four texts it takes the one with the largest share of right answers among the questions
    of other base structures that offer it (a quarter where none does); ties share. In a stratum
    where that names fewer than chance it is chance: see `floor_named`.
    """
    found = np.full(len(questions), CHANCE)
    for stratum in STRATA:
        own = [k for k, question in enumerate(questions) if question.stratum == stratum]
        chosen = [questions[k] for k in own]
        if own:
            found[own] = prior_floor(
                [list(q.options.values()) for q in chosen],
                [q.options[q.answer] for q in chosen],
                [q.structure for q in chosen],
            )
    return found


def own_floors(asked: Asked) -> dict[str, float]:
    """Those floors that a question has by itself, by name."""
    question, found = asked.question, {"chance": CHANCE}
    try:
        meaning = meanings(question)
    except RcError:
        return found  # the row says why
    right = LETTERS.index(question.answer)
    if question.qtype == "Q1b":
        ratios = [_reduced(value) for value in meaning]
        found["formula"] = _share([ratio == ratios[right] for ratio in ratios], right)
    elif question.qtype == "Q5":
        found["same"] = _share([value == SAME for value in meaning], right)
    elif question.qtype == "Q4" and asked.scenes:
        allowed = metric_systems(asked.scenes[0].lattice)
        best = next((name for name in allowed if name in meaning), "")
        found["metric"] = _share([value == best for value in meaning], right)
    elif question.qtype == "Q3" and asked.scenes:
        scene = asked.scenes[0]
        flat = scene.positions @ scene.cameras[asked.views[0][0]].rotation[:2].T
        a, b, c = (flat[scene.marks[letter]] for letter in LETTERS[:3])
        ratio = float(np.linalg.norm(b - a)) / max(float(np.linalg.norm(c - a)), 1e-12)
        named = [one.low <= ratio <= one.high for one in meaning]
        found["projection"] = _share(named, right)
    return found


def _reduced(content: dict[int, int]) -> dict[int, int]:
    divisor = gcd(*content.values())
    return {number: count // divisor for number, count in content.items()}


def _share(named: Sequence[bool], right: int) -> float:
    """Chance of the right one, drawn among those named; of all four where none is."""
    return float(named[right]) / sum(named) if any(named) else CHANCE
