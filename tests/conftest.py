"""Fixtures every test folder uses."""

import json
import logging
import os
from pathlib import Path

import pytest

from rc_hpc.parallel.cache import prepare_numba_cache

# Before any kernel is imported: all tests share the kernels compiled from these sources.
prepare_numba_cache()


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the tests that take minutes")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    skip = pytest.mark.skip(reason="takes minutes: run with --slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


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
