"""Results do not depend on the order in which a file lists its atoms."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rc_hpc.core.constants import TAU
from rc_hpc.core.errors import StructureError
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.oracle import CensusOracle
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.oracle import pack_structure
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.structures.record import Structure
from rc_hpc.structures.sources import iter_items
from rc_hpc.symmetry.conventional import canonical_order
from rc_hpc.symmetry.labels import label_cell
from rc_hpc.symmetry.stability import LabelFlag, order_dependent, orders, sweep

OPTIONS = CensusOptions.of()
ORACLE = CensusOracle(protocol_of(OPTIONS.protocol), OPTIONS)


def near_symmetric(count, seed=0):
    """Prototypes whose atoms moved by 0.2 to 2 tau, of up to 40 atoms as read."""
    rng = np.random.default_rng(seed)
    made = []
    for item in iter_items(["prototypes"]):
        structure = item.read(item, item.blob())
        n = len(structure.numbers)
        if not 2 <= n <= 40:
            continue
        away = rng.normal(size=(n, 3))
        away *= rng.uniform(0.2, 2, (n, 1)) * TAU / np.linalg.norm(away, axis=1, keepdims=True)
        made.append(
            replace(structure, frac=structure.frac + away @ np.linalg.inv(structure.lattice))
        )
    return [made[k] for k in np.linspace(0, len(made) - 1, count).round().astype(int)]


def shuffled(structure, seed):
    order = np.random.default_rng(seed).permutation(len(structure.numbers))
    return replace(structure, frac=structure.frac[order], numbers=structure.numbers[order])


def results(structure):
    """Every column of the packed file and of the census, and the drawn atoms."""
    fields = {}
    try:
        numbers, positions = pack_structure(structure, PackOptions(), fields)
    except StructureError as error:
        return fields | {"error": str(error)}
    cell = PackedCell(
        structure.id,
        fields["lattice"],
        positions,
        numbers.astype(np.uint8),
        fields["space_group"],
        fields["space_group_conventional"],
        fields["min_same_species"],
    )
    columns, phantoms = ORACLE.run(cell)
    return fields | {"numbers": numbers, "positions": positions} | columns | phantoms


def assert_the_same(structure, n_orders):
    first = results(structure)
    for seed in range(1, n_orders):
        again = results(shuffled(structure, seed))
        assert first.keys() == again.keys()
        for name, value in first.items():
            np.testing.assert_array_equal(value, again[name], err_msg=f"{structure.id} {name}")
    return first


def test_shuffled_atoms_give_the_same():
    structures = near_symmetric(12)
    assert len({s.id for s in structures}) == 12
    for structure in structures:
        assert "error" not in assert_the_same(structure, 4)


@pytest.mark.slow  # half a minute alone on the machine
@pytest.mark.timeout(3600)
def test_shuffled_atoms_of_two_hundred_cells_give_the_same():
    flags = [assert_the_same(s, 8).get("quarantine", 0) for s in near_symmetric(200)]
    assert len(flags) == 200
    assert sum(bool(bits & LabelFlag.order_dependent) for bits in flags) > 0


def carbon():
    """A cell whose label spglib changes with the order of its atoms."""
    for structure in near_symmetric(200):
        order = canonical_order(structure.positions, structure.numbers)
        cell = structure.lattice, structure.frac[order], structure.numbers[order]
        number = label_cell(*cell)[0].number
        if order_dependent(*cell, canonical=number):
            return cell, number
    raise AssertionError("no label depends on the order")


def test_labels_that_depend_on_the_order_are_told():
    (lattice, frac, numbers), number = carbon()
    others = {
        label_cell(lattice, frac[order], numbers[order])[0].number
        for order in orders(frac @ lattice, numbers)
    }
    assert number in others and len(others) > 1
    structure = Structure("x", lattice, frac, numbers, "x", "x", "")
    found = results(structure)
    assert found["order_dependent"] and found["quarantine"] & LabelFlag.order_dependent


def test_eight_orders_of_the_same_atoms():
    rng = np.random.default_rng(5)
    positions, numbers = rng.normal(size=(9, 3)), rng.choice([6, 8, 29], 9)
    eight = orders(positions, numbers)
    assert len({tuple(order) for order in eight}) == 8
    assert all(sorted(order) == list(range(9)) for order in eight)
    np.testing.assert_array_equal(eight[0], canonical_order(positions, numbers))
    mixed = rng.permutation(9)
    for one, other in zip(eight, orders(positions[mixed], numbers[mixed]), strict=True):
        np.testing.assert_array_equal(positions[one], positions[mixed][other])


def test_heights_that_tie_are_told_apart():
    """Atoms of one height along the generic direction."""
    positions = np.array([[np.sqrt(2), 0, 0], [0, 1, 0], [np.sqrt(2) / 2, 0.5, 0]])
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        found = canonical_order(positions[order], np.ones(3, int))
        np.testing.assert_array_equal(positions[order][found], positions[[1, 2, 0]])


def test_sweeps_that_short_cuts_get_wrong(shared):
    """The full calls, made in the fixed order."""
    with open(shared / "cases" / "sweep_exceptions.jsonl", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    assert len(cases) == 12
    for case in cases:
        lattice, frac, numbers = (np.array(case[name]) for name in ("lattice", "frac", "numbers"))
        order = canonical_order(frac @ lattice, numbers)
        found = sweep(lattice, frac[order], numbers[order])
        assert found[: len(case["sweep"])].tolist() == case["sweep"], case["id"]
