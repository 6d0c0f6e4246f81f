"""Features, the metric rule, forests and resampling on cells that are known."""

import dataclasses
import sys

import numpy as np
import pytest
from pymatgen.core import Lattice, Structure

from rc_hpc.core.errors import RcError
from rc_hpc.ladder import baselines, resampling

CELLS = {
    "cubic": Lattice.cubic(4),
    "hexagonal_or_trigonal": Lattice.hexagonal(3, 7),
    "rhombohedral": Lattice.rhombohedral(5, 70),
    "tetragonal": Lattice.tetragonal(4, 6),
    "orthorhombic": Lattice.orthorhombic(4, 5, 6),
    "monoclinic": Lattice.monoclinic(4, 5, 6, 100),
    "triclinic": Lattice.from_parameters(4, 5, 6, 80, 95, 100),
}
LATTICES = np.array([lattice.matrix for lattice in CELLS.values()])


def test_features_are_pymatgens():
    structure = Structure(
        CELLS["triclinic"], ["Na", "Cl", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5], [0.2, 0.1, 0.4]]
    )
    lattice = structure.lattice
    mass = float(structure.composition.weight) / 3
    row = dict(
        zip(
            baselines.FEATURES,
            baselines.features(lattice.matrix[None], np.array([3]), np.array([mass]))[0],
            strict=True,
        )
    )
    assert [row[name] for name in ("a", "b", "c", "alpha", "beta", "gamma")] == pytest.approx(
        lattice.parameters
    )
    assert row["volume"] == pytest.approx(lattice.volume) and row["density"] == pytest.approx(
        float(structure.density), rel=1e-8
    )
    assert [row[name] for name in ("min/mid", "mid/max", "min/max")] == pytest.approx(
        [4 / 5, 5 / 6, 4 / 6]
    )
    assert [
        row[name]
        for name in ("|alpha-90|", "|beta-90|", "|gamma-90|", "|gamma-120|", "angle range")
    ] == pytest.approx([10, 5, 10, 20, 20])
    assert row["angle sd"] == pytest.approx(np.std([80, 95, 100])) and row[
        "edge sd/mean"
    ] == pytest.approx(np.std([4, 5, 6]) / 5)
    assert row["n_sites"] == 3


def test_features_are_rounded(monkeypatch):
    cell = LATTICES[4:5]

    def both():
        cells = cell, cell * (1 + 1e-14)
        return (baselines.features(one, np.array([3]), np.array([20.0])) for one in cells)

    one, two = both()
    assert np.array_equal(one, two)
    monkeypatch.setattr(baselines, "DECIMALS", 16)
    assert not np.array_equal(*both())
    assert np.array_equal(baselines.shape_free(one), one[:, [17, 18, 6]])


def test_metric_classes_of_ideal_cells():
    assert baselines.metric_class(LATTICES).tolist() == list(CELLS)


@pytest.mark.parametrize(
    ("lattice", "expected"),
    [
        (Lattice.tetragonal(4, 4.079), "cubic"),
        (Lattice.tetragonal(4, 4.1), "tetragonal"),
        (Lattice.monoclinic(4, 5, 6, 90.9), "orthorhombic"),
        (Lattice.monoclinic(4, 5, 6, 91.1), "monoclinic"),
        (Lattice.from_parameters(3, 3.05, 7, 90, 90, 119.5), "hexagonal_or_trigonal"),
        (Lattice.from_parameters(3, 3.1, 7, 90, 90, 119.5), "triclinic"),
        (Lattice.rhombohedral(5, 90.5), "cubic"),
    ],
)
def test_metric_tolerances(lattice, expected):
    assert baselines.metric_class(lattice.matrix[None]) == [expected]


def test_metric_rule_and_sufficiency():
    classes = np.array(["hexagonal_or_trigonal", "rhombohedral", "rhombohedral", "cubic", "cubic"])
    assert baselines.metric_rule(classes).tolist() == [
        "hexagonal",
        "trigonal",
        "trigonal",
        "cubic",
        "cubic",
    ]
    assert baselines.metric_rule(classes, "trigonal")[0] == "trigonal"
    truth = np.array(["hexagonal", "trigonal", "triclinic", "cubic", "tetragonal"])
    assert baselines.cue_sufficient(classes, truth).tolist() == [False, True, False, True, False]


def test_forest_learns_and_is_seeded():
    rng = np.random.default_rng(0)
    x = rng.random((200, 3))
    y = np.where(x[:, 1] > 0.5, "cubic", "trigonal")
    first, again = (baselines.forest(x[:150], y[:150], x[150:], 20) for _ in range(2))
    assert (first == y[150:]).mean() > 0.9 and np.array_equal(first, again)
    assert baselines.majority(["b", "a", "b"]) == ("b", 2)


def test_forest_without_scikit_learn_names_the_cure(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(RcError, match=r"rc_hpc\[ladder\]"):
        baselines.forest(np.zeros((2, 1)), ["a", "b"], np.zeros((1, 1)))


@pytest.fixture(scope="module")
def pool():
    rng = np.random.default_rng(5)
    symbols = ["H", "O", "Na", "Cl", "Fe", "Ti", "Mn", "Cu"]
    elements = [frozenset(rng.choice(symbols, 2, replace=False).tolist()) for _ in range(300)]
    evaluation = np.arange(300) < 30
    elements = [
        found | {("Zn", "Ga", "Al")[row % 3]} if evaluation[row] else found
        for row, found in enumerate(elements)
    ]
    formulas = np.array(["".join(sorted(found)) + str(rng.integers(1, 4)) for found in elements])
    systems = np.array(["cubic", "trigonal", "triclinic"])[np.arange(300) // 2 % 3]
    return resampling.Pool(systems, formulas, elements, evaluation)


@pytest.mark.parametrize("regime", resampling.REGIMES)
def test_splits_are_disjoint_balanced_and_seeded(pool, regime):
    found = list(resampling.splits(pool, regime, 4, seed=3))
    for train, test in found:
        assert not set(train) & set(test) and len(set(train)) == len(train) and len(train) > 50
        assert np.unique(pool.systems[test], return_counts=True)[1].tolist() == [10, 10, 10]
    longer = list(resampling.splits(pool, regime, 6, seed=3))
    for (train, test), (same_train, same_test) in zip(found, longer, strict=False):
        assert np.array_equal(train, same_train) and np.array_equal(test, same_test)
    assert any(not np.array_equal(found[0][k], found[1][k]) for k in (0, 1))


def test_what_each_regime_keeps_apart(pool):
    assert pool.reserved == {"Zn", "Ga", "Al"}
    for train, test in resampling.splits(pool, "formula-disjoint", 3):
        assert not set(pool.formulas[train]) & set(pool.formulas[test])
    for train, test in resampling.splits(pool, "redrawn-elements", 3):
        seen = frozenset().union(*(pool.elements[row] for row in train))
        assert all(pool.elements[row] - seen for row in test)
    for train, test in resampling.splits(pool, "balanced-subsample", 3):
        assert np.array_equal(test, np.arange(30)) and len(train) == 3 * 45


def test_impossible_regimes_are_refused(pool):
    same = dataclasses.replace(pool, elements=[frozenset({"O"})] * 300, formulas=np.full(300, "O2"))
    with pytest.raises(RcError, match="reserves no element"):
        list(resampling.splits(same, "redrawn-elements", 1))
    with pytest.raises(RcError, match="shares a formula"):
        list(resampling.splits(same, "formula-disjoint", 1))
    one = [frozenset({"H", "O"}), *[frozenset({"H"})] * 299]  # O holds one structure, H all of them
    with pytest.raises(RcError, match="none left 10 structures of each class"):
        list(resampling.splits(dataclasses.replace(pool, elements=one), "redrawn-elements", 1))
