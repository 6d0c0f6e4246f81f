"""Fixtures every test folder uses, and the lanes: fast, plain, and with --slow."""

import json
import logging
import os
import sys
from pathlib import Path

import pytest

from rc_hpc.parallel.cache import prepare_numba_cache

# Before any kernel is imported: all tests share the kernels compiled from these sources.
prepare_numba_cache()

#: Marks of tests that are not for each save.
NOT_FAST = {"slow", "data", "mpi", "slurm", "torch", "long"}
#: Workers at most: each loads the libraries anew.
WORKERS = 8


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the tests that take minutes")


def pytest_xdist_auto_num_workers(config):
    """As many as cores where folders are run; files that are named run in one process."""
    if all(Path(arg.split("::")[0]).is_file() for arg in config.args):
        return 0
    return min(len(os.sched_getaffinity(0)), WORKERS)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    skip = pytest.mark.skip(reason="takes minutes: run with --slow")
    unit = Path(__file__).parent / "unit"
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if "slow" in marks and not config.getoption("--slow"):
            item.add_marker(skip)
        light = not marks & NOT_FAST and "shared" not in item.fixturenames
        if unit in item.path.parents and light:
            item.add_marker("fast")
        # One worker a file, for its fixtures; what starts ranks or a SLURM is not run beside
        # itself: ranks that wait take whole cores.
        group = "ranks" if marks & {"mpi", "slurm"} else item.path.stem
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session", autouse=True)
def _fast_is_light(request):
    """The fast lane loads no torch."""
    yield
    assert request.config.option.markexpr != "fast" or "torch" not in sys.modules


@pytest.fixture(scope="session")
def shared():
    """Folder of the released structures and expected values (RC_HPC_SHARED, or ../shared)."""
    folder = Path(os.environ.get("RC_HPC_SHARED", Path(__file__).parents[2] / "shared"))
    if not (folder / "data" / "e3" / "structures.json").is_file():
        pytest.skip(f"no released structures at {folder} (set RC_HPC_SHARED)")
    return folder


@pytest.fixture(scope="session")
def eval_ids(shared):
    """Ids of the 210 evaluation structures, in file order."""
    with open(shared / "data" / "e3" / "eval.jsonl", encoding="utf-8") as lines:
        return [json.loads(line)["material_id"] for line in lines]


@pytest.fixture(autouse=True)
def _fresh_logging():
    """Commands run within a test set the log level; the next test must not inherit it."""
    yield
    logging.getLogger("rc_hpc").setLevel(logging.NOTSET)
