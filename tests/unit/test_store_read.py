"""Hashes, readers, validation and status."""

import gzip
import hashlib
import os
import shutil
import signal

import h5py
import numpy as np
import pytest
from store_cases import SCHEMA_STATIC, batch_of, keys_of, store

from rc_hpc.core.errors import RcError, Status
from rc_hpc.core.files import parts_folder
from rc_hpc.engine.status import status
from rc_hpc.engine.validate import validate
from rc_hpc.kinds.census.schema import CENSUS
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.kinds.packed.schema import PACKED
from rc_hpc.store import layout
from rc_hpc.store.content import content_hash, input_hash
from rc_hpc.store.merge import merge
from rc_hpc.store.reader import open_ours, read_table

pytestmark = pytest.mark.long

N = 30


def write(folder, schema):
    output = folder / f"{schema.kind}.h5"
    parts = store(parts_folder(output), schema)
    keys = keys_of(f"id-{k:03d}" for k in range(N))
    for number in range(3):
        parts.write(*batch_of(keys[number::3], schema), range(number, N, 3))
    merge(parts, output, SCHEMA_STATIC[schema.kind])
    return output


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    return write(tmp_path_factory.mktemp("packed"), PACKED)


@pytest.fixture(scope="module")
def census(tmp_path_factory):
    return write(tmp_path_factory.mktemp("census"), CENSUS)


@pytest.fixture
def spoiled(tmp_path, census):
    """Change a copy of the census, return what validation says about it."""

    def spoil(change):
        path = tmp_path / "spoiled.h5"
        shutil.copy(census, path)
        with h5py.File(path, "r+") as h5:
            change(h5)
        return validate(path)

    return spoil


def test_content_hash_by_hand(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as h5:
        h5["b/number"] = np.array([[1, 2], [3, 4]], dtype=">i4")
        h5.create_dataset("a", data=["Å", ""], dtype=h5py.string_dtype())
    digest = hashlib.sha256()

    def framed(data):
        digest.update(len(data).to_bytes(8, "little") + data)

    for text in (b"a", b"text", b"[2]", "Å".encode(), b"", b"b/number", b"<i4", b"[2, 2]"):
        framed(text)
    digest.update(np.array([1, 2, 3, 4], dtype="<i4").tobytes())
    assert content_hash(tmp_path / "x.h5") == digest.hexdigest()


def test_content_hash_ignores_layout_and_attributes(tmp_path):
    values = np.random.default_rng(0).normal(size=(100, 7))
    hashes = set()
    for number, storage in enumerate(
        ({}, {"chunks": (3, 2)}, {"chunks": (100, 7), "compression": "gzip"})
    ):
        with h5py.File(tmp_path / f"{number}.h5", "w") as h5:
            h5.create_dataset("x", data=values, **storage).attrs["number"] = number
        hashes.add(content_hash(tmp_path / f"{number}.h5"))
    assert len(hashes) == 1


def test_content_hash_sees_type_shape_path_and_enum_names(tmp_path):
    datasets = [
        ("x", np.zeros((2, 3), "u1"), None),
        ("x", np.zeros((3, 2), "u1"), None),
        ("y", np.zeros((2, 3), "u1"), None),
        ("x", np.zeros((2, 3), "i1"), None),
        ("x", np.zeros((2, 3), "?"), None),
        ("x", np.zeros((2, 3), "u1"), h5py.enum_dtype({"a": 0}, "u1")),
        ("x", np.zeros((2, 3), "u1"), h5py.enum_dtype({"b": 0}, "u1")),
    ]
    hashes = set()
    for number, (path, data, dtype) in enumerate(datasets):
        with h5py.File(tmp_path / f"{number}.h5", "w") as h5:
            h5.create_dataset(path, data=data, dtype=dtype)
        hashes.add(content_hash(tmp_path / f"{number}.h5"))
    assert len(hashes) == len(datasets)


def test_input_hash_does_not_depend_on_order():
    rows = [("a", "1"), ("b", "2"), ("a", "0")]
    assert input_hash(rows) == input_hash(reversed(rows))
    assert input_hash(rows) != input_hash(rows[:2])
    assert input_hash([("ab", "c")]) != input_hash([("a", "bc")])


@pytest.mark.parametrize("rows", [layout.CHUNK_ROWS, 4])
def test_reader_gives_any_range(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(layout, "CHUNK_ROWS", rows)
    monkeypatch.setattr(layout, "TEXT_ROWS", min(rows, layout.TEXT_ROWS))
    packed = write(tmp_path, PACKED)
    expected, children = batch_of(keys_of(f"id-{k:03d}" for k in range(N)))
    with PackedReader(packed) as reader:
        assert len(reader) == N
        assert reader.ids == expected["structures/id"].tolist()
        assert reader.attrs["kind"] == "packed"
        for start, stop in ((0, N), (7, 19), (5, 6), (29, 99), (4, 4), (9, 3)):
            batch, atoms = reader.rows(start, stop)
            for path, array in expected.items():
                np.testing.assert_array_equal(batch[path], array[start:stop], err_msg=path)
                assert batch[path].dtype == array.dtype
            for table, columns in children.items():
                mine = (columns["structure"] >= start) & (columns["structure"] < stop)
                np.testing.assert_array_equal(
                    atoms[table]["structure"], columns["structure"][mine] - start
                )
                for path in columns.keys() - {"structure"}:
                    np.testing.assert_array_equal(atoms[table][path], columns[path][mine])
        assert reader.offsets("atoms").dtype == np.int64


def test_read_table(census):
    table = read_table(
        census, ["structures/id", "structures/status", "cells/certified", "subsets/mask"]
    )
    assert table["structures/id"][3] == "id-003"
    assert table["structures/status"].dtype == np.uint8
    assert table["cells/certified"].dtype == bool
    assert table["subsets/mask"].tolist() == list(range(26))
    with pytest.raises(RcError, match="has no dataset 'cells/nothing'"):
        read_table(census, ["cells/nothing"])


def _foreign_hdf5(path):
    with h5py.File(path, "w") as h5:
        h5["entry"] = 1


STRANGERS = [
    (lambda path: path.write_bytes(gzip.compress(b"data_x")), "a gzip archive"),
    (lambda path: path.write_text("# made by hand\ndata_x\n_cell_length_a 3\n"), "a CIF"),
    (lambda path: path.write_text('{"id": 1}'), "JSON"),
    (lambda path: path.write_text("hello"), "text"),
    (lambda path: path.write_bytes(b""), "it is empty"),
    (lambda path: path.write_bytes(b"SQLite format 3\0"), "SQLite"),
    (lambda path: path.write_bytes(b"\1\0\2"), "unknown format"),
    (lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n123"), "truncated HDF5"),
    (lambda path: path.mkdir(), "a folder"),
    (lambda path: None, "No such file"),
    (_foreign_hdf5, "another program, with entry in it"),
]


@pytest.mark.parametrize(("make", "meaning"), STRANGERS, ids=[meaning for _, meaning in STRANGERS])
def test_strangers_are_refused_by_name(tmp_path, make, meaning):
    make(tmp_path / "x.h5")
    with pytest.raises(RcError, match=rf"x\.h5: not a packed file of rc_hpc: .*{meaning}"):
        PackedReader(tmp_path / "x.h5")


def test_other_kinds_and_versions_are_refused(tmp_path, census, packed):
    with pytest.raises(RcError, match="it is a census file"):
        PackedReader(census)
    part = next(parts_folder(packed).glob("*.part"))
    with pytest.raises(RcError, match="a part of an unfinished run"):
        PackedReader(part)
    shutil.copy(packed, tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5", "r+") as h5:
        h5.attrs["schema_version"] = 99
    with pytest.raises(RcError, match="its version is 99"):
        open_ours(tmp_path / "x.h5")


def test_good_files_are_valid(packed, census):
    assert validate(packed) == []
    assert validate(census) == []
    assert validate(parts_folder(census)) == []


def _swap(h5):
    ids = h5["structures/id"].asstr()[:]
    ids[[4, 5]] = ids[[5, 4]]
    h5["structures/id"][:] = ids


def _replace(path, change):
    def spoil(h5):
        values, dtype, attrs = h5[path][()], h5[path].dtype, dict(h5[path].attrs)
        del h5[path]
        dataset = h5.create_dataset(path, **change(values, dtype))
        for name in ("units", "description"):
            dataset.attrs[name] = attrs[name]

    return spoil


def _set(path, at, value):
    return lambda h5: h5[path].__setitem__(at, value)


SPOIL = {
    "flipped": (_set("cells/phantom_delta", (3, 4), 0.123), ["content_hash does not match"]),
    "missing": (lambda h5: h5.pop("cells/certified"), ["cells/certified: missing", "content_hash"]),
    "order": (_swap, ["row 5 (id 'id-004') is out of order", "content_hash"]),
    "shape": (
        _replace("cells/certified", lambda values, dtype: {"data": values[:, :-1]}),
        ["cells/certified: shape (30, 25), must be (30, 26)", "content_hash"],
    ),
    "type": (
        _replace("cells/n_recovered", lambda values, dtype: {"data": values.astype("i8")}),
        ["cells/n_recovered: type int64", "content_hash"],
    ),
    "no enum": (
        _replace("structures/status", lambda values, dtype: {"data": values, "dtype": "u1"}),
        ["structures/status: type", "content_hash"],
    ),
    "enum range": (
        lambda h5: h5["structures/status"].id.write(
            h5py.h5s.ALL, h5py.h5s.ALL, np.full(N, 77, h5["structures/status"].dtype)
        ),
        ["structures/status: [77] are no codes", "content_hash"],
    ),
    "pointer": (
        _set("phantoms/structure", 0, 29),
        ["phantoms/structure: must ascend", "content_hash"],
    ),
    "pointer range": (
        _set("phantoms/structure", -1, N),
        ["phantoms/structure: must ascend", "content_hash"],
    ),
    "units": (
        lambda h5: h5["cells/n_recovered"].attrs.pop("units"),
        ["cells/n_recovered: has no units"],
    ),
    "other units": (
        lambda h5: h5["cells/point_error"].attrs.__setitem__("units", "nm"),
        ["cells/point_error: units 'nm', must be 'angstrom'"],
    ),
    "options": (
        lambda h5: h5.attrs.__setitem__("options", "{}"),
        ["options_hash is not the hash of options"],
    ),
    "attribute": (lambda h5: h5.attrs.pop("file_time"), ["root attribute 'file_time' is missing"]),
}


@pytest.mark.parametrize(("change", "expected"), SPOIL.values(), ids=SPOIL)
def test_validation_finds(spoiled, change, expected):
    problems = [line for line in spoiled(change) if not line.endswith(("damaged", "not there"))]
    assert len(problems) == len(expected)
    for problem, text in zip(problems, expected, strict=True):
        assert text in problem
        assert "spoiled.h5" in problem


def test_validation_finds_a_flipped_byte_on_disk(tmp_path, census):
    data = bytearray(census.read_bytes())
    with h5py.File(census) as h5:
        chunk = h5["cells/phantom_delta"].id.get_chunk_info(0)
    data[chunk.byte_offset + chunk.size // 2] ^= 1
    (tmp_path / "x.h5").write_bytes(data)
    whole, rows = validate(tmp_path / "x.h5")
    assert "do not match the checksum" in whole
    assert rows.endswith("cells/phantom_delta: rows 0 to 29 are damaged")


def test_validation_survives_a_crash_of_hdf5(monkeypatch, packed):
    def crash(path):
        os.kill(os.getpid(), signal.SIGSEGV)

    monkeypatch.setattr("rc_hpc.store.layout.open_bare", crash)
    assert validate(packed) == [f"{packed}: damaged: the HDF5 library crashed on it (signal 11)"]


def test_validation_of_what_is_no_file(tmp_path):
    assert "No such file" in validate(tmp_path / "x.h5")[0]
    assert "no run.json" in validate(tmp_path)[0]


def test_validation_of_parts_changes_nothing(tmp_path):
    parts = store(tmp_path)
    part = parts.write(*batch_of(keys_of("ab")), [0, 1]).file
    (tmp_path / part).write_bytes(b"none of ours")
    problems = validate(tmp_path)
    assert len(problems) == 1
    assert part in problems[0]
    assert (tmp_path / part).exists()


def test_status_of_a_run(tmp_path, packed):
    output = tmp_path / "x.h5"
    with pytest.raises(RcError, match="nothing has been run"):
        status(output)
    parts = store(parts_folder(output), total=7)
    batch, children = batch_of(keys_of("abc"))
    batch["structures/status"][1] = Status.read_error
    parts.write(batch, children, range(3))
    store(parts.folder, total=7).write(batch, children, range(3))
    (parts.folder / "bad.part").write_bytes(b"none of ours")
    progress = status(output)
    assert not progress.finished
    assert (progress.rows, progress.total, progress.missing) == (3, 7, 4)
    assert progress.by_status == {"ok": 2, "read_error": 1}
    assert (progress.parts, progress.unusable, progress.rejected) == (3, ("bad.part",), 0)
    parts.scan()
    assert status(output).rejected == 1
    assert status(output, total=10).missing == 7
    done = status(shutil.copy(packed, tmp_path / "y.h5"))
    assert done.finished
    assert (done.rows, done.missing, done.by_status) == (N, 0, {"ok": N})
