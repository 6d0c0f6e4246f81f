"""What files say beside their atoms, and a second reader of them."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from test_structures_readers import LOOP, SITES, cif

from rc_hpc.core.errors import Status, StructureError
from rc_hpc.engine.entry import parser
from rc_hpc.engine.listing import Listing
from rc_hpc.engine.options import SourceOptions
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.oracle import pack_structure
from rc_hpc.kinds.registry import KINDS, PACKED
from rc_hpc.parallel.launch import SerialComm
from rc_hpc.structures.readers import claimed, read_json
from rc_hpc.structures.record import Item
from rc_hpc.symmetry.stability import LabelFlag

CASES = Path(__file__).parents[1] / "cases" / "structures"
CSCL = {
    "lattice": {"matrix": (4.12 * np.eye(3)).tolist()},
    "sites": [
        {"species": [{"element": "Cs", "occu": 1}], "abc": [0, 0, 0]},
        {"species": [{"element": "Cl", "occu": 1}], "abc": [0.5, 0.5, 0.5]},
    ],
}
VASP4 = "x\n4.0\n1 0 0\n0 1 0\n0 0 1\n1 1\nDirect\n0 0 0\n0.5 0.5 0.5\n"


@pytest.mark.parametrize(
    ("stated", "number"),
    [
        ({"space_group": 225}, 225),
        ({"spacegroup": "Fm-3m"}, 225),
        ({"spacegroup": {"number": 12, "symbol": "C2/m"}}, 12),
        ({"symmetry": {"symbol": "P2_1/c"}}, 14),
        ({"space_group_it_number": "62"}, 62),
        ({"spg_number": "221"}, 221),
        ({"space_group": 0}, 0),
        ({"space_group": 231}, 0),
        ({"space_group": True}, 0),
        ({"space_group": "?"}, 0),
        ({"space_group": None}, 0),
        ({"symmetry": []}, 0),
        ({}, 0),
    ],
    ids=str,
)
def test_claims_of_a_json_entry(stated, number):
    assert claimed(stated) == number


@pytest.mark.parametrize("stated, bits", [(221, 0), (225, LabelFlag.source_disagrees), (None, 0)])
@pytest.mark.parametrize("where", ["beside", "within"])
def test_a_stated_space_group_is_checked(stated, bits, where):
    claim = {} if stated is None else {"space_group": stated}
    inner = CSCL | claim if where == "within" else CSCL
    blob = json.dumps({"structure": inner} | (claim if where == "beside" else {})).encode()
    fields = {}
    pack_structure(read_json(Item("x", "x", lambda: blob, read_json), blob), PackOptions(), fields)
    assert fields["source_space_group"] == (stated or 0) and fields["quarantine"] == bits


def read_poscar_of(folder, species):
    (folder / "POSCAR").write_text(VASP4)
    (item,) = Listing.of(SourceOptions((str(folder / "POSCAR"),), species=species))
    return item.read(item, item.blob())


def test_elements_of_vasp_4_come_from_the_command(tmp_path):
    assert read_poscar_of(tmp_path, ("Cs", "Cl")).numbers.tolist() == [55, 17]
    asked = parser(PACKED).read(["POSCAR", "--species", "Cs,Cl"])
    assert asked.make(SourceOptions).species == ("Cs", "Cl")
    with pytest.raises(StructureError, match="or give --species A,B") as error:
        read_poscar_of(tmp_path, ())
    assert error.value.status is Status.unknown_species
    with pytest.raises(StructureError, match="line 6 has 2 numbers for 1 elements of --species"):
        read_poscar_of(tmp_path, ("Cs",))
    one, other = (
        Listing.of(SourceOptions((str(tmp_path / "POSCAR"),), species=species)).measure(
            SerialComm()
        )
        for species in ((), ("Cs", "Cl"))
    )
    assert one[0] == other[0] == 1 and one[1] != other[1]


@pytest.mark.parametrize("kind", [PACKED, KINDS["census"]], ids=lambda kind: kind.name)
def test_sources_may_stand_between_options(kind):
    asked = parser(kind).read(["a.cif", "--tau", "0.1", "b.cif", "-q", "c.cif"])
    assert asked.values["source"] == ("a.cif", "b.cif", "c.cif") and asked.values["tau"] == 0.1


def second_reading(text):
    """Formula and cell of a CIF by gemmi; None where it reads no atoms."""
    gemmi = pytest.importorskip("gemmi", reason="the second reader: pip install 'rc_hpc[test]'")
    small = gemmi.make_small_structure_from_block(gemmi.cif.read_string(text)[0])
    sites = small.get_all_unit_cell_sites()
    if not sites:
        return None
    cell = small.cell
    return (
        np.bincount([site.element.atomic_number for site in sites], minlength=119),
        cell.parameters,
    )


def assert_both_read(text, structure):
    counts, parameters = second_reading(text)
    np.testing.assert_array_equal(np.bincount(structure.numbers, minlength=119), counts)
    lengths = np.linalg.norm(structure.lattice, axis=1)
    np.testing.assert_allclose(lengths, parameters[:3], rtol=1e-6)
    for k, angle in enumerate(parameters[3:]):
        a, b = np.delete(structure.lattice, k, axis=0)
        found = math.degrees(math.acos(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))
        assert found == pytest.approx(angle, abs=1e-4)


#: Files of the cases that say in words gemmi does not know which setting they mean, or misspell.
OURS_ALONE = {
    "diamond_origin2_Z.cif",
    "diamond_origin2_code.cif",
    "diamond_origin2_multiplicity.cif",
    "hall_symbol_only.cif",
    "unicode_minus_operation.cif",
    "unicode_minus_coordinate.cif",
    "t_CIF2dots.cif",
    "j_single_site_noloop.cif",
}


def test_a_second_reader_finds_the_same_in_the_cases():
    compared = 0
    for path in sorted(CASES.glob("*.cif")):
        items = list(Listing((str(path),)))
        if path.name in OURS_ALONE or len(items) > 1:
            continue
        try:
            structure = items[0].read(items[0], items[0].blob())
        except StructureError:
            continue
        assert_both_read(path.read_text(encoding="utf-8"), structure)
        compared += 1
    assert compared >= 4


def test_a_second_reader_finds_the_same_in_the_released_files(shared, request):
    with open(shared / "data" / "e3" / "structures.json", encoding="utf-8") as file:
        texts = {id_: entry["cif"] for id_, entry in json.load(file).items()}
    step = 1 if request.config.getoption("--slow") else 40
    items = list(Listing((str(shared / "data" / "e3" / "structures.json"),)))[::step]
    assert len(items) > 40
    for item in items:
        assert_both_read(texts[item.id], item.read(item, item.blob()))


def test_the_sites_of_a_made_file_are_the_same():
    text = cif()
    assert LOOP in text and SITES in text
    (counts, _) = second_reading(text)
    assert counts[26] == counts[8] == 1
