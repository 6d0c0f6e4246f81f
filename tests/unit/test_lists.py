"""Lists of structures: which of mine, and why."""

import json

import numpy as np
import pandas as pd
import pytest
from tables_cases import options_of, random_batch, write_census

from rc_hpc.core.errors import Exit, Status
from rc_hpc.engine.results import lists_in
from rc_hpc.kinds.census.details import _reason, certified_below
from rc_hpc.report.tables import fitting, render
from rc_hpc.tables import main

OPTIONS = options_of()
NAMES = OPTIONS.protocol["views"]


@pytest.fixture(scope="module")
def batch():
    """Rows of which some are wrong, some right without certificates, and some just right."""
    made = random_batch(OPTIONS, 60, seed=3)
    ok = made["structures/status"] == Status.ok
    made["cells/correct_crystal_system"][30:] = ok[30:, None]
    made["cells/certified"][38:] = ok[38:, None]
    made["cells/certified"][38:44, 0] = False
    return made


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
        assert told["some_pair_phantoms_from_angstrom"] == (nearest if nearest > 1e-9 else 0)


def test_failures_are_all_that_is_not_right_certified_and_beyond_doubt(census, batch):
    rows = frame(census, "failures")
    ok = batch["structures/status"] == Status.ok
    left_out = batch["structures/status"] == Status.quarantined
    right = batch["cells/correct_crystal_system"].all(axis=1)
    certified = batch["cells/certified"]
    quarantined = batch["structures/quarantine"] > 0
    fine = ok & right & certified.all(axis=1) & ~quarantined
    assert (
        set(rows["id"]) == set(batch["structures/id"][~fine]) and not rows["id"].duplicated().any()
    )
    place = {id_: row for row, id_ in enumerate(batch["structures/id"])}
    order = [place[id_] for id_ in rows["id"]]
    groups = np.select(
        [left_out, ~ok, ~right, ~certified[:, -1], ~certified.all(axis=1)], [5, 0, 1, 2, 3], 5
    )
    assert (np.diff(groups[order]) >= 0).all() and set(groups[order]) == {0, 1, 2, 3, 5}
    wrong = [row for row in order if groups[row] == 1]
    full = [batch["cells/correct_crystal_system"][row, -1] for row in wrong]
    assert full == sorted(full)  # wrong on all cameras comes first


def test_each_failure_says_why(census, batch):
    place = {id_: row for row, id_ in enumerate(batch["structures/id"])}
    n = len(OPTIONS.subsets)
    for _, told in frame(census, "failures").iterrows():
        row, why = place[told["id"]], told["why"]
        if told["status"] == "quarantined":
            assert why.startswith("quarantined: ")
            continue
        if told["status"] != "ok":
            assert why == f"refused ({told['status']}): {told['message']}"
            continue
        wrong = int((~batch["cells/correct_crystal_system"][row]).sum())
        open_ = int((~batch["cells/certified"][row]).sum())
        assert why.startswith("read as ") == bool(wrong)
        if wrong:
            assert f" on {wrong} of {n}: " in why
        assert ("not certified on all 5 cameras: " in why) == ~batch["cells/certified"][row, -1]
        if open_ and not wrong and batch["cells/certified"][row, -1]:
            assert why.startswith(f"not certified on {open_} of {n}: ")
        assert ("quarantined: " in why) == bool(batch["structures/quarantine"][row])
    good = frame(census, "structures").set_index("id")["why"] == ""
    assert set(good.index[~good]) == set(frame(census, "failures")["id"])


def test_the_reasons_for_no_certificate():
    closest, reach = np.array([3.0, 3.0, 0.015, np.inf, 3.0]), np.array([0.5] * 5)
    n, delta = np.array([[2], [0], [0], [0], [0]]), np.array([[0.2], [np.inf]] + [[np.inf]] * 3)
    certified = np.array([[False], [True], [False], [True], [False]])
    below = certified_below(n, delta, certified, closest, reach, 0.01)[:, 0]
    # phantoms; as far as they were followed; close atoms; no two atoms of one element; blind
    np.testing.assert_allclose(below, [0.2, 0.5, 0.0075, 0.5, 0])
    for row, wanted in enumerate(["2 phantoms", "", "0.015 Å apart", "", "do not fix"]):
        if wanted:
            cell = {"n_phantoms": n[row]}
            assert wanted in _reason(cell, 0, closest[row], 0.01)


def test_quarantine_is_told_with_its_cause(census, batch):
    for row, told in frame(census, "structures").iterrows():
        bits = batch["structures/quarantine"][row]
        assert ("depends on the tolerance" in told["quarantine"]) == bool(bits & 1)
        assert ("claims another" in told["quarantine"]) == bool(bits & 2)


def test_on_the_terminal_and_as_csv(census, tmp_path, capsys):
    assert main([str(census), "--table", "failures"]) == Exit.CLEAN
    told = capsys.readouterr().out
    assert told.startswith("Of 60 structures 50 are listed, the worst first: 6 refused, ")
    assert max(map(len, told.split("\n\n")[1].splitlines())) <= 160
    folder = tmp_path / "lists"
    asked = ["--table", "structures", "--format", "csv", "-o", str(folder), "-q"]
    assert main([str(census), *asked]) == Exit.CLEAN
    written = pd.read_csv(folder / "structures.csv")
    assert len(written) == 60 and set(written["right"].dropna()) == {"yes", "no"}
    about = json.loads((folder / "tables.json").read_text())
    assert about["options"]["delta"] == OPTIONS.delta and about["content_hash"]


@pytest.mark.parametrize("width", [80, 120, 200, None])
@pytest.mark.parametrize("name", ["failures", "structures"])
def test_lists_fit_the_terminal_and_are_whole_in_files(census, tmp_path, width, name):
    (table,) = lists_in(census, [name])[1]
    shown = fitting(table, width)
    body = render(shown, "terminal", width).split("\n\n")[1]
    assert max(map(len, body.splitlines())) <= (width or 160)
    assert {"id", "why"} <= set(shown.frame) <= set(table.frame)
    dropped = {one.replace("_", " ") for one in set(table.frame) - set(shown.frame)}
    assert "message" in dropped  # which `why` holds
    if dropped - {"message", "short distance"}:  # of which this file has none
        assert "No room for: " in shown.note and "right" in shown.note
    main([str(census), "--table", name, "-o", str(tmp_path), "-q"])
    written = (tmp_path / f"{name}.txt").read_text()
    assert "wrong subsets" in written and "No room" not in written


def test_files_without_tables_have_lists(tmp_path, capsys):
    from rc_hpc.pack import main as pack

    packed = tmp_path / "p.h5"
    assert pack(["synthetic:4", "-o", str(packed), "-q"]) == Exit.CLEAN
    assert main([str(packed), "--table", "structures"]) == Exit.CLEAN
    told = capsys.readouterr().out
    assert "All 4 structures" in told and "synthetic" in told
    assert main([str(packed), "--table", "failures"]) == Exit.CLEAN
    assert (
        "Of 4 structures 2 are listed, the worst first: 2 quarantined only"
        in capsys.readouterr().out
    )
