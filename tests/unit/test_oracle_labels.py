"""Labellers: space groups of cells, point groups of molecules, and what counts as right."""

from dataclasses import replace

import numpy as np
import pytest
from ase.build import molecule
from oracle_cases import FROZEN
from test_frontier import options_of

from rc_hpc.core.vocabulary import LabelStatus
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.oracle import CensusOracle
from rc_hpc.kinds.frontier.options import FrontierOptions
from rc_hpc.kinds.frontier.oracle import FrontierOracle
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.oracle.labels import (
    LabelTable,
    PointGroupLabel,
    SpaceGroupLabel,
    agreement,
    correct_columns,
)
from rc_hpc.symmetry.labels import code_table
from rc_hpc.symmetry.labels import label as label_of

FCC = 4.0 * np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
CUBE = 4.0 * np.eye(3)


def molecule_cell(name):
    atoms = molecule(name)
    nowhere = np.full((3, 3), np.nan)
    numbers = atoms.numbers.astype(np.uint8)
    return PackedCell(name, nowhere, atoms.positions, numbers, 0, 0, 0.5)


# ------------------------------------------------------------------ space groups


def test_label_of_a_cell():
    labeller = SpaceGroupLabel()
    code, status = labeller.label(CUBE, [29] * 4, FCC)
    assert (code, status) == (225, LabelStatus.labelled) and labeller.names()[code] == "Fm-3m"
    assert labeller.label(CUBE, [], np.empty((0, 3))) == (0, LabelStatus.no_atoms)
    assert labeller.label(CUBE, [29, 29], np.zeros((2, 3))) == (0, LabelStatus.failed)
    off = FCC + np.eye(4, 3) * 0.03
    assert labeller.label(CUBE, [29] * 4, off)[0] != 225
    assert SpaceGroupLabel(0.1).label(CUBE, [29] * 4, off)[0] == 225


def test_recorder_is_asked_to_make_the_call():
    calls = []

    class Recorder:
        def call(self, function, *args):
            calls.append(args[1:])
            return function(*args)

    SpaceGroupLabel(0.02, 3.0, Recorder()).label(CUBE, [29], np.zeros((1, 3)))
    assert calls == [(0.02, 3.0)]


def test_right_at_each_granularity():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 231, (4, 30))
    right = agreement(SpaceGroupLabel(), labels, 216)
    assert list(right) == list(SpaceGroupLabel.granularities)
    for where in np.ndindex(labels.shape):
        number, codes = labels[where], label_of(216).codes
        wanted = [False] * 3 if number == 0 else np.equal(label_of(number).codes, codes).tolist()
        got = [right[name][where] for name in ("crystal_system", "point_group", "bravais")]
        assert got == wanted and right["space_group"][where] == (number == 216)
    assert len(SpaceGroupLabel().names()) == len(code_table()) == 231


@pytest.mark.parametrize("labeller", [SpaceGroupLabel(), PointGroupLabel()], ids=["cell", "mol"])
def test_no_label_is_never_right(labeller):
    """Not even where the truth has none."""
    for truth in (0, 5):
        for values in agreement(labeller, np.zeros(3, int), truth).values():
            assert not values.any()
    assert all(values.all() for values in agreement(labeller, np.full(3, 5), 5).values())


def test_columns_carry_the_prefix():
    columns = correct_columns(SpaceGroupLabel(), np.array([225, 221]), 225, "cells")
    assert {name: values.tolist() for name, values in columns.items()} == {
        "cells/correct_crystal_system": [True, True],
        "cells/correct_point_group": [True, True],
        "cells/correct_bravais": [True, False],
        "cells/correct_space_group": [True, False],
    }


def test_truth_and_what_is_known():
    cell = PackedCell("x", CUBE, FCC, np.full(4, 29), 12, 225, 2.8)
    labeller = SpaceGroupLabel()
    assert labeller.truth(cell, "stored") == 12 and labeller.truth(cell, "conventional") == 225
    assert labeller.known(cell) == 0 and replace(labeller, packed=True).known(cell) == 225


def test_what_is_known_is_not_labelled_again(monkeypatch):
    calls = []
    monkeypatch.setattr(
        SpaceGroupLabel, "label", lambda *args: calls.append(args) or (7, LabelStatus.labelled)
    )
    table = LabelTable(CUBE, [SpaceGroupLabel(0.01), SpaceGroupLabel(0.1)], False)
    labels, status = table.labels([29], np.full(4, 29), FCC, [225, 0])
    assert labels.tolist() == [225, 7] and status.tolist() == [0, 0] and len(calls) == 1
    assert table.labels([29], np.full(4, 29), FCC[::-1].copy())[0].tolist() == [225, 7]


# ------------------------------------------------------------------ molecules


def test_label_of_a_molecule():
    labeller = PointGroupLabel()
    for name, wanted in (("H2O", "C2v"), ("H", "Kh"), ("CO2", "D*h"), ("CH4", "Td")):
        cell = molecule_cell(name)
        code, status = labeller.label(cell.lattice, cell.numbers, cell.positions)
        assert (labeller.names()[code], status) == (wanted, LabelStatus.labelled)
        assert code == labeller.truth(cell, "stored") and labeller.known(cell) == 0
    assert labeller.label(None, [], np.empty((0, 3))) == (0, LabelStatus.no_atoms)
    assert labeller.label(None, [1, 1], np.zeros((2, 3))) == (0, LabelStatus.failed)
    # A ring of more atoms than any axis has a code for.
    angles = 2 * np.pi * np.arange(13) / 13
    ring = np.stack([3 * np.cos(angles), 3 * np.sin(angles), 0 * angles], axis=1)
    assert labeller.label(None, [6] * 13, ring) == (0, LabelStatus.failed)


@pytest.mark.parametrize("name", ["H2O", "CH4", "C6H6", "H", "CH3Cl"])
def test_molecules_go_through_a_census(name):
    """No kernel knows of lattices: a labeller of molecules is all that it takes."""
    cell = molecule_cell(name)
    options = options_of(CensusOptions, FROZEN, "axis_a+axis_b+axis_c,axis_a+axis_c+oblique2")
    fields, _ = CensusOracle(FROZEN, options, labeller=PointGroupLabel()).run(cell)
    truth = PointGroupLabel().truth(cell, "stored")
    assert fields["cells/point_group"][1] == truth and fields["cells/correct_point_group"][1]
    assert not fields["cells/label_status"].any()
    # Carbon's four hydrogens sit on alternate corners of a cube, whose halves look alike.
    assert fields["cells/correct_point_group"][0] == (name != "CH4")
    assert "cells/space_group" not in fields and "cells/correct_bravais" not in fields

    deltas, symprecs = (0.01, 0.1), (0.001, 0.05)
    options = options_of(FrontierOptions, FROZEN, "full", deltas=deltas, symprecs=symprecs)
    labellers = [PointGroupLabel(tolerance) for tolerance in symprecs]
    fields, _ = FrontierOracle(FROZEN, options, labellers=labellers).run(cell)
    assert fields["frontier/point_group"].shape == (1, 2, 2, 1)
    assert fields["frontier/correct_point_group"][0, :, 1].all()
