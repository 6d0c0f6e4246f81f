"""Whole draws of the benchmark: the released size, 200 questions a stratum, ten thousand."""

import time
from collections import Counter, defaultdict

import numpy as np
import pytest
import question_cases as cases
from test_questions import twin

from rc_hpc.benchmark.card import card
from rc_hpc.benchmark.checks.answers import check_answers
from rc_hpc.benchmark.checks.fairness import check_fairness, rule_scores
from rc_hpc.benchmark.checks.leaks import check_leaks
from rc_hpc.benchmark.checks.quotas import check_mini, check_quotas, check_twice, expected
from rc_hpc.benchmark.checks.scenes import check_scenes
from rc_hpc.benchmark.display import display
from rc_hpc.benchmark.questions.draw import draw_questions
from rc_hpc.benchmark.questions.options import QUOTAS, QuestionOptions
from rc_hpc.benchmark.questions.rules import RULES
from rc_hpc.benchmark.questions.variants import variants
from rc_hpc.benchmark.records import LETTERS, STRATA
from rc_hpc.core.errors import StructureError
from rc_hpc.structures.sources import iter_items

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

#: Atoms of a cell at most, among the prototypes: as of a supercell.
LARGEST = 60


def faults(draw, bases, options):
    """What a check of the rows finds; there are no files."""
    full, mini = ([(q, row) for q, row in zip(own, rows)] for own, rows in both(draw))
    want = expected(draw.questions, card(), options)
    named = {base.name: base for base in bases}
    return [
        *check_twice(draw.questions),
        *check_quotas(draw.questions, want, card()),
        *check_mini(mini, full, want),
        *check_leaks(draw.questions),
        *check_fairness(draw.questions),
        *check_answers(draw.questions),
        *check_scenes(draw.questions, draw.scenes, named, options),
    ]


def both(draw):
    return zip((draw.questions, draw.mini), cases.rows(draw))


def test_the_released_size():
    """48 structures, 716 questions, 200 of them mini, on what is really visible; 1 to 5 min."""
    bases = list(cases.catalogue().values())
    scenes = [s for base in bases for s in display(base, cases.SETTINGS, variants(base))]
    options = QuestionOptions()
    draw = draw_questions(bases, scenes, options, cases.SETTINGS)
    assert cases.by_stratum(draw) == QUOTAS and len(draw.questions) == 716
    assert Counter(q.answer for q in draw.questions) == dict.fromkeys(LETTERS, 179)
    assert Counter(q.stratum for q in draw.mini) == dict.fromkeys(STRATA, 25)
    assert Counter(q.answer for q in draw.mini) == dict.fromkeys(LETTERS, 50)
    assert len({q.structure for q in draw.questions}) == 48
    assert len({q.structure for q in draw.questions if q.qtype == "Q2"}) == 39
    assert Counter(q.answer_text for q in draw.questions if q.qtype == "Q4") == dict.fromkeys(
        ("cubic", "hexagonal", "monoclinic", "orthorhombic", "tetragonal", "trigonal"), 16
    )
    pairs = Counter(q.meta["mutation"] for q in draw.questions if q.qtype == "Q5")
    assert pairs == {"none": 50, "exchange": 13, "deletion": 12, "stretch": 13, "polymorph": 12}
    # all but two pairs of the same are shown in the default views
    assert draw.view_sets == dict.fromkeys(STRATA, 1) | {"Q5": 2}
    for stratum in STRATA:
        own = [q for q in draw.questions if q.stratum == stratum]
        scores = rule_scores(own)
        assert all(scores[rule] <= 0.25 + 1.5 / len(own) for rule in RULES), (stratum, scores)
    assert [str(one) for one in faults(draw, bases, options)] == []


def test_two_hundred_questions_a_stratum_against_their_twins():
    """1 to 7 min, by how busy the machine is."""
    names = tuple(cases.catalogue())
    options = QuestionOptions(questions=2400)
    draw = draw_questions(*cases.world(names), options, cases.SETTINGS)
    own = defaultdict(list)
    for q in draw.questions:
        own[q.stratum].append(q)
    rng = np.random.default_rng(7)
    for stratum in STRATA:
        chosen = rng.permutation(len(own[stratum]))[:200]
        assert len(chosen) == 200
        for k in chosen:
            q = own[stratum][k]
            assert q.answer_text == q.options[q.answer] == twin(q, draw, cases.catalogue()), q.id


@pytest.mark.timeout(3000)
def test_ten_thousand_of_all_usable_prototypes():
    """Seven systems, real visibilities; 2.5 min of CPU, 45 to 57 s of them the draw."""
    bases, scenes = [], []
    for item in iter_items(["prototypes"]):
        try:
            base = cases.base_of(item)
        except StructureError:
            continue
        if len(base.numbers) <= LARGEST:
            bases.append(base)
            scenes += display(base, cases.SETTINGS, variants(base))
    assert len({base.system for base in bases}) == 7
    options = QuestionOptions(questions=10_000)
    begin = time.process_time()
    draw = draw_questions(bases, scenes, options, cases.SETTINGS)
    print(f"{len(bases)} structures, drawn in {time.process_time() - begin:.0f} s of CPU")
    assert len(draw.questions) == 10_000
    assert Counter(q.answer for q in draw.questions) == dict.fromkeys(LETTERS, 2500)
    assert set(Counter(q.answer_text for q in draw.questions if q.qtype == "Q4").values()) == {192}
    assert [str(one) for one in faults(draw, bases, options)] == []
