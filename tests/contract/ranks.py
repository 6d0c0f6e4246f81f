"""What starts several ranks, and the marks of tests that do."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

#: Of this environment, active or not; else of the machine.
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")

needs_mpi = [
    pytest.mark.mpi,
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is missing"),
    pytest.mark.skipif(MPIEXEC is None, reason="mpiexec is missing"),
]


def needs_ranks(test):
    """Decorator of a test, with all of these marks."""
    for mark in needs_mpi:
        test = mark(test)
    return test
