"""Readers: each broken file ends with the right status and a message, none with lost atoms."""

import copy
import json
import re
import warnings
from functools import partial

import numpy as np
import pytest

from rc_hpc.core.errors import Status, StructureError
from rc_hpc.structures import readers
from rc_hpc.structures.cif import read_cif
from rc_hpc.structures.poscar import read_poscar
from rc_hpc.structures.record import Item

HEAD = """data_x
_cell_length_a {a}
_cell_length_b 4.2
_cell_length_c 4.4
_cell_angle_alpha {alpha}
_cell_angle_beta 90
_cell_angle_gamma 90
"""
LOOP = (
    "loop_\n"
    + "\n".join(
        f" _atom_site_{c}"
        for c in ("label", "type_symbol", "fract_x", "fract_y", "fract_z", "occupancy")
    )
    + "\n"
)
SITES = " Fe1 Fe3+ 0.1 0.2 0.3 1\n O1 O2- 0.6 0.7 0.8 1.0\n"


def cif(sites=SITES, *, a="4.0", alpha="90", extra="", loop=LOOP):
    return HEAD.format(a=a, alpha=alpha) + extra + loop + sites


def read(reader, text):
    blob = text if isinstance(text, bytes) else text.encode()
    item = Item("the-id", "a file", lambda: blob, reader)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none may reach the terminal
        return item.read(item, blob)


def refused(reader, text, status, message):
    with pytest.raises(StructureError, match=message) as caught:
        read(reader, text)
    assert caught.value.status is status, str(caught.value)
    assert str(caught.value).startswith("a file, the-id: ")
    assert "\n" not in str(caught.value)


def test_cif_is_read_as_pymatgen_does():
    structure = read(read_cif, cif())
    assert structure.numbers.tolist() == [26, 8]
    assert structure.numbers.dtype == np.int32
    np.testing.assert_allclose(structure.frac, [[0.1, 0.2, 0.3], [0.6, 0.7, 0.8]], atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(structure.lattice, axis=1), [4.0, 4.2, 4.4])
    assert structure.source_space_group == 0
    assert re.fullmatch(r"pymatgen [\d.]+ CifParser", structure.reader)
    assert len(structure.sha256) == 64


def test_cif_claims_and_operations():
    loop = "loop_\n_symmetry_equiv_pos_as_xyz\n 'x,y,z'\n '-x,-y,-z'\n"
    structure = read(read_cif, cif(extra="_symmetry_Int_Tables_number 2\n" + loop))
    assert (len(structure.numbers), structure.source_space_group) == (4, 2)
    assert (
        read(read_cif, cif(extra="_symmetry_space_group_name_H-M 'P -1'\n")).source_space_group == 2
    )
    assert (
        read(read_cif, cif(extra="_symmetry_space_group_name_H-M 'P 1'\n")).source_space_group == 0
    )


@pytest.mark.parametrize(
    "variant",
    [
        cif().replace("\n", "\r\n"),
        cif().replace("\n", "\r"),
        "\ufeff" + cif(),
        "# a comment\n" + cif(),
        cif(sites=SITES.replace("Fe1 Fe3+", "Fe1 FE")),
        cif(sites=SITES.replace("1.0\n", "?\n")),
        cif(sites=SITES.replace("0.1 ", "0.1000(3) ")),
        cif(extra="_chemical_formula_sum 'Fe O'\n"),
        cif(extra="_chemical_formula_sum ?\n"),
    ],
    ids=[
        "crlf",
        "cr",
        "bom",
        "comment",
        "capitals",
        "occupancy?",
        "uncertainty",
        "formula",
        "no-formula",
    ],
)
def test_cif_dialects(variant):
    assert read(read_cif, variant).numbers.tolist() == [26, 8]


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("", Status.empty, "empty"),
        (" \n\n", Status.empty, "empty"),
        (b"\x00\x01data_x", Status.read_error, "binary"),
        ("hello", Status.read_error, "no data_ block"),
        ("data_x\n_cell_length_a 4\n", Status.empty, "no atom sites"),
        (cif() + cif(), Status.read_error, "2 data blocks"),
        (cif()[:-12], Status.read_error, "do not fill its rows"),
        (cif(sites=SITES.replace("0.3 1", "0.3 0.5")), Status.disordered, "Fe1 has occupancy 0.5"),
        (cif(sites=SITES.replace("0.3 1", "0.3 0")), Status.disordered, "occupancy 0"),
        (cif(sites=SITES.replace("0.3 1", "0.3 1.5")), Status.read_error, "above 1"),
        (
            cif(sites=SITES.replace("0.3 1", "0.3 .")),
            Status.read_error,
            "occupancy of site Fe1 is '.'",
        ),
        (cif(sites=SITES.replace("0.3 1", "0.3 nan")), Status.non_finite, "occupancy"),
        (
            cif(sites=SITES.replace("0.1", "nan")),
            Status.non_finite,
            "coordinate x of site Fe1 is 'nan'",
        ),
        (cif(sites=SITES.replace("0.7", "inf")), Status.non_finite, "coordinate y of site O1"),
        (cif(sites=SITES.replace("0.1", "?")), Status.read_error, "coordinate x of site Fe1 is"),
        (cif(sites=SITES.replace("0.1", ".")), Status.read_error, "coordinate x of site Fe1 is"),
        (cif(a="nan"), Status.non_finite, "cell"),
        (cif(a="0"), Status.singular_cell, "no volume"),
        (cif(a="-4"), Status.singular_cell, "no volume"),
        (cif(alpha="0"), Status.singular_cell, "no volume"),
        (cif(alpha="180"), Status.singular_cell, "no volume"),
        (cif(a="?"), Status.read_error, "_cell_length_a '\\?' is not a number"),
        (cif(sites=SITES.replace("Fe3+", "Xx")), Status.unknown_species, "'Xx'"),
        (cif(sites=SITES.replace("Fe3+", "Cg")), Status.unknown_species, "'Cg'"),
        (cif(sites=SITES.replace("O2-", "OH")), Status.unknown_species, "several atoms"),
        (cif(sites=SITES.replace("O2-", "Wat")), Status.unknown_species, "several atoms"),
        (cif(sites=" Fe1 Fe 0 0 0 1\n Fe2 Fe 0 0 0 1\n"), Status.close_atoms, "lie on one another"),
        (
            cif(sites=" Fe1 Fe 0 0 0 1\n Fe2 Fe 0.00001 0 1 1\n"),
            Status.close_atoms,
            "lie on one another",
        ),
        (cif(sites=" Fe1 Fe 0 0 0 1\n O1 O 0 0 0 1\n"), Status.close_atoms, "lie on one another"),
        (cif(sites=" O1 O 0 0 0 1\n H1 H 0 0 0 1\n"), Status.close_atoms, "an O and an H"),
        (
            cif(
                sites=" Fe1 Fe .1 .2 .3 1\n Fe2 Fe .9 .8 .7 1\n",
                extra="loop_\n_symmetry_equiv_pos_as_xyz\n 'x,y,z'\n '-x,-y,-z'\n",
            ),
            Status.close_atoms,
            "symmetry copies",
        ),
        (
            cif(extra="_symmetry_space_group_name_H-M 'Q 9 z'\n"),
            Status.read_error,
            "neither symmetry operations",
        ),
        (cif(extra="_chemical_formula_sum 'Fe2 O3'\n"), Status.read_error, "its sites make FeO"),
        (cif(extra="_chemical_formula_sum 'Fe O H'\n"), Status.read_error, "lacks atoms"),
        (cif(extra="_atom_site.id 1\n", loop="", sites=""), Status.read_error, "mmCIF"),
        (
            cif(loop=LOOP.replace(" _atom_site_fract_z\n", " _atom_site_z\n")),
            Status.read_error,
            "fract_z",
        ),
        (
            cif(
                loop=LOOP.replace("occupancy", "attached_hydrogens"),
                sites=SITES.replace("1.0", "2"),
            ),
            Status.read_error,
            "attached hydrogens",
        ),
        (
            cif(loop=LOOP.replace("occupancy", "disorder_group"), sites=SITES.replace("1.0", "2")),
            Status.disordered,
            "disorder groups",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Status) else "",
)
def test_cif_refusals(text, status, message):
    refused(read_cif, text, status, message)


def test_cif_label_only():
    loop = LOOP.replace(" _atom_site_type_symbol\n", "")
    sites = " Fe1 0.1 0.2 0.3 1\n O1A 0.6 0.7 0.8 1\n"
    assert read(read_cif, cif(loop=loop, sites=sites)).numbers.tolist() == [26, 8]
    refused(
        read_cif,
        cif(loop=loop, sites=sites.replace("O1A", "OH1")),
        Status.unknown_species,
        "several atoms",
    )


def poscar(
    symbols="Fe O\n", counts="1 1", kind="Direct", first="0.1 0.2 0.3", scale="1.0", a="4.0 0 0"
):
    return (
        f"title\n{scale}\n{a}\n0 4.2 0\n0 0 4.4\n{symbols}{counts}\n{kind}\n{first}\n0.6 0.7 0.8\n"
    )


def test_poscar():
    structure = read(read_poscar, poscar())
    assert structure.numbers.tolist() == [26, 8]
    np.testing.assert_array_equal(structure.frac, [[0.1, 0.2, 0.3], [0.6, 0.7, 0.8]])
    assert structure.reader.endswith(" Poscar")
    cartesian = read(read_poscar, poscar(kind="Cartesian", first="0.4 0.84 1.32"))
    np.testing.assert_allclose(cartesian.frac[0], [0.1, 0.2, 0.3], atol=1e-15)
    volume = read(read_poscar, poscar(scale="-100"))
    assert np.linalg.det(volume.lattice) == pytest.approx(100)


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("", Status.empty, "empty"),
        (poscar(symbols=""), Status.unknown_species, "does not name its elements"),
        (poscar(symbols="Fe Zz\n"), Status.unknown_species, "'Zz'"),
        (poscar(counts="1 3"), Status.read_error, "2 positions for 4 atoms"),
        (poscar(counts="0 0"), Status.empty, "no atoms"),
        (poscar(first="nan 0 0"), Status.non_finite, "atom 1"),
        (poscar(first="0.1 0.2"), Status.read_error, "line 9 must hold three coordinates"),
        (poscar(a="0 4.2 0"), Status.singular_cell, "volume"),
        (poscar(a="0 4.2 0", kind="Cartesian"), Status.singular_cell, "no volume"),
        (poscar(a="nan 0 0"), Status.non_finite, "cell"),
        ("title\n1.0\n", Status.read_error, "line 3 is missing"),
    ],
)
def test_poscar_refusals(text, status, message):
    refused(read_poscar, text, status, message)


def frame(
    symbol="Fe",
    comment='Lattice="4 0 0 0 4.2 0 0 0 4.4" Properties=species:S:1:pos:R:3',
    x="0.4",
    n=2,
):
    return f"{n}\n{comment}\n{symbol} {x} 0.84 1.32\nO 2.4 2.94 3.52\n"


def test_xyz():
    structure = read(readers.read_xyz, frame())
    assert structure.numbers.tolist() == [26, 8]
    np.testing.assert_allclose(structure.frac, [[0.1, 0.2, 0.3], [0.6, 0.7, 0.8]], atol=1e-15)
    assert re.fullmatch(r"ase [\d.]+ extxyz", structure.reader)


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("", Status.empty, "empty"),
        (frame(comment="a molecule"), Status.read_error, "not periodic.*Lattice="),
        (
            frame(comment='Lattice="4 0 0 0 4.2 0 0 0 4.4" pbc="T T F"'),
            Status.read_error,
            "not periodic",
        ),
        (frame(symbol="Zz"), Status.unknown_species, "'Zz'"),
        (frame(symbol="X"), Status.unknown_species, "dummy"),
        (frame(x="nan"), Status.non_finite, "atom 1"),
        (frame(x="text"), Status.read_error, "could not convert"),
        (frame(n=3), Status.read_error, "XYZError"),
        (frame(comment='Lattice="4 0 0 8 0 0 0 0 4"'), Status.singular_cell, "no volume"),
        (frame(comment='Lattice="nan 0 0 0 4 0 0 0 4"'), Status.non_finite, "cell"),
    ],
)
def test_xyz_refusals(text, status, message):
    refused(readers.read_xyz, text, status, message)


DICT = {
    "lattice": {"matrix": [[4.0, 0, 0], [0, 4.2, 0], [0, 0, 4.4]]},
    "sites": [
        {
            "species": [{"element": "Fe", "occu": 1, "oxidation_state": 3}],
            "abc": [0.1, 0.2, 0.3],
            "properties": {"spin": {"@module": "no_such_module", "@class": "Bad"}},
        },
        {"species": [{"element": "O", "occu": 1}], "abc": [0.6, 0.7, 0.8]},
    ],
}


def changed(*path, value):
    entry = copy.deepcopy(DICT)
    inner = entry
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(entry)


@pytest.mark.parametrize(
    "entry", [DICT, {"structure": DICT}, {"snl": DICT}, {"cif": cif()}, {"structure": cif()}, cif()]
)
def test_json(entry):
    structure = read(readers.read_json, json.dumps(entry))
    assert structure.numbers.tolist() == [26, 8]
    np.testing.assert_allclose(structure.frac, [[0.1, 0.2, 0.3], [0.6, 0.7, 0.8]], atol=1e-15)


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("", Status.empty, "empty"),
        ("[1, 2", Status.read_error, "no JSON that can be read"),
        ("3", Status.read_error, "a JSON number is no structure"),
        ('{"a": 1}', Status.read_error, "no lattice and sites"),
        ("[" * 100_000, Status.read_error, "nested 100000 deep"),
        (changed("sites", value=[]), Status.empty, "no atoms"),
        (changed("sites", 0, "species", 0, "occu", value=0.5), Status.disordered, "site 1"),
        (changed("sites", 0, "species", 0, "element", value="Zz"), Status.unknown_species, "'Zz'"),
        (changed("sites", 0, "abc", value=[float("nan"), 0, 0]), Status.non_finite, "atom 1"),
        (changed("sites", 0, "abc", value=[0.1, 0.2]), Status.read_error, "has 2 numbers"),
        (changed("sites", 0, "abc", value=None), Status.read_error, "has 1 numbers"),
        (changed("lattice", "matrix", 0, value=[0, 4.2, 0]), Status.singular_cell, "volume"),
        (
            changed("lattice", "matrix", 0, value=[1e200, 0, 0]).replace("4.2", "1e200"),
            Status.singular_cell,
            "volume",
        ),
        (json.dumps({"cif": cif(a="0")}), Status.singular_cell, "no volume"),
        (json.dumps({"cif": "\ud800"}), Status.read_error, "half a character"),
    ],
)
def test_json_refusals(text, status, message):
    refused(readers.read_json, text, status, message)


@pytest.mark.parametrize("isotope", ["D", "T"])
def test_isotopes_are_hydrogen(isotope):
    for reader, text in (
        (
            read_cif,
            cif(
                sites=SITES.replace("Fe1 Fe3+", f"D1 {isotope}"),
                extra="_chemical_formula_sum 'H O'\n",
            ),
        ),
        (read_poscar, poscar(symbols=f"{isotope} O\n")),
        (readers.read_xyz, frame(symbol=isotope)),
        (readers.read_json, changed("sites", 0, "species", 0, "element", value=isotope)),
    ):
        assert sorted(read(reader, text).numbers) == [1, 8], reader.__name__


def test_database_rows(tmp_path):
    from ase import Atoms
    from ase.db import connect

    path = str(tmp_path / "rows.db")
    rows = [
        (
            Atoms(
                "FeO",
                scaled_positions=[[0.1, 0.2, 0.3], [0.6, 0.7, 0.8]],
                cell=[4, 4.2, 4.4],
                pbc=True,
            ),
            None,
        ),
        (Atoms("FeO", cell=[4, 4.2, 4.4], pbc=[True, True, False]), Status.read_error),
        (
            Atoms("FeX", positions=[[0, 0, 0], [2, 2, 2]], cell=[4, 4, 4], pbc=True),
            Status.unknown_species,
        ),
        (Atoms("Fe", cell=[4, 4, 0], pbc=True), Status.singular_cell),
        (Atoms("Fe", positions=[[np.nan, 0, 0]], cell=[4, 4, 4], pbc=True), Status.non_finite),
        (Atoms(cell=[4, 4, 4], pbc=True), Status.empty),
    ]
    with connect(path) as database:
        for atoms, _ in rows:
            database.write(atoms)
    for row, (_, status) in enumerate(rows, 1):
        blob = readers.ase_row(path, row)
        item = Item(
            f"rows.db#{row}", path, partial(readers.ase_row, path, row), readers.read_ase_row
        )
        if status is None:
            structure = item.read(item, blob)
            np.testing.assert_allclose(
                structure.frac, [[0.1, 0.2, 0.3], [0.6, 0.7, 0.8]], atol=1e-15
            )
            continue
        with pytest.raises(StructureError) as caught:
            item.read(item, blob)
        assert caught.value.status is status, str(caught.value)
    with pytest.raises(OSError, match="row 99"):
        readers.ase_row(path, 99)
