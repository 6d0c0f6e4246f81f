"""JSON as other programs write it: by keys, by columns, in pages; what is none is one row."""

import json

import numpy as np
import pytest
from test_structures_readers import refused

from rc_hpc.core.errors import Status, StructureError
from rc_hpc.structures.sources import iter_items

CS, CL = 55, 17
CELL = [[4.0, 0.0, 0.0], [1.0, 5.0, 0.0], [0.0, 0.0, 6.0]]
FRAC = [[0.0, 0.0, 0.0], [0.5, 0.5, 0.25]]
CARTESIAN = (np.array(FRAC) @ np.array(CELL)).tolist()
PYMATGEN = {
    "lattice": {"matrix": CELL},
    "sites": [
        {"species": [{"element": symbol, "occu": 1}], "abc": abc}
        for symbol, abc in zip(("Cs", "Cl"), FRAC)
    ],
}
MOYOPY = {"lattice": {"basis": np.ravel(CELL).tolist()}, "positions": FRAC, "numbers": [CS, CL]}
JARVIS = {"lattice_mat": CELL, "coords": FRAC, "elements": ["Cs", "Cl"], "cartesian": False}
OPTIMADE = {
    "lattice_vectors": CELL,
    "cartesian_site_positions": CARTESIAN,
    "species_at_sites": ["a", "Cl"],
    "species": [{"name": "a", "chemical_symbols": ["Cs"], "concentration": [1.0]}],
    "dimension_types": [1, 1, 1],
}
ASE = {"cell": CELL, "pbc": [True] * 3, "positions": CARTESIAN, "numbers": [CS, CL]}
FLAT = {"__ndarray__": [[3, 3], "float64", np.ravel(CELL).tolist()]}


def page(*entries):
    return {"data": list(entries), "meta": {}, "links": {"next": None}}


def listed(tmp_path, content, name="a.json"):
    (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return list(iter_items([str(tmp_path / name)]))


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        (MOYOPY, ["a.json"]),
        ({**MOYOPY, "lattice": {"basis": CELL}}, ["a.json"]),
        (JARVIS, ["a.json"]),
        ({**JARVIS, "coords": CARTESIAN, "cartesian": True}, ["a.json"]),
        ([{"jid": "JVASP-1", "atoms": JARVIS}], ["JVASP-1"]),
        (ASE, ["a.json"]),
        ({**ASE, "cell": {"array": FLAT, "__ase_objtype__": "cell"}}, ["a.json"]),
        ({"1": ASE, "ids": [1], "nextid": 2}, ["a.json"]),
        ({"1": ASE, "2": ASE, "ids": [1, 2], "nextid": 3}, ["a.json#1", "a.json#2"]),
        (page({"id": "x/1", "type": "structures", "attributes": OPTIMADE}), ["x/1"]),
        (
            page({"id": "x", "attributes": OPTIMADE}, {"id": "y", "attributes": OPTIMADE}),
            ["x", "y"],
        ),
        ({"data": {"id": "x", "attributes": OPTIMADE}, "meta": {}}, ["x"]),
        (
            {"material_id": {"0": "p", "1": "q"}, "structure": {"0": PYMATGEN, "1": PYMATGEN}},
            ["p", "q"],
        ),
        ({"e": {"0": 1}, "computed_structure_entry": {"r": {"structure": PYMATGEN}}}, ["r"]),
        (
            {"columns": ["structure", "e"], "index": ["m-1", "m-2"], "data": [[PYMATGEN, 0.1]] * 2},
            ["m-1", "m-2"],
        ),
        (
            {"index": [0], "columns": ["id", "structure"], "data": [["p", PYMATGEN]]},
            ["p"],
        ),
        (
            {"columns": ["structure"], "index": [0, 1], "data": [[PYMATGEN]] * 2},
            ["a.json#1", "a.json#2"],
        ),
    ],
)
def test_json_of_other_programs(tmp_path, content, ids):
    items = listed(tmp_path, content)
    assert [item.id for item in items] == ids
    for item in items:
        structure = item.read(item, item.blob())
        assert structure.numbers.tolist() == [CS, CL]
        np.testing.assert_allclose(structure.lattice, CELL, atol=1e-15)
        np.testing.assert_allclose(structure.frac, FRAC, atol=1e-15)


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        ({"a": 1, "b": {"c": 2}}, Status.read_error, "holds no structure; read are"),
        ([1, 2, 3], Status.read_error, "holds no structure"),
        (
            {"initial_structure": {"0": PYMATGEN}, "relaxed_structure": {"0": PYMATGEN}},
            Status.read_error,
            r"2 of its columns \(initial_structure, relaxed_structure\)",
        ),
        (
            {"initial_structure": PYMATGEN, "relaxed_structure": PYMATGEN},
            Status.read_error,
            "holds several structures",
        ),
        ({"columns": ["e"], "data": [[1]]}, Status.read_error, "0 of its columns"),
        ({**ASE, "pbc": [True, True, False]}, Status.read_error, "not periodic"),
        ({**ASE, "numbers": [CS]}, Status.read_error, "2 positions and 1 elements"),
        ({**ASE, "numbers": [1.5, 2]}, Status.read_error, "whole numbers"),
        ({**MOYOPY, "positions": [], "numbers": []}, Status.empty, "0 positions"),
        ({**JARVIS, "elements": ["Cs", "Zz"]}, Status.unknown_species, "site 2 is 'Zz'"),
        ({**OPTIMADE, "dimension_types": [1, 1, 0]}, Status.read_error, "not periodic"),
        ({**OPTIMADE, "cartesian_site_positions": None}, Status.read_error, "positions"),
        (
            {**OPTIMADE, "lattice_vectors": [[None] * 3, *CELL[1:]]},
            Status.non_finite,
            "cell holds NaN",
        ),
        (
            {
                **OPTIMADE,
                "species": [
                    {"name": "a", "chemical_symbols": ["Cs", "Rb"], "concentration": [0.5, 0.5]}
                ],
            },
            Status.disordered,
            "Cs/Rb",
        ),
        (
            {**OPTIMADE, "species": [{"name": "a", "chemical_symbols": ["X"]}]},
            Status.unknown_species,
            "site 1 is 'X'",
        ),
        ("[" * 100000 + "]" * 100000, Status.read_error, "holds no structure"),
    ],
)
def test_json_that_is_refused(tmp_path, content, status, message):
    (item,) = listed(tmp_path, content)
    with pytest.raises(StructureError, match=message) as caught:
        item.read(item, item.blob())
    assert caught.value.status is status


def test_deep_line_is_one_failed_row(tmp_path):
    good = json.dumps({"id": "x", "structure": PYMATGEN})
    items = listed(tmp_path, "\n".join([good, "[" * 100000 + "]" * 100000, good]), "a.jsonl")
    assert [item.id for item in items] == ["x", "a.jsonl#2", "x"]
    refused(items[1].read, items[1].blob(), Status.read_error, "nested 100000 deep")
