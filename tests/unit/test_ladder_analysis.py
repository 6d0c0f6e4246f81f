"""The ladder's frames and contrasts on small arrays whose answers are known."""

import numpy as np
import pytest

from rc_hpc.ladder import contrasts
from rc_hpc.ladder import rungs as ladder

N = 20


def right(*counts):
    """One row per count: the first structures are right."""
    return np.array([np.arange(N) < count for count in counts])


def rungs(r4=(4, 10, 8), r3=(10, 14, 6), unscored=("", "", "")):
    return ladder.Rungs(("a", "b", "c"), right(*r4), right(*r3), unscored)


CEILINGS = {"R1": np.ones(N, bool), "R1^0.15": np.arange(N) < 18}


def test_table_counts_and_shares():
    frame = ladder.table(rungs(), CEILINGS).set_index("model")
    assert list(frame.index) == ["b", "c", "a"]
    assert frame.loc[
        "a", ["R4_count", "R3_count", "P", "S_R1", "S_R1^0.15", "R3_only", "R4_only"]
    ].tolist() == [4, 10, 6, 10, 8, 6, 0]
    assert frame.loc["a", "share_R1"] == 6 / 16 and frame.loc["a", "share_R1^0.15"] == 6 / 14
    assert (
        frame.loc["c", ["P", "S_R1", "R3_only", "R4_only"]].tolist() == [-2, 14, 0, 2]
        and frame.loc["c", "p"] == 0.5
    )
    assert frame["P"].dtype == frame["S_R1"].dtype == np.int64


def test_share_without_a_shortfall_is_undefined():
    full = ladder.Rungs(("a",), right(N), right(N), ("",))
    p, s, share = full.parts(CEILINGS["R1"])
    assert (p[0], s[0]) == (0, 0) and np.isnan(share[0])
    statistics = ladder.over_models(full, CEILINGS)
    dominance = statistics[statistics["quantity"].str.startswith("residual")].iloc[0]
    assert dominance["n"] == 0 and dominance["p"] == 1


def test_unscored_rows_are_shown_and_left_out():
    found = rungs(unscored=("", "", "api errors above 5 %"))
    assert ladder.table(found, CEILINGS)["unscored"].tolist() == ["", "api errors above 5 %", ""]
    assert found.only_scored().models == ("a", "b")
    nonpositive = (
        ladder.over_models(found, CEILINGS).query("quantity == 'models with P <= 0'").iloc[0]
    )
    assert (nonpositive["count"], nonpositive["n"]) == (0, 2)
    with_all = (
        ladder.over_models(rungs(), CEILINGS).query("quantity == 'models with P <= 0'").iloc[0]
    )
    assert (with_all["count"], with_all["models"]) == (1, "c")


def test_dominance_names_the_exceptions():
    found = rungs(r3=(10, 18, 6))
    frame = ladder.over_models(found, CEILINGS)
    row = frame[frame["quantity"].str.startswith("residual") & (frame["ceiling"] == "R1")].iloc[0]
    assert (row["count"], row["n"], row["models"], row["p"]) == (2, 3, "all but b", 1.0)


def test_sensitivity_takes_fractions():
    half = ladder.Rungs(("a",), np.full((1, N), 0.5), np.full((1, N), 0.75), ("",))
    row = ladder.sensitivity({"expected": half}, CEILINGS).iloc[0]
    assert (row["mean_R4"], row["mean_R3"], row["median_share"], row["dominant"]) == (
        0.5,
        0.75,
        0.5,
        0,
    )


def test_groups_use_their_own_structures_and_ceiling():
    first = np.arange(N) < 10
    frame = ladder.by_group(
        rungs(), CEILINGS["R1^0.15"], {"first": first, "last": ~first, "none": np.zeros(N, bool)}
    ).set_index("group")
    assert list(frame.index) == ["first", "last"]
    assert (
        frame.loc["first", "mean_R4"] == pytest.approx((4 + 10 + 8) / 30)
        and frame.loc["first", "structures"] == 10
    )
    # b on the last ten: R4 0, R3 4, ceiling 8; a and c: R4 0, R3 0
    assert frame.loc["last", "median_share"] == 0 and frame.loc["last", "nonpositive_P"] == 2


def test_length_finds_the_sign():
    x = np.arange(N)
    frame = ladder.length(right(8, 9, 10), {"size": x, "smallness": -x}).set_index("against")
    assert frame.loc["size", "rho"] == -frame.loc["smallness", "rho"] < -0.8
    assert frame["negative"].tolist() == [3, 0] and frame["significant"].tolist() == [3, 3]
    assert (frame["pooled_p"] < frame["clustered_p"]).all()
    split = ladder.length_split(right(8, 9, 10), {"size": x}).iloc[0]
    assert split[
        ["border", "right_up_to", "pairs_up_to", "right_above", "pairs_above"]
    ].tolist() == [9, 27, 30, 0, 30]


def test_paired_counts():
    found = contrasts.paired([1, 1, 0, 0, 1], [1, 0, 1, 0, 0])
    assert found == {"n": 5, "first": 3, "second": 2, "only_first": 2, "only_second": 1, "p": 1.0}


def test_question_only_rows_that_are_not_scored_have_no_test():
    frame = contrasts.question_only(["a", "b"], right(15, 18), right(3, 4), ["", "refused"], 1 / 7)
    assert frame["model"].tolist() == ["b", "a"] and frame["p"].isna().tolist() == [True, False]
    assert frame.set_index("model").loc["a", ["image_only", "text_only"]].tolist() == [12, 0]
    summary = contrasts.question_only_summary(frame)
    assert summary["value"].tolist()[:2] == pytest.approx([3 / 20, 7 / 40])


def test_exchangeability_tells_votes_that_follow_the_structure():
    rng = np.random.default_rng(1)
    random = rng.multinomial(3, [0.5, 0.3, 0.2], size=60)
    follows = np.array([np.eye(3, dtype=int)[k % 3] * 3 for k in range(60)])
    frame = contrasts.exchangeability(
        ["random", "follows", "silent"], [random, follows, np.zeros((60, 3), int)], 200
    ).set_index("arm")
    assert frame.loc["random", "p"] > 0.05 and frame.loc["random", "agreement"] == pytest.approx(
        frame.loc["random", "expected"], abs=0.1
    )
    assert frame.loc["follows", "agreement"] == 1 and frame.loc["follows", "p"] == pytest.approx(
        1 / 201
    )
    assert frame.loc["follows", "expected"] == pytest.approx(3 * (60 * 59) / (180 * 179))
    assert frame.loc["silent", "votes"] == 0 and np.isnan(frame.loc["silent", "p"])


def test_strata_and_headroom():
    masks = {"first": np.arange(N) < 10, "last": np.arange(N) >= 10, "none": np.zeros(N, bool)}
    frame = contrasts.by_stratum(
        {"old new": (right(4)[0], right(12)[0])}, masks, {"R1": 1.0, "loose": 0.9}
    ).set_index("stratum")
    assert frame.loc["first", ["n", "first", "second", "only_second"]].tolist() == [10, 4, 10, 6]
    assert frame.loc["first", "headroom_R1"] == 1 and frame.loc[
        "last", "headroom_loose"
    ] == pytest.approx(0.2 / 0.9)
    assert "none" not in frame.index


def test_sufficiency_gap():
    row = contrasts.sufficiency(["a"], right(12), np.arange(N) < 10).iloc[0]
    assert row[["sufficient", "of_sufficient", "ambiguous", "of_ambiguous"]].tolist() == [
        10,
        10,
        2,
        10,
    ] and row["gap"] == pytest.approx(0.8)
