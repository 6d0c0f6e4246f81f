"""Distances that are short beside the covalent radii are told wherever structures are listed."""

import itertools

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.data import covalent_radii
from hypothesis import given, settings
from hypothesis import strategies as st
from test_structures_aflow import INSTALLED

from rc_hpc.census import main as census
from rc_hpc.core.constants import SHORT_DISTANCE
from rc_hpc.core.errors import Exit
from rc_hpc.engine.results import lists_in
from rc_hpc.show import main as show
from rc_hpc.structures.sources import iter_items
from rc_hpc.symmetry.distances import closest_in_radii


def naive(lattice, positions, numbers):
    best = np.inf
    for shift in itertools.product(range(-3, 4), repeat=3):
        for i, j in itertools.product(range(len(numbers)), repeat=2):
            if i != j or any(shift):
                apart = np.linalg.norm(positions[j] + np.array(shift) @ lattice - positions[i])
                best = min(best, apart / (covalent_radii[numbers[i]] + covalent_radii[numbers[j]]))
    return best if best < 1 else np.inf


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_the_closest_pair_is_that_of_all_pairs(seed, n):
    rng = np.random.default_rng(seed)
    lattice = np.diag(rng.uniform(1.8, 5, 3)) + rng.uniform(-0.7, 0.7, (3, 3))
    positions = rng.uniform(-1, 2, (n, 3)) @ lattice
    numbers = rng.choice([1, 8, 14, 55], n)
    found = closest_in_radii(lattice, positions, numbers)
    assert found == pytest.approx(naive(lattice, positions, numbers), rel=1e-9)


def doubtful(source, only=None):
    found = {}
    for item in iter_items([source]):
        if only is None or item.id in only:
            one = item.read(item, item.blob())
            found[item.id] = closest_in_radii(one.lattice, one.positions, one.numbers)
    return {id_ for id_, closest in found.items() if closest < SHORT_DISTANCE}


def test_prototypes_that_symmetry_does_not_see_through():
    found = doubtful("prototypes")
    # NiTi, C36, Mo2B5, the sigma phase and ullmanite, whose values are wrong
    assert found >= {
        "AB_mP4_11_e_e",
        "AB2_hP24_194_ef_fgh",
        "A5B2_hR7_166_a2c_c",
        "sigma_tP30_136_bf2ij",
        "ABC_cP12_198_a_a_a",
    }
    assert len(found) == 15


@INSTALLED
def test_the_four_wrong_entries_of_the_encyclopedia():
    wrong = {
        "A2B_hP18_180_fj_ac-001",
        "A3B_hR16_166_2h_2c-001",
        "A3B_hR20_166_d2h_b2c-001",
        "A4B5C9_hR18_166_2c_a2c_dh-001",
    }
    assert doubtful("aflow:sg=180", wrong) | doubtful("aflow:sg=166", wrong) == wrong


def test_lists_and_words_tell_it(tmp_path, capsys):
    close = Atoms("NiTi", [(0, 0, 0), (1.3, 0.2, 0.1)], cell=(3.1, 4.2, 5.3), pbc=True)
    close.write(tmp_path / "close.cif")
    bulk("Cu", "fcc", a=3.6).write(tmp_path / "cu.cif")
    output = tmp_path / "x.h5"
    assert census([f"{tmp_path}/*.cif", "-o", str(output), "-q"]) == Exit.CLEAN
    for path in (output, tmp_path / "x.packed.h5"):
        (table,) = lists_in(path, ["structures"])[1]
        told = dict(zip(table.frame["id"], table.frame["short_distance"], strict=True))
        assert told == {"close.cif": "0.46 of the covalent radii", "cu.cif": ""}
    assert show([str(output), "close.cif", "-o", str(tmp_path / "s")]) == Exit.CLEAN
    assert "doubtful: its closest atoms are at 0.46 of the" in capsys.readouterr().out
