"""Columns of a noise file."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.vocabulary import System
from rc_hpc.kinds.packed.schema import STRUCTURES
from rc_hpc.store.schema import Column, Schema

_RUNS = ("protocol", "reading", "sigma", "seed")

NOISE_COLUMNS = (
    Column(
        "structures/lattice_system",
        System,
        "1",
        "Crystal system that the exact lattice alone would tell: that of its metric.",
        fill=System.none,
        later=True,
    ),
    Column(
        "noise/separation",
        "f8",
        "angstrom",
        "Smallest distance between two atoms of one species within the drawn cell, tiling "
        "included; inf where no species occurs twice.",
        ("protocol",),
        np.nan,
    ),
    Column(
        "noise/budget_record",
        "f8",
        "angstrom",
        "The record's predicted tolerance (separation - tau) / (2 kappa), with the "
        "protocol's largest kappa.",
        ("protocol",),
        np.nan,
    ),
    Column(
        "noise/budget_certain",
        "f8",
        "angstrom",
        "Error of every centroid up to which no position can be mistaken for a neighbour's.",
        ("protocol", "reading"),
        np.nan,
    ),
    Column(
        "noise/budget_probable",
        "f8",
        "angstrom",
        "sigma up to which no position of the structure is mistaken for a neighbour's with "
        "probability 0.95.",
        ("protocol", "reading"),
        np.nan,
    ),
    Column(
        "noise/aligned",
        "i1",
        "1",
        "Shortest lattice vector of the conventional cell, coefficients up to 3, that this "
        "camera looks along: it shows atoms that differ by it at one place. 0, 0, 0 where "
        "there is none.",
        ("protocol", "view", "vector"),
    ),
    Column(
        "noise/n_images",
        "i4",
        "1",
        "Places at which this camera shows the drawn atoms, species by species; -1 beyond "
        "the protocol's views.",
        ("protocol", "view"),
        -1,
    ),
    Column("noise/n_recovered", "i4", "1", "Atoms read from the noisy centroids.", _RUNS, -1),
    Column(
        "noise/median_error",
        "f4",
        "angstrom",
        "Median distance of these from the nearest true atom of their species.",
        _RUNS,
        np.nan,
    ),
    Column("noise/largest_error", "f4", "angstrom", "Largest such distance.", _RUNS, np.nan),
    Column("noise/symprec", "f4", "angstrom", "spglib's symprec of the label.", _RUNS, np.nan),
    Column(
        "noise/space_group",
        "i2",
        "1",
        "Space-group number of the cell that was read; 0 is none: no atoms, or spglib gave up.",
        _RUNS,
    ),
    Column(
        "noise/lowest_system",
        System,
        "1",
        "Lowest crystal system that the chi-squares of the labeller statistical do not exclude; "
        "none where nothing is tested. Lower than that of the label: the reading is undecided.",
        _RUNS,
        System.none,
        later=True,
    ),
    Column(
        "noise/displaced_space_group",
        "i2",
        "1",
        "Space-group number read from pictures of the cell with every atom displaced (option "
        "displace), with the same errors; 0 is none, -1: not asked for.",
        _RUNS,
        -1,
        later=True,
    ),
    Column(
        "noise/correct_crystal_system",
        "?",
        "1",
        "Crystal system equals the true one.",
        _RUNS,
        False,
    ),
    Column("noise/correct_bravais", "?", "1", "Bravais lattice equals the true one.", _RUNS, False),
    Column("noise/correct_point_group", "?", "1", "Point group equals the true one.", _RUNS, False),
    Column("noise/correct_space_group", "?", "1", "Space group equals the true one.", _RUNS, False),
)

NOISE = Schema(
    "noise",
    "Centroid noise: what is read of each structure from pictures whose disc centres carry "
    "Gaussian errors.",
    (*STRUCTURES, *NOISE_COLUMNS),
    {},
)
