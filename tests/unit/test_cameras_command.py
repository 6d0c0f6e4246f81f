"""Cameras judged by their geometry and on structures: as the design and the census judge them."""

import json

import h5py
import numpy as np
import pandas as pd
import pytest
from ase.build import bulk
from test_show import QUARTZ

from rc_hpc.cameras import main
from rc_hpc.census import main as census
from rc_hpc.core.errors import Exit
from rc_hpc.geometry.camera_sets import geometric_scores
from rc_hpc.geometry.protocol import load_protocol

PROTOCOL = """\
name = "mine"
[[camera]]
name = "front"
direction = [0.0, -1.0, 0.0]
[[camera]]
name = "corner"
direction = [1.0, 1.0, 1.0]
[[camera]]
name = "back"
direction = [0.0, 1.0, 0.0]
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cameras")
    (folder / "mine.toml").write_text(PROTOCOL)
    source = folder / "crystals"
    source.mkdir()
    QUARTZ.write(source / "quartz.cif")
    bulk("Cu", "fcc", a=3.6).write(source / "cu.cif")
    (source / "broken.cif").write_text("data_x\n")
    output = folder / "out"
    asked = [str(folder / "mine.toml"), "--on", str(source), "--seeds", "1", "--sigmas", "0,0.2"]
    asked += ["--table-format", "csv", "-o", str(output)]
    assert main(asked) == Exit.FAILURES
    return folder


def table(folder, name):
    return pd.read_csv(folder / f"{name}.csv")


def test_geometry_is_that_of_the_search(made):
    frame = table(made / "out", "worth").set_index("protocol")
    assert list(frame.index) == ["mine", "frozen", "off-axis"]
    for name, path in (("mine", str(made / "mine.toml")), ("frozen", "frozen")):
        for what, value in geometric_scores(load_protocol(path)).items():
            if what in frame:
                assert frame.loc[name, what] == pytest.approx(value, rel=1e-12)


def test_parallel_cameras_are_told(made, capsys):
    pairs = table(made / "out", "pairs").set_index(["protocol", "pair"])
    back = pairs.loc[("mine", "front+back")]
    assert back["angle_deg"] == 0 and back["kappa"] == np.inf and back["right_count"] <= 1
    assert pairs.loc[("mine", "front+corner"), "angle_deg"] == pytest.approx(54.7356, abs=1e-4)


def test_what_structures_say_is_what_the_census_says(made, tmp_path):
    output = tmp_path / "c.h5"
    asked = [str(made / "crystals"), "--protocol", str(made / "mine.toml"), "-q", "-o"]
    assert census([*asked, str(output)]) == Exit.FAILURES
    worth = table(made / "out", "worth").set_index("protocol").loc["mine"]
    pairs = table(made / "out", "pairs").set_index(["protocol", "pair"]).loc["mine"]
    with h5py.File(output) as h5:
        done = h5["structures/status"][()] == 0
        cells = {name: h5[f"cells/{name}"][()][done] for name in h5["cells"]}
        names = list(h5["subsets/name"].asstr())
        full = h5["subsets/size"][()].argmax()
    assert worth["n"] == 2
    assert worth["certified_count"] == cells["certified"][:, full].sum()
    assert worth["unique_count"] == cells["unique_any"][:, full].sum()
    assert worth["R1"] == cells["correct_crystal_system"][:, full].mean()
    for pair, row in pairs.iterrows():
        place = names.index(pair)
        assert row["phantoms_count"] == (cells["n_phantoms"][:, place] > 0).sum()
        assert row["right_count"] == cells["correct_crystal_system"][:, place].sum()
    directions = table(made / "out", "directions").set_index(["protocol", "camera"])
    assert directions.loc[("frozen", "axis_c"), "aligned_count"] == 2


def test_the_drawing_has_its_data(made):
    for ending in ("png", "pdf"):
        assert (made / "out" / f"cameras.{ending}").stat().st_size > 5_000
    text = (made / "out" / "cameras.csv").read_text()
    assert "# figure: cameras" in text and "front" in text
    assert json.loads(text.partition("# options: ")[2].partition("\n")[0])


def test_without_structures_and_wrong_requests(made, tmp_path, capsys):
    assert main([str(made / "mine.toml"), "--beside", "none"]) == Exit.CLEAN
    told = capsys.readouterr().out
    assert "front+corner" in told and "frozen" not in told and "aligned" not in told
    for asked, says in (
        (["--first", "2"], "add it"),
        (["--on", "synthetic:9", "--most", "8"], "9 structures are more than --most 8"),
        (["--on", "nowhere"], "there is no source"),
        (["nowhere.toml"], "nowhere.toml"),
    ):
        assert main(asked) == Exit.USAGE
        assert says in capsys.readouterr().err
