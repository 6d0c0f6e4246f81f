"""Tolerances of labels and of cells: each is the user's, and what was made at which is told."""

import json

import h5py
import numpy as np
import pytest
from census_cases import call

from rc_hpc.core.errors import Exit
from rc_hpc.kinds.census.options import CensusOptions

#: Prototypes whose stored decimals are symmetric within 1e-2 Å and not within 1e-5 Å.
ROUNDED = ["A_hP2_194_c", "AB_hP2_187_d_a", "AB2_hP3_191_a_d", "AB2_hP3_164_a_d", "AB_hP4_186_b_a"]


@pytest.fixture(scope="module")
def rounded(tmp_path_factory):
    """Arguments that choose these prototypes."""
    names = tmp_path_factory.mktemp("rounded") / "names.txt"
    names.write_text("\n".join(ROUNDED))
    return ["prototypes", "--ids", names, "-q"]


def read(path, *names):
    with h5py.File(path) as h5:
        return [h5[f"structures/{name}"][()] for name in names]


@pytest.mark.parametrize("cell, lost", [((), len(ROUNDED)), (("--cell-symprec", "1e-5"), 0)])
def test_a_suite_labelled_at_1e_5_keeps_its_labels_where_its_cells_are_made_so(
    rounded, tmp_path, cell, lost
):
    asked = [*rounded, "--tau", "1e-5", *cell, "-o", tmp_path / "p.h5"]
    assert call("pack", *asked) == Exit.CLEAN
    stored, conventional = read(tmp_path / "p.h5", "space_group", "space_group_conventional")
    assert (stored != conventional).sum() == lost


def test_a_census_at_another_tau_than_the_packed_one_says_so(rounded, tmp_path):
    """Its labels are those of a file packed at that tau; truth and quarantine stay."""
    packed, at, own = tmp_path / "p.h5", tmp_path / "at.h5", tmp_path / "own.h5"
    assert call("pack", *rounded, "--cell-symprec", "1e-5", "-o", packed) == Exit.CLEAN
    more = ["--subsets", "full", "--cell-symprec", "1e-5", "-q"]
    assert call("census", packed, "--tau", "1e-5", "-o", at, *more) == Exit.CLEAN
    fine = [*rounded, "--tau", "1e-5"]
    assert call("census", *fine, "-o", own, *more) == Exit.CLEAN
    with h5py.File(at) as h5, h5py.File(own) as other, h5py.File(packed) as before:
        for name in ("space_group", "quarantine", "sweep"):
            assert np.array_equal(h5[f"structures/{name}"], before[f"structures/{name}"])
        assert np.array_equal(h5["settings/sweep"], before["settings/sweep"])
        assert np.array_equal(h5["cells/space_group"], other["cells/space_group"])
        assert not np.array_equal(h5["structures/space_group"], other["structures/space_group"])
        told = CensusOptions.from_dict(json.loads(h5.attrs["options"])).caption()
        assert "tau 1e-05 Å" in told
        assert "true labels and quarantine at the packed tau 0.01 Å" in told
        assert "packed_tau" not in json.loads(other.attrs["options"])
