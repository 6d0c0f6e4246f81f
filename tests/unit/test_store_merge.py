"""Merge: order, partition, duplicates, memory, and what other programs see."""

import errno
import json
import os
import pickle
import threading
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import pairwise

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_cases import SCHEMA_STATIC, batch_of, identity, keys_of, numbers_of, store

from rc_hpc.core.errors import RcError, Status
from rc_hpc.engine.validate import validate
from rc_hpc.kinds.census.schema import CENSUS
from rc_hpc.kinds.packed.schema import PACKED
from rc_hpc.store import files, layout
from rc_hpc.store.content import content_hash, datasets
from rc_hpc.store.duplicates import resolve_duplicates
from rc_hpc.store.fold import Spill
from rc_hpc.store.merge import merge
from rc_hpc.store.opening import open_h5
from rc_hpc.store.parts import PartStore
from rc_hpc.store.schema import Column, Schema
from rc_hpc.store.shared import check_together


def merged(folder, batches, schema=PACKED, attrs=None, static=None, **more):
    """Write each list of keys as one part, merge, return the file."""
    parts = store(folder / "x.h5.parts", schema)
    everything = [key for keys in batches for key in keys]
    for number, keys in enumerate(batches):
        if number % 3 == 2:
            parts = store(folder / "x.h5.parts", schema)  # another writer
        batch, children = batch_of(keys, schema)
        if "resolve" in more:
            batch["structures/duplicate"][:] = 0
        parts.write(batch, children, numbers_of(keys, everything))
    output = folder / "x.h5"
    attrs = {"file_time": "2026-01-01T00:00:00+00:00"} if attrs is None else attrs
    merge(parts, output, SCHEMA_STATIC[schema.kind] if static is None else static, attrs, **more)
    return output


@pytest.fixture(scope="module")
def census(tmp_path_factory):
    keys = keys_of(f"mp-{k}" for k in range(40))
    return merged(tmp_path_factory.mktemp("census"), [keys[::2], keys[1::2]], CENSUS)


SHOWN = ("id", "duplicate", "sha256", "status", "message", "source")
IDS = [f"id {k}" for k in range(6)] + ["Å", "\U0001f600", "a", "A"]


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    output = merged(tmp_path_factory.mktemp("reference"), [keys_of(IDS)])
    with open_h5(output) as h5:
        return {path: layout.read_rows(h5[path]) for path in datasets(h5)}, h5.attrs["content_hash"]


@pytest.mark.long
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_order_and_partition_gives_the_same_file(tmp_path_factory, reference, data):
    ids = data.draw(st.permutations(IDS))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(ids)), max_size=3)))
    repeats = data.draw(st.lists(st.sampled_from(IDS), max_size=3, unique=True))
    bounds = [0, *cuts, len(ids)]
    batches = [keys_of(ids[a:b]) for a, b in pairwise(bounds)] + [keys_of(repeats)]
    memory = data.draw(st.sampled_from([1, 2000, 1 << 20]))
    output = merged(tmp_path_factory.mktemp("case"), batches, memory=memory)
    values, digest = reference
    assert content_hash(output) == digest
    with open_h5(output) as h5:
        assert datasets(h5) == list(values)
        for path, array in values.items():
            np.testing.assert_array_equal(layout.read_rows(h5[path]), array, err_msg=path)


def test_rows_and_children_are_where_they_belong(tmp_path):
    ids = ["b", "c", "a", "Z", "é"]
    output = merged(tmp_path, [keys_of(ids[:2]), keys_of(ids[2:])])
    expected, children = batch_of(keys_of(sorted(ids)))
    with open_h5(output) as h5:
        for path, array in expected.items():
            np.testing.assert_array_equal(layout.read_rows(h5[path]), array, err_msg=path)
        for table, columns in children.items():
            for path, array in columns.items():
                np.testing.assert_array_equal(h5[f"{table}/{path}"][()], array, err_msg=path)


def test_same_work_same_bytes(tmp_path):
    files = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        files.append(merged(tmp_path / name, [keys_of("ab"), keys_of("cd")]).read_bytes())
    assert files[0] == files[1]


def test_no_rows(tmp_path):
    output = merged(tmp_path, [])
    assert validate(output) == []
    with open_h5(output) as h5:
        assert h5["structures/id"].shape == (0,)
        assert h5["atoms/position"].shape == (0, 3)


def test_duplicates_are_flagged_and_kept(tmp_path):
    twins = [("x", 0, "bb"), ("x", 1, "aa"), ("x", 2, ""), ("x", 3, "aa")]
    batches = [
        [twins[0]],
        [*keys_of("w"), twins[1], twins[2]],
        [twins[3], *keys_of("y")],
        [twins[3]],
    ]
    output = merged(tmp_path, batches, resolve=resolve_duplicates)
    assert validate(output) == []
    # the order of reading has no influence on which row owns the id
    with open_h5(output) as h5:
        columns = {name: layout.read_rows(h5[f"structures/{name}"]).tolist() for name in SHOWN}
        lattices = h5["structures/lattice"][()]
    assert columns["id"] == ["w", "x", "x", "x", "x", "y"]
    assert columns["duplicate"] == [0, 0, 1, 2, 3, 0]
    assert columns["sha256"][1:5] == ["aa", "aa", "bb", ""]
    assert columns["status"] == [Status.ok, Status.ok, *[Status.duplicate_id] * 3, Status.ok]
    assert columns["message"][:2] == ["", ""]
    for row in (2, 3, 4):
        assert columns["source"][row] in columns["message"][row]
        assert columns["source"][1] in columns["message"][row]
    assert "the same structure" in columns["message"][2]
    assert "another structure" in columns["message"][3]
    assert np.isfinite(lattices).all()


def test_unresolved_duplicates_stay_as_they_are(tmp_path):
    twins = [("x", 1, "aa"), ("x", 0, "bb")]
    output = merged(tmp_path, [[twins[0]], [twins[1]], [twins[0]]])
    with open_h5(output) as h5:
        assert h5["structures/duplicate"][()].tolist() == [0, 1]
        assert (h5["structures/status"][()] == Status.ok).all()


def test_a_damaged_part_stops_the_merge(tmp_path):
    parts = store(tmp_path / "p")
    part = parts.write(*batch_of(keys_of("ab")), [0, 1])
    data = bytearray((parts.folder / part.file).read_bytes())
    data[-20] ^= 1
    (parts.folder / part.file).write_bytes(data)
    with pytest.raises(RcError, match=f"{part.file}.*--resume"):
        merge(parts, tmp_path / "out.h5")
    assert not (tmp_path / "out.h5").exists()


def test_static_of_another_length_is_named(tmp_path):
    static = {"settings/sweep": (np.ones(4), "1", "Sweep.", ("setting",))}
    with pytest.raises(ValueError, match="settings/sweep: 4 along 'setting', which is 7 elsewhere"):
        merged(tmp_path, [keys_of("ab")], static=static)
    assert {path.name for path in tmp_path.iterdir()} == {"x.h5.parts"}


class _Ranks:
    """Ranks as threads."""

    def __init__(self, size):
        self.size, self.barrier, self.slots = size, threading.Barrier(size), [None] * size

    def of(self, rank):
        return _Rank(self, rank)


class _Rank:
    def __init__(self, ranks, rank):
        self.ranks, self.rank, self.size = ranks, rank, ranks.size

    def allgather(self, value):
        self.ranks.slots[self.rank] = pickle.dumps(value)
        self.ranks.barrier.wait(60)
        values = [pickle.loads(slot) for slot in self.ranks.slots]
        self.ranks.barrier.wait(60)
        return values

    def gather(self, value, root=0):
        values = self.allgather(value)
        return values if self.rank == root else None

    def bcast(self, value, root=0):
        return self.allgather(value)[root]


@pytest.mark.parametrize("size", [2, 5, 40])
def test_many_ranks_write_the_same_bytes(tmp_path, monkeypatch, size):
    monkeypatch.setattr(layout, "CHUNK_ROWS", 8)  # many blocks, and chunks at their edges
    monkeypatch.setattr(layout, "TEXT_ROWS", 4)
    keys = keys_of(f"mp-{k}" for k in range(37))
    stamped = {"file_time": "2026-01-01T00:00:00+00:00"}
    (tmp_path / "one").mkdir()
    alone = merged(tmp_path / "one", [keys[::2], keys[1::2]], CENSUS)
    (tmp_path / "many").mkdir()
    parts = store(tmp_path / "many" / "p", CENSUS)
    ranks, written = _Ranks(size), [[] for _ in range(size)]
    for k, key in enumerate(keys):
        part = parts.write(*batch_of([key], CENSUS), numbers_of([key], keys))
        written[k % size].append(part)
    everything = [part for own in written for part in own]
    output = tmp_path / "many" / "x.h5"

    def work(rank):
        return merge(
            parts,
            output,
            SCHEMA_STATIC["census"],
            stamped,
            parts=everything,
            ranks=ranks.of(rank),
        )

    with ThreadPoolExecutor(size) as pool:
        digests = set(pool.map(work, range(size)))
    assert digests == {content_hash(alone)} == {content_hash(output)}
    assert output.read_bytes() == alone.read_bytes()
    assert not list(parts.folder.glob("*.spill"))


@pytest.mark.parametrize("step", ["write", "place"])
def test_a_full_disk_of_one_rank_ends_the_merge_of_all(tmp_path, monkeypatch, step):
    keys = keys_of(f"mp-{k}" for k in range(9))
    parts = store(tmp_path / "p", CENSUS)
    everything = [parts.write(*batch_of(keys, CENSUS), numbers_of(keys, keys))]
    real = getattr(Spill, step)

    def full(self, *args):
        told = real(self, *args)
        if self.path.name.startswith("1."):
            raise OSError(errno.ENOSPC, "")
        return told

    monkeypatch.setattr(Spill, step, full)
    ranks = _Ranks(3)

    def work(rank):
        with pytest.raises(RcError, match="cannot be written .No space left"):
            merge(parts, tmp_path / "x.h5", {}, parts=everything, ranks=ranks.of(rank))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p"]
    assert not list(parts.folder.glob("*.spill"))
    monkeypatch.undo()
    assert merge(parts, tmp_path / "x.h5", {}, parts=everything) == content_hash(tmp_path / "x.h5")


def test_ranks_check_a_file_together(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SEALED", 1000)
    output = merged(tmp_path, [keys_of("ab")])
    data = output.read_bytes()

    def trusted():
        monkeypatch.setattr(files, "_TRUSTED", set())
        ranks = _Ranks(3)
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda rank: check_together(output, ranks.of(rank)), range(3)))
        return files.state_of(output) in files._TRUSTED

    assert trusted()
    for place in (1, 1500, len(data) // 2, len(data) - 2):
        output.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert not trusted()
    output.write_bytes(data[:-1])
    assert not trusted()
    output.write_bytes(b"")
    assert not trusted()
    output.write_bytes(data)
    assert trusted()


def test_a_file_that_another_rank_has_checked_is_not_read_again(tmp_path):
    output = merged(tmp_path, [keys_of("ab")])
    assert files.seal_problem(output) == ""
    data = bytearray(output.read_bytes())
    data[3000] ^= 1
    output.write_bytes(data)
    assert "damaged" in files.seal_problem(output)
    files.trust(files.state_of(output))
    assert files.seal_problem(output) == ""
    output.write_bytes(data + b"?")
    assert files.seal_problem(output) != ""


def test_long_ids_are_sorted_by_all_of_them(tmp_path):
    ids = [f"{'folder/' * 20}{name}" for name in "cab"] + ["z", "\u00e5" * 60, "\u00e5" * 59 + "a"]
    batch_keys = keys_of(ids)
    output = merged(tmp_path, [batch_keys[::2], batch_keys[1::2]], resolve=resolve_duplicates)
    with open_h5(output) as h5:
        assert layout.read_rows(h5["structures/id"]).tolist() == sorted(ids)
        assert (h5["structures/duplicate"][()] == 0).all()


def test_validate_names_the_damaged_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "TEXT_ROWS", 4)
    output = merged(tmp_path, [keys_of(f"mp-{k:02}" for k in range(11))])
    assert validate(output) == []
    with h5py.File(output) as h5:
        where = h5["structures/id"].id.get_chunk_info(1)
        place = h5["atoms/position"].id.get_chunk_info(0)
    data = bytearray(output.read_bytes())
    data[where.byte_offset + where.size // 2] ^= 4
    output.write_bytes(data)
    told = "\n".join(validate(output))
    assert "do not match the checksum" in told
    assert "structures/id: rows 4 to 7 are damaged" in told and told.count("are damaged") == 1
    data[place.byte_offset + place.size // 2] ^= 4
    output.write_bytes(data)
    assert "atoms/position: rows 0 to" in "\n".join(validate(output))


def test_leftover_of_a_killed_merge_goes(tmp_path):
    dead = tmp_path / ".x.h5.otherhost.1.tmp"
    dead.touch()
    os.utime(dead, (0, 0))
    merged(tmp_path, [keys_of("a")])
    assert not dead.exists()


def test_root_attributes(census):
    with open_h5(census) as h5:
        attrs = dict(h5.attrs)
    assert attrs["title"].startswith("Model-free render ceilings")
    assert attrs["creator"] == "rc_hpc"
    assert attrs["kind"] == "census"
    assert attrs["options"] == identity()["options"]
    assert attrs["input_hash"] == identity()["input_hash"]
    assert json.loads(attrs["package_versions"])["numpy"] == np.__version__
    assert attrs["host_count"] == 1
    assert attrs["content_hash"] == content_hash(census)


def test_file_time_has_a_zone(tmp_path):
    with open_h5(merged(tmp_path, [keys_of("a")], attrs={})) as h5:
        assert datetime.fromisoformat(h5.attrs["file_time"]).tzinfo is not None


def test_every_dataset_explains_itself(census):
    with open_h5(census) as h5:
        for path in datasets(h5):
            assert h5[path].attrs["units"], path
            assert len(h5[path].attrs["description"]) > 10, path
            assert h5[path].compression in ("gzip", None), path


def test_h5py_sees_enums_and_booleans(census):
    with open_h5(census) as h5:
        status = h5["structures/status"]
        assert h5py.check_enum_dtype(status.dtype)["duplicate_id"] == Status.duplicate_id
        assert status.attrs["flag_meanings"].split()[Status.crashed] == "crashed"
        assert h5["cells/certified"].dtype == bool
        assert [dim.label for dim in h5["cells/certified"].dims] == ["structure", "subset"]
        assert [dim.label for dim in h5["phantoms/residual"].dims] == ["row", "view"]


def test_xarray_opens_every_group(census):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    with open_h5(census) as h5:
        groups = [name for name in h5 if isinstance(h5[name], h5py.Group)]
        status = h5["structures/status"][()]
    assert "cells" in groups
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = {}
        for group in groups:
            with xarray.open_dataset(census, engine="h5netcdf", group=group) as data:
                found[group] = data.load()
        with xarray.open_datatree(census, engine="h5netcdf") as tree:
            assert set(tree.children) == set(groups)
    assert found["cells"]["phantom_delta"].dims == ("structure", "subset")
    assert found["cells"]["certified"].dtype == bool
    assert found["structures"]["lattice"].dims == ("structure", "vector", "xyz")
    assert found["structures"]["id"].values[0] == "mp-0"
    np.testing.assert_array_equal(found["structures"]["status"], status)
    assert found["protocol"]["rotation"].sel(view="b").shape == (3, 3)
    assert found["phantoms"]["structure"].dims == ("row",)


WIDE = Schema(
    "packed",
    "Test.",
    (
        *(column for column in PACKED.main if column.path.split("/")[1] in SHOWN),
        *(Column(f"cells/c{k}", "f8", "1", "Test.", ("subset",)) for k in range(6)),
    ),
    {
        "points": (
            Column("structure", "i8", "1", "Row."),
            Column("position", "f8", "angstrom", "Position.", ("xyz",)),
        )
    },
)


@pytest.mark.long
def test_merge_of_many_rows_is_bounded_in_memory(tmp_path):
    n, step, dims = 50_000, 12_500, {"subset": 26}
    parts = PartStore(tmp_path / "p", WIDE, dims, identity())
    gathered = 8 << 20
    order = np.random.default_rng(1).permutation(n)
    for start in range(0, n, step):
        rows = order[start : start + step]
        batch = {column.path: np.zeros(step, column.numpy_dtype) for column in WIDE.main}
        for name in ("id", "sha256", "message", "source"):
            batch[f"structures/{name}"] = np.array(
                [f"{name}-{row:06d}" for row in rows], dtype=object
            )
        for k in range(6):
            batch[f"cells/c{k}"] = np.repeat(rows[:, None] + k, 26, axis=1).astype(float)
        points = {"structure": np.repeat(np.arange(step), 20)}
        points["position"] = np.repeat(rows[:, None], 60, axis=1).reshape(-1, 3).astype(float)
        parts.write(batch, {"points": points}, rows)
    total = n * (6 * 26 * 8 + 20 * 4 * 8)
    tracemalloc.start()
    merge(parts, tmp_path / "out.h5", memory=gathered)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total > 90e6
    assert peak < total / 3, peak
    with open_h5(tmp_path / "out.h5") as h5:
        assert (h5["cells/c5"][:, 25] == np.arange(n) + 5).all()
        assert (h5["points/structure"][()] == np.repeat(np.arange(n), 20)).all()
        assert (h5["points/position"][:, 2] == h5["points/structure"][()]).all()


def test_a_rank_without_chunks_places_nothing(tmp_path):
    spill, target = Spill(tmp_path / "0.spill"), tmp_path / "whole.h5"
    for path in (spill.path, target):
        path.write_bytes(b"as it was")
    nothing = np.zeros(0, np.int64)
    spill.place(target, nothing, nothing)
    assert target.read_bytes() == b"as it was"
