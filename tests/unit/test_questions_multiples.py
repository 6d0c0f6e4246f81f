"""Q1b's wrong options: no number of formula units, no formula and no frequency tells anything."""

import itertools
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from math import gcd

import numpy as np
import pytest
import question_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st

from rc_hpc.benchmark.checks.fairness import check_fairness, rule_scores
from rc_hpc.benchmark.questions import multiples
from rc_hpc.benchmark.questions.balance import Wrong
from rc_hpc.benchmark.questions.counting import CONTENT
from rc_hpc.benchmark.questions.draw import draw_questions
from rc_hpc.benchmark.questions.options import QuestionOptions
from rc_hpc.benchmark.questions.pools import Pool
from rc_hpc.benchmark.questions.rules import CHANCE, frequent_hits, hits, prior_hits, seen, trait
from rc_hpc.benchmark.questions.texts import counts_of
from rc_hpc.benchmark.questions.world import Candidate, World

pytestmark = pytest.mark.long

#: Seeds of the draw: the default one and others.
SEEDS = (20261021, 7, 1)


@cache
def asked(seed, total=100, most=4):
    """Q1b of the catalogue: structures, and of each question the right text with the wrong ones."""
    shown = replace(cases.SETTINGS, seed=seed)
    world = World.of(*cases.world(tuple(cases.catalogue())), QuestionOptions(), shown)
    pool = Pool("Q1b", CONTENT, world, np.random.default_rng(seed))
    *_, found = pool.filled(total, most)
    assert found.total == total and pool.view_sets == (1 if total == 100 else 2)
    chosen = []
    for cell, number in sorted(found.numbers.items()):
        chosen += [own[0] for own in list(pool.cells[cell].values())[:number]]
    truths = Counter(one.truth for one in chosen)
    sets = [CONTENT.wrong(one, world, truths, pool.rng) for one in chosen]
    wrong = CONTENT.taken(chosen, sets, pool.rng)
    offered = [(one.truth, *(w.text for w in three)) for one, three in zip(chosen, wrong)]
    return [one.structure for one in chosen], offered


def units(text):
    return gcd(*counts_of(text).values())


@pytest.mark.parametrize("seed", SEEDS)
def test_the_number_of_formula_units_tells_nothing(seed):
    """Whatever order of the numbers one goes by: here by all orders of the six."""
    structures, offered = asked(seed)
    numbers = [[units(text) for text in texts] for texts in offered]
    right = Counter(row[0] for row in numbers)
    shown = Counter(k for row in numbers for k in row)
    assert set(right) == set(shown) == {1, 2, 3, 4, 6, 8}
    assert all(abs(right[k] - shown[k] / 4) <= 0.75 for k in shown)
    best = 0
    for order in itertools.permutations(shown):
        rank = {k: place for place, k in enumerate(order)}
        best = max(best, sum(rank[row[0]] == min(map(rank.get, row)) for row in numbers))
    assert best <= 26
    assert len(set(structures)) == 47 and max(Counter(structures).values()) <= 4


@pytest.mark.parametrize("seed", SEEDS)
def test_neither_formula_nor_frequency_tells_anything(seed):
    structures, offered = asked(seed)
    of = defaultdict(set)
    for structure, texts in zip(structures, offered):
        of[structure].add(frozenset(texts))
        divided = [
            {name: n // units(text) for name, n in counts_of(text).items()} for text in texts
        ]
        assert all(one == divided[0] for one in divided) and len(set(texts)) == 4
    assert all(len(own) == 1 for own in of.values())
    truths = [texts[0] for texts in offered]
    assert frequent_hits(offered, truths).mean() <= 0.28
    found = hits([[seen(text) for text in texts] for texts in offered], [0] * len(offered))
    assert np.abs(found.mean(axis=0) - CHANCE).max() <= 0.015
    traits = [[trait(text) for text in texts] for texts in offered]
    assert prior_hits(traits, [own[0] for own in traits], structures).mean() <= CHANCE


@pytest.mark.parametrize("seed", SEEDS)
def test_a_check_finds_nothing(seed):
    bases, scenes = cases.world()
    options = QuestionOptions(questions=112, mini=6)
    with cases.everything_visible():
        draw = draw_questions(bases, scenes, options, replace(cases.SETTINGS, seed=seed))
    assert [str(one) for one in check_fairness(draw.questions)] == []


def test_more_than_four_of_a_structure():
    structures, offered = asked(3, 200, 200)
    right = Counter(units(texts[0]) for texts in offered)
    shown = Counter(units(text) for texts in offered for text in texts)
    assert max(right.values()) <= 50
    assert all(abs(right[k] - shown[k] / 4) <= 1 for k in shown)


right_numbers = st.dictionaries(
    st.sampled_from([1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 32]), st.integers(1, 9), min_size=1
)


@given(right_numbers)
@settings(max_examples=60, deadline=None)
def test_every_number_has_sets_of_near_ones(right):
    found = multiples.sets_of_multiples(tuple(sorted(right.items())))
    for four in found:
        assert list(four) == sorted(set(four)) and len(four) == 4
        assert all(b <= 3 * a for a, b in itertools.pairwise(four))
    for number in right:
        own = [four for four in found if number in four]
        possible = [
            four
            for four in itertools.combinations(sorted(right), 4)
            if number in four and all(b <= 3 * a for a, b in itertools.pairwise(four))
        ]
        assert own
        if possible:  # then there is one without a number that is never right
            assert any(set(four) <= set(right) for four in own)


@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 3, 4, 6, 8, 32]), st.integers(1, 5)), min_size=1),
    st.integers(1, 4),
    st.integers(1, 30),
)
@settings(max_examples=60, deadline=None)
def test_no_number_is_right_in_more_than_a_quarter_where_that_can_be(structures, limit, quarters):
    total = 4 * quarters
    candidates = [
        Candidate(f"s{k}", str(number), (k, view), (), (), "")
        for k, (number, scenes) in enumerate(structures)
        for view in range(scenes)
    ]
    found = multiples.quarter_each(total, candidates, limit)
    room = Counter()
    for number, _ in structures:
        room[number] += limit
    reached = sum(min(found[str(number)], room[number]) for number in room)
    assert reached >= min(total, room.total())
    held = {k for four in itertools.combinations(sorted(room), 4) if near(four) for k in four}
    if sum(min(quarters, room[number]) for number in held) >= total:
        assert all(found[str(n)] == (quarters if n in held else 0) for n in room)


def near(four):
    return all(b <= 3 * a for a, b in itertools.pairwise(four))


def slow_cost(offered, structures):
    """Squares of what should be nothing, counted question by question."""
    numbers = [tuple(units(text) for text in texts) for texts in offered]
    total, within, of_text = Counter(), Counter(), Counter()
    owners = defaultdict(set)
    for structure, texts, row in zip(structures, offered, numbers):
        for place, (text, number) in enumerate(zip(texts, row)):
            more = 0.75 if place == 0 else -0.25
            total[number] += more
            within[tuple(sorted(row)), number] += more
            of_text[text] += more
            owners[text].add(structure)
    rules = hits([[seen(t) for t in texts] for texts in offered], [0] * len(offered)) - CHANCE
    found = sum(v**2 for v in total.values()) + sum(v**2 for v in within.values())
    found += multiples.RULES**2 * (rules.sum(axis=0) ** 2).sum()
    return found + sum(v**2 for v in of_text.values()), of_text


def test_the_sets_taken_are_the_best_there_are():
    """Against all choices, on four structures of different formulas."""
    truths = ("Cl4 Na4", "O4 Ti2", "Si3 O6", "Cl1 Cs1")
    units_of = {text: units(text) for text in truths}
    pool = [(1, 2, 3, 4), (1, 2, 4, 8), (2, 3, 4, 6), (1, 2, 3, 6)]
    sets, candidates, number = {}, [], {truth: k % 2 + 1 for k, truth in enumerate(truths)}
    for truth in truths:
        ratio = {name: n // units_of[truth] for name, n in counts_of(truth).items()}
        sets[truth] = [
            tuple(
                Wrong(" ".join(f"{name}{n * k}" for name, n in ratio.items()), str(k))
                for k in four
                if k != units_of[truth]
            )
            for four in pool
            if units_of[truth] in four
        ]
        candidates += [Candidate(truth, "", (), (), (), truth)] * number[truth]

    def cost(chosen):
        offered = [(c.truth, *(w.text for w in chosen[c.truth])) for c in candidates]
        found, of_text = slow_cost(offered, [c.structure for c in candidates])
        return found - sum(v**2 for v in of_text.values())  # no text is shared here

    taken = multiples.one_each(
        candidates, [sets[c.truth] for c in candidates], np.random.default_rng(0)
    )
    made = {c.truth: one for c, one in zip(candidates, taken)}
    every = [dict(zip(truths, one)) for one in itertools.product(*(sets[t] for t in truths))]
    assert cost(made) == pytest.approx(min(map(cost, every)))
    assert all(made[c.truth] == one for c, one in zip(candidates, taken))


def test_traits_are_what_their_names_say():
    assert trait("Ca4 F8") == "4 formula units" and trait("C8") == "8 formula units"
    assert trait("[2 -1 0]") == trait("[012]") == "indices 2 1 0"
    assert (trait("12"), trait("7"), trait("cubic")) == ("even", "odd", "cubic")


def test_the_most_frequent_text_is_counted_over_all_questions():
    options = [["a", "b", "c", "d"], ["a", "e", "f", "g"], ["h", "i", "j", "k"]]
    assert frequent_hits(options, ["a", "e", "i"]).tolist() == [1, 0, 0.25]


def of_units(made, wrong):
    """Rows of Q1b as questions, with other wrong numbers of formula units."""
    own = [q for q in made if q.stratum == "Q1b"]
    found = []
    for k, q in enumerate(own):
        ratio = {name: n // units(q.answer_text) for name, n in counts_of(q.answer_text).items()}
        texts = iter(
            " ".join(f"{name}{n * m}" for name, n in sorted(ratio.items()))
            for m in wrong(k, units(q.answer_text))
        )
        options = {x: q.answer_text if x == q.answer else next(texts) for x in q.options}
        found.append(replace(q, options=options))
    return found


def test_a_check_finds_numbers_of_formula_units_that_tell():
    """What was drawn until now: the right text again and again, and numbers never right."""
    drawn = [
        replace(q, structure=name, meta={**q.meta, "base_structure": name})
        for q in cases.small_draw().questions
        for name in (f"{q.structure}{k}" for k in range(4))
    ]
    varied = of_units(drawn, lambda k, right: list(range(20 + 3 * k, 23 + 3 * k)))
    found = rule_scores(varied)
    assert found["most frequent text"] == 1
    told = [str(one) for one in check_fairness(varied)]
    assert any("'most frequent text' names 100%" in one for one in told), told
    fives = of_units(drawn, lambda k, right: [5, 10, 7])
    told = [str(one) for one in check_fairness(fives)]
    assert any("'5 formula units' is right in 0 of 64 options [dead-option]" in t for t in told)
    assert any("'trait prior'" in one for one in told), told
    # asked again of the same structures they are not so many different questions
    again = of_units(cases.small_draw().questions * 4, lambda k, right: [5, 10, 7])
    assert not [one for one in check_fairness(again) if one.rule == "dead-option"]
