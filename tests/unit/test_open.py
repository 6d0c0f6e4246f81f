"""Any result file as a DataTree: coordinates, names, long tables, attributes, errors."""

import importlib
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest
import xarray as xr
from old_cases import IDS, KINDS, unpack

from rc_hpc.core.errors import RcError
from rc_hpc.engine.tree import open_tree
from rc_hpc.parallel.launch import child_environment
from rc_hpc.store.content import datasets
from rc_hpc.store.layout import is_length, read_rows

pytestmark = pytest.mark.long

SUBSETS = ["a+b", "a+c", "b+c", "a+b+c"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return unpack(tmp_path_factory.mktemp("old"))


@pytest.fixture(scope="module")
def tree(files):
    """Opens the file of a kind."""
    return lambda kind: open_tree(files / f"{kind}.h5")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS)
def test_every_dataset_is_at_its_path(tree, files, kind):
    opened = tree(kind)
    assert isinstance(opened, xr.DataTree)
    with h5py.File(files / f"{kind}.h5") as h5:
        for path in (path for path in datasets(h5) if not is_length(h5[path])):
            array, values = opened[path], read_rows(h5[path])
            assert array.shape == values.shape
            assert array.attrs["units"] == h5[path].attrs["units"]
            assert array.attrs["long_name"] == h5[path].attrs["description"]
            if array.dtype != object:
                np.testing.assert_array_equal(array.values, values)
            elif values.dtype == object:
                assert array.values.tolist() == values.tolist()
            else:  # codes
                assert all(isinstance(name, str) for name in array.values.ravel())
        assert opened.attrs["content_hash"] == h5.attrs["content_hash"]
    assert opened.attrs["kind"] == kind and isinstance(opened.attrs["options"], dict)


def test_structures_and_subsets_are_chosen_by_name(tree):
    cells = tree("census")["cells"]
    assert cells.structure.values.tolist() == IDS and cells.subset.values.tolist() == SUBSETS
    one = cells.sel(structure="A_cF4_225_a", subset="a+b")
    assert one["n_phantoms"].item() == 4 and one["crystal_system"].item() == "cubic"
    assert one["size"].item() == 2 and one["kappa"].item() == 1.0
    several = cells.sel(structure=["A_mC4_12_i", "AB_tP2_123_a_d"])["n_phantoms"]
    assert several.values.tolist() == [[4, 0, 4, 0], [0, 0, 0, 0]]
    frame = cells.to_dataset()[["certified", "label_status"]].to_dataframe()
    assert frame.loc[("broken", "a+c"), "label_status"] == "not_done"
    whole = tree("census").sel(structure="A_mC4_12_i")
    assert whole["structures/bravais"].item() == "mC" and whole["cells"].sizes == {"subset": 4}


def test_codes_come_as_names(tree):
    structures = tree("packed")["structures"]
    assert structures["status"].values.tolist() == ["ok"] * 4 + ["empty"]
    assert structures["crystal_system"].values.tolist()[1:] == [
        "cubic",
        "cubic",
        "monoclinic",
        "none",
    ]
    assert structures["bravais"].values.tolist() == ["tP", "cF", "cP", "mC", ""]
    assert structures["point_group_conventional"].sel(structure="A_cP1_221_a").item() == "m-3m"
    assert structures["sweep"].sel(setting="0.1 Å, 5°").values.tolist()[:2] == [123, 225]
    assert structures["lattice"].sel(vector="b", xyz="y").dtype == float


def test_long_tables_name_their_rows(tree):
    phantoms = tree("census")["phantoms"]
    assert set(phantoms.coords) == {"structure", "view_a", "view_b", "view", "xyz"}
    assert phantoms.structure.values.tolist() == ["A_cF4_225_a"] * 12 + ["A_mC4_12_i"] * 8
    mine = phantoms.ds.sel(structure="A_mC4_12_i")
    assert mine.sizes["row"] == 8 and set(mine["view_a"].values) == {"a", "b"}
    assert mine["residual"].sel(view="c").shape == (8,)
    atoms = tree("packed")["atoms"].ds.sel(structure="A_cF4_225_a")
    assert atoms["position"].sel(xyz="z").shape == (4,)
    profile = tree("frontier")["profile"]
    assert profile["subset"].values.tolist() == ["a+b+c"] * 2
    assert profile["kind"].values.tolist() == ["acceptance", "definition7"]
    renders = tree("renders")
    assert set(renders["pictures/view"].values) == set(renders["discs/view"].values) == set("abc")
    pairs = tree("noise")["pairs"]
    assert set(pairs["protocol"].values) == {"axes", "frozen"}
    samples = tree("answers")["samples"]
    assert {"structure", "arm", "sample"} <= set(samples.coords)
    assert set(samples["arm"].values) == {"coordinates", "question_only"}


def test_axes_of_sweeps_are_coordinates(tree):
    frontier = tree("frontier")["frontier"]
    assert (
        frontier.delta.values.tolist() == [0.01, 0.15]
        and frontier.delta.attrs["units"] == "angstrom"
    )
    one = frontier.sel(reading="all-pairs/dominance", delta=0.15, symprec=0.01, subset="a+b+c")
    assert one["enumeration"].item() == "all-pairs" and one["n_recovered"].dims == ("structure",)
    noise = tree("noise")["noise"]
    assert noise["delta"].dims == ("protocol", "reading", "sigma")
    read = noise.sel(protocol="frozen", sigma=0.1, seed=1, structure="A_cF4_225_a").isel(reading=0)
    assert read["estimator"].item() == "all-views" and read["space_group"].shape == ()
    assert noise["camera"].sel(protocol="axes").values.tolist() == ["a", "b", "c", "", ""]
    occlusion = tree("occlusion")
    assert occlusion["sites/n_lost"].sel(condition="O2", subset="a+b+c").shape == (5,)
    assert occlusion["occlusion"].reading.values.tolist() == [
        "all-pairs/strict/dominance",
        "all-pairs/excused/dominance",
    ]
    design = tree("design")["design"]
    assert design["phantom_subsets"].sel(protocol="frozen", size=3).shape == (5,)


def test_pictures_networks_and_votes(tree, files):
    pixels = tree("pixels")["pixels"]
    assert not pixels.variable._in_memory
    one = pixels.sel(structure="A_mC4_12_i", view="c", colour="red")
    with h5py.File(files / "pixels.h5") as h5:
        np.testing.assert_array_equal(one.values, h5["pixels"][3, 2, :, :, 0])
    assert not pixels.variable._in_memory
    evaluation = tree("training")["evaluation"]
    assert evaluation["answer"].sel(seed=24, rule="votes", structure="s31").item() in (
        evaluation["class"].values
    )
    counts = evaluation["confusion"].sel(seed=23, rule="votes", true_class="cubic")
    assert counts.sum().item() == (evaluation["truth"] == "cubic").sum().item()
    votes = tree("answers")["predictions/votes"]
    assert votes.sel(system="cubic").shape == (8,)


def test_rows_that_share_an_id_are_chosen_together(files, tmp_path):
    path = shutil.copy(files / "packed.h5", tmp_path)
    with h5py.File(path, "r+") as h5:
        h5["structures/id"][2] = IDS[1]
    opened = open_tree(path)
    assert opened["structures"].sel(structure=IDS[1])["n_atoms"].values.tolist() == [4, 1]


def test_values_are_read_when_used_and_nothing_stays_open(files, tmp_path):
    path = shutil.copy(files / "census.h5", tmp_path)
    opened = open_tree(path)
    with h5py.File(path, "r+") as h5:  # which HDF5 refuses for a file that is open for reading
        h5["cells/n_phantoms"][0, 0] = 77
    assert opened["cells/n_phantoms"].sel(structure=IDS[0], subset="a+b").item() == 77
    opened.load()
    path_of = opened["cells/n_phantoms"].values
    (tmp_path / "census.h5").unlink()
    assert path_of[0, 0] == 77 and opened["structures/status"].values[4] == "empty"


def test_what_is_not_a_result_is_named(files, tmp_path):
    (tmp_path / "a.cif").write_text("data_x\n_cell_length_a 1\n")
    part = next((files / "stopped.h5.parts").glob("*.h5"))
    for path, message in (
        (tmp_path / "a.cif", "seems to be a CIF"),
        (part, "one part of an unfinished run"),
        (tmp_path / "none.h5", "No such file"),
        (files / "stopped.h5.parts", "it is a folder"),
    ):
        with pytest.raises(RcError, match=message):
            open_tree(path)
    with h5py.File(tmp_path / "other.h5", "w") as h5:
        h5["x"] = 1
    with pytest.raises(RcError, match="HDF5 file of another program"):
        open_tree(tmp_path / "other.h5")


def test_without_xarray_the_cure_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    monkeypatch.delitem(sys.modules, "rc_hpc.engine.tree")
    with pytest.raises(RcError, match=r"rc_hpc\[notebook\]"):
        importlib.import_module("rc_hpc.engine.tree")


def test_opening_starts_nothing(files):
    code = (
        "import os, sys; from rc_hpc.engine.tree import open_tree; before = os.listdir('.')\n"
        f"open_tree({str(files / 'census.h5')!r}).load(); assert os.listdir('.') == before\n"
        "assert not {'mpi4py', 'numba', 'torch'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=child_environment())
