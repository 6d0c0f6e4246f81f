"""Ties that the last decimals of a file decide: the scale at which they are judged."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rc_hpc.core.constants import SAME_RECONSTRUCTION, TIE
from rc_hpc.core.vocabulary import MERGE_RULES
from rc_hpc.geometry.protocol import load_protocol, parse_subsets
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.oracle import CensusOracle
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.oracle import pack_structure
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.structures.sources import iter_items

FROZEN = load_protocol("frozen")
#: What must not depend on decimals that no picture shows.
COLUMNS = ("n_recovered", "n_phantoms", "n_phantoms_exact", "n_phantoms_strict", "space_group")


def census(**asked):
    options = CensusOptions.of(**asked)
    return CensusOracle(protocol_of(options.protocol), options)


def columns_of(structure, oracle):
    fields = {}
    numbers, positions = pack_structure(structure, PackOptions(), fields)
    cell = PackedCell(
        structure.id,
        fields["lattice"],
        positions,
        numbers.astype(np.uint8),
        fields["space_group"],
        fields["space_group_conventional"],
        fields["min_same_species"],
    )
    columns, _ = oracle.run(cell)
    return {name.removeprefix("cells/"): value for name, value in columns.items()}


def thirds(digits):
    """A P1 crystal with atoms on thirds off by a seventh, its coordinates rounded as files are."""
    rng = np.random.default_rng(2)
    sites = [(i / 3, j / 3, k / 3) for i in range(3) for j in range(3) for k in range(3)]
    frac = np.array(sites)[rng.permutation(27)[:9]] + 1 / 7
    numbers = np.array([29] * 4 + [8] * 5)
    lattice = np.array([[8.85, 0, 0], [-4.425, 8.85 * np.sqrt(3) / 2, 0], [0, 0, 9.3]])
    item = next(iter(iter_items(["prototypes"])))
    structure = item.read(item, item.blob())
    frac = frac if digits is None else frac.round(digits)
    return replace(structure, lattice=lattice, frac=frac, numbers=numbers, source_space_group=0)


def test_eight_decimals_give_what_all_give():
    oracle = census()
    exact, rounded = columns_of(thirds(None), oracle), columns_of(thirds(8), oracle)
    for name in COLUMNS:
        np.testing.assert_array_equal(exact[name], rounded[name], err_msg=name)
    assert not exact["near_tie"].any()


def test_the_released_pairs_of_decimals(shared):
    path = shared / "cases" / "structures_decimals.jsonl"
    items = {item.id: item for item in iter_items([str(path)])}
    oracle = census()
    found = {id_: columns_of(item.read(item, item.blob()), oracle) for id_, item in items.items()}
    pairs = [(id_, id_.replace("_cif_", "_exact_")) for id_ in found if "_cif_" in id_]
    assert len(pairs) == 2
    for rounded, exact in pairs:
        for name in COLUMNS:
            np.testing.assert_array_equal(found[rounded][name], found[exact][name], err_msg=name)


@pytest.mark.parametrize("digits", [5, 6, 7])
def test_near_ties_are_those_that_another_scale_changes(digits):
    structure = thirds(digits)
    own, *others = (columns_of(structure, census(tie=tie)) for tie in (TIE, TIE / 10, 10 * TIE))
    changed = np.zeros(26, bool)
    for other in others:
        changed |= own["n_recovered"] != other["n_recovered"]
        changed |= own["space_group"] != other["space_group"]
    np.testing.assert_array_equal(own["near_tie"], changed)
    assert changed.any() == (digits != 5)


@pytest.mark.parametrize("merge", ["best-residual", "least-squares", "mean", "first"])
def test_near_ties_of_other_rules(merge):
    structure = thirds(7)
    own, *others = (
        columns_of(structure, census(tie=tie, merge=merge)) for tie in (TIE, TIE / 10, 10 * TIE)
    )
    changed = np.any([own["n_recovered"] != o["n_recovered"] for o in others], axis=0)
    changed |= np.any([own["space_group"] != o["space_group"] for o in others], axis=0)
    np.testing.assert_array_equal(own["near_tie"], changed)


@pytest.mark.parametrize("merge", MERGE_RULES[:3])
def test_moved_by_less_than_the_scale(merge):
    """Prototypes whose atoms moved by 1e-8 Å, no standardisation between."""
    oracle = GeometricOracle(FROZEN, parse_subsets("all", FROZEN.views), merge=merge)
    rng = np.random.default_rng(0)
    told = 0
    for item in list(iter_items(["prototypes"]))[::12]:
        structure = item.read(item, item.blob())
        away = rng.normal(size=(len(structure.numbers), 3))
        away *= 1e-8 / np.linalg.norm(away, axis=1, keepdims=True)
        still = oracle.run(structure.positions, structure.numbers, 0.01)
        moved = oracle.run(structure.positions + away, structure.numbers, 0.01)
        for name in ("n_recovered", "n_phantoms", "n_exact", "n_strict"):
            np.testing.assert_array_equal(getattr(still, name), getattr(moved, name), structure.id)
        told += (still.n_recovered != len(structure.numbers)).any()
    assert told > 3  # some subsets give more atoms than there are


def test_moved_evaluation_structures(shared, eval_ids):
    """The released crystals, as their files have them, moved by 1e-8 Å."""
    path = Path(shared) / "data" / "e3" / "structures.json"
    wanted = set(eval_ids[::7])
    oracle = GeometricOracle(FROZEN, parse_subsets("all", FROZEN.views))
    rng = np.random.default_rng(1)
    for item in iter_items([str(path)]):
        if item.id not in wanted:
            continue
        structure = item.read(item, item.blob())
        numbers, positions = pack_structure(structure, PackOptions(), {})
        away = rng.normal(size=positions.shape)
        away *= 1e-8 / np.linalg.norm(away, axis=1, keepdims=True)
        still = oracle.run(positions, numbers, 0.01)
        moved = oracle.run(positions + away, numbers, 0.01)
        for name in ("n_recovered", "n_phantoms", "n_exact", "n_strict"):
            np.testing.assert_array_equal(getattr(still, name), getattr(moved, name), item.id)


def test_older_records_were_judged_at_a_billionth():
    record = CensusOptions.of().to_dict()
    assert record.pop("tie") == TIE
    assert CensusOptions.from_dict(record).tie == 1e-9
    assert json.loads(CensusOptions.of(tie=1e-7).to_json())["tie"] == 1e-7


@pytest.mark.parametrize("merge", MERGE_RULES[:3])
def test_reading_at_other_ties_is_reading_step_by_step(merge):
    """Whether they may matter is asked first: it must never pass over a cell where they do."""
    oracle = GeometricOracle(FROZEN, parse_subsets("all", FROZEN.views), merge=merge)
    rng = np.random.default_rng(1)
    plain, changed = thirds(None), []
    for size in (0.0, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4):
        positions = plain.positions + size * rng.normal(size=plain.positions.shape)
        reading = oracle.run(positions, plain.numbers, 0.01, 0.5, ties=(0.1, 10.0))
        images, _ = oracle.project(positions, plain.numbers)
        counts, points = np.zeros(26, bool), np.zeros(26, bool)
        for factor in (0.1, 10.0):
            found = oracle.enumerate(images, 0.01, 0.01, factor * oracle.tie)
            other = oracle.reconstruct(found, 0.01)
            counts |= other.n_recovered != reading.n_recovered
            for k in range(26):
                mine, its = reading.cells[reading.entry[k]], other.cells[other.entry[k]]
                points[k] |= not _same_points(mine, its)
        np.testing.assert_array_equal(reading.other_counts, counts)
        np.testing.assert_array_equal(reading.other_points, points)
        changed.append(points.any())
    assert any(changed) and not changed[0]


def _same_points(mine, its):
    """By trying all pairs: equal counts, and each point has a partner within the same length."""
    (numbers, points), (others, places) = mine, its
    if sorted(numbers) != sorted(others):
        return False
    away = np.linalg.norm(points[:, None] - places[None], axis=2)
    away[numbers[:, None] != others[None]] = np.inf
    return bool((away.min(axis=1, initial=np.inf) <= SAME_RECONSTRUCTION).all())
