"""Counts and frames of the ceilings, and their intervals."""

import math

import numpy as np
import pytest
from pandas.testing import assert_frame_equal
from scipy.stats import binomtest
from tables_cases import LABELS, options_of, random_batch

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.kinds.census import frames as ceilings
from rc_hpc.kinds.census.tally import CELL_COLUMNS, STRUCTURE_COLUMNS, tally
from rc_hpc.kinds.common.subsets import Subsets
from rc_hpc.stats.intervals import wilson


@pytest.mark.parametrize(
    ("k", "n"),
    [
        (0, 1),
        (1, 1),
        (0, 210),
        (1, 210),
        (200, 210),
        (209, 210),
        (210, 210),
        (3, 7),
        (499_999, 1_000_000),
    ],
)
@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_wilson_equals_scipy(k, n, confidence):
    expected = binomtest(k, n).proportion_ci(confidence, method="wilson")
    assert wilson(k, n, confidence) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_of_nothing_and_of_other_confidences():
    assert all(math.isnan(limit) for limit in wilson(0, 0))
    low, high = wilson(200, 210)
    assert wilson(200, 210, 0.99)[0] < low and high < wilson(200, 210, 0.99)[1]


SUBSETS = Subsets(
    ("a+b", "a+c", "b+c", "a+b+c"), np.array([2, 2, 2, 3]), np.array([1.0, 2.0, np.inf, 2.0]), 3
)


def rows_of(n, seed=0):
    """Columns of n computed structures over SUBSETS."""
    batch = random_batch(
        options_of("axis_a+axis_b,axis_a+axis_c,axis_b+axis_c,axis_a+axis_b+axis_c"), 4 * n, seed
    )
    done = np.flatnonzero(batch["structures/status"] == 0)[:n]
    assert len(done) == n
    rows = {name: batch[f"structures/{name}"][done] for name in STRUCTURE_COLUMNS}
    rows |= {name: batch[f"cells/{name}"][done] for name in CELL_COLUMNS if name != "labelled"}
    return rows | {"labelled": batch["cells/label_status"][done] == 0}


def assert_equal(a, b):
    for name in vars(a):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.mark.parametrize("cut", [0, 1, 17, 40])
def test_tallies_of_disjoint_sets_add_up(cut):
    rows = rows_of(40)
    parts = [
        tally({name: values[piece] for name, values in rows.items()}, "stored", 2)
        for piece in (slice(cut), slice(cut, None))
    ]
    assert_equal(parts[0] + parts[1], tally(rows, "stored", 2))
    assert_equal(parts[1] + parts[0], tally(rows, "stored", 2))


@pytest.mark.parametrize("truth", ["stored", "conventional"])
def test_frames_agree_with_counting_one_by_one(truth):
    rows, n = rows_of(40), 40
    suffix = "" if truth == "stored" else "_conventional"
    t = tally(rows, truth, 8)
    frame = ceilings.by_subset({"all": t}, SUBSETS)
    for k in range(4):
        row = frame.iloc[k]
        right = [bool(rows["correct_crystal_system"][i, k]) for i in range(n)]
        found = [int(rows["n_phantoms"][i, k]) for i in range(n)]
        exact = [int(rows["n_phantoms_exact"][i, k]) for i in range(n)]
        excess = [int(rows["n_recovered"][i, k]) - 8 * int(rows["n_atoms"][i]) for i in range(n)]
        assert (row["R1_count"], row["n"]) == (sum(right), n)
        assert row["R1"] == sum(right) / n
        assert (row["R1_low95"], row["R1_high95"]) == pytest.approx(wilson(sum(right), n), abs=1e-7)
        assert (row["phantoms"], row["with_phantoms"]) == (sum(found), sum(x > 0 for x in found))
        assert (row["meeting_phantoms"], row["with_meeting_phantoms"]) == (
            sum(exact),
            sum(x > 0 for x in exact),
        )
        assert row["mean_excess"] == pytest.approx(sum(excess) / n)
        assert row["unlabelled"] == sum(not rows["labelled"][i, k] for i in range(n))
    labels = ceilings.by_granularity({"all": t}, SUBSETS)
    for g, name in enumerate(LABELS):
        row = labels.iloc[g]
        correct = rows[f"correct_{name}"]
        assert row["classes"] == len(set(rows[name + suffix].tolist()))
        assert row["R0_count"] == sum(
            a == b for a, b in zip(rows[name], rows[f"{name}_conventional"], strict=True)
        )
        assert row["R1_count"] == correct[:, 3].sum()
        assert row["R1_mean_2_views"] == pytest.approx(correct[:, :3].mean())
    systems = ceilings.by_system({"all": t}, SUBSETS)
    assert list(systems["crystal_system"]) == list(CRYSTAL_SYSTEMS)
    for code, row in enumerate(systems.itertuples(), 1):
        of = [i for i in range(n) if rows["crystal_system" + suffix][i] == code]
        assert (row.n, row.R1_count) == (
            len(of),
            sum(rows["correct_crystal_system"][i, 3] for i in of),
        )
    assert systems["n"].sum() == n


def quantities(frame):
    return {(row["structures"], row["quantity"]): row for _, row in frame.iterrows()}


def test_reference_rows():
    rows = rows_of(40)
    rows["correct_crystal_system"] = np.zeros((40, 4), bool)
    for k, right in enumerate((40, 30, 20, 39)):
        rows["correct_crystal_system"][:right, k] = True
    rows["atom_error"][:] = 1e-14
    rows["atom_error"][7, 3], rows["point_error"][5, 3], rows["point_error"][6, 3] = (
        np.inf,
        np.nan,
        2.5,
    )
    found = quantities(ceilings.reference({"all": tally(rows, "stored")}, SUBSETS, 50, 3, 43))
    assert tuple(found["all", "structures, of all rows"][["count", "n"]]) == (40, 50)
    assert tuple(found["all", "quarantined, of all labelled"][["count", "n"]]) == (3, 43)
    two = found["all", "R1, subsets of 2 views"]
    assert tuple(two[["subsets", "count", "n", "fraction", "subset_min", "subset_max"]]) == (
        3,
        90,
        120,
        0.75,
        0.5,
        1.0,
    )
    assert np.isnan(two["low95"])
    full = found["all", "R1, full protocol"]
    assert tuple(full[["views", "subsets", "count", "n"]]) == (3, 1, 39, 40)
    assert tuple(full[["low95", "high95"]]) == pytest.approx(wilson(39, 40), abs=1e-7)
    assert found["all", "largest atom error, full protocol"]["length_angstrom"] == np.inf
    assert found["all", "largest point error, full protocol"]["length_angstrom"] == 2.5
    assert found["all", "certified, full protocol"]["count"] == rows["certified"][:, 3].sum()


def test_only_what_exists_is_shown():
    subsets = Subsets(("a+b",), np.array([2]), np.array([1.0]), None)
    rows = {
        name: values[:, :1] if values.ndim == 2 else values for name, values in rows_of(10).items()
    }
    sets = {"all": tally(rows, "stored")}
    frame = ceilings.reference(sets, subsets, 10, 0, 10)
    assert [q for q in frame["quantity"] if q.startswith(("R1", "cert", "larg"))] == [
        "R1, subsets of 2 views"
    ]
    (read,) = frame[frame["quantity"] == "R1, subsets of 2 views"].to_dict("records")
    assert read["low95"] < read["fraction"] < read["high95"]
    assert "R1" not in ceilings.by_system(
        sets, subsets
    ) and "R1_mean_2_views" in ceilings.by_system(sets, subsets)
    full = Subsets(("a+b",), np.array([2]), np.array([1.0]), 0)
    assert "R1" in ceilings.by_granularity(
        sets, full
    ) and "R1_mean_2_views" not in ceilings.by_granularity(sets, full)


def test_no_structure_gives_missing_fractions_not_an_error():
    sets = {"none": tally({name: values[:0] for name, values in rows_of(3).items()}, "stored")}
    frame = ceilings.by_subset(sets, SUBSETS)
    assert (frame["R1_count"] == 0).all() and frame[["R1", "R1_low95", "mean_excess"]].isna().all(
        axis=None
    )
    row = quantities(ceilings.reference(sets, SUBSETS, 3, 0, 0))[
        "none", "largest atom error, full protocol"
    ]
    assert np.isnan(row["length_angstrom"])


def test_a_missing_label_is_no_agreement():
    rows = rows_of(1)
    for name in LABELS:
        rows[name][:] = rows[f"{name}_conventional"][:] = 0
    frame = ceilings.by_granularity({"all": tally(rows, "stored")}, SUBSETS)
    assert (frame["R0_count"] == 0).all() and (frame["classes"] == 0).all()


def test_frames_do_not_depend_on_the_order_of_structures():
    rows = rows_of(40)
    order = np.random.default_rng(1).permutation(40)
    shuffled = {name: values[order] for name, values in rows.items()}
    for make in (ceilings.by_subset, ceilings.by_granularity, ceilings.by_system):
        assert_frame_equal(
            make({"all": tally(rows, "stored")}, SUBSETS),
            make({"all": tally(shuffled, "stored")}, SUBSETS),
        )
