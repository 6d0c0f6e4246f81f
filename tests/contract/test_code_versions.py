"""Shards of two versions of the program: joined where the code does the same, refused where not."""

import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import pytest
from census_cases import small_crystals, write_json

import rc_hpc
from rc_hpc.core.errors import Exit
from rc_hpc.parallel.launch import child_environment

PACKAGE = Path(rc_hpc.__file__).parent
CONSTANTS = "core/constants.py"
FEW = ("--subsets", "full", "-q")


@pytest.fixture(scope="module")
def crystals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("versions")
    write_json(folder / "crystals.json", small_crystals(4))
    run(PACKAGE.parent, "pack", folder / "crystals.json", "-o", folder / "packed.h5", "-q")
    return folder / "packed.h5"


def run(tree, command, *arguments):
    """One command of a tree of the program."""
    # Each copy would compile kernels of its own.
    environment = child_environment() | {"PYTHONPATH": str(tree), "NUMBA_DISABLE_JIT": "1"}
    return subprocess.run(
        [sys.executable, "-m", f"rc_hpc.{command}", *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=tree,
    )


def version(folder, file, old, new):
    """A copy of the program with one text in place of another."""
    tree = folder / "tree"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tree / "rc_hpc", ignore=ignored)
    path = tree / "rc_hpc" / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    return tree


def shards(crystals, folder, other):
    """The first of two shards by this program, the second by another."""
    trees = (PACKAGE.parent, other)
    return [
        run(tree, "census", crystals, "-o", folder / "c.h5", "--shard", f"{i}/2", *FEW)
        for i, tree in enumerate(trees)
    ]


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (CONSTANTS, "#: Certified tolerance", "#: Certified length of tolerance"),
        (CONSTANTS, "DELTA = 0.01\n", "DELTA = (\n    0.01  # Å\n)\n"),
        (
            "kinds/census/tables.py",
            'f"View curve, ',
            'f"The view curve, ',
        ),
        ("oracle/geometry.py", '"""The geometric half', '"""The first, geometric half'),
    ],
    ids=["comment", "layout", "caption", "docstring"],
)
def test_what_changes_no_result_joins(crystals, tmp_path, file, old, new):
    ends = shards(crystals, tmp_path, version(tmp_path, file, old, new))
    assert [end.returncode for end in ends] == [Exit.CLEAN] * 2, ends[-1].stderr
    merged = run(PACKAGE.parent, "census", "merge", tmp_path / "c.h5")
    assert merged.returncode == Exit.CLEAN
    with h5py.File(tmp_path / "c.h5") as h5:
        assert "accepted_code" not in h5.attrs


def test_a_constant_does_not_join_unless_accepted(crystals, tmp_path):
    tree = version(tmp_path, CONSTANTS, "CENSUS_ZERO = 1e-6", "CENSUS_ZERO = 2e-6")
    first, second = shards(crystals, tmp_path, tree)
    assert (first.returncode, second.returncode) == (Exit.CLEAN, Exit.FATAL)
    assert f"{CONSTANTS} of rc_hpc differ" in second.stderr
    old = second.stderr.split("--accept-code ")[1].split()[0]
    arguments = (crystals, "-o", tmp_path / "c.h5", "--shard", "1/2", *FEW, "--accept-code")
    assert run(tree, "census", *arguments, "0" * 16).returncode == Exit.FATAL
    assert run(tree, "census", *arguments, old).returncode == Exit.CLEAN
    assert run(PACKAGE.parent, "census", "merge", tmp_path / "c.h5").returncode == Exit.CLEAN
    with h5py.File(tmp_path / "c.h5") as h5:
        assert old not in h5.attrs["accepted_code"] and len(h5.attrs["accepted_code"]) > 16


def test_a_finished_result_is_of_its_code(crystals, tmp_path):
    arguments = (crystals, "-o", tmp_path / "c.h5", *FEW)
    assert run(PACKAGE.parent, "census", *arguments).returncode == Exit.CLEAN
    tree = version(tmp_path, CONSTANTS, "CENSUS_ZERO = 1e-6", "CENSUS_ZERO = 2e-6")
    again = run(tree, "census", *arguments, "--resume")
    assert again.returncode == Exit.FATAL and f"{CONSTANTS} of rc_hpc differ" in again.stderr
