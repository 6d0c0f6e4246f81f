"""Scores of emitted atom lists on lists whose matches are known."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rc_hpc.ladder.transplant import (
    MATCHINGS,
    SCORES,
    TOLERANCE,
    atoms_of,
    emission,
    null_pairs,
    relabelled,
    score_all,
    species_free,
    strict,
)

TRUTH = atoms_of(["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]])


def test_a_perfect_list_over_the_border_of_the_cell():
    emitted = atoms_of(["Cl", "Na"], [[0.5, -0.5, 1.5], [0.99, 1.0, 0.01]])
    for score in SCORES.values():
        for matching in MATCHINGS:
            found = score(emitted, TRUTH, matching)
            assert found[:3] == (2, 1, 1) and found.distance == pytest.approx(np.sqrt(2e-4) / 2)


def test_wrong_names_cost_only_the_strict_score():
    emitted = atoms_of(["Teal", "Orange", "Teal"], [*TRUTH.frac.tolist(), [0.25, 0.25, 0.25]])
    assert strict(emitted, TRUTH)[:3] == (0, 0, 0) and np.isnan(strict(emitted, TRUTH).distance)
    assert relabelled(emitted, TRUTH)[:3] == (2, 1, 2 / 3) == species_free(emitted, TRUTH)[:3]


def test_names_are_exchanged_one_to_one():
    truth = atoms_of(["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]])
    emitted = atoms_of(["Fe", "Fe"], truth.frac)
    assert species_free(emitted, truth).matches == 2 and relabelled(emitted, truth).matches == 1


def test_a_site_is_taken_once():
    crowd = atoms_of(["Na"] * 3, [[0, 0, 0.01], [0, 0, 0], [0, 0, 0.02]])
    for matching, distance in (("in-order", 0.01), ("best", 0.0)):
        found = strict(crowd, TRUTH, matching)
        assert found[:3] == (1, 0.5, 1 / 3) and found.distance == pytest.approx(distance)


def test_order_matters_in_order_and_not_for_the_best():
    truth = atoms_of(["X", "X"], [[0, 0, 0], [0.2, 0, 0]])
    greedy = atoms_of(
        ["X", "X"], [[0.09, 0, 0], [-0.1, 0, 0]]
    )  # the first takes the site that only the second reaches
    swapped = atoms_of(["X", "X"], greedy.frac[::-1])
    assert [strict(found, truth).matches for found in (greedy, swapped)] == [1, 2]
    assert [strict(found, truth, "best").matches for found in (greedy, swapped)] == [2, 2]


def test_the_tolerance_is_met_by_equality():
    for shift, matches in ((TOLERANCE, 1), (TOLERANCE + 1e-9, 0)):
        assert strict(atoms_of(["Na"], [[shift, 0, 0]]), TRUTH).matches == matches


coordinates = st.lists(
    st.tuples(st.sampled_from("AB"), *[st.integers(-20, 20)] * 3), min_size=1, max_size=8
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # busy machines
@given(coordinates, coordinates)
def test_scores_are_ordered(first, second):
    emitted, truth = (
        atoms_of([row[0] for row in rows], np.array([row[1:] for row in rows]) / 10)
        for rows in (first, second)
    )
    best = {name: score(emitted, truth, "best") for name, score in SCORES.items()}
    assert (
        best["strict"].matches
        <= best["relabelled"].matches
        <= best["species-free"].matches
        <= min(len(first), len(second))
    )
    for name, score in SCORES.items():
        assert score(emitted, truth).matches <= best[name].matches
        moved = score(atoms_of(emitted.species, emitted.frac + 1), truth, "best")
        assert moved.matches == best[name].matches


def test_null_never_pairs_a_list_with_its_own_structure():
    for pairs in null_pairs(7, 20, seed=1):
        assert sorted(pairs) == list(range(7)) and not (pairs == np.arange(7)).any()
    assert null_pairs(1, 5) == []


def test_all_scores_together():
    truth = {f"id-{k}": atoms_of(["Na"], [[k / 10, 0, 0]]) for k in range(4)}
    emitted = {**truth, "refused": atoms_of([], [])}
    frame = score_all(emitted, {**truth, "refused": TRUTH}, repeats=2)
    assert len(frame) == 12 and set(frame["scored"]) == {4, 8}
    own = frame[frame["lists"] == "own"]
    assert (own["median_recall"] == 1).all() and (own["zero_match"] == 0).all()
    null = frame[frame["lists"] != "own"]
    assert (null["mean_recall"] < 1).all()
    assert own["repeats"].eq(1).all() and own["sd_mean_recall"].isna().all()
    assert null["repeats"].eq(2).all() and null["sd_mean_recall"].ge(0).all()
    counts = emission(emitted, {**truth, "refused": TRUTH}).set_index("quantity")
    assert counts.loc["structures with atoms emitted", ["count", "n"]].tolist() == [4, 5]
    assert (
        counts.loc["same set of elements", "count"] == 4
        and counts.loc["emitted atoms, median", "value"] == 1
    )


def test_nothing_emitted_at_all():
    frame = score_all({"a": atoms_of([], [])}, {"a": TRUTH})
    assert (frame["scored"] == 0).all() and frame["median_recall"].isna().all()
    assert emission({"a": atoms_of([], [])}, {"a": TRUTH})["count"].tolist() == [0, 0, 0]


def test_the_nulls_spread_is_that_of_single_repeats():
    rng = np.random.default_rng(2)
    truth = {f"id-{k}": atoms_of(["Na"] * 3, rng.random((3, 3))) for k in range(12)}
    emitted = {id_: atoms_of(["Na"] * 2, rng.random((2, 3))) for id_ in truth}
    frame = score_all(emitted, truth, repeats=4, seed=3)
    null = frame[(frame["lists"] != "own") & (frame["score"] == "strict")].iloc[0]
    ids, means = list(truth), []
    for pairs in null_pairs(12, 4, seed=3):
        scores = [SCORES["strict"](emitted[ids[k]], truth[id_]) for id_, k in zip(ids, pairs)]
        means.append(np.mean([one.recall for one in scores]))
    assert null["sd_mean_recall"] == pytest.approx(np.std(means, ddof=1))
    assert null["mean_recall"] == pytest.approx(np.mean(means))
