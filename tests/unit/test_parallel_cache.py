"""Folder of the compiled kernels."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rc_hpc.parallel import cache
from rc_hpc.parallel.launch import SerialComm, child_environment


@pytest.fixture(autouse=True)
def plain(monkeypatch, tmp_path):
    """No launcher, no numba, an own temporary folder and home."""
    for name in set(os.environ) - set(child_environment()) | {"SLURM_JOB_ID", "XDG_CACHE_HOME"}:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    (tmp_path / "temp").mkdir()
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path / "temp"))


def test_folder_is_keyed_and_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "mine"))
    folder = cache.prepare_numba_cache()
    assert folder == tmp_path / "mine" / cache.cache_key()
    assert folder.is_dir() and not any(folder.iterdir())
    assert os.environ["NUMBA_CACHE_DIR"] == str(folder)
    assert cache.prepare_numba_cache() == folder


def test_base_folder(monkeypatch, tmp_path):
    assert cache.prepare_numba_cache().parent == tmp_path / "home" / ".cache" / "rc_hpc"
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.prepare_numba_cache().parent == tmp_path / "xdg" / "rc_hpc"


@pytest.mark.parametrize("name, value", [("SLURM_JOB_ID", "7"), ("PMI_SIZE", "2")])
def test_cluster_jobs_use_the_node_local_folder(monkeypatch, tmp_path, name, value):
    monkeypatch.setenv(name, value)
    folder = cache.prepare_numba_cache()
    assert folder.parent == tmp_path / "temp" / f"rc_hpc-{os.getuid()}"
    assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_unwritable_folder_falls_back_with_one_warning(monkeypatch, tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "below"))
    with caplog.at_level(logging.WARNING):
        folder = cache.prepare_numba_cache()
        assert cache.prepare_numba_cache() == folder
    assert folder.is_relative_to(tmp_path / "temp") and folder.is_dir()
    [record] = caplog.records
    assert str(tmp_path / "file") in record.getMessage()
    assert "NUMBA_CACHE_DIR" in record.getMessage()


def test_folder_others_can_write_is_not_trusted(monkeypatch, tmp_path, caplog):
    """Cached kernels are code: a folder another user prepared must not be read."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    planted = tmp_path / "temp" / f"rc_hpc-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    folder = cache.prepare_numba_cache()
    assert not folder.is_relative_to(planted) and folder.is_dir()
    assert "other users" in caplog.text


def test_key_follows_every_source(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "sub" / "b.py").write_text("y = 1")
    keys = [cache.cache_key(tmp_path)]
    (tmp_path / "sub" / "b.py").write_text("y = 2")
    keys.append(cache.cache_key(tmp_path))
    (tmp_path / "sub" / "b.py").rename(tmp_path / "b.py")
    keys.append(cache.cache_key(tmp_path))
    (tmp_path / "notes.txt").write_text("no source")
    assert cache.cache_key(tmp_path) == keys[-1]
    assert len(set(keys)) == 3


KERNEL = """
import sys
sys.path.insert(0, {folder!r})
if {early}:
    import numba
from rc_hpc.parallel.cache import prepare_numba_cache
print(prepare_numba_cache())
import kernel
kernel.twice(2)
"""


@pytest.mark.parametrize("early", [False, True])
def test_numba_uses_the_folder(tmp_path, early):
    """Also where numba was imported first, as long as no kernel was."""
    (tmp_path / "kernel.py").write_text(
        "import numba\n@numba.njit(cache=True)\ndef twice(x):\n    return 2 * x\n"
    )
    environ = {
        **child_environment(),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "NUMBA_DISABLE_JIT": "0",
        "PYTHONPATH": str(Path(cache.__file__).parents[2]),
    }
    done = subprocess.run(
        [sys.executable, "-c", KERNEL.format(folder=str(tmp_path), early=early)],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    folder = Path(done.stdout.strip())
    assert folder.parent == tmp_path / "cache"
    assert list(folder.rglob("*.nbi"))
    assert len(list((tmp_path / "cache").rglob("*.nbi"))) == 1


def test_serial_warm_up_is_one_call():
    calls = []
    cache.warm_once_per_node(SerialComm(), lambda: calls.append(1))
    assert calls == [1]
