"""The lock of a file: who holds it, who may share it, and what is left of it."""

import errno
import fcntl
import os

import pytest

from rc_hpc.core.errors import RcError
from rc_hpc.core.lock import FileLock


def test_a_lock_names_its_holder_and_leaves_nothing(tmp_path):
    path = tmp_path / "lock"
    held = FileLock(path)
    with pytest.raises(RcError, match=rf"out\.parts: another .*\(process {os.getpid()} on .*lock"):
        FileLock(path, tmp_path / "out.parts")
    held.release()
    assert not path.exists()


def test_a_shared_lock_stays_for_the_others(tmp_path):
    path = tmp_path / "lock"
    first, second = FileLock(path, shared=True), FileLock(path, shared=True)
    with pytest.raises(RcError, match="another run"):
        FileLock(path)
    first.release()
    assert path.exists()
    second.release()
    assert not path.exists()


def test_a_file_with_content_is_locked_as_it_is(tmp_path):
    path = tmp_path / "journal"
    path.write_bytes(b"first\n")
    held = FileLock(path, content=True)
    with pytest.raises(RcError, match="another run") as said:
        FileLock(path, content=True)
    assert "remove" not in str(said.value)
    os.write(held.handle, b"second\n")
    held.release()
    assert path.read_bytes() == b"first\nsecond\n"


def test_a_file_that_was_set_aside_meanwhile_is_not_taken(tmp_path, monkeypatch):
    path, lock = tmp_path / "journal", fcntl.flock

    def moved(handle, mode):
        monkeypatch.undo()
        path.rename(tmp_path / "aside")
        lock(handle, mode)

    monkeypatch.setattr(fcntl, "flock", moved)
    held = FileLock(path, content=True)
    assert os.path.samestat(os.fstat(held.handle), path.stat())
    held.release()


def test_a_file_system_without_locks_stops_nobody(tmp_path, monkeypatch):
    def refused(handle, mode):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refused)
    FileLock(tmp_path / "lock").release()
