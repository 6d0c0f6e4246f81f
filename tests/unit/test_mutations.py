"""A change of a printed truth, a price or a tie fails a test: each of these was made and did."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import house
import pytest

pytestmark = pytest.mark.long

UNIT = Path(__file__).parent
#: Module, what is changed in it, and tests one of which must fail.
MUTATIONS = [
    ("kinds/common/options", "true label: {} cell", "true label: stored cell", "test_printed"),
    (
        "kinds/common/options",
        'caption="quarantine {}"',
        'caption="quarantine mark"',
        "test_printed",
    ),
    ("kinds/census/options", "enumeration {}", "enumeration all-pairs", "test_printed"),
    (
        "kinds/common/tables",
        "[conditions] if maker.conditional",
        "[] if maker.conditional",
        "test_tables",
    ),
    ("vlm/questions", "PIXELS_PER_TOKEN = 750", "PIXELS_PER_TOKEN = 800", "test_printed"),
    ("vlm/questions", "CHARACTERS_PER_TOKEN = 4", "CHARACTERS_PER_TOKEN = 5", "test_printed"),
    ("vlm/plan", "TYPICAL_REPLY = 500", "TYPICAL_REPLY = 50", "test_printed"),
    ("vlm/prices", "/ 1e6", "/ 1e3", "test_printed"),
    ("core/constants", "TIE = 1e-6", "TIE = 1e-4", "test_ties"),
    ("kinds/occlusion/oracle", "TIE = 1e-6", "TIE = 1e-8", "test_ties"),
    ("images/view", "SAME_DEPTH = 1e-6", "SAME_DEPTH = 1e-5", "test_ties"),
    (
        "kinds/census/oracle",
        "separation > 2 * options.delta",
        "separation > options.delta",
        "test_ties",
    ),
    ("oracle/labels", 'if which == "stored"', 'if which != "stored"', "test_ties"),
    ("answers/votes", "1 / len(tied)", "1.0", "test_ties"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Folder with a copy of rc_hpc."""
    folder = tmp_path_factory.mktemp("mutants")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(house.PACKAGE, folder / "rc_hpc", ignore=ignored)
    return folder


@pytest.mark.parametrize("module, before, after, test", MUTATIONS, ids=lambda text: text[:40])
def test_a_mutant_is_caught(copy, module, before, after, test):
    path = copy / "rc_hpc" / f"{module}.py"
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, after), encoding="utf-8")
    options = ["-q", "-x", "-p", "no:cacheprovider", "--numprocesses", "0"]
    try:
        told = subprocess.run(
            [sys.executable, "-m", "pytest", *options, str(UNIT / f"{test}.py")],
            cwd=copy,
            # Kernels of another place would be compiled anew: here they run as Python.
            env={**os.environ, "PYTHONPATH": str(copy), "NUMBA_DISABLE_JIT": "1"},
            capture_output=True,
            text=True,
        )
    finally:
        path.write_text(text, encoding="utf-8")
    assert told.returncode == 1, told.stdout + told.stderr
    assert "assert" in told.stdout
