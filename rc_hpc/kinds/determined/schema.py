"""Columns of a file of what pictures determine."""

from __future__ import annotations

import numpy as np

from rc_hpc.benchmark.reading.floors import FLOORS
from rc_hpc.kinds.common.source import about
from rc_hpc.store.schema import TEXT, Column, Schema

_READ = ("sight", "views")

QUESTIONS = (
    Column("questions/stratum", TEXT, "1", "Q1a to Q6, Q2 with its difficulty.", fill=""),
    Column("questions/base_structure", TEXT, "1", "Cluster of intervals.", fill=""),
    Column("questions/answer", TEXT, "1", "Letter of the right option.", fill=""),
    Column("questions/options", TEXT, "1", "Texts of A to D.", ("option",), ""),
    Column("questions/n_shown", "i4", "1", "Pictures that the question shows of a scene."),
    Column(
        "questions/radii",
        "f8",
        "1",
        "Radius of the discs that are drawn, in covalent radii, as its scenes have it.",
        fill=np.nan,
    ),
    Column(
        "questions/bond_factor",
        "f8",
        "1",
        "Of the shortest distance of a pair, up to which its atoms are bonded; 1.1 where no scene "
        "tells.",
        fill=np.nan,
    ),
    Column("questions/depth_trap", "?", "1", "The first picture turns the order of distances."),
    Column(
        "questions/scene_from",
        TEXT,
        "1",
        "Where its scenes come from: scenes (the file of displayed scenes), text, or nothing.",
        fill="",
    ),
)
FLOOR_COLUMNS = tuple(
    Column(f"floors/{name}", "f8", "1", f"Expected score of a reader who {what}.", fill=np.nan)
    for name, what in FLOORS.items()
)
READINGS = (
    Column("determined/known", "?", "1", "There is a result.", _READ, False),
    Column(
        "determined/remain",
        "u1",
        "1",
        "Options that agree with the pictures: bit 0 is A, bit 3 is D.",
        _READ,
    ),
    Column("determined/n_remain", "u1", "1", "Number of those.", _READ),
    Column("determined/determined", "?", "1", "The right option alone remains.", _READ, False),
    Column("determined/misled", "?", "1", "The right option does not remain.", _READ, False),
    Column(
        "determined/score",
        "f8",
        "1",
        "Expected score of a reader who draws evenly among those that remain, of all four where "
        "none does.",
        _READ,
        np.nan,
    ),
    Column("determined/n_points", "i4", "1", "Points reconstructed.", _READ),
    Column("determined/n_phantoms", "i4", "1", "Those that are no displayed atom.", _READ),
    Column("determined/n_missed", "i4", "1", "Displayed atoms that no point is at.", _READ),
    Column(
        "determined/remain_by_distance",
        "u1",
        "1",
        "Of Q2: options that agree with the distances, as determined/remain; the bonds drawn are "
        "not looked at.",
        _READ,
    ),
)

DETERMINED = Schema(
    "determined",
    "What the pictures of benchmark questions determine: options that remain, by how well and "
    "from how many sides one looks.",
    (*about("a question"), *QUESTIONS, *FLOOR_COLUMNS, *READINGS),
    {},
)
