"""Parts: round trip, what killed and foreign writers leave behind, full disks."""

import errno
import hashlib
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
from rc_hpc.store import part_file
from rc_hpc.store.parts import PartStore, begun_work, discard, done_rows


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
    written = parts.write(batch, children, range(5, 5 + n))
    (part,) = parts.scan()
    assert part.name == written.name and part.rows.tolist() == list(range(5, 5 + n))
    assert parts.written == [written] and part.longest == written.longest
    for table in children:
        expected = np.bincount(children[table]["structure"], minlength=n)
        assert part.sizes[table].tolist() == written.sizes[table].tolist() == expected.tolist()
    got, got_children = parts.read(part)
    same(batch, got)
    for table in children:
        same(children[table], got_children[table])


def test_each_run_has_a_file_of_its_own(tmp_path):
    for id_ in "ab":
        writer = store(tmp_path)
        for k in range(3):
            writer.write(*batch_of(keys_of(id_)), [k])
    assert len(store(tmp_path).names()) == 2
    assert len(store(tmp_path).scan()) == 6


def test_done_rows(tmp_path):
    parts = store(tmp_path)
    assert done_rows(parts.scan(), 3).tolist() == [False] * 3
    parts.write(*batch_of(keys_of("bd")), [1, 3])
    parts.write(*batch_of(keys_of("cb")), [2, 1])
    assert done_rows(parts.scan(), 5).tolist() == [False, True, True, True, False]


def test_as_many_numbers_as_rows(tmp_path):
    with pytest.raises(ValueError, match="row numbers of 2 rows"):
        store(tmp_path).write(*batch_of(keys_of("ab")), [1])


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


def header_of(path, at=0):
    """A record's header, and where header and body begin and end."""
    data = path.read_bytes()
    head = part_file._HEAD
    _, header, body, _ = head.unpack_from(data, at)
    start = at + head.size
    return json.loads(data[start : start + header]), start, start + header, start + header + body


def rewritten(path, change):
    """Change the header of the first record, with a checksum that fits."""
    header, start, body, end = header_of(path)
    data = path.read_bytes()
    change(header)
    text = json.dumps(header).encode()
    digest = hashlib.sha256(text + data[body:end]).digest()
    head = part_file._HEAD.pack(part_file.MAGIC, len(text), end - body, digest)
    path.write_bytes(head + text + data[body:end] + data[end:])


def _shortened(path):
    def change(header):
        header["columns"]["structures/n_atoms"][1] = [2]

    rewritten(path, change)


def _of_older_version(path):
    rewritten(path, lambda header: header.update(schema_version=0))


def _with_more(path):
    rewritten(path, lambda header: header["columns"].update({"cells/new": ["<i4", [0], 0]}))


def _of_another_type(path):
    def change(header):
        header["columns"]["structures/n_atoms"][0] = "<f4"

    rewritten(path, change)


def _foreign(path):
    path.unlink()
    with h5py.File(path, "w") as h5:
        h5["x"] = 1


def _text(path):
    path.write_text("none of ours at all")


SPOIL = [_shortened, _of_older_version, _with_more, _of_another_type, _foreign, _text]


@pytest.mark.parametrize("spoil", SPOIL, ids=lambda spoil: spoil.__name__)
def test_an_unusable_file_is_set_aside_and_named(tmp_path, caplog, spoil):
    bad = store(tmp_path).write(*batch_of(keys_of("abc")), range(3)).file
    parts = store(tmp_path)
    good = parts.write(*batch_of(keys_of("de")), [3, 4])
    spoil(tmp_path / bad)
    with caplog.at_level(logging.WARNING):
        found = parts.scan()
    assert parts.set_aside == [bad]
    assert done_rows(found, 5).tolist() == [False] * 3 + [True] * 2
    assert [bad in record.message for record in caplog.records] == [True]
    assert (tmp_path / "rejected" / bad).exists()
    assert parts.rejected() == [bad]
    assert [part.name for part in parts.scan()] == [good.name]
    assert parts.set_aside == []


def three_records(folder):
    """A file of three records, its bytes, and where each begins."""
    parts = store(folder)
    written = [parts.write(*batch_of(keys_of(id_)), [k]) for k, id_ in enumerate("abc")]
    path = folder / written[0].file
    return parts, path, path.read_bytes(), [part.at for part in written]


def test_a_torn_last_record_does_not_count(tmp_path, caplog):
    parts, path, data, begins = three_records(tmp_path)
    for size in (begins[2] - 1, begins[2] + 3, begins[2] + 100, len(data) - 1):
        path.write_bytes(data[:size])
        whole = 2 if size >= begins[2] else 1
        found = parts.look(path.name)
        assert [part.rows.tolist() for part in found.parts] == [[k] for k in range(whole)]
        assert (found.problem, found.damaged) == ("", []) and found.torn
    path.write_bytes(b"")
    found = parts.look(path.name)
    assert (found.parts, found.problem, found.damaged) == ([], "", [])
    with caplog.at_level(logging.WARNING):
        assert parts.scan() == [] and parts.set_aside == [] and not caplog.records


def test_every_damage_is_found_and_costs_its_record_only(tmp_path):
    parts, path, data, begins = three_records(tmp_path)
    ends = [*begins[1:], len(data)]
    for at in [*range(0, len(data), 397), *begins, *(begin + 8 for begin in begins)]:
        changed = bytearray(data)
        changed[at] ^= 1
        path.write_bytes(changed)
        found = parts.look(path.name)
        hit = next(k for k, end in enumerate(ends) if at < end)
        assert [part.rows.tolist() for part in found.parts] == [[k] for k in range(3) if k != hit]
        assert found.damaged or found.torn, at
        assert not found.problem


def test_a_damaged_record_is_told_and_the_others_count(tmp_path, caplog):
    parts, path, data, begins = three_records(tmp_path)
    path.write_bytes(data[: begins[1] + 90] + b"?" + data[begins[1] + 91 :])
    with caplog.at_level(logging.WARNING):
        assert [part.rows.tolist() for part in parts.scan()] == [[0], [2]]
    assert "its rows are done again" in caplog.text and path.exists()
    assert parts.set_aside == [path.name]


def test_part_of_another_run(tmp_path):
    ours, theirs = store(tmp_path / "ours"), store(tmp_path / "theirs", options='{"delta": 1}')
    part = theirs.write(*batch_of(keys_of("ab")), [0, 1])
    shutil.copy(tmp_path / "theirs" / part.file, tmp_path / "ours" / part.file)
    assert ours.look(part.file).problem == "from a run with other options or another input"
    assert ours.scan() == []


def test_parts_of_another_format_are_refused(tmp_path):
    store(tmp_path)
    run = json.loads((tmp_path / "run.json").read_text())
    del run["part_format"]
    (tmp_path / "run.json").write_text(json.dumps(run))
    (tmp_path / "0-1-cafe.h5").write_bytes(b"of an earlier version")
    with pytest.raises(RcError, match="another format.*version that began it.*--overwrite"):
        store(tmp_path)
    assert begun_work(tmp_path)
    discard(tmp_path)
    assert not tmp_path.exists()


def test_rejecting_the_same_name_again_keeps_both(tmp_path):
    parts = store(tmp_path)
    for text in ("one", "two"):
        (tmp_path / "x.part").write_text(text)
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
    part = parts.write(*batch_of(keys_of("ab")), [0, 1])

    def refuse(path):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(part_file, "_mapped", refuse)
    with pytest.raises(RcError, match="Input/output error"):
        parts.scan()
    assert (tmp_path / part.file).exists()


KILLED = """
import os, signal, sys
sys.path[:0] = sys.argv[2:]
from store_cases import batch_of, keys_of, store
from rc_hpc.store import part_file
parts = store(sys.argv[1])
parts.write(*batch_of(keys_of("ab")), [0, 1])
write = os.write
def killed(handle, data):
    write(handle, data[:len(data) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
part_file.os.write = killed
parts.write(*batch_of(keys_of("cd")), [2, 3])
"""


def test_killed_while_it_writes(tmp_path):
    here = os.path.dirname(__file__)
    paths = [here, os.path.dirname(os.path.dirname(here))]
    run = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), *paths], check=False)
    assert run.returncode == -9
    parts = store(tmp_path)
    assert parts.look(parts.names()[0]).torn
    assert done_rows(parts.scan(), 4).tolist() == [True, True, False, False]
    parts.write(*batch_of(keys_of("cd")), [2, 3])
    assert done_rows(parts.scan(), 4).all()


def test_clean_removes_spills(tmp_path):
    parts = store(tmp_path)
    (tmp_path / "3.spill").write_bytes(b"half")
    assert parts.clean() == ["3.spill"]


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


@pytest.mark.parametrize("before", [0, 2])
def test_full_disk_at_fsync(tmp_path, monkeypatch, before):
    parts = store(tmp_path)
    for k in range(before):
        parts.write(*batch_of(keys_of("ab")), [2 * k, 2 * k + 1])

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(part_file.os, "fsync", full)
        with pytest.raises(RcError, match="(?s)0-.*No space left on device.*--resume"):
            parts.write(*batch_of(keys_of("cd")), [8, 9])
    assert len(parts.scan()) == before and not parts.set_aside
    assert all(not parts.look(name).torn for name in parts.names())
    if not before:
        assert os.listdir(tmp_path) == ["run.json"]


FULL = """
import os, sys
sys.path[:0] = sys.argv[2:]
from store_cases import STATIC, batch_of, keys_of, store
from rc_hpc.core.errors import RcError
from rc_hpc.store.merge import merge
small = sys.argv[1]
for task in ("parts", "merge"):
    try:
        if task == "parts":
            parts = store(small)
            for k in range(1000):
                keys = keys_of(f"{k} {row}" for row in range(50))
                parts.write(*batch_of(keys), range(50 * k, 50 * k + 50))
        else:
            merge(parts, small + "/out.h5", STATIC)
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
        "parts refused, ['json', 'part']",
        "merge refused, ['json', 'part']",
    ]


def test_discard(tmp_path):
    folder = parts_folder(tmp_path / "census.h5")
    assert folder.name == "census.h5.parts"
    parts = store(folder)
    parts.write(*batch_of(keys_of("ab")), [0, 1])
    (folder / "3.spill").touch()
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
