"""Kinds of result files: declarations that hold, and a new one by a folder and a line.

What the kind of ``tests/kinds/distances`` takes, in the copy that `house_with_distances` makes:

    git diff --no-index --stat -- rc_hpc COPY/rc_hpc

tells one line of ``kinds/registry.py``, and the files of the new folder.
"""

import dataclasses
import filecmp
import json
import os
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

import house
import pytest

from rc_hpc.core.fingerprint import modules
from rc_hpc.kinds.registry import KINDS

#: Fields of a declaration that lead to code.
LEADING = (
    *("options", "schema", "dims", "statics", "plan", "oracle", "costs", "facts", "warm"),
    *("beside", "counts", "tables", "figures", "page", "show"),
)
#: Modules that carry values from one place to another and decide none: what they could change is
#: guarded by the hashes of options and input. ``.`` at the end: all of that room.
CARRIERS = (
    *(
        f"rc_hpc.core.{name}"
        for name in ("errors", "files", "ids", "kind", "lazy", "options", "text")
    ),
    "rc_hpc.store.",
    "rc_hpc.kinds.common.given",
    "rc_hpc.kinds.packed.reader",
    "rc_hpc.kinds.packed.schema",
)
#: What the engine hands to the oracle of a kind that does not begin with packed structures.
READERS = {
    "packed": ["rc_hpc.structures.sources"],
    "determined": ["rc_hpc.kinds.determined.source"],
    "readings": ["rc_hpc.kinds.readings.source"],
    "scores": ["rc_hpc.kinds.scores.source"],
}
EXAMPLE = Path(__file__).parents[1] / "kinds" / "distances"
#: Runs commands of the copy in one process; each line of its output is the code of one.
PROGRAM = """
import runpy, sys
sys.path.insert(0, {copy!r})
import rc_hpc
assert rc_hpc.__file__.startswith({copy!r})
for command in {commands!r}:
    name, *sys.argv[1:] = command.split()
    code = 0
    try:
        runpy.run_module("rc_hpc." + name, run_name="__main__", alter_sys=False)
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 0, (command, code)
    print("====", flush=True)
"""


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_all_that_a_kind_declares_is_there(kind):
    assert {field.name for field in dataclasses.fields(kind)} >= set(LEADING)
    for what in LEADING:
        assert (kind.load(what) is not None) == bool(getattr(kind, what))
    assert kind.load("schema").kind == kind.name
    if kind.tables:
        module = sys.modules[kind.load("tables").__module__]
        assert [maker.name for maker in module.TABLES] == list(kind.table_lines)
    if kind.figures:
        assert [plot.name for plot in kind.load("figures")] == list(kind.figure_lines)
        assert {name for plot in kind.load("figures") for name in plot.tables} <= {
            *kind.table_lines
        }
    assert set(kind.summary) <= set(kind.table_lines)
    assert kind.line == kind.line.strip() and not kind.line.endswith(".")


def carries(module):
    options = module.startswith("rc_hpc.kinds.") and module.endswith(".options")
    return module == "rc_hpc" or options or (module + ".").startswith(CARRIERS)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_code_of_a_kind_is_what_its_oracle_reaches(kind):
    """No module that decides a result is left out of its fingerprint, and none is there in vain."""
    begin = [
        f"{kind.package}.{name.partition(':')[0]}" for name in (kind.oracle, kind.plan) if name
    ]
    reached = house.closure([*begin, *READERS.get(kind.name, ())], carries)
    files = {house.modules()[module] for module in reached}
    named = set(modules(kind.code))
    empty = {path for path in files | named if not path.read_text().strip()}
    assert {str(path) for path in files - named - empty} == set()
    assert {str(path) for path in named - files - empty} == set()


@pytest.fixture(scope="module")
def house_with_distances(tmp_path_factory):
    """Folder of a copy of rc_hpc with the kind of ``tests/kinds`` in it."""
    folder = tmp_path_factory.mktemp("house")
    shutil.copytree(house.PACKAGE, folder / "rc_hpc", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        EXAMPLE,
        folder / "rc_hpc" / "kinds" / "distances",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    registry = folder / "rc_hpc" / "kinds" / "registry.py"
    text = registry.read_text()
    assert text.count('    "renders",\n') == 1
    registry.write_text(text.replace('    "renders",\n', '    "renders",\n    "distances",\n'))
    return folder


def run(folder, copy, *commands):
    """Run commands of a copy of rc_hpc within `folder`; what each has printed."""
    program = PROGRAM.format(copy=str(copy), commands=list(commands))
    told = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr
    return told.stdout.split("====\n")[:-1]


def test_a_new_kind_is_a_folder_and_a_line(house_with_distances):
    """Nothing else differs from the house without it."""
    new = house_with_distances / "rc_hpc"
    compared = [filecmp.dircmp(house.PACKAGE, new, ignore=["__pycache__"])]
    added, changed = [], []
    while compared:
        one = compared.pop()
        assert not one.left_only
        added += one.right_only
        changed += one.diff_files
        compared += one.subdirs.values()
    assert (added, changed) == (["distances"], ["registry.py"])
    before, after = (
        (root / "kinds" / "registry.py").read_text().splitlines() for root in (house.PACKAGE, new)
    )
    assert [line for line in after if line not in before] == ['    "distances",']
    assert len(after) == len(before) + 1


@pytest.mark.long
def test_every_command_knows_the_new_kind(house_with_distances, tmp_path):
    told = run(
        tmp_path,
        house_with_distances,
        "pack synthetic:12 --seed 3 -o packed.h5 -q",
        "sweep --help",
        "sweep distances packed.h5 --dry-run",
        "sweep distances packed.h5",
        "sweep status distances.h5",
        "sweep validate distances.h5",
        "sweep distances packed.h5 --shard 0/2 -o half.h5 -q",
        "sweep distances packed.h5 --shard 1/2 -o half.h5 -q",
        "sweep merge half.h5",
        "diff distances.h5 half.h5",
        "tables --help",
        "tables distances.h5 --table distances --format csv",
        "tables half.h5 --format csv -o tables",
        "figures half.h5 -o figures -q",
        "sweep distances packed.h5 --own-images -o own.h5 -q",
    )
    assert "distances  the smallest distance" in told[1]
    assert "structures: 12" in told[2]
    assert "structures closer than" not in told[3] and "closer than a length" in told[3]
    assert "12 structures" in told[4] and "valid" in told[5]
    assert "tables of a distances file" in told[10]
    first, *rows = told[11].splitlines()
    assert first == "structures,length_angstrom,count,n,share,low95,high95"
    assert rows
    captions = json.loads((tmp_path / "tables" / "tables.json").read_text())["captions"]
    assert "own images do not count" in captions["distances"]
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"distances.{ending}" for ending in ("csv", "pdf", "png")
    }


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_no_dimension_of_a_dataset_is_there_twice(kind):
    """Else xarray warns of it, and names along it choose nothing."""
    schema = kind.load("schema")
    for own in filter(None, (schema, schema.molecules)):
        for column in chain(own.main, *own.children.values()):
            assert len(set(column.dims)) == len(column.dims), column.path
