"""Folder of the compiled kernels."""

import hashlib
import logging
import os
import re
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest
from numba.core import event

from rc_hpc.engine.warming import WARMED, options_of
from rc_hpc.kinds.registry import KINDS
from rc_hpc.parallel import cache, compiling
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


def write_sources(folder, inner="y = 1", at="sub"):
    (folder / at).mkdir(parents=True, exist_ok=True)
    (folder / "a.py").write_text("x = 1")
    (folder / at / "b.py").write_text(inner)
    return folder


def test_key_follows_what_every_source_does_and_where_it_is(tmp_path):
    keys = {
        cache.cache_key(write_sources(tmp_path / "1")),
        cache.cache_key(write_sources(tmp_path / "2", "y = 2")),
        cache.cache_key(write_sources(tmp_path / "3", at=".")),
    }
    assert len(keys) == 3
    (write_sources(tmp_path / "4") / "notes.txt").write_text("no source")
    assert cache.cache_key(tmp_path / "4") in keys


def test_key_is_that_of_the_code_not_of_its_comments(tmp_path):
    key = cache.cache_key(write_sources(tmp_path / "1", "def f(x):\n    return x + 1.5\n"))
    told = '"""Text."""\n\n\ndef f(\n    x,  # a length\n):\n    """Add."""\n    return x + 1.5\n'
    assert cache.cache_key(write_sources(tmp_path / "2", told)) == key
    other = told.replace("1.5", "1.25")
    assert cache.cache_key(write_sources(tmp_path / "3", other)) != key


KERNEL = """
import sys
import time
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


CALLED = """
import sys
import time
sys.path.insert(0, {folder!r})
from pathlib import Path
from rc_hpc.engine.warming import WARMED, options_of
from rc_hpc.kinds.registry import KINDS
from rc_hpc.parallel import cache, compiling
key = cache.cache_key(Path({folder!r}))
cache.cache_key = lambda: key
cache.prepare_numba_cache()
import outer
print(key, outer.total(2.0), sum(outer.total.stats.cache_hits.values()))
"""


@pytest.mark.long
def test_a_comment_in_one_file_leaves_the_kernels_of_others_compiled(tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "outer.py").write_text(
        "from inner import twice\nimport numba\n"
        "@numba.njit(cache=True)\ndef total(x):\n    return twice(x) + 1\n"
    )
    inner = "import numba\n@numba.njit(cache=True)\ndef twice(x):\n    return 2.0 * x\n"
    environ = child_environment() | {
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "NUMBA_DISABLE_JIT": "0",
        "PYTHONPATH": str(Path(cache.__file__).parents[2]),
    }
    seen = []
    for source in (inner, f"# a comment\n{inner}", inner.replace("2.0", "3.0")):
        (folder / "inner.py").write_text(source)
        done = subprocess.run(
            [sys.executable, "-c", CALLED.format(folder=str(folder))],
            env=environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        seen.append(done.stdout.split())
    keys, values, hits = zip(*seen, strict=True)
    assert keys[0] == keys[1] != keys[2]
    assert values == ("5.0", "5.0", "7.0")
    assert hits == ("0", "1", "0")


def test_serial_warm_up_is_one_call():
    calls = []
    compiling.warm_once_per_node(SerialComm(), lambda: calls.append(1))
    assert calls == [1]


def test_what_is_missing_is_what_was_loaded_and_not_compiled_by_this_copy(monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.startswith("rc_hpc.kernels.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("merge", "grid", "near"):
        monkeypatch.setitem(sys.modules, f"rc_hpc.kernels.{name}", None)
    mine = hashlib.sha1(str(cache.KERNELS).encode()).hexdigest()
    for folder, file in ((f"kernels_{'0' * 40}", "grid.a-1.py311.nbi"), (f"kernels_{mine}", "")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / (file or "merge.b-1.py311.nbi")).write_bytes(b"")
    assert [path.name for path in compiling.missing(tmp_path)] == ["grid.py", "near.py"]


def begin(kernel):
    """What numba tells when it begins to compile a function."""
    function = types.SimpleNamespace(py_func=types.SimpleNamespace(__module__=kernel))
    event.broadcast(event.Event("numba:compile", event.EventStatus.START, {"dispatcher": function}))


def test_compiling_is_told_when_the_first_kernel_begins(caplog):
    compiling.tell_when_compiling()
    compiling.tell_when_compiling()
    begin("somebody.elses.code")
    begin("rc_hpc.kernels.near")
    assert not caplog.records
    begin("rc_hpc.kernels.merge")
    begin("rc_hpc.kernels.grid")
    (record,) = caplog.records
    assert "compiling the kernels that this needs" in record.message
    assert re.search(r"about \d+ s, as busy as it is", record.message)
    compiling.tell_when_compiling()  # the next command of this process
    begin("rc_hpc.kernels.discs")
    assert len(caplog.records) == 2


@pytest.mark.parametrize(
    ("name", "kernels"),
    [("rc_hpc.benchmark.checks.run:run", True), ("rc_hpc.benchmark.scoring.run:run", False)],
)
def test_what_is_loaded_for_a_command_tells_where_kernels_come_with_it(tmp_path, name, kernels):
    code = (
        "import os, sys\nfrom rc_hpc.parallel import compiling\n"
        f"assert compiling.load({name!r}).__name__ == 'run'\n"
        "print(len(compiling._TELLERS), 'numba' in sys.modules, os.environ['NUMBA_CACHE_DIR'])"
    )
    environ = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environ, text=True, capture_output=True, check=True
    )
    armed, numba, folder = told.stdout.split()
    assert (armed, numba) == (str(int(kernels)), str(kernels)) and folder.startswith(str(tmp_path))


CALLED_TWICE = """
import logging
logging.basicConfig(format="%(message)s")
from rc_hpc.parallel.compiling import tell_when_compiling
tell_when_compiling()
from rc_hpc.kernels import search
import numpy as np
search.lower_bound(np.zeros(1), 0, 1, 0.5)
"""


def test_what_comes_from_the_cache_is_not_told(tmp_path):
    environ = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    told = [
        subprocess.run(
            [sys.executable, "-c", CALLED_TWICE], env=environ, text=True, capture_output=True
        ).stderr.count("compiling the kernels")
        for _ in range(2)
    ]
    assert told == [1, 0]


def test_caches_that_nobody_uses_any_more_are_removed(tmp_path):
    used, recent, old, foreign = (
        tmp_path / name
        for name in ("numba-" + "0" * 16, "numba-" + "1" * 16, "numba-" + "2" * 16, "numba-mine")
    )
    for folder in (used, recent, old, foreign):
        folder.mkdir()
        (folder / "a.nbi").write_bytes(b"")
    long_ago = time.time() - (cache.UNUSED_DAYS + 1) * 86_400
    for folder in (used, old, foreign):
        os.utime(folder, (long_ago, long_ago))
    assert cache.clean_old(used) == 1
    assert sorted(tmp_path.glob("numba-*")) == sorted((used, recent, foreign))


def test_warm_says_what_it_compiled_and_then_that_all_is_there(monkeypatch, tmp_path):
    environ = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}
    told = subprocess.run(
        [sys.executable, "-m", "rc_hpc.warm"], env=environ, text=True, capture_output=True
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith(str(tmp_path)) and "all kernels were there" in told.stdout
    told = subprocess.run(
        [sys.executable, "-m", "rc_hpc.warm", "nothing"], text=True, capture_output=True
    )
    assert told.returncode == 2 and "census" in told.stderr


@pytest.mark.parametrize("name", WARMED)
def test_what_is_warmed_needs_no_file(name):
    kind = KINDS[name]
    assert isinstance(options_of(kind, "frozen"), kind.load("options")) and kind.warm
