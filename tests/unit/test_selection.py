"""Choosing structures of a source, packed or not, and what a first census says next."""

import contextlib
import os
import shlex
from importlib import import_module

import h5py
import numpy as np
import pytest
from ase.build import bulk
from ase.io import read
from hypothesis import given, settings
from hypothesis import strategies as st
from test_show import QUARTZ

from rc_hpc.census import main as census
from rc_hpc.core.errors import Exit, UsageError
from rc_hpc.diff import main as diff
from rc_hpc.export import main as export
from rc_hpc.kinds.common.selection import Selection
from rc_hpc.pack import main as pack
from rc_hpc.store.reader import read_table
from rc_hpc.tables import main as tables

IDS = st.lists(st.sampled_from([f"id{k}" for k in range(12)]), min_size=1, max_size=30)


def ids_of(path):
    return list(read_table(path, ["structures/id"])["structures/id"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("chosen") / "mine"
    made.mkdir()
    QUARTZ.write(made / "quartz.cif")
    for k, a in enumerate((3.6, 3.7, 3.8)):
        bulk("Cu", "fcc", a=a).write(made / f"cu {k}.cif")
    (made / "broken.cif").write_text("data_x\n")
    (made / "notes.md").write_text("no structure")
    with contextlib.chdir(made.parent):
        assert pack(["mine", "-o", "packed.h5", "-q"]) == Exit.FAILURES
    return made.parent


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@settings(deadline=None)
@given(IDS, st.integers(1, 40), st.integers(0, 3), st.randoms())
def test_lots_follow_from_ids_not_from_their_order(ids, n, seed, random):
    def drawn(listed):
        return [listed[k] for k in Selection.of({"sample": f"{n}:{seed}"}).places(listed, "x")]

    mixed = ids.copy()
    random.shuffle(mixed)
    assert len(drawn(ids)) == min(n, len(ids))
    assert sorted(drawn(ids)) == sorted(drawn(mixed))


@settings(deadline=None)
@given(IDS, st.sets(st.sampled_from([f"id{k}" for k in range(12)])), st.integers(1, 40))
def test_what_is_excluded_is_out_and_the_first_come_first(ids, without, n):
    asked = Selection.of({"exclude": ",".join(sorted(without)) or None, "first": n})
    wanted = [k for k, id_ in enumerate(ids) if id_ not in without][:n]
    if wanted:
        assert asked.places(ids, "x") == wanted
    else:
        with pytest.raises(UsageError, match="nothing of x is left"):
            asked.places(ids, "x")


def test_every_seed_draws_others():
    ids = [f"id{k}" for k in range(50)]
    draws = {tuple(Selection.of({"sample": f"5:{seed}"}).places(ids, "x")) for seed in range(20)}
    assert len(draws) == 20
    counts = np.bincount(np.concatenate([list(one) for one in draws]), minlength=50)
    assert counts.max() <= 8  # 2 expected


@pytest.mark.parametrize("asked", ["--ids quartz.cif,broken.cif", "--exclude ids.txt --sample 2:3"])
def test_a_packed_file_gives_what_its_source_gives(here, asked, tmp_path):
    (here / "ids.txt").write_text("cu 0.cif\ncu 2.cif\n")
    words = asked.split()
    for source, name in (("mine", "a.h5"), ("packed.h5", "b.h5")):
        assert census([source, *words, "-o", str(tmp_path / name), "-q"]) in (0, 3)
    assert diff([str(tmp_path / "a.h5"), str(tmp_path / "b.h5")]) == Exit.CLEAN
    names = [str(tmp_path / f"{one}.packed.h5") for one in "ab"]
    assert diff([*names, "-q"]) == Exit.CLEAN
    assert ids_of(names[0]) == ids_of(tmp_path / "a.h5")


def test_chosen_rows_are_copied_as_they_are(here, tmp_path):
    output = tmp_path / "some.h5"
    assert pack(["packed.h5", "--first", "3", "-o", str(output), "-q"]) == Exit.FAILURES
    with h5py.File("packed.h5") as whole, h5py.File(output) as some:
        assert list(some["structures/id"].asstr()) == list(whole["structures/id"].asstr())[:3]
        for name in whole["structures"]:
            np.testing.assert_array_equal(
                some[f"structures/{name}"][()], whole["structures"][name][:3]
            )
        owner = whole["atoms/structure"][()]
        for table, column in (("atoms", "position"), ("atoms", "number")):
            kept = whole[f"{table}/{column}"][()][owner < 3]
            np.testing.assert_array_equal(some[f"{table}/{column}"][()], kept)
        assert some.attrs["code"] == whole.attrs["code"]


def test_going_on_and_other_choices(here, tmp_path, capsys):
    asked = ["packed.h5", "--first", "2", "-o", str(tmp_path / "x.h5"), "-q"]
    assert census(asked) == Exit.FAILURES
    assert census([*asked, "--resume"]) == Exit.FAILURES
    asked[2] = "3"
    assert census([*asked, "--resume"]) == Exit.USAGE
    assert "holds other structures" in capsys.readouterr().err
    assert census([*asked, "--overwrite"]) == Exit.FAILURES
    assert len(ids_of(tmp_path / "x.h5")) == 3
    assert census([*asked[:-2], str(tmp_path / "y.h5"), "--shard", "0/2"]) == Exit.USAGE
    assert "rc_hpc.pack SOURCE" in capsys.readouterr().err


@pytest.mark.parametrize(
    "asked, says",
    [
        ("--ids nope", "1 of 1 are not in packed.h5: nope"),
        ("--ids mine", "give ids with commas"),
        ("--first 0", "--first must be at least 1"),
        ("--sample 3:x", "write it as N or N:SEED"),
        ("--sample 0", "write it as N or N:SEED"),
        ("--first 2 --sample 2", "contradict each other"),
        ("--ids quartz.cif --exclude quartz.cif", "nothing of packed.h5 is left"),
    ],
)
def test_wrong_choices_are_told(here, tmp_path, capsys, asked, says):
    output = tmp_path / "x.h5"
    assert census(["packed.h5", *asked.split(), "-o", str(output), "-q"]) == Exit.USAGE
    assert says in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_an_export_of_some(here, tmp_path):
    output = tmp_path / "x.extxyz"
    asked = ["packed.h5", "--exclude", "quartz.cif", "-o", str(output), "-q"]
    assert export(asked) == Exit.CLEAN
    assert [one.info["id"] for one in read(output, ":")] == [f"cu {k}.cif" for k in range(3)]


def test_a_first_census_says_what_comes_next_and_v_why(here, tmp_path, capfd, monkeypatch):
    assert census(["mine", "-o", str(tmp_path / "a b.h5"), "-v"]) == Exit.FAILURES
    told, err = capfd.readouterr()
    assert "broken.cif: empty: mine/broken.cif: it holds no atom sites" in told.splitlines()[-6]
    (strays,) = (line for line in err.splitlines() if "passed over" in line)
    assert "1 files that are no structures (1 .md)" in strays
    commands = [line for line in told.splitlines() if line.startswith("  python -m rc_hpc.")]
    assert len(commands) == 3 and "quartz.cif" in commands[1]
    monkeypatch.chdir(tmp_path)
    for line in commands:  # as printed
        _, _, module, *words = shlex.split(line, comments=True)
        name = f"{module}.__main__" if module == "rc_hpc.report" else module
        assert import_module(name).main(words) == Exit.CLEAN
    assert (tmp_path / "a b.html").exists() and list((tmp_path / "show").iterdir())
    os.chdir(here)
    assert census(["packed.h5", "-o", str(tmp_path / "c.h5")]) == Exit.FAILURES
    assert "next:" not in capfd.readouterr().out


def test_conditions_are_told_once(here, tmp_path, capsys):
    assert census(["packed.h5", "-o", str(tmp_path / "c.h5"), "-q"]) == Exit.FAILURES
    assert tables([str(tmp_path / "c.h5")]) == Exit.CLEAN
    told = capsys.readouterr().out
    assert told.count("protocol frozen, 5 views") == 1 and told.count("Conditions: ") == 1
    assert tables([str(tmp_path / "c.h5"), "--table", "reference"]) == Exit.CLEAN
    assert capsys.readouterr().out.splitlines()[0].count("protocol frozen, 5 views") == 1
