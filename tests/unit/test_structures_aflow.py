"""The AFLOW encyclopedia as a source: labels and parameters to cells."""

import json
from importlib import metadata

import numpy as np
import pytest
import spglib

from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.structures import aflow
from rc_hpc.structures.aflow import listing, parse_label, read_entry
from rc_hpc.structures.record import Item
from rc_hpc.structures.sources import iter_items
from rc_hpc.symmetry.conventional import canonical_order
from rc_hpc.symmetry.stability import sweep


def installed():
    try:
        aflow._paths()
    except UsageError:
        return False
    return True


INSTALLED = pytest.mark.skipif(not installed(), reason="kim-tools is not installed")


@pytest.fixture(autouse=True)
def _version(monkeypatch):
    """Entries made up here need no distribution."""
    real = metadata.version
    monkeypatch.setattr(
        aflow.metadata, "version", lambda name: "0" if name == "kim-tools" else real(name)
    )


def entry(label, prototype, **values):
    told = {
        "label": label,
        "prototype": prototype,
        "parameter_symbols": list(values),
        "parameter_values": list(values.values()),
    }
    return json.dumps(told).encode()


def read(*args, **values):
    blob = entry(*args, **values)
    return read_entry(Item(args[0], "aflow", lambda: blob, read_entry), blob)


def group_of(structure):
    cell = structure.lattice, structure.frac, structure.numbers
    return spglib.get_symmetry_dataset(cell, symprec=1e-4).number


def test_labels_are_taken_apart():
    assert parse_label("A3BC2_hP12_194_h_a_f-002") == ([3, 1, 2], "hP12", 194, ["h", "a", "f"])
    counts, _, number, words = parse_label("A10B2C_hP39_171_5c_c_a-001")
    assert (counts, number, words) == ([10, 2, 1], 171, ["5c", "c", "a"])


@pytest.mark.parametrize(
    ("label", "prototype", "values", "atoms"),
    [
        ("A_cF8_227_a-001", "C", {"a": 3.567}, {6: 8}),
        ("AB_cF8_225_a_b-001", "ClNa", {"a": 5.64}, {17: 4, 11: 4}),
        # x3 of O: the second site after the fixed position of Si
        ("A2B_hP9_152_c_a-001", "SiO2",
         {"a": 4.91, "c/a": 1.1, "x1": 0.47, "x2": 0.41, "y2": 0.27, "z2": 0.12}, {8: 6, 14: 3}),
        # rhombohedral coordinates, and the same position in hexagonal ones
        ("A_hR2_166_c-001", "As", {"a": 3.76, "c/a": 2.8, "x1": 0.227}, {33: 6}),
        ("A_hR2_166_c-001", "As", {"a": 3.76, "c/a": 2.8, "z1": 0.227}, {33: 6}),
        # a misprinted symbol stands at its place
        ("A_hR2_166_c-001", "As", {"a": 3.76, "c/a": 2.8, "z4": 0.227}, {33: 6}),
    ],
)  # fmt: skip
def test_cells_have_atoms_and_group_of_their_label(label, prototype, values, atoms):
    structure = read(label, prototype, **values)
    kinds, counts = np.unique(structure.numbers, return_counts=True)
    assert dict(zip(kinds.tolist(), counts.tolist(), strict=True)) == atoms
    assert group_of(structure) == structure.source_space_group == parse_label(label)[2]


def test_groups_of_atoms_get_elements_all_the_same():
    structure = read("AB_cF8_225_a_b-001", "(H2O)(NH4)Cl", a=6.0)
    assert len(set(structure.numbers.tolist())) == 2


@pytest.mark.parametrize(
    ("label", "values", "says"),
    [
        ("A_cF8_227_a-001", {"a": 3.5, "x1": 0.1}, "its label needs"),
        ("A_cF9_227_a-001", {"a": 3.5}, "gives 8 atoms, its label tells 9"),
        ("A2B_cF8_225_a_b-001", {"a": 5.0}, "its label tells [2, 1]"),
    ],
)
def test_entries_that_contradict_themselves_are_refused(label, values, says):
    with pytest.raises(StructureError) as caught:
        read(label, "C" if label.startswith("A_") else "ClNa", **values)
    assert caught.value.status == Status.read_error and says in str(caught.value)


def test_without_kim_tools_the_message_names_both_ways(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(aflow.metadata, "distribution", missing)
    aflow._paths.cache_clear()
    with pytest.raises(UsageError, match=r"rc_hpc\[aflow\].*--no-deps kim-tools"):
        iter_items(["aflow"])
    aflow._paths.cache_clear()


@pytest.mark.parametrize("source", ["aflow:", "aflow:part", "aflow:sg=x", "aflow:name=1"])
def test_filters_that_are_none(source):
    with pytest.raises(UsageError, match="is not aflow, aflow:part=N or aflow:sg=N"):
        listing(source)


@INSTALLED
def test_filters_choose_entries():
    cubic = list(listing("aflow:sg=225")())
    assert cubic and all(parse_label(item.id)[2] == 225 for item in cubic)
    with pytest.raises(UsageError, match="no such entries"):
        listing("aflow:sg=231")


@INSTALLED
@pytest.mark.slow  # 20 s
def test_every_entry_comes_back_with_its_group():
    items = list(listing("aflow")())
    assert len(items) >= 1999
    structures = [item.read(item, item.blob()) for item in items]
    assert all(group_of(one) == one.source_space_group for one in structures)


@INSTALLED
def test_spglibs_own_angle_rule_flags_what_five_degrees_label_too_high():
    """Of the encyclopedia's entries in group 69 these, and no other; five more are in others."""
    flagged = {}
    for item in iter_items(["aflow:sg=69"]):
        structure = item.read(item, item.blob())
        order = canonical_order(structure.positions, structure.numbers)
        found = sweep(structure.lattice, structure.frac[order], structure.numbers[order])
        flagged[item.id] = found[-1] != found[0]
    assert len(flagged) == 9
    assert {id_.split("_69_")[0] for id_, one in flagged.items() if one} == {
        "A3B2C9_oF56",
        "A2B7C2D_oF48",
        "A3B2C7_oF48",
        "A4B12C3_oF76",
        "AB2C4_oF28",
    }
