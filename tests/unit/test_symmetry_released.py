"""Labels, sweeps and conventional cells of the released structures against their records."""

import json
import warnings

import numpy as np
import pytest
from pymatgen.io.cif import CifParser
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

from rc_hpc.core.constants import CELL_SYMPREC, CRYSTAL_SYSTEMS
from rc_hpc.symmetry.conventional import conventional_cell
from rc_hpc.symmetry.guard import check_cell, min_distances
from rc_hpc.symmetry.labels import bravais, label_cell
from rc_hpc.symmetry.stability import (
    flipped,
    neighbourhood_stable,
    quarantine,
    settings,
    sweep,
)

pytestmark = pytest.mark.data

#: The parser's default rounding of coordinates near 1/3 changes their number at symprec 0.001 Å.
ROUNDING_SENSITIVE = {"mp-1080831", "mp-27916", "mp-862665"}


@pytest.fixture(scope="module")
def released(shared):
    with open(shared / "data" / "e3" / "structures.json", encoding="utf-8") as file:
        cifs = json.load(file)
    with open(shared / "data" / "e3" / "labels.json", encoding="utf-8") as file:
        return cifs, json.load(file)


def read(cif):
    """The structure exactly as written: the parser's default moves atoms near 1/3 and the like."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CifParser.from_str(cif, frac_tolerance=0.0).parse_structures(primitive=False)[0]


def check_against_record(cif, record):
    structure = read(cif)
    cell = structure.lattice.matrix, structure.frac_coords, structure.atomic_numbers
    check_cell(*cell)

    label, message = label_cell(*cell)
    assert message == ""
    assert label.number == record["space_group_number"]
    assert label.symbol == record["space_group_symbol"]
    assert label.crystal_system == record["crystal_system"]
    assert label.point_group == record["point_group"]
    assert bravais(label.number, as_in_symbol=True) == record["bravais_lattice"]

    found = sweep(*cell, canonical=label.number)
    recorded = len(record["sweep"])
    assert settings()[:recorded] == tuple(map(tuple, np.array(record["sweep"])[:, :2].tolist()))
    assert found[:recorded].tolist() == [number for *_, number in record["sweep"]]
    found[recorded:] = found[0]  # spglib's own angle rule is not among the recorded settings
    assert neighbourhood_stable(found) is record["neighborhood_stable"]
    assert flipped(found) is record["flipped"]
    assert (not quarantine(found)) is record["keep"]

    conventional = conventional_cell(*cell)
    assert len(conventional.numbers) == record["conventional_n_atoms"]
    assert conventional.label.number == conventional.input_number == label.number
    expected = SpacegroupAnalyzer(structure, CELL_SYMPREC).get_conventional_standard_structure()
    assert np.array_equal(conventional.lattice, expected.lattice.matrix)
    assert np.array_equal(conventional.positions, expected.cart_coords)
    assert conventional.numbers.tolist() == list(expected.atomic_numbers)


def test_stratified_sample(released):
    cifs, records = released
    sample = sorted(ROUNDING_SENSITIVE)
    for system in CRYSTAL_SYSTEMS:
        ids = sorted(i for i in records if records[i]["crystal_system"] == system)
        sample += ids[:: len(ids) // 5][:5]
    sample += sorted(i for i in records if records[i]["bravais_lattice"] == "oA")[:2]
    assert len(sample) == 40
    for identifier in sample:
        check_against_record(cifs[identifier]["cif"], records[identifier])


@pytest.mark.slow
def test_all(released):
    cifs, records = released
    assert len(records) == 1820
    for identifier, record in records.items():
        check_against_record(cifs[identifier]["cif"], record)


def test_separation_of_the_evaluation_structures(released, eval_ids):
    """Minimum same-species distances of the 210 drawn cells, as released."""
    cifs, _ = released
    found = {}
    for identifier in eval_ids:
        structure = read(cifs[identifier]["cif"])
        cell = conventional_cell(
            structure.lattice.matrix, structure.frac_coords, structure.atomic_numbers
        )
        found[identifier] = min_distances(cell.lattice, cell.positions, cell.numbers)
    drawn, periodic, any_species = np.array(list(found.values())).T
    pairs = np.isfinite(periodic)
    assert pairs.sum() == np.isfinite(drawn).sum() == 204
    assert eval_ids[int(np.argmin(periodic))] == "mp-733975"
    assert periodic.min() == pytest.approx(1.0951, abs=5e-5)
    assert np.median(periodic[pairs]) == pytest.approx(2.9006, abs=5e-5)
    assert np.median(drawn[pairs]) == pytest.approx(2.9858, abs=5e-5)
    assert any_species.min() == pytest.approx(1.0951, abs=5e-5)
    assert np.median(any_species) == pytest.approx(2.3155, abs=5e-5)
