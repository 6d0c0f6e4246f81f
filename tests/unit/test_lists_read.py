"""Lists and sentences of readings of pictures, of their scores, and of uniqueness, made up."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from test_scores import made_up

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import ReadStatus, Uniqueness
from rc_hpc.kinds.common.subsets import Subsets
from rc_hpc.kinds.readings import details as readings
from rc_hpc.kinds.readings import verdict as readings_verdict
from rc_hpc.kinds.readings.counts import ReadingCounts
from rc_hpc.kinds.scores import details as scores
from rc_hpc.kinds.scores import verdict as scores_verdict
from rc_hpc.kinds.unique import details as unique

ENDED = (ReadStatus.read, ReadStatus.uncertified, ReadStatus.no_lattice, ReadStatus.refused)


@pytest.fixture
def read():
    """A certified reading, one without a certificate, one without a lattice, one not opened."""
    return {
        "status": np.array(ENDED),
        "message": np.array(["", "12 pixels differ", "no lattice fits", ""], object),
        "certified": np.array(ENDED) == ReadStatus.read,
        "differing_pixels": np.array([0, 12, -1, -1]),
        "tries": np.array([1, 4, 4, 0]),
        "n_sites": np.array([2, 2, 0, 0]),
        "space_group": np.array([[225, 225], [1, 225], [0, 0], [0, 0]]),
        "space_group_by_pictures": np.array([225, 225, 0, 0]),
    }


def test_each_reading_says_why_it_is_not_certified(read, monkeypatch):
    table = {f"readings/{name}": values for name, values in read.items()}
    table["structures/status"] = np.array([Status.ok] * 3 + [Status.read_error])
    table["reading/symprec"] = np.array((0.01, 0.1))
    monkeypatch.setattr(readings, "read_table", lambda path, names: {n: table[n] for n in names})
    told = readings.details(Path("readings.h5"))
    assert list(told.why) == [
        "",
        "uncertified: 12 pixels differ",
        "no_lattice: no lattice fits",
        "",
    ]
    assert told.group.tolist() == [0, 2, 1, 0] and told.fails[0] == "not read"
    assert told.columns["space_group_read"] == [225, 1, None, None]
    assert told.columns["pixels"] == [0, 12, None, None]


def test_a_sentence_on_readings_counts_every_crystal(read):
    ok = np.array([True, True, True, False])
    status = {Status.ok.name: (3, "a", ""), Status.read_error.name: (1, "d", "no PNG")}
    ids = np.array(list("abcd"), object)
    file = ReadingCounts({}, {}, status, ids, ok, read, {}, ("x", "y"), np.array([0.01]))
    assert readings_verdict.verdict(file) == (
        "From 2 pictures each, 1 of 4 crystals are read and certified: drawn again they give the "
        "same pictures, which fix lattice and sites closely enough for the label. The others: 1 "
        "read but not certified, 1 without a lattice, 1 of pictures that could not be opened."
    )


def test_each_score_says_what_is_wrong(monkeypatch):
    file = made_up()
    more = {"n_missing": np.arange(7), "n_extra": np.zeros(7, int)}
    more["largest_error"] = np.full(7, np.inf)
    rows = {**file.rows, **more}
    table = {f"score/{name}": values for name, values in rows.items()}
    table["structures/status"] = np.where(file.ok, Status.ok, Status.read_error)
    monkeypatch.setattr(scores, "read_table", lambda path, names: {n: table[n] for n in names})
    told = scores.details(Path("scores.h5"))
    assert told.group.tolist() == [0, 3, 2, 0, 1, 2, 0]
    assert list(told.why) == [
        "",
        "true crystal system, but not every site: 1 extra",
        "not read with the true crystal system: 1 extra",
        "",
        "certified and yet wrong: 1 extra",
        "not read with the true crystal system",
        "",
    ]


def test_a_sentence_on_scores_is_that_of_the_table():
    status = {Status.ok.name: (6, "c0", ""), Status.read_error.name: (1, "c6", "no PNG")}
    file = dataclasses.replace(made_up(), status=status)
    assert scores_verdict.verdict(file) == (
        "R2: of 6 crystals 4 are read with the true crystal system at symprec 0.01 Å, 2 of them "
        "with every site; 1 of 7 could not be scored. 3 readings are certified, 1 of them wrong."
    )
    none = dataclasses.replace(file, ok=np.zeros(7, bool))
    assert scores_verdict.verdict(none) == "No reading was scored."


def test_uniqueness_says_under_which_policy_and_on_how_many_subsets_it_is_open():
    subsets = Subsets(("a+b", "a+c", "a+b+c"), np.array([2, 2, 3]), np.ones(3), 2)
    status = np.full((2, 3), Uniqueness.unique)
    assert unique._why(status, ["any", "counts"], subsets) == ""
    status[0, :2] = Uniqueness.undetermined
    status[1, 2] = Uniqueness.unknown
    assert unique._why(status, ["any", "counts"], subsets) == (
        "undetermined under any on 2 of 3 subsets; unknown under counts on 1 of 3 subsets"
    )
