"""Listing: what becomes an item, under which id, and that nothing is skipped or held in memory."""

import gzip
import itertools
import json
import os
import pickle
import random
import re
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.structures.scan import cif_blocks, json_of, json_spans
from rc_hpc.structures.sources import iter_items

CIF = """data_NaCl
_cell_length_a 4.0
_cell_length_b 4.0
_cell_length_c 4.0
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
loop_
 _atom_site_label
 _atom_site_type_symbol
 _atom_site_fract_x
 _atom_site_fract_y
 _atom_site_fract_z
 Na1 Na 0.0 0.0 0.0
 Cl1 Cl 0.5 0.5 0.5
"""
POSCAR = """CsCl
1.0
4.0 0.0 0.0
0.0 4.0 0.0
0.0 0.0 4.0
Cs Cl
1 1
Direct
0.0 0.0 0.0
0.5 0.5 0.5
"""
FRAME = """2
Lattice="4.0 0 0 0 4.0 0 0 0 4.0" Properties=species:S:1:pos:R:3 pbc="T T T"
Cs 0.0 0.0 0.0
Cl 2.0 2.0 2.0
"""
DICT = {
    "@module": "pymatgen.core.structure",
    "@class": "Structure",
    "lattice": {"matrix": [[4.0, 0, 0], [0, 4.0, 0], [0, 0, 4.0]]},
    "sites": [
        {"species": [{"element": "Cs", "occu": 1}], "abc": [0.0, 0.0, 0.0]},
        {"species": [{"element": "Cl", "occu": 1}], "abc": [0.5, 0.5, 0.5]},
    ],
}


def outcome(item):
    """The item's structure, or the status of its failure."""
    try:
        return item.read(item, item.blob())
    except StructureError as error:
        return error.status


def listing(*sources, **options):
    return list(iter_items([str(source) for source in sources], **options))


def ids(*sources, **options):
    return [item.id for item in listing(*sources, **options)]


def assert_all_read(items, n_atoms=2):
    for item in items:
        structure = outcome(item)
        assert not isinstance(structure, Status), (item.id, structure)
        assert structure.id == item.id
        assert structure.frac.shape == (n_atoms, 3)
        np.testing.assert_allclose(structure.lattice, 4.0 * np.eye(3), atol=1e-12)
        np.testing.assert_allclose(sorted(structure.positions[:, 0]), [0.0, 2.0], atol=1e-12)


def write_database(path, count=3):
    from ase import Atoms
    from ase.db import connect

    with connect(path) as database:
        for _ in range(count):
            database.write(
                Atoms("CsCl", positions=[[0, 0, 0], [2, 2, 2]], cell=[4, 4, 4], pbc=True)
            )


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.cif", CIF, ["a.cif"]),
        ("two.cif", CIF + CIF, ["two.cif#1", "two.cif#2"]),
        ("headed.cif", "data_global\n_journal_year 2020\n" + CIF, ["headed.cif"]),
        ("POSCAR", POSCAR, ["POSCAR"]),
        ("POSCAR-221", POSCAR, ["POSCAR-221"]),
        ("CONTCAR_relaxed", POSCAR, ["CONTCAR_relaxed"]),
        ("a.vasp", POSCAR, ["a.vasp"]),
        ("relaxed_poscar", POSCAR, ["relaxed_poscar"]),
        ("one.extxyz", FRAME, ["one.extxyz"]),
        ("many.xyz", FRAME * 3, ["many.xyz#1", "many.xyz#2", "many.xyz#3"]),
        ("single.json", json.dumps(DICT), ["single.json"]),
        ("wrapped.json", json.dumps({"structure": DICT, "material_id": "x"}), ["wrapped.json"]),
        (
            "list.json",
            json.dumps([DICT, {"material_id": "mp-1", "structure": DICT}]),
            ["list.json#1", "mp-1"],
        ),
        (
            "object.json",
            json.dumps(
                {"mp-1": {"cif": CIF}, "mp-2": {"structure": DICT}, "mp-3": DICT, "mp-4": CIF}
            ),
            ["mp-1", "mp-2", "mp-3", "mp-4"],
        ),
        (
            "lines.jsonl",
            "\n".join(
                json.dumps(entry)
                for entry in (
                    {"material_id": "mp-1", "cif": CIF},
                    {"id": 7, "structure": DICT},
                    {"name": "n", **DICT},
                    DICT,
                    CIF,
                )
            ),
            ["mp-1", "7", "n", "lines.jsonl#4", "lines.jsonl#5"],
        ),
    ],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
def test_single_file(tmp_path, name, text, expected, packed):
    path = tmp_path / (name + ".gz" if packed else name)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    if packed:  # ids that come from the file's name keep its whole suffix
        expected = [id.replace(name, name + ".gz") for id in expected]
    items = listing(path)
    assert [item.id for item in items] == expected
    assert all(item.source == str(path) for item in items)
    assert_all_read(items)
    assert_all_read(reversed(items))  # spans are read again in any order


def test_ase_database(tmp_path):
    write_database(tmp_path / "rows.db")
    items = listing(tmp_path / "rows.db")
    assert [item.id for item in items] == ["rows.db#1", "rows.db#2", "rows.db#3"]
    assert_all_read(items)


def test_items_cross_process_borders(tmp_path):
    write_database(tmp_path / "rows.db", 1)
    (tmp_path / "a.xyz").write_text(FRAME * 2)
    (tmp_path / "b.json").write_text(json.dumps({"k": {"cif": CIF}}))
    (tmp_path / "c.bin").write_bytes(b"\0\1")
    items = listing(tmp_path, "synthetic:2")
    copies = pickle.loads(pickle.dumps(items))
    for item, copy in zip(items, copies, strict=True):
        assert item.blob() == copy.blob()
        there, here = outcome(copy), outcome(item)
        assert there is here if isinstance(here, Status) else there.sha256 == here.sha256


def test_folder_skips_no_structure_and_counts_what_is_none(tmp_path):
    files = {
        "b/POSCAR": POSCAR.encode(),
        "b/POSCAR.gz": gzip.compress(POSCAR.encode()),
        "a.cif": CIF.encode(),
        "cut.cif": CIF[:-8].encode(),
        "empty.cif": b"",
        "noise.cif": random.Random(1).randbytes(500),
        "notes.txt": b"read me",
        "picture.png": b"\x89PNG\0",
        "broken.cif.gz": gzip.compress(CIF.encode())[:-20],
        "broken.json": b'{"k": {"cif": "data',
        "empty.json": b"",
        "hollow.jsonl": b"\n",
        "foreign.db": b"no sqlite",
        "half.xyz": (FRAME + "5\ncomment\nH 0 0 0\n").encode(),
        "o.json": json.dumps({"k": DICT}).encode(),
        ".hidden.cif": CIF.encode(),
        ".cache/x.cif": CIF.encode(),
        "packed.h5": b"\x89HDF",
        "settings.json": b'{"a": 1, "b": [2]}',
        "README": b"read me",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    os.symlink(tmp_path / "nowhere", tmp_path / "dangling.cif")
    os.symlink(tmp_path, tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe.cif")  # reading it would wait for ever
    strays = Counter()
    results = {item.id: outcome(item) for item in listing(tmp_path, strays=strays)}
    assert strays == {".txt": 1, ".png": 1, ".h5": 1, ".json": 1, "without ending": 1}
    read = {"a.cif", "b/POSCAR", "b/POSCAR.gz", "half.xyz#1", "o.json#k"}
    empty = {"empty.cif", "empty.json", "hollow.jsonl"}
    broken = {
        "cut.cif",
        "noise.cif",
        "broken.cif.gz",
        "broken.json",
        "foreign.db",
        "half.xyz",
        "dangling.cif",
        "pipe.cif",
    }
    assert results.keys() == read | empty | broken
    assert {id for id, result in results.items() if not isinstance(result, Status)} == read
    assert {id for id, result in results.items() if result is Status.empty} == empty
    assert {id for id, result in results.items() if result is Status.read_error} == broken


def test_a_folder_of_strays_says_what_they_are(tmp_path):
    (tmp_path / "a.txt").write_text(POSCAR)
    with pytest.raises(UsageError, match=r"1 files .* \(1 \.txt\); name a format with --format"):
        listing(tmp_path)
    assert_all_read(listing(tmp_path, format="poscar"))
    assert [outcome(item) for item in listing(tmp_path / "a.txt")] == [Status.read_error]
    assert [outcome(item) for item in listing(tmp_path / "*.txt")] == [Status.read_error]


@pytest.mark.parametrize("opens", [b"[", b'{"k":'])
def test_nesting_is_refused_before_it_is_parsed(tmp_path, opens):
    good = json.dumps({"cif": CIF}).encode()
    deep = opens * 100_000 + b"1"
    (tmp_path / "x.jsonl").write_bytes(b"\n".join((good, deep, good)))
    results = [outcome(item) for item in listing(tmp_path / "x.jsonl")]
    assert [result is Status.read_error for result in results] == [False, True, False]
    (tmp_path / "x.json").write_bytes(deep)
    assert [outcome(item) for item in listing(tmp_path / "x.json")] == [Status.read_error]
    closed = b"[" * 70 + b"]" * 70
    with pytest.raises(ValueError, match="nested 70 deep"):
        json_of(closed)
    assert json_of(b'["' + closed + b'"]') == [closed.decode()]


@pytest.mark.parametrize("name", ["x.cif", "x.vasp", "x.xyz", "x.json"])
def test_endless_numbers_are_refused(tmp_path, name):
    text = {"cif": CIF, "vasp": POSCAR, "xyz": FRAME, "json": json.dumps({"cif": CIF})}[name[2:]]
    digit = re.search(r"\d\.\d", text).start()
    (tmp_path / name).write_text(text[:digit] + "9" * 100_000 + text[digit:])
    (item,) = listing(tmp_path / name)
    with pytest.raises(StructureError, match="400 digits"):
        item.read(item, item.blob())


def test_failures_name_the_file_and_a_cure(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    (item,) = listing(tmp_path / "notes.txt")
    with pytest.raises(StructureError, match=r"notes\.txt: .*--format"):
        item.read(item, item.blob())


def test_foreign_sqlite_file_is_not_changed(tmp_path):
    import sqlite3

    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    before = path.read_bytes()
    assert [outcome(item) for item in listing(path)] == [Status.read_error]
    assert path.read_bytes() == before


def test_order_and_ids_of_folders_and_globs(tmp_path):
    for name in ("z/POSCAR", "a/POSCAR", "a/deep/x.cif", "m.cif"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CIF if name.endswith("cif") else POSCAR)
    assert ids(tmp_path) == ["a/POSCAR", "a/deep/x.cif", "m.cif", "z/POSCAR"]
    assert ids(tmp_path / "*" / "POSCAR") == ["a/POSCAR", "z/POSCAR"]
    assert ids(tmp_path / "**" / "*.cif") == ["a/deep/x.cif", "m.cif"]
    assert ids(tmp_path / "a*") == ["a/POSCAR", "a/deep/x.cif"]
    assert sorted(ids(tmp_path / "**")) == sorted(ids(tmp_path))
    assert ids(tmp_path / "m.cif", tmp_path / "z") == ["m.cif", "POSCAR"]
    both = [str(tmp_path / "a" / "POSCAR"), str(tmp_path / "z" / "POSCAR")]
    assert ids(*both) == both  # one name twice: the paths tell them apart


def test_explicit_format(tmp_path):
    (tmp_path / "structure.dat").write_text(POSCAR)
    assert_all_read(listing(tmp_path / "structure.dat", format="poscar"))
    with pytest.raises(UsageError, match="pdb.*choose one of cif, poscar"):
        iter_items([str(tmp_path)], format="pdb")


@pytest.mark.parametrize(
    "source",
    [
        "absent.cif",
        "absent/*.cif",
        "mp:mp-1&",
        "synthetic:",
        "synthetic:0",
        "synthetic:3:x",
        "synthetic:1:2:3",
    ],
)
def test_bad_sources_are_named_at_once(source):
    with pytest.raises(UsageError) as caught:
        iter_items([source])
    assert source in str(caught.value)


def test_empty_folder_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="holds no files"):
        listing(tmp_path)


def test_prototypes():
    items = listing("prototypes")
    assert len(items) == len({item.id for item in items}) == 288
    assert items[0].id == "AB_hP6_154_a_b"
    assert sum("#" in item.id for item in items) == 15  # 273 distinct labels
    for item in items[::24]:
        structure = outcome(item)
        assert structure.source == "prototypes"
        assert structure.source_space_group == int(item.id.split("_")[2])


def test_released_structures(shared):
    from pymatgen.io.cif import CifParser

    path = shared / "data" / "e3" / "structures.json"
    texts = json.loads(path.read_text())
    items = listing(path)
    assert [item.id for item in items] == list(texts)
    assert len(items) == 1820
    for item in items[::37]:
        structure = outcome(item)
        parser = CifParser.from_str(texts[item.id]["cif"])
        expected = parser.parse_structures(primitive=False, on_error="ignore")[0]
        np.testing.assert_array_equal(structure.frac, expected.frac_coords)
        np.testing.assert_array_equal(structure.lattice, expected.lattice.matrix)
        assert structure.numbers.tolist() == list(expected.atomic_numbers)
        assert structure.reader.startswith("pymatgen 20") and structure.reader.endswith(
            " CifParser"
        )


@pytest.mark.parametrize(
    ("kind", "count", "length"), [("jsonl", 20_000, 500), ("json", 4_000, 2_500)]
)
def test_listing_stays_flat_in_memory(tmp_path, kind, count, length):
    path = tmp_path / f"many.{kind}"
    padding = "x" * length
    entries = (json.dumps({"material_id": f"id-{k}", "cif": padding}) for k in range(count))
    with open(path, "w") as file:
        if kind == "jsonl":
            file.writelines(entry + "\n" for entry in entries)
        else:
            file.write(
                "{" + ", ".join(f'"id-{k}": {entry}' for k, entry in enumerate(entries)) + "}"
            )
    assert path.stat().st_size > 10_000_000
    for item in itertools.islice(iter_items([str(path)]), 10):  # imports and caches
        item.blob()
    tracemalloc.start()
    try:
        seen = 0
        for seen, item in enumerate(iter_items([str(path)]), 1):
            assert item.id == f"id-{seen - 1}"
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert seen == count
    assert peak < 1_000_000


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.text(), JSON_VALUES, max_size=5) | st.lists(JSON_VALUES, max_size=5),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_json_spans_agree_with_json(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode(
        "utf-8", "surrogatepass"
    )
    found = [
        (key, json.loads(text[start:end].decode("utf-8", "surrogatepass")))
        for key, start, end in json_spans(text)
    ]
    expected = (
        list(value.items()) if isinstance(value, dict) else [(None, entry) for entry in value]
    )
    assert found == expected
    for cut in range(1, len(text), 1 + len(text) // 20):
        with pytest.raises(ValueError):
            list(json_spans(text[:cut]))


def test_text_fields_do_not_split_a_cif():
    text = (
        b"data_a\n_cell_length_a 1\n_note\n;\ndata_b\n_cell_length_a "
        b"2\n;\ndata_c\n_cell_length_a 3\n"
    )
    assert [text[a:b][:6] for a, b in cif_blocks(text)] == [b"data_a", b"data_c"]


def test_sources_may_be_paths(tmp_path, monkeypatch):
    (tmp_path / "a.cif").write_text(CIF)
    monkeypatch.chdir(tmp_path)
    (item,) = listing(Path("a.cif"))
    assert (item.id, item.source) == ("a.cif", "a.cif")
