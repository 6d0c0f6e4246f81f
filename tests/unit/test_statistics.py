"""The tests of the ladder against other programs, their definitions and the record."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from rc_hpc.ladder import family
from rc_hpc.stats import statistics

#: P and P + S of the 14 scored models at both released ceilings (210 and 200).
P = np.array([25, 50, 18, 11, 1, 16, 10, 44, 35, 47, 47, 63, 60, 64])
S = np.array([31, 31, 70, 106, 116, 115, 123, 96, 121, 115, 115, 104, 112, 115])
R4 = np.array([154, 129, 122, 93, 93, 79, 77, 70, 54, 48, 48, 43, 38, 31])
EXACT, LOOSE = P / (P + S), P / (P + S - 10)


@given(st.integers(0, 300), st.integers(0, 300))
def test_sign_test_is_exact_mcnemar(greater, less):
    expected = mcnemar([[0, greater], [less, 0]], exact=True).pvalue if greater + less else 1.0
    assert statistics.sign_test(greater, less) == pytest.approx(min(1.0, expected), rel=1e-9)


@pytest.mark.parametrize(
    ("greater", "less", "p"),
    [
        (13, 1, 0.0018310546875),
        (12, 2, 0.012939453125),
        (61, 6, 1.4944372777e-12),
        (65, 0, 5.421e-20),
        (18, 3, 0.0014896),
        (102, 2, 5.385e-28),
        (72, 8, 5.375e-14),
        (35, 6, 4.874e-06),
        (37, 2, 2.841e-09),
        (13, 13, 1.0),
        (9, 13, 0.523467),
        (0, 22, 4.768e-07),
        (9, 0, 0.00390625),
        (16, 4, 0.011818),
        (28, 17, 0.1352),
        (24, 19, 0.5424),
        (24, 32, 0.3497),
    ],
)
def test_recorded_sign_tests(greater, less, p):
    assert statistics.sign_test(greater, less) == pytest.approx(p, rel=1e-3)


def test_binomial_tests_and_bounds():
    assert statistics.binomial_test(93, 210, 111 / 210, "less") == pytest.approx(0.0078, abs=5e-5)
    for count, p in ((43, 0.008999), (38, 0.072835), (31, 0.451505)):
        assert statistics.binomial_test(count, 210, 1 / 7, "greater") == pytest.approx(p, abs=5e-7)
    assert (
        statistics.exact_lower_bound(220, 220)
        == pytest.approx(0.9864753, abs=5e-8)
        == 0.05 ** (1 / 220)
    )
    assert statistics.exact_lower_bound(0, 20) == 0


def test_bootstrap_of_the_median_follows_the_released_protocol():
    for shares, median, ends in (
        (EXACT, 0.290123, (0.14928127, 0.3575419)),
        (LOOSE, 0.309211, (0.16678648, 0.37869822)),
    ):
        assert np.median(shares) == pytest.approx(median, abs=5e-7)
        assert statistics.bootstrap_median(shares)[:2] == pytest.approx(ends, abs=5e-8)
    rng = np.random.default_rng(0)  # one resample after the other gives the same draws
    medians = [np.median(EXACT[rng.integers(0, 14, 14)]) for _ in range(20_000)]
    assert statistics.bootstrap_median(EXACT)[:2] == tuple(np.percentile(medians, [2.5, 97.5]))
    assert np.isnan(statistics.bootstrap_median([])[:2]).all()


def test_accuracies_rounded_to_four_decimals_move_the_ends():
    r3, r4 = np.round((R4 + P) / 210, 4), np.round(R4 / 210, 4)
    assert statistics.bootstrap_median((r3 - r4) / (1 - r4))[:2] == pytest.approx(
        (0.14920681, 0.3575786), abs=5e-8
    )


@pytest.mark.parametrize(
    ("shares", "ranks", "expected"),
    [
        (EXACT, (3, 11), (0.094017, 0.357542, 0.96484375)),
        (EXACT, (3, 12), (0.094017, 0.377246, 0.987061)),
        (EXACT, (4, 11), (0.122137, 0.357542, 0.942627)),
        (LOOSE, (3, 11), (0.1028, 0.3787, 0.96484375)),
        (LOOSE, (3, 12), (0.1028, 0.4013, 0.987061)),
    ],
)
def test_order_statistic_intervals(shares, ranks, expected):
    assert statistics.order_statistic_interval(shares, *ranks) == pytest.approx(expected, abs=6e-5)


def test_order_statistic_coverage_is_what_it_says():
    rng = np.random.default_rng(0)
    ordered = np.sort(rng.random((20_000, 14)), axis=1)
    covered = np.mean((ordered[:, 3] <= 0.5) & (ordered[:, 10] >= 0.5))
    assert statistics.order_statistic_interval(np.arange(14), 4, 11).coverage == pytest.approx(
        covered, abs=0.01
    )
    for ranks in ((0, 3), (3, 3), (3, 15)):
        with pytest.raises(ValueError, match="ranks"):
            statistics.order_statistic_interval(np.arange(14), *ranks)


def test_spearman_of_the_record():
    for shares in (EXACT, LOOSE):
        assert statistics.spearman(shares, R4) == pytest.approx((-0.158765, 0.587737), abs=5e-7)
    found = statistics.spearman(P, R4)
    assert found == pytest.approx((-0.643881, 0.012956), abs=5e-7)
    assert statistics.spearman_p(found.rho, 14) == pytest.approx(found.p, rel=1e-9)
    assert (
        np.isnan(statistics.spearman([1, 1, 1], [1, 2, 3])).all()
        and np.isnan(statistics.spearman([1], [2])).all()
    )


def test_kruskal_wallis_effect_sizes():
    values, groups = [1, 2, 3, 4, 5, 6], list("aabbcc")
    found = statistics.kruskal_wallis(values, groups)
    assert found.h == pytest.approx(12 / (6 * 7) * (3**2 / 2 + 7**2 / 2 + 11**2 / 2) - 3 * 7)
    assert (found.df, found.eta2) == (2, pytest.approx(16 / 17.5))
    assert found.eta2_h == pytest.approx((found.h - 2) / 3) and found.epsilon2 == pytest.approx(
        found.h / 5
    )
    assert statistics.chi2_p(found.h, 2) == pytest.approx(found.p, rel=1e-12)


def test_fisher_of_the_record():
    assert statistics.fisher(816, 1470, 754, 1470) == pytest.approx(0.0241013777, abs=5e-11)
    for a, b, p in ((117, 37, 4.9506e-06), (93, 36, 0.050152), (87, 35, 0.104012)):
        assert statistics.fisher(a, 140, b, 70) == pytest.approx(p, rel=1e-4)
    for a, b, p in ((121, 34, 4.0015e-08), (101, 23, 2.3104e-07), (95, 27, 0.0001733)):
        assert statistics.fisher(a, 141, b, 69) == pytest.approx(p, rel=1e-3)


@given(st.lists(st.floats(1e-300, 1), min_size=1, max_size=30))
def test_benjamini_hochberg_as_statsmodels(p):
    np.testing.assert_allclose(
        statistics.benjamini_hochberg(p), multipletests(p, method="fdr_bh")[1], rtol=1e-9
    )


def test_clusters_are_permuted_whole():
    rng = np.random.default_rng(3)
    x = rng.permutation(40).astype(float)
    own = x + rng.normal(0, 40, 40) > 20
    copies = np.tile(own, (30, 1))  # thirty models that answer alike are one piece of evidence
    pooled, clustered = (
        statistics.pooled_spearman(copies, x),
        statistics.clustered_spearman(copies, x),
    )
    alone = statistics.clustered_spearman(own[None], x)
    assert pooled.rho == pytest.approx(statistics.spearman(x, own).rho)
    assert pooled.p < 1e-4 and alone.p > 0.2 and alone.p == pytest.approx(clustered.p, abs=0.02)
    related = np.tile(x < 20, (3, 1))
    assert statistics.clustered_spearman(related, x).p == pytest.approx(2e-4)
    assert statistics.clustered_spearman(copies, x) == clustered  # seeded
    assert np.isnan(statistics.clustered_spearman(np.ones((3, 40), bool), x)).all()


def test_the_family_and_its_adjusted_values():
    frame = family.adjusted()
    assert (
        len(frame) == 26
        and frame["p"].is_monotonic_increasing
        and list(frame["rank"]) == list(range(1, 27))
    )
    assert (frame["kind"] == "sign").sum() == 21 and frame["test"].is_unique
    fisher = frame[frame["kind"] == "fisher"].iloc[0]
    assert (
        fisher["rank"] == 9
        and fisher["p"] == pytest.approx(0.0241014, abs=5e-8)
        and fisher["adjusted_p"] == pytest.approx(0.0696, abs=5e-5)
    )
    for p, adjusted in ((0.012956, 0.0421), (0.0018310546875, 0.0068), (0.587737, 0.8989)):
        row = frame.iloc[(frame["p"] - p).abs().argmin()]
        assert row["p"] == pytest.approx(p, abs=1e-6) and row["adjusted_p"] == pytest.approx(
            adjusted, abs=5e-5
        )
    nominal = frame[frame["p"] < 0.05]
    assert len(nominal) == 9 and (nominal["adjusted_p"] >= 0.05).sum() == 1


def test_unknown_tests_of_a_family_are_refused():
    with pytest.raises(ValueError, match="no test 'wilcoxon'"):
        family.p_value({"name": "x", "test": "wilcoxon"})


@pytest.mark.data
def test_the_whole_family_equals_the_expected_one(shared):
    expected = json.loads((shared / "expected" / "models.json").read_text())["tests26"]["bh"]
    frame = family.adjusted()
    np.testing.assert_allclose(frame["p"], [test["p"] for test in expected], rtol=2e-5)
    np.testing.assert_allclose(frame["adjusted_p"], [test["p_adj"] for test in expected], rtol=2e-5)
