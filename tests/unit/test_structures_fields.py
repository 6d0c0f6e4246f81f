"""Each field of a JSON structure lost, of another kind, or in contradiction with another."""

import copy
import json
import re

import numpy as np
import pytest
from test_structures_json import (
    ASE,
    CARTESIAN,
    CELL,
    FLAT,
    FRAC,
    JARVIS,
    MOYOPY,
    OPTIMADE,
    PYMATGEN,
)
from test_structures_readers import read, refused

from rc_hpc.core.errors import Status, StructureError
from rc_hpc.structures.readers import read_json
from rc_hpc.structures.sources import iter_items

#: What no message may hold: names of Python's exceptions, and how they and NumPy speak.
RAW = re.compile(
    r"\w+Error\b|Exception|Traceback|NoneType|<class|object is not|not subscriptable|reshape|"
    r"inhomogeneous|np\.|numpy|positional argument|could not convert|expected str|"
    r"unhashable|not supported between|out of range|unpack|invalid literal|has no attribute"
)
OTHERS: tuple[object, ...] = (
    None,
    True,
    7,
    -1,
    0.5,
    10**30,
    "x",
    "",
    [],
    [1],
    [[]],
    [None],
    {},
    {"a": 1},
    [1, [2]],
)


def as_pymatgen():
    """What pymatgen writes."""
    from pymatgen.core import Lattice, Structure

    lattice = Lattice(CELL)
    return json.loads(json.dumps(Structure(lattice, ["Cs", "Cl"], FRAC).as_dict()))


def paths(entry, above=()):
    """Where each value of a nested entry lies."""
    inner = entry.items() if isinstance(entry, dict) else enumerate(entry)
    for key, value in inner:
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from paths(value, (*above, key))


def changed(entry, path, *value):
    """The entry with another value there, or without any."""
    entry = copy.deepcopy(entry)
    inner = entry
    for key in path[:-1]:
        inner = inner[key]
    if value:
        inner[path[-1]] = value[0]
    else:
        del inner[path[-1]]
    return entry


SIX: dict[str, object] = {"a": 4.0, "b": 5.0, "c": 6.0, "alpha": 90, "beta": 90, "gamma": 80}


def by_six(**more):
    return {"lattice": SIX | more, "sites": PYMATGEN["sites"]}


FORMS = {
    "pymatgen": as_pymatgen(),
    "six numbers": by_six(),
    "ase": ASE,
    "ase arrays": {
        "cell": {"array": FLAT},
        "pbc": {"__ndarray__": [[3], "bool", [True] * 3]},
        "positions": {"__ndarray__": [[2, 3], "float64", np.ravel(CARTESIAN).tolist()]},
        "numbers": {"__ndarray__": [[2], "int64", [55, 17]]},
    },
    "moyopy": MOYOPY,
    "jarvis": {**JARVIS, "abc": [4.0, 26**0.5, 6.0]},
    "optimade": {**OPTIMADE, "nsites": 2},
    "wrapped": {"id": "x", "space_group": {"number": 1}, "structure": PYMATGEN},
}


@pytest.mark.parametrize("name", FORMS)
def test_no_field_lost_or_of_another_kind_is_told_in_raw_python(name):
    entry, failed = FORMS[name], 0
    assert len(read(read_json, json.dumps(entry)).numbers) == 2
    for path in paths(entry):
        for value in [(), *((other,) for other in OTHERS)]:
            text = json.dumps(changed(entry, path, *value))
            try:
                read(read_json, text)
            except StructureError as error:
                said = str(error)
                assert said.startswith("a file, the-id: ") and not RAW.search(said), (path, value)
                assert error.status is not Status.internal and "; " in said, (path, value, said)
                failed += 1
    assert failed > 100


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_nor_is_it_where_files_are_listed(tmp_path, ending):
    entries = [
        changed(entry, path, *value)
        for entry in FORMS.values()
        for path in paths(entry)
        if len(path) == 1
        for value in [(), *((other,) for other in OTHERS)]
    ]
    path = tmp_path / f"a.{ending}"
    lines = list(map(json.dumps, entries))
    path.write_text("\n".join(lines) if ending == "jsonl" else json.dumps(entries))
    items = list(iter_items([str(path)]))
    assert len(items) == len(entries)
    for item in items:
        try:
            item.read(item, item.blob())
        except StructureError as error:
            assert not RAW.search(str(error)), str(error)


def with_lattice(**more):
    entry = as_pymatgen()
    entry["lattice"].update(more)
    return entry


def with_site(**more):
    entry = as_pymatgen()
    entry["sites"][1].update(more)
    return entry


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (with_lattice(pbc=[True, True, False]), "not periodic in three directions"),
        (with_lattice(pbc=False), "not periodic in three directions"),
        (with_lattice(pbc="T T F"), "'pbc' of its lattice is not true or false"),
        (with_lattice(a=4.2), r"its lattice states a = 4.2, its vectors make 4;"),
        (with_lattice(b=5.0), r"states b = 5, its vectors make 5.09902"),
        (with_lattice(gamma=90), r"states gamma = 90, its vectors make 78.69"),
        (with_lattice(volume=60.0), r"states volume = 60, its vectors make 120"),
        (with_site(xyz=[2.5, 2.5, 2.5]), r"'xyz' of site 2 is 2.5, 2.5, 2.5 Å, its 'abc' makes"),
        (with_site(abc=[0.5, 0.5, 0.3]), "of site 2 is 2.5, 2.5, 1.5 Å, .* makes 2.5, 2.5, 1.8 Å"),
        ({**JARVIS, "abc": [4.0, 4.0, 6.0]}, "it states b = 4, its vectors make 5.09902"),
        ({**JARVIS, "angles": [90, 90, 90]}, "it states gamma = 90, its vectors make 78.69"),
        ({**OPTIMADE, "nsites": 3}, "nsites is 3, species_at_sites names 2"),
        ({**ASE, "pbc": [True, False, True]}, "not periodic in three directions"),
    ],
)
def test_what_contradicts_itself_is_refused_with_both_values(entry, message):
    for told in (entry, {"structure": entry}):
        refused(read_json, json.dumps(told), Status.read_error, message)


@pytest.mark.parametrize(
    "entry",
    [
        as_pymatgen(),
        with_lattice(a=4.004, b=5.1, gamma=78.7, volume=120.3),
        with_lattice(a=None, volume=None, pbc=None),
        with_site(xyz=[2.505, 2.5, 1.5]),
        with_site(xyz=[6.5, 2.5, 1.5]),  # the same place, a vector further
        with_site(abc=[1.5, -0.5, 0.25]),
        with_site(xyz=None),
    ],
)
def test_numbers_as_files_round_them_are_no_contradiction(entry):
    structure = read(read_json, json.dumps(entry))
    np.testing.assert_allclose(structure.frac[1] % 1, FRAC[1], atol=1e-12)


@pytest.mark.parametrize(
    ("entry", "status", "message"),
    [
        (with_site(species=[]), Status.read_error, "site 2 has no species; name its element"),
        (changed(as_pymatgen(), ("sites", 1, "abc")), Status.read_error, "site 2 has no 'abc'"),
        (
            changed(as_pymatgen(), ("lattice", "matrix"), [1, 2, 3, 4]),
            Status.read_error,
            "'matrix' of its lattice has 4 numbers",
        ),
        ({**MOYOPY, "lattice": {"basis": [1, 2, 3, 4]}}, Status.read_error, "cell of shape"),
        (with_site(species=[{"element": "Cl"}]), Status.read_error, "Cl of site 2 has no 'occu'"),
        (
            with_site(species=[{"element": "Cl", "occu": "all"}]),
            Status.read_error,
            "'occu' of site 2 is no number",
        ),
        (with_site(species=[{"element": "Cl", "occu": 0}]), Status.disordered, "occupancy 0"),
        (with_site(species=[{"element": "Cl", "occu": 2}]), Status.read_error, "is 2, not 0 to 1"),
        (
            by_six(a=-4.0),
            Status.singular_cell,
            "span no volume",
        ),
        (by_six(gamma=1e30), Status.singular_cell, "span no volume"),
        (with_site(xyz=[1e30, 2.5, 1.5]), Status.read_error, r"is 1e\+30, 2.5, 1.5 Å"),
        (with_site(species=[{"element": 5, "occu": 1}]), Status.read_error, "is a JSON number"),
        (
            with_site(species=[{"element": "Cl", "occu": 0.5}, {"element": "Br", "occu": 0.5}]),
            Status.disordered,
            "site 2 is",
        ),
    ],
)
def test_fields_are_named_with_their_site(entry, status, message):
    refused(read_json, json.dumps(entry), status, message)
