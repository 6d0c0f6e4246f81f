"""Files of version 0.1.0: read, valid, with the same tables, and made again value by value."""

import csv
import importlib
import json
import shutil

import h5py
import numpy as np
import pytest
from old_cases import COMMANDS, IDS, KINDS, ROWED, SWEEPS, unpack

from rc_hpc.engine.diff import compare, text
from rc_hpc.engine.diff_options import DiffOptions
from rc_hpc.kinds.registry import schema_of
from rc_hpc.store.arrays import mapped

pytestmark = pytest.mark.long

TABLED = ("census", *SWEEPS)
QUIET = ("-q", "--progress", "none")
#: Another processor may round the last bits otherwise; counts and labels must be the same.
ROUNDING = {"rtol": 1e-9, "atol": 1e-12}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return unpack(tmp_path_factory.mktemp("old"))


def run(name, *args):
    """Exit code of a command."""
    main = importlib.import_module(f"rc_hpc.{name}").main
    return int(main([str(arg) for arg in args]))


#: What columns of tables are called now, and rows that are new.
RENAMED = {
    "with_exact_phantoms": "with_meeting_phantoms",
    "exact_phantoms": "meeting_phantoms",
    "mean_exact_phantoms": "mean_meeting_phantoms",
}
NEW_ROWS = {"near ties, all subsets"}


def test_they_are_of_that_version(files):
    for kind in KINDS:
        with h5py.File(files / f"{kind}.h5") as h5:
            assert h5.attrs["creator_version"] == "0.1.0" and h5.attrs["schema_version"] == 1
            assert h5.attrs["kind"] == kind and "code" not in h5.attrs


@pytest.mark.parametrize("kind", ROWED)
def test_status_and_validation(files, kind, capsys):
    name, path = COMMANDS[kind][0], files / f"{kind}.h5"
    assert run(name, "status", path) == 0
    out = capsys.readouterr().out
    assert "5 of 5 structures in the finished file" in out and "empty: 1" in out
    assert run(name, "validate", path) == 0
    assert capsys.readouterr().out == f"{path}: valid\n"


@pytest.mark.parametrize("kind", TABLED)
def test_tables_have_the_same_numbers(files, kind, tmp_path):
    assert run("tables", files / f"{kind}.h5", "--format", "csv", "-o", tmp_path, "-q") == 0
    before = sorted((files / "tables" / kind).glob("*.csv"))
    assert len(before) > 2
    for path in before:
        with open(path, newline="") as old, open(tmp_path / path.name, newline="") as new:
            was, now = list(csv.DictReader(old)), list(csv.DictReader(new))
        now = [row for row in now if row.get("quantity") not in NEW_ROWS]
        was = [{RENAMED.get(name, name): value for name, value in row.items()} for row in was]
        assert [
            row | {name: now_row.get(name) for name in row}
            for row, now_row in zip(was, now, strict=True)
        ] == was


#: Options of packing that files of that version lack; those of all kinds of structures hold them.
_OF_PACKING = ("atom_order", "sweep", "molecules", "group_tolerance", "orientation")
#: Options that every kind, or every cell, has since, as `diff` tells them.
LATER_EVERYWHERE = tuple(
    f"{name}: was null"
    for name in (
        "tie",
        "label",
        *(f"{pack}{one}" for pack in ("", "pack.") for one in _OF_PACKING),
    )
)
#: What else is new in a kind.
LATER_TABLES = {"design": ("scores/loose_rate",)}
LATER_OPTIONS = {
    "noise": ("displace: was null, now 0.0",),
    "design": ('ask: was null, now "phantoms"',),
}


def options_of(path):
    """As recorded."""
    with h5py.File(path) as h5:
        return json.loads(h5.attrs["options"])


def later(kind):
    """Datasets that files of that version lack by declaration."""
    if kind not in ROWED:
        return ()
    schema = schema_of(kind, "")
    tables = {"": schema.main, **{f"{name}/": table for name, table in schema.children.items()}}
    return tuple(
        prefix + column.path for prefix, table in tables.items() for column in table if column.later
    )


@pytest.mark.parametrize("kind", COMMANDS)
def test_the_same_command_makes_the_same_again(files, kind, tmp_path, monkeypatch):
    """From the old files as inputs, where the command reads one."""
    monkeypatch.chdir(files)
    name, line = COMMANDS[kind]
    assert run(name, *line.split(), "-o", tmp_path / f"{kind}.h5", *QUIET) in (0, 3)
    added = later(kind) + LATER_TABLES.get(kind, ())
    found = compare(
        DiffOptions(files / f"{kind}.h5", tmp_path / f"{kind}.h5", ignore=added, **ROUNDING)
    )
    assert {one.name: (one.gone, one.added) for one in found.axes} == (
        {"setting": ((), ("0.01 Å, -1°",))} if kind in ROWED else {}
    ), text(found)
    assert not [one for one in found.changed if one.counts], text(found)
    with h5py.File(files / f"{kind}.h5") as old:
        assert not [path for path in added if path in old]
    if kind != "pixels":  # whose options name the drawing's
        asked = LATER_OPTIONS.get(kind, ())
        known = (*LATER_EVERYWHERE, "scores: ")  # which are compared below
        told = tuple(line for line in found.options if not line.startswith(known))
        assert told == asked, text(found)
        before, now = (
            options_of(path / f"{kind}.h5").get("scores", []) for path in (files, tmp_path)
        )
        for one, other in zip(before, now, strict=True):
            assert one == pytest.approx({name: other[name] for name in one})


def test_pictures_are_mapped_and_answers_are_read(files, capsys):
    pixels = mapped(files / "pixels.h5", "pixels", "pixels")
    with h5py.File(files / "pixels.h5") as h5:
        np.testing.assert_array_equal(pixels, h5["pixels"][()])
    packed = files / "packed.h5"
    assert (
        run("ladder.__main__", files / "answers.h5", "--structures", packed, "--table", "files")
        == 0
    )
    assert "question-only" in capsys.readouterr().out


@pytest.fixture
def stopped(files, tmp_path, monkeypatch):
    """The parts of a census that a signal stopped; the working folder is theirs."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "stopped.h5.parts"


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


CENSUS = ("packed.h5", "--protocol", "axes.toml", "-o", "stopped.h5", *QUIET)


def test_an_unfinished_run_is_begun_anew_only_where_asked(stopped, capsys):
    before = files_in(stopped)
    assert run("census", *CENSUS, "--resume") == 1
    assert "--overwrite" in capsys.readouterr().err and files_in(stopped) == before
    assert run("census", *CENSUS, "--overwrite") == 3
    assert not stopped.exists()
    with h5py.File("stopped.h5") as h5:
        assert h5["structures/id"].asstr()[()].tolist() == IDS


@pytest.mark.parametrize(
    "args",
    [
        (*CENSUS, "--resume"),
        ("merge", "stopped.h5"),
        ("merge", "stopped.h5", "--partial"),
        ("status", "stopped.h5"),
        ("validate", "stopped.h5"),
    ],
    ids=["resume", "merge", "partial", "status", "validate"],
)
def test_an_unfinished_run_is_refused_by_its_version_and_not_touched(stopped, capsys, args):
    """Its parts name no code: no one can tell whether they may be joined with those of today."""
    before = files_in(stopped)
    assert run("census", *args) == 1
    told = "".join(capsys.readouterr())
    assert "begun by rc_hpc 0.1.0" in told and "--overwrite" in told
    assert files_in(stopped) == before
