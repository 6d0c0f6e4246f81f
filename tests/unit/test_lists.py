"""Lists of structures: which of mine, and why."""

import json

import numpy as np
import pandas as pd
import pytest
from tables_cases import options_of, random_batch, write_census

from rc_hpc.core.errors import Exit, Status
from rc_hpc.engine.results import lists_in
from rc_hpc.tables import main

OPTIONS = options_of()
NAMES = OPTIONS.protocol["views"]


@pytest.fixture(scope="module")
def batch():
    return random_batch(OPTIONS, 60, seed=3)


@pytest.fixture(scope="module")
def census(tmp_path_factory, batch):
    return write_census(tmp_path_factory.mktemp("lists") / "census.h5", OPTIONS, batch)


def frame(path, name):
    (table,) = lists_in(path, [name])[1]
    return table.frame


def subset_name(cameras):
    return "+".join(NAMES[camera] for camera in cameras)


def test_every_structure_has_a_row_that_says_what_the_file_says(census, batch):
    rows = frame(census, "structures")
    assert list(rows["id"]) == list(batch["structures/id"])
    for row, told in rows.iterrows():
        status = Status(batch["structures/status"][row])
        assert told["status"] == status.name
        assert told["message"] == batch["structures/message"][row]
        if status != Status.ok:
            assert told[["right", "certified", "wrong_subsets", "phantom_pairs"]].isna().all()
            continue
        right = batch["cells/correct_crystal_system"][row]
        assert told["right"] == ("yes" if right[-1] else "no")
        assert told["certified"] == ("yes" if batch["cells/certified"][row, -1] else "no")
        n = int((~right).sum())
        assert (
            told["wrong_subsets"] == "" if n == 0 else told["wrong_subsets"].startswith(f"{n} of")
        )
        named = told["wrong_subsets"].partition(": ")[2].split(", ")
        wrong = {subset_name(OPTIONS.subsets[k]) for k in np.flatnonzero(~right)}
        assert {name for name in named if name not in ("", "...")} <= wrong


def test_pairs_are_named_with_their_phantoms(census, batch):
    pairs = [k for k, cameras in enumerate(OPTIONS.subsets) if len(cameras) == 2]
    for row, told in frame(census, "structures").iterrows():
        if batch["structures/status"][row] != Status.ok:
            continue
        counts = {subset_name(OPTIONS.subsets[k]): batch["cells/n_phantoms"][row, k] for k in pairs}
        listed = [text for text in told["phantom_pairs"].split(", ") if text not in ("", "...")]
        assert (
            dict(text.rsplit(" ", 1) for text in listed).items()
            <= {name: str(n) for name, n in counts.items() if n}.items()
        )
        assert len(listed) == min(4, sum(n > 0 for n in counts.values()))
        nearest = min(batch["cells/phantom_delta"][row, pairs])
        assert told["phantoms_from_angstrom"] == (nearest if nearest > 1e-9 else 0)


def test_failures_are_the_refused_and_the_wrong_worst_first(census, batch):
    rows = frame(census, "failures")
    ok = batch["structures/status"] == Status.ok
    wrong = ok & ~batch["cells/correct_crystal_system"].all(axis=1)
    assert set(rows["id"]) == set(batch["structures/id"][~ok | wrong])
    refused = (rows["status"] != "ok").to_numpy()
    assert refused[: refused.sum()].all()
    its = rows[~refused]
    assert list(its["right"]) == sorted(its["right"])  # "no" before "yes"


def test_quarantine_is_told_with_its_cause(census, batch):
    for row, told in frame(census, "structures").iterrows():
        bits = batch["structures/quarantine"][row]
        assert ("depends on the tolerance" in told["quarantine"]) == bool(bits & 1)
        assert ("claims another" in told["quarantine"]) == bool(bits & 2)


def test_on_the_terminal_and_as_csv(census, tmp_path, capsys):
    assert main([str(census), "--table", "failures"]) == Exit.CLEAN
    told = capsys.readouterr().out
    assert (
        told.startswith("Of 60 structures 60 were refused or read as another ")
        and "wrong subsets" in told
    )
    folder = tmp_path / "lists"
    asked = ["--table", "structures", "--format", "csv", "-o", str(folder), "-q"]
    assert main([str(census), *asked]) == Exit.CLEAN
    written = pd.read_csv(folder / "structures.csv")
    assert len(written) == 60 and set(written["right"].dropna()) == {"yes", "no"}
    about = json.loads((folder / "tables.json").read_text())
    assert about["options"]["delta"] == OPTIONS.delta and about["content_hash"]


def test_files_without_tables_have_lists(tmp_path, capsys):
    from rc_hpc.pack import main as pack

    packed = tmp_path / "p.h5"
    assert pack(["synthetic:4", "-o", str(packed), "-q"]) == Exit.CLEAN
    assert main([str(packed), "--table", "structures"]) == Exit.CLEAN
    told = capsys.readouterr().out
    assert "All 4 structures" in told and "synthetic" in told
    assert main([str(packed), "--table", "failures"]) == Exit.CLEAN
    assert "Of 4 structures none was refused" in capsys.readouterr().out
