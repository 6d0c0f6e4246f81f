"""The frontier oracle against a census at every delta, and shared labels."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from oracle_cases import same_cells

from rc_hpc.core.errors import UsageError
from rc_hpc.core.vocabulary import ENUMERATIONS, MERGE_RULES, LabelStatus
from rc_hpc.geometry.protocol import load_protocol, parse_subsets
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.oracle import CensusOracle
from rc_hpc.kinds.frontier.options import FrontierOptions
from rc_hpc.kinds.frontier.oracle import FrontierOracle
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.oracle.labels import LabelTable, SpaceGroupLabel
from rc_hpc.structures.synthetic import random_crystal
from rc_hpc.symmetry.conventional import conventional_cell
from rc_hpc.symmetry.guard import min_distances
from rc_hpc.symmetry.labels import label_cell

FROZEN = load_protocol("frozen")
DELTAS = (0.002, 0.01, 0.06, 0.2, 0.45)
LABELS = ("crystal_system", "bravais", "point_group", "space_group")


def options_of(kind, protocol=FROZEN, subsets="all", **more):
    return kind(
        {"name": protocol.name, **protocol.identity()},
        parse_subsets(subsets, protocol.views),
        **more,
    )


def packed(lattice, frac, numbers, id_="x"):
    drawn = conventional_cell(lattice, frac, numbers)
    label, _ = label_cell(lattice, frac, numbers)
    again, _ = label_cell(
        drawn.lattice, drawn.positions @ np.linalg.inv(drawn.lattice), drawn.numbers
    )
    separation = min_distances(drawn.lattice, drawn.positions, drawn.numbers)[0]
    return PackedCell(
        id_, drawn.lattice, drawn.positions, drawn.numbers, label.number, again.number, separation
    )


@pytest.fixture(scope="module")
def crystals():
    """Small crystals, one of them with an atom off its site."""
    found = [packed(*random_crystal(7, k, 8)[:3], f"c{k}") for k in range(5)]
    where = found[1].positions.copy()
    where[0] += [0.003, 0.002, 0.001]
    return [*found, replace(found[1], id="off", positions=where)]


@pytest.mark.long
@pytest.mark.parametrize("tiling", [(1, 1, 1), (2, 1, 1)])
def test_every_point_is_the_census_there(crystals, tiling):
    protocol = load_protocol("frozen", tiling)
    subsets = "axis_a+axis_b,axis_a+axis_c+oblique2,axis_a+axis_b+axis_c+body_diagonal+oblique2"
    oracle = FrontierOracle(
        protocol,
        options_of(
            FrontierOptions,
            protocol,
            subsets,
            deltas=DELTAS,
            enumerations=ENUMERATIONS,
            rules=MERGE_RULES,
        ),
    )
    differing = 0
    for crystal in crystals:
        fields, children = oracle.run(crystal)
        assert fields["frontier/n_recovered"].shape == (10, len(DELTAS), 3)
        for r, (enumeration, rule) in enumerate(oracle.options.readings):
            for d, delta in enumerate(DELTAS):
                census = CensusOracle(
                    protocol,
                    options_of(
                        CensusOptions,
                        protocol,
                        subsets,
                        delta=delta,
                        enumeration=enumeration,
                        merge=rule,
                    ),
                )
                wanted, _ = census.run(crystal)
                where = f"{crystal.id} {enumeration} {rule} {delta}"
                for name in ("n_recovered", "point_error"):
                    np.testing.assert_allclose(
                        fields[f"frontier/{name}"][r, d],
                        wanted[f"cells/{name}"],
                        atol=1e-9,
                        err_msg=where,
                    )
                for name in (
                    "space_group",
                    "label_status",
                    *(f"correct_{label}" for label in LABELS),
                ):
                    np.testing.assert_array_equal(
                        fields[f"frontier/{name}"][r, d, 0], wanted[f"cells/{name}"], err_msg=where
                    )
                np.testing.assert_array_equal(
                    fields["frontier/certified"][d], wanted["cells/certified"], err_msg=where
                )
                differing += np.sum(wanted["cells/reconstruction"] != 0)
        for name in ("phantom_delta", "phantom_delta_exact"):
            np.testing.assert_allclose(
                fields[f"frontier/{name}"], wanted[f"cells/{name}"], atol=1e-12
            )
        assert fields["structures/delta_max"] == wanted["structures/delta_max"]
        profile = children["profile"]
        firsts = [
            profile["delta_from"][(profile["subset"] == k) & (profile["kind"] == 0)].min(
                initial=np.inf
            )
            for k in range(3)
        ]
        np.testing.assert_array_equal(firsts, fields["frontier/phantom_delta"])
    assert differing > 50, "the crystals are too easy"


def test_the_default_rule_labels_each_reconstruction_once(crystals, monkeypatch):
    calls = []
    label = SpaceGroupLabel.label
    monkeypatch.setattr(
        SpaceGroupLabel, "label", lambda *args: calls.append(args[2:4]) or label(*args)
    )
    deltas = tuple(np.geomspace(0.001, 0.5, 20).tolist())
    for crystal in crystals:
        calls.clear()
        fields, _ = FrontierOracle(FROZEN, options_of(FrontierOptions, deltas=deltas)).run(crystal)
        for one, other in itertools.combinations(calls, 2):
            assert not same_cells(one, other), "one reconstruction was labelled twice"
        assert len(calls) < fields["frontier/n_recovered"].size / 10


def test_symprec_is_an_axis_and_the_truth_stays(crystals):
    symprecs = (0.001, 0.01, 0.1)
    options = options_of(FrontierOptions, subsets="full", deltas=(0.01,), symprecs=symprecs)
    off = crystals[-1]
    fields, _ = FrontierOracle(FROZEN, options).run(off)
    frac = off.positions @ np.linalg.inv(off.lattice)
    wanted = [label_cell(off.lattice, frac, off.numbers, symprec)[0].number for symprec in symprecs]
    assert fields["frontier/space_group"][0, 0, :, 0].tolist() == wanted
    assert fields["frontier/correct_space_group"][0, 0, :, 0].tolist() == [
        group == off.space_group for group in wanted
    ]
    assert len(set(wanted)) > 1, "the crystal is too stable for this test"


def test_labels_are_shared_by_equal_sets_and_by_order_where_it_counts():
    rng = np.random.default_rng(1)
    kinds, numbers, where = (
        np.array([8, 22]),
        np.array([8, 8, 8, 22, 22]),
        rng.uniform(0, 3, (5, 3)),
    )
    turned = np.array([2, 0, 1, 4, 3])
    labellers = [SpaceGroupLabel(symprec) for symprec in (0.01, 0.1)]
    for ordered, wanted in ((False, 2), (True, 3)):
        table = LabelTable(4 * np.eye(3), labellers, ordered)
        first = table.labels(kinds, numbers, where)
        assert table.labels(kinds, numbers, where + 1e-10) is first
        assert (table.labels(kinds, numbers[turned], where[turned]) is first) == (not ordered)
        assert table.labels(kinds, numbers, where + 1e-6) is not first
        assert len(table) == wanted
        assert all(array.shape == (2,) for array in first)
    groups, outcomes = table.labels(kinds, numbers[:0], where[:0])
    assert groups.tolist() == [0, 0] and outcomes.tolist() == [LabelStatus.no_atoms] * 2


@pytest.mark.parametrize(
    "more, message",
    [
        ({"deltas": ()}, "--deltas must be"),
        ({"deltas": (0.1, 0.01)}, "ascending"),
        ({"deltas": (0.1, 0.1)}, "different"),
        ({"deltas": (-0.1,)}, "positive"),
        ({"deltas": (1e-12,)}, "numerical zero"),
        ({"deltas": (0.6,)}, "--delta-max"),
        ({"deltas": (0.1,), "symprecs": ()}, "--symprecs"),
        ({"deltas": (0.1,), "rules": ("best",)}, "--rules"),
        ({"deltas": (0.1,), "rules": ()}, "--rules"),
        ({"deltas": (0.1,), "enumerations": ("anchor", "anchor")}, "--enumerations"),
        ({"deltas": (0.1,), "truth": "mine"}, "--truth"),
    ],
)
def test_options_that_cannot_be_are_refused(more, message):
    with pytest.raises(UsageError, match=message):
        options_of(FrontierOptions, **more)
