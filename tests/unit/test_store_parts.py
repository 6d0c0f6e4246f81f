"""Parts: round trip, what killed and foreign writers leave behind, full disks."""

import errno
import json
import logging
import os
import shutil
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
from store_cases import BOTH, DIMS, batch_of, identity, keys_of, store

from rc_hpc.core import files as whole
from rc_hpc.core.errors import RcError
from rc_hpc.core.files import parts_folder
from rc_hpc.kinds.packed.schema import PACKED
from rc_hpc.store import files
from rc_hpc.store.parts import PartStore, discard


def same(left, right):
    assert left.keys() == right.keys()
    for name, array in left.items():
        np.testing.assert_array_equal(array, right[name], err_msg=name)
        assert array.dtype == right[name].dtype, name


@pytest.mark.parametrize("schema", BOTH, ids=lambda schema: schema.kind)
@pytest.mark.parametrize("n", [0, 1, 9])
def test_round_trip(tmp_path, schema, n):
    parts = store(tmp_path / "x.parts", schema)
    batch, children = batch_of(keys_of(f"id {k}" for k in range(n)), schema)
    part = parts.write(batch, children, "r0-b0")
    assert parts.scan() == [part]
    got, got_children = parts.read(part)
    same(batch, got)
    for table in children:
        same(children[table], got_children[table])


def test_same_name_twice_keeps_both_runs(tmp_path):
    written = {store(tmp_path).write(*batch_of(keys_of(id_)), "r0-b0") for id_ in "ab"}
    assert len(written) == 2
    assert len(store(tmp_path).completed()) == 2


def test_completed_locates_rows(tmp_path):
    parts = store(tmp_path)
    first = parts.write(*batch_of(keys_of("bd")), "r0-b0")
    second = parts.write(*batch_of([*keys_of("ca"), ("b", 1, "ff")]), "r1-b0")
    done = parts.completed()
    assert len(done) == 5
    assert done.contains(["a", "b", "c", "d", "e", ""]).tolist() == [True] * 4 + [False] * 2
    assert done.contains(["b", "b"], [1, 2]).tolist() == [True, False]
    assert done.locate("d") == (first, 1)
    assert done.locate("b", 1) == (second, 2)
    assert done.locate("zz") is None


def test_nothing_done(tmp_path):
    done = store(tmp_path).completed()
    assert len(done) == 0
    assert done.contains(["a"]).tolist() == [False]


def test_other_options_are_named(tmp_path):
    store(tmp_path)
    with pytest.raises(RcError) as caught:
        store(tmp_path, options='{"delta": 0.15, "merge": "dominance"}')
    message = str(caught.value)
    assert "options.delta: was 0.01, now 0.15" in message
    assert "merge" not in message
    assert "hash" not in message
    assert "--overwrite" in message


def test_other_input_is_named(tmp_path):
    store(tmp_path)
    with pytest.raises(RcError, match='input_hash: was "abab'):
        PartStore(tmp_path, PACKED, DIMS["packed"], identity() | {"input_hash": "cd"})


def test_other_dims_are_named(tmp_path):
    store(tmp_path)
    with pytest.raises(RcError, match="dims.setting: was 7, now 4"):
        PartStore(tmp_path, PACKED, {"setting": 4}, identity())


def test_same_options_go_on(tmp_path):
    store(tmp_path)
    assert PartStore.open(tmp_path, PACKED).identity == identity()


def test_no_parts_folder(tmp_path):
    with pytest.raises(RcError, match="no run.json"):
        PartStore.open(tmp_path, PACKED)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(RcError, match="run.json: cannot be read"):
        PartStore.open(tmp_path, PACKED)


def _truncated(path):
    os.truncate(path, path.stat().st_size * 2 // 3)


def _emptied(path):
    os.truncate(path, 0)


def _flipped(path):
    with h5py.File(path, "r+") as h5:
        h5["structures/lattice"][0, 1, 2] += 1


def _resealed(change):
    def spoil(path):
        with h5py.File(path, "r+") as h5:
            change(h5)
        with open(path, "r+b") as file:
            files.write_seal(file)

    spoil.__name__ = change.__name__
    return spoil


@_resealed
def _shortened(h5):
    values = h5["structures/n_atoms"][:-1]
    del h5["structures/n_atoms"]
    h5["structures/n_atoms"] = values


@_resealed
def _incomplete(h5):
    del h5.attrs["complete"]


@_resealed
def _of_older_version(h5):
    h5.attrs["schema_version"] = 0


@_resealed
def _with_more(h5):
    h5["cells/new"] = 1


@_resealed
def _with_less(h5):
    del h5["atoms/number"]


def _foreign(path):
    path.unlink()
    with h5py.File(path, "w") as h5:
        h5["x"] = 1


def _text(path):
    path.write_text("not HDF5 at all")


SPOIL = [
    _truncated,
    _emptied,
    _flipped,
    _shortened,
    _incomplete,
    _of_older_version,
    _with_more,
    _with_less,
    _foreign,
    _text,
]


@pytest.mark.parametrize("spoil", SPOIL, ids=lambda spoil: spoil.__name__)
def test_unusable_part_is_set_aside_and_named(tmp_path, caplog, spoil):
    parts = store(tmp_path)
    bad, good = (parts.write(*batch_of(keys_of(ids)), f"r0-{ids}") for ids in ("abc", "de"))
    spoil(tmp_path / bad)
    with caplog.at_level(logging.WARNING):
        done = parts.completed()
    assert parts.set_aside == [bad]
    assert done.contains(list("abcde")).tolist() == [False] * 3 + [True] * 2
    assert [bad in record.message for record in caplog.records] == [True]
    assert (tmp_path / "rejected" / bad).exists()
    assert parts.rejected() == [bad]
    assert parts.scan() == [good]
    assert parts.set_aside == []


def test_every_damage_is_found(tmp_path):
    """HDF5 itself would miss some of these, and crash on others."""
    parts = store(tmp_path)
    part = parts.write(*batch_of(keys_of("abc")), "r0")
    whole = (tmp_path / part).read_bytes()
    for at in range(0, len(whole), 997):
        (tmp_path / part).write_bytes(whole[:at])
        assert parts.problem(part), at
        (tmp_path / part).write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert parts.problem(part), at
    (tmp_path / part).write_bytes(whole)
    assert not parts.problem(part)


def test_a_part_is_an_hdf5_file_for_others(tmp_path):
    part = store(tmp_path).write(*batch_of(keys_of("abc")), "r0")
    with h5py.File(tmp_path / part) as h5:
        assert h5["structures/id"].asstr()[:].tolist() == ["a", "b", "c"]
        assert h5.attrs["complete"]


def test_part_of_another_run(tmp_path):
    ours, theirs = store(tmp_path / "ours"), store(tmp_path / "theirs", options='{"delta": 1}')
    part = theirs.write(*batch_of(keys_of("ab")), "r0")
    shutil.copy(tmp_path / "theirs" / part, tmp_path / "ours" / part)
    assert ours.problem(part) == "from a run with other options or another input"
    assert ours.scan() == []


def test_rejecting_the_same_name_again_keeps_both(tmp_path):
    parts = store(tmp_path)
    for text in ("one", "two"):
        (tmp_path / "x.h5").write_text(text)
        parts.scan()
    assert {path.read_text() for path in (tmp_path / "rejected").iterdir()} == {"one", "two"}


def test_other_files_are_left_alone(tmp_path):
    parts = store(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "logs").mkdir()
    assert parts.scan() == []
    assert (tmp_path / "notes.txt").exists()


def test_an_unreadable_disk_is_no_damage(tmp_path, monkeypatch):
    parts = store(tmp_path)
    part = parts.write(*batch_of(keys_of("ab")), "r0")

    def refuse(path):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("rc_hpc.store.part_file.seal_problem", refuse)
    with pytest.raises(RcError, match="Input/output error"):
        parts.scan()
    assert (tmp_path / part).exists()


KILLED = """
import os, signal, sys
sys.path[:0] = sys.argv[2:]
from store_cases import batch_of, keys_of, store
from rc_hpc.store import files
parts = store(sys.argv[1])
parts.write(*batch_of(keys_of("ab")), "r0-b0")
files.os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
parts.write(*batch_of(keys_of("cd")), "r0-b1")
"""


def test_killed_before_the_rename(tmp_path):
    here = os.path.dirname(__file__)
    paths = [here, os.path.dirname(os.path.dirname(here))]
    run = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), *paths], check=False)
    assert run.returncode == -9
    parts = store(tmp_path)
    leftovers = list(tmp_path.glob(".*.tmp"))
    assert len(leftovers) == 1
    assert parts.completed().contains(list("abcd")).tolist() == [True, True, False, False]
    assert parts.clean() == [leftovers[0].name]
    assert not leftovers[0].exists()


def test_clean_spares_living_writers(tmp_path):
    parts = store(tmp_path)
    mine = tmp_path / f".a.h5.{whole._HOST}.{os.getpid()}.tmp"
    elsewhere, long_dead = tmp_path / ".a.h5.otherhost.1.tmp", tmp_path / ".b.h5.otherhost.1.tmp"
    for path in (mine, elsewhere, long_dead):
        path.touch()
    yesterday = time.time() - 86400
    os.utime(long_dead, (yesterday, yesterday))
    assert parts.clean() == [long_dead.name]
    assert mine.exists()
    assert elsewhere.exists()


def test_full_disk_at_fsync(tmp_path, monkeypatch):
    parts = store(tmp_path)

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(RcError, match="(?s)r0.*No space left on device.*--resume"):
        parts.write(*batch_of(keys_of("ab")), "r0")
    assert os.listdir(tmp_path) == ["run.json"]


FULL = """
import os, sys
sys.path[:0] = sys.argv[2:]
from store_cases import DIMS, STATIC, batch_of, keys_of, store
from rc_hpc.core.errors import RcError
from rc_hpc.kinds.packed.schema import PACKED
from rc_hpc.store.merge import merge
small = sys.argv[1]
for task in ("parts", "merge"):
    try:
        if task == "parts":
            parts = store(small)
            for k in range(1000):
                parts.write(*batch_of(keys_of(f"{k} {row}" for row in range(50))), f"r0-{k}")
        else:
            merge(small, small + "/out.h5", PACKED, DIMS["packed"], STATIC)
    except RcError as error:
        assert "No space left" in str(error) and small in str(error), error
        print(task, "refused,", sorted({name.split(".")[-1] for name in os.listdir(small)}))
"""


@pytest.mark.long
def test_a_really_full_disk(tmp_path):
    """HDF5 itself would keep the file open here and crash at exit."""
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)]
    if (
        os.geteuid()
        or not shutil.which("mount")
        or subprocess.run(mount, check=False, capture_output=True).returncode
    ):
        pytest.skip("needs the right to mount a small file system")
    here = os.path.dirname(__file__)
    paths = [here, os.path.dirname(os.path.dirname(here))]
    try:
        run = subprocess.run(
            [sys.executable, "-c", FULL, str(small), *paths],
            check=False,
            capture_output=True,
            text=True,
        )
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        "parts refused, ['h5', 'json']",
        "merge refused, ['h5', 'json']",
    ]


def test_discard(tmp_path):
    folder = parts_folder(tmp_path / "census.h5")
    assert folder.name == "census.h5.parts"
    parts = store(folder)
    parts.write(*batch_of(keys_of("ab")), "r0")
    (folder / "keep.txt").touch()
    discard(folder)
    assert os.listdir(folder) == ["keep.txt"]
    (folder / "keep.txt").unlink()
    discard(folder)
    assert not folder.exists()
    discard(folder)


def test_run_record_is_readable(tmp_path):
    store(tmp_path)
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["kind"] == "packed"
    assert run["identity"]["options"] == identity()["options"]
