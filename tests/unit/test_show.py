"""One structure in words and as a picture."""

import json
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from ase.build import bulk
from ase.data.colors import jmol_colors
from ase.spacegroup import crystal

from rc_hpc.census import main as census
from rc_hpc.core.errors import Exit
from rc_hpc.core.text import file_stem
from rc_hpc.kinds.census.coincidence import clearest, coincidences
from rc_hpc.kinds.census.from_file import read_computed
from rc_hpc.kinds.census.show import show
from rc_hpc.kinds.packed.about import ranges
from rc_hpc.kinds.registry import KINDS
from rc_hpc.render import main as render
from rc_hpc.show import main
from rc_hpc.sweep import main as sweep
from rc_hpc.tables import main as tables

#: SiO2 in P6_222: on cameras along b and c silicon is seen where none is.
QUARTZ = crystal(
    ["Si", "O"],
    [(0.5, 0, 0), (0.2, 0.4, 0.5)],
    spacegroup=180,
    cellpar=[5.0, 5.0, 5.46, 90, 90, 120],
)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("show")
    for name, atoms in (("quartz", QUARTZ), ("salt", bulk("NaCl", "rocksalt", a=5.64))):
        atoms.write(folder / f"{name}.cif")
    (folder / "broken.cif").write_text("data_x\n_cell_length_a nothing\n")
    output = folder / "mine.h5"
    assert census([f"{folder}/*.cif", "-o", str(output), "-q"]) == Exit.FAILURES
    return output


def test_words_are_those_of_the_file(file, tmp_path, capsys):
    assert main([str(file), "quartz.cif", "-o", str(tmp_path)]) == Exit.CLEAN
    told = capsys.readouterr().out
    with h5py.File(file) as h5:
        row = list(h5["structures/id"].asstr()).index("quartz.cif")
        right = h5["cells/correct_crystal_system"][row]
        counts = h5["cells/n_phantoms"][row]
        names = list(h5["subsets/name"].asstr())
    assert f"wrong on {(~right).sum()} of 26 view subsets" in told and (~right).any()
    for name, fine, n in zip(names, right, counts, strict=True):
        assert (f"  {name}: " in told) == (not fine or n > 0)
        assert fine or f"{n} phantom" in told.partition(f"  {name}: ")[2].partition("\n")[0]
    assert "no Si is there" in told or "no O is there" in told
    assert (tmp_path / "quartz.cif.mine.png").stat().st_size > 10_000
    svg = (tmp_path / "quartz.cif.mine.svg").read_text()
    assert "</svg>" in svg


def test_without_a_phantom_and_refused(file, tmp_path, capsys):
    asked = [str(file), "salt.cif", "broken.cif", "-o", str(tmp_path)]
    assert main([*asked, "--subset", "oblique2+body_diagonal+axis_c+axis_b+axis_a"]) == Exit.CLEAN
    salt, broken = capsys.readouterr().out.split("\n\n")
    assert "certified" in salt and "no phantoms on" in salt
    assert "status: empty" in broken and "holds no atom sites" in broken
    assert not (tmp_path / "broken.cif.mine.png").exists()


def test_the_atoms_that_are_named_lie_on_the_rays(file):
    """Told again from the definition: images in both views coincide with the phantom's."""
    computed = read_computed(file, file.with_name("mine.packed.h5"), "quartz.cif")
    atoms, protocol = computed.packed.child("atoms", 0), computed.protocol
    positions, numbers = atoms["position"], atoms["number"]
    phantoms = computed.phantoms_on([0], "axis_b+axis_c")
    assert len(phantoms) == computed.subsets([0]).droplevel(0).loc["axis_b+axis_c", "n_phantoms"]
    explained = coincidences(protocol, positions, numbers, phantoms)
    for one in explained:
        for camera, seen in zip(one.cameras, one.atoms, strict=True):
            flat = protocol.rotations[camera][:, :2]
            off = np.linalg.norm((positions[seen] - one.position) @ flat, axis=1)
            assert len(seen) and (off <= one.gap / 2 + 1e-6).all()
        flat = protocol.rotations[one.refuting][:, :2]
        own = positions[numbers == {"Si": 14, "O": 8}[one.element]]
        assert np.linalg.norm((own - one.position) @ flat, axis=1).min() > 0.01
    assert clearest(protocol, positions, numbers, phantoms).distance == max(
        one.distance for one in explained
    )


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["quart.cif"], "no structure 'quart.cif'; there are quartz.cif"),
        (["quartz.cif", "--subset", "front"], "--subset front"),
        (["quartz.cif", "--packed", "mine.h5"], "it is a census file"),
    ],
)
def test_what_is_not_there_is_named(file, asked, says, capsys, monkeypatch):
    monkeypatch.chdir(file.parent)
    assert main([str(file), *asked]) == Exit.USAGE
    assert says in capsys.readouterr().err


def test_atoms_are_found_under_another_name(file, tmp_path, capsys):
    (tmp_path / "moved.h5").write_bytes(file.read_bytes())
    assert main([str(tmp_path / "moved.h5"), "salt.cif", "-o", str(tmp_path)]) == Exit.USAGE
    assert "--packed" in capsys.readouterr().err
    (tmp_path / "atoms.h5").write_bytes(file.with_name("mine.packed.h5").read_bytes())
    assert main([str(tmp_path / "moved.h5"), "salt.cif", "-o", str(tmp_path)]) == Exit.CLEAN


def test_names_of_pictures_stay_in_their_folder(tmp_path, capsys):
    salt = bulk("NaCl", "rocksalt", a=5.64)
    salt.write(tmp_path / "salt.cif")
    line = json.dumps({"id": "../..\\a/b c", "cif": (tmp_path / "salt.cif").read_text()})
    (tmp_path / "odd.jsonl").write_text(line + "\n")
    output = tmp_path / "odd.h5"
    assert census([str(tmp_path / "odd.jsonl"), "-o", str(output), "-q"]) == Exit.CLEAN
    assert main([str(output), "../..\\a/b c", "-o", str(tmp_path / "s")]) == Exit.CLEAN
    written = sorted(path.name for path in (tmp_path / "s").iterdir())
    stem = file_stem("../..\\a/b c")
    assert written == [f"{stem}.odd.png", f"{stem}.odd.svg"] and stem.startswith("_")


def test_other_kinds_say_what_can_be_shown(file, tmp_path, capsys):
    drawn = tmp_path / "renders.h5"
    packed = str(file.with_name("mine.packed.h5"))
    asked = [packed, "--ids", "salt.cif", "-o", str(drawn), "-q"]
    assert render(asked) == Exit.CLEAN
    assert main([str(drawn), "salt.cif"]) == Exit.USAGE
    assert "is a renders file, of which no structure" in capsys.readouterr().err


def test_pictures_of_another_file_are_not_replaced(file, tmp_path, capsys):
    packed, folder = file.with_name("mine.packed.h5"), tmp_path / "show"
    asked = ["salt.cif", "-o", str(folder), "--packed", str(packed)]
    assert main([str(file), *asked]) == main([str(packed), *asked]) == Exit.CLEAN
    ends = ("mine.packed.png", "mine.packed.svg", "mine.png", "mine.svg")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert sorted(before) == [f"salt.cif.{end}" for end in ends]
    again = tmp_path / "mine.h5"
    other = [str(packed), "--protocol", "off-axis", "-o", str(again), "-q"]
    assert census(other) == Exit.FAILURES
    capsys.readouterr()
    assert main([str(again), *asked]) == Exit.USAGE
    assert "salt.cif.mine.png is there and was made from another mine.h5: " in (
        capsys.readouterr().err
    )
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main([str(file), *asked, "--subset", "axis_a+axis_b"]) == Exit.CLEAN  # of the same file
    assert main([str(again), *asked, "--overwrite"]) == Exit.CLEAN
    for end in ("png", "svg"):
        path = folder / f"salt.cif.mine.{end}"
        assert b"mine.h5, content " in path.read_bytes() != before[path.name]
        path.write_bytes(path.read_bytes().replace(b", content ", b", kontent "))
    assert main([str(again), *asked]) == Exit.USAGE  # one that does not say of which file it is
    assert "was made from another file: " in capsys.readouterr().err


def test_a_legend_says_which_colour_is_which_element(file):
    _, figure = show(file, None, "quartz.cif", None)
    (legend,) = [one for part in figure.subfigs for one in part.legends if one.get_texts()]
    told = {
        text.get_text(): mark
        for text, mark in zip(legend.get_texts(), legend.legend_handles, strict=True)
    }
    assert list(told) == ["O", "Si"]
    assert np.allclose(told["Si"].get_markerfacecolor(), jmol_colors[14])
    assert np.allclose(told["O"].get_markerfacecolor(), jmol_colors[8])


def test_views_are_at_one_scale(file):
    _, figure = show(file, None, "quartz.cif", None)
    views, _, pair, _ = figure.subfigs
    for part in (views, pair):
        spans = [np.ptp([ax.get_xlim(), ax.get_ylim()], axis=1) for ax in part.axes]
        assert len(spans) >= 2 and np.allclose(spans, spans[0])


def test_packed_structures_are_shown(file, tmp_path, capsys):
    packed = str(file.with_name("mine.packed.h5"))
    assert main([packed, "salt.cif", "-o", str(tmp_path)]) == Exit.CLEAN
    told = capsys.readouterr().out
    assert "as read: cubic, Fm-3m (225)" in told and "a, b, c 5.64, 5.64, 5.64 Å" in told
    assert "alpha, beta, gamma 90, 90, 90 degrees" in told
    assert (tmp_path / "salt.cif.mine.packed.png").stat().st_size > 5_000
    assert tables([packed, "--table", "failures"]) == Exit.CLEAN
    told = capsys.readouterr().out
    assert told.startswith("Of 3 structures 1 is listed: 1 refused.\n")
    assert told.count("no atom sites") == 1
    assert main([packed, "slat.cif"]) == Exit.USAGE
    assert "salt.cif" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "more", "told"),
    [
        (
            "frontier",
            ("--deltas", "0.01,0.2", "--subsets", "all"),
            ("axis_a+axis_b: phantoms at delta 0 to ", "all-pairs, dominance: "),
        ),
        ("noise", ("--sigmas", "0,0.01", "--seeds", "2"), ("sigma 0 Å: 2 of 2 seeds",)),
        ("occlusion", ("--subsets", "full"), ("O0 (taken away: nothing): 0 atoms", "right, 8")),
    ],
)
def test_sweeps_tell_of_one_structure(file, kind, more, told, tmp_path, capsys):
    path = tmp_path / "sweep.h5"
    packed = str(file.with_name("mine.packed.h5"))
    assert sweep([kind, packed, *more, "-o", str(path), "-q"]) in (Exit.CLEAN, Exit.FAILURES)
    asked = [str(path), "salt.cif", "-o", str(tmp_path / "show")]
    if kind == "occlusion":
        asked += ["--packed", packed]
    assert main(asked) == Exit.CLEAN
    said = capsys.readouterr().out
    assert "salt.cif: NaCl, 8 atoms" in said and all(one in said for one in told), said
    assert (tmp_path / "show" / "salt.cif.sweep.svg").stat().st_size > 5_000


def test_runs_of_values():
    assert ranges([1, 2, 3, 5], [True, True, False, True]) == "1 to 2, 5"
    assert ranges([1, 2], [False, False]) == "" and ranges([], []) == ""


def test_pictures_of_the_readme_are_there():
    readme = Path(__file__).parents[2] / "README.md"
    linked = re.findall(r"!\[[^]]*\]\(([^)]+)\)", readme.read_text(encoding="utf-8"))
    assert 1 <= len(linked) <= 4
    sizes = [(readme.parent / path).stat().st_size for path in linked]
    assert sum(sizes) < 300_000


def test_the_help_says_what_is_drawn_of_each_kind(capsys):
    """A phantom by acceptance is a candidate: a merge may have no atom there."""
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out.partition("What is drawn of each kind")[2]
    for kind in KINDS.values():
        assert bool(re.search(rf"^  (\w+, )?{kind.name}\b", told, re.MULTILINE)) == bool(kind.show)
    assert "accept" in told and "reconstruction has an atom" not in told
