"""Structures of result files as files of other programs."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from ase.build import bulk
from ase.io import read
from test_show import QUARTZ

from rc_hpc.census import main as census
from rc_hpc.core.errors import Exit
from rc_hpc.export import main
from rc_hpc.report.__main__ import main as report
from rc_hpc.symmetry.labels import label_cell


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    QUARTZ.write(folder / "quartz.cif")
    bulk("NaCl", "rocksalt", a=5.64).write(folder / "salt.cif")
    (folder / "broken.cif").write_text("data_x\n")
    output = folder / "mine.h5"
    assert census([f"{folder}/*.cif", "-o", str(output), "-q"]) == Exit.FAILURES
    return output


def cells(file):
    with h5py.File(file.with_name("mine.packed.h5"), locking=False) as h5:
        owner = h5["atoms/structure"][()]
        for row, id_ in enumerate(h5["structures/id"].asstr()):
            if (owner == row).any():
                yield id_, h5["atoms/position"][owner == row], h5["structures/lattice"][row]


@pytest.mark.parametrize("name", ["mine.h5", "mine.packed.h5"])
def test_cells_come_back_as_they_were_packed(file, name, tmp_path):
    output = tmp_path / "cells.extxyz"
    assert main([str(file.with_name(name)), "-o", str(output)]) == Exit.CLEAN
    frames = read(output, ":")
    for frame, (id_, positions, lattice) in zip(frames, cells(file), strict=True):
        assert frame.info["id"] == id_
        np.testing.assert_allclose(frame.positions, positions, atol=1e-7)
        np.testing.assert_allclose(frame.cell[:], lattice, atol=1e-7)


def test_reconstructions_have_the_size_and_label_that_the_census_says(file, tmp_path):
    with h5py.File(file, locking=False) as h5:
        names = list(h5["subsets/name"].asstr())
        ids = list(h5["structures/id"].asstr())
        n, groups = h5["cells/n_recovered"][()], h5["cells/space_group"][()]
        right = h5["cells/correct_crystal_system"][()]
    for subset in ("axis_b+axis_c", "axis_a+axis_b+axis_c+body_diagonal+oblique2"):
        output = tmp_path / f"{subset}.extxyz"
        asked = ["--what", "reconstructions", "--subset", subset, "-o", str(output)]
        assert main([str(file), *asked]) == Exit.CLEAN
        for frame in read(output, ":"):
            row, place = ids.index(frame.info["id"]), names.index(subset)
            assert len(frame) == n[row, place]
            told = label_cell(frame.cell[:], frame.get_scaled_positions(), frame.numbers, 0.01, 5)[
                0
            ]
            assert told.number == groups[row, place]
            assert frame.info["right"] == right[row, place]


def test_phantoms_and_their_deltas(file, tmp_path):
    output = tmp_path / "phantoms.extxyz"
    for subset in ("axis_a+axis_b+axis_c", "axis_b+axis_c"):
        asked = ["--what", "phantoms", "--subset", subset, "--ids", "quartz.cif", "--overwrite"]
        assert main([str(file), *asked, "-o", str(output)]) == Exit.CLEAN
        (frame,) = read(output, ":")
        assert len(frame) == frame.info["n_phantoms"] > 0
    assert (frame.arrays["phantom_from_angstrom"] <= 0.01).all()
    (own,) = (positions for id_, positions, _ in cells(file) if id_ == "quartz.cif")
    for ending in ("cif", "extxyz"):  # salt and what else has none is in no file
        every = tmp_path / f"every.{ending}"
        asked = ["--what", "phantoms", "--subset", "axis_b+axis_c", "--format", ending]
        assert main([str(file), *asked, "-o", str(every)]) == Exit.CLEAN
        assert all(len(one) for one in read(every, ":"))
    near = np.linalg.norm(frame.positions[:, None] - own, axis=2).min(axis=1)
    assert (near > 0.01).all()


def test_cif_and_poscar(file, tmp_path):
    output, folder = tmp_path / "cells.cif", tmp_path / "cells"
    assert main([str(file), "--format", "cif", "-o", str(output)]) == Exit.CLEAN
    text = output.read_text()
    assert "data_quartz.cif" in text and "data_salt.cif" in text
    assert [len(one) for one in read(output, ":")] == [len(p) for _, p, _ in cells(file)]
    assert main([str(file), "--format", "poscar", "-o", str(folder)]) == Exit.CLEAN
    assert sorted(p.name for p in folder.iterdir()) == ["quartz.cif.vasp", "salt.cif.vasp"]
    assert len(read(folder / "quartz.cif.vasp")) == 9


def test_what_is_not_there_is_named(file, tmp_path, capsys):
    output = str(tmp_path / "x.extxyz")
    for asked, says in (
        (["--ids", "nope"], "no structure 'nope'"),
        (["--ids", "broken.cif"], "'broken.cif' was refused"),
        (["--subset", "front"], "was not computed on front"),
    ):
        assert main([str(file), *asked, "-o", output]) == Exit.USAGE
        assert says in capsys.readouterr().err
    packed = str(file.with_name("mine.packed.h5"))
    assert main([packed, "--what", "phantoms", "-o", output]) == Exit.USAGE
    assert main([str(file), "-o", str(file)]) == Exit.USAGE
    assert "is there already" in capsys.readouterr().err
    for own in (str(file), packed):
        before = Path(own).read_bytes()
        for command in (main, report):
            assert command([str(file), "-o", own, "--overwrite"]) == Exit.USAGE
            assert "is read here" in capsys.readouterr().err
        assert Path(own).read_bytes() == before


def test_a_data_set_for_chemiscope(file, tmp_path, capsys):
    pytest.importorskip("chemiscope", reason="chemiscope is not installed")
    asked = [str(file), "-o", str(tmp_path / "r.html"), "--chemiscope"]
    assert report([*asked, str(tmp_path / "set.json")]) == Exit.CLEAN
    told = json.loads((tmp_path / "set.json").read_text())
    assert told["properties"]["id"]["values"] == ["quartz.cif", "salt.cif"]
    assert told["properties"]["space_group"]["values"] == [180.0, 225.0]
    for one, (_, positions, lattice) in zip(told["structures"], cells(file), strict=True):
        np.testing.assert_allclose(np.array(one["cell"]).reshape(3, 3), lattice)
        np.testing.assert_allclose(np.column_stack([one[x] for x in "xyz"]), positions)
    asked[2] = str(tmp_path / "other.html")
    for name, says in (("set.json", "is there already"), ("set.txt", "ends in .json")):
        assert report([*asked, str(tmp_path / name)]) == Exit.USAGE
        assert says in capsys.readouterr().err
    assert not (tmp_path / "other.html").exists()
