"""The commands that read pictures and score readings: files, knowledge, hostile pictures."""

import json
import re
import shlex
import shutil

import h5py
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.io import iread, write
from PIL import Image

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import RELEASED, ReadStatus
from rc_hpc.engine.tree import open_tree
from rc_hpc.engine.validate import validate
from rc_hpc.export import main as export
from rc_hpc.figures import main as figures
from rc_hpc.kinds.common.selection import Selection
from rc_hpc.kinds.readings.picture import Shown, draw_reading
from rc_hpc.kinds.readings.show import show as show_one
from rc_hpc.kinds.readings.source import open_pictures
from rc_hpc.kinds.renders.manifest import read_manifest
from rc_hpc.kinds.scores.oracle import compare
from rc_hpc.kinds.scores.source import Atoms as Crystal
from rc_hpc.read import main
from rc_hpc.render import main as render
from rc_hpc.score import main as score
from rc_hpc.show import main as show
from rc_hpc.store.reader import read_table
from rc_hpc.tables import main as tables

pytestmark = pytest.mark.long

SIZE = 320
QUICK = ["--progress", "none", "-q"]
IDS = ["odd.cif", "salt.cif", "titanium.cif"]
#: Columns of a site in a CIF.
FRACTIONS = ("fract_x", "fract_y", "fract_z", "occupancy")
VIEWS = ["axis_a", "axis_b", "axis_c", "body_diagonal", "oblique2"]
READ = ("readings/status", "readings/certified", "readings/lattice", "readings/space_group")


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """Pictures of three crystals: their manifest."""
    folder = tmp_path_factory.mktemp("sources")
    write(folder / "salt.cif", bulk("NaCl", "rocksalt", 5.64))
    write(folder / "titanium.cif", bulk("Ti"))
    odd = Atoms(
        "FeOBa",
        scaled_positions=[(0.1, 0.2, 0.3), (0.45, 0.1, 0.7), (0.5, 0.55, 0.15)],
        cell=[(5.1, 0, 0), (0.4, 5.6, 0), (-0.3, 0.7, 6.2)],
        pbc=True,
    )
    write(folder / "odd.cif", odd)
    output = tmp_path_factory.mktemp("rendered") / "renders.h5"
    assert render([str(folder), "-o", str(output), "--size", str(SIZE), *QUICK]) == 0
    return output


@pytest.fixture(scope="module")
def readings(rendered, tmp_path_factory):
    """The same, read."""
    output = tmp_path_factory.mktemp("read") / "readings.h5"
    assert main([str(rendered), "-o", str(output), *QUICK]) == 0
    return output


def rows(path, names=READ):
    return read_table(path, ("structures/id", "structures/status", "structures/message", *names))


def copied(rendered, folder):
    """A manifest with its pictures that may be changed."""
    shutil.copy(rendered, folder / "renders.h5")
    shutil.copytree(rendered.with_suffix(""), folder / "renders")
    return folder / "renders.h5"


def as_folder(rendered, folder, ids=IDS):
    """The same pictures as folders of PNGs named by camera."""
    manifest = read_manifest(rendered)
    for id_ in ids:
        (folder / id_).mkdir(parents=True)
        for view, path in zip(VIEWS, manifest.paths(manifest.row[id_]), strict=True):
            shutil.copy(path, folder / id_ / f"{view}.png")
    return folder


def test_a_file_of_readings_is_whole_and_right(readings):
    assert validate(readings) == []
    found = rows(readings)
    assert found["structures/id"].tolist() == IDS
    assert (found["structures/status"] == Status.ok).all()
    assert found["readings/space_group"][:, 0].tolist() == [1, 225, 194]
    certified = found["readings/certified"]
    assert np.array_equal(found["readings/status"] == ReadStatus.read, certified)
    assert certified.sum() >= 2


def test_tables_and_figures_are_made_of_them(readings, tmp_path, capsys):
    assert tables([str(readings)]) == 0
    told = capsys.readouterr().out
    assert "known K0" in told and "body_diagonal" in told
    assert figures([str(readings), "-o", str(tmp_path)]) == 0
    assert (tmp_path / "pixels.png").is_file()


def test_shards_and_resume_give_the_same_file(rendered, readings, tmp_path):
    output = tmp_path / "r.h5"
    for shard in ("1/2", "0/2"):
        assert main([str(rendered), "-o", str(output), "--shard", shard, *QUICK]) == 0
    assert main(["merge", str(output)]) == 0
    with h5py.File(output) as one, h5py.File(readings) as two:
        assert one.attrs["content_hash"] == two.attrs["content_hash"]
    assert main([str(rendered), "-o", str(output), "--resume", *QUICK]) == 0
    assert main([str(rendered), "-o", str(output), *QUICK]) == 2


def spoil(manifest, kept):
    """Put noise in place of all numbers that a manifest has of the crystals; names of what is."""
    rng = np.random.default_rng(7)
    opened = ("structures/id", "structures/status", "structures/duplicate", "structures/message")
    spoilt = set()
    with h5py.File(manifest, "r+") as h5:
        for group in ("structures", "discs", "pictures"):
            for name, data in h5[group].items():
                path = f"{group}/{name}"
                numeric = data.dtype.kind in "fiu" and not h5py.check_enum_dtype(data.dtype)
                left = path in (*opened, *kept) or name in ("structure", "view", "size", "bytes")
                if numeric and not left:
                    data[...] = rng.integers(1, 100, data.shape).astype(data.dtype)
                    spoilt.add(path)
    return spoilt


def assert_same_readings(first, second):
    with h5py.File(first) as one, h5py.File(second) as two:
        for group in ("readings", "discs", "sites"):
            assert set(one[group]) == set(two[group])
            for name in one[group]:
                ours, theirs = one[group][name][()], two[group][name][()]
                assert np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f"), name


def test_the_truth_does_not_reach_the_reader(rendered, readings, tmp_path):
    """Noise in place of all that a manifest says of the crystals gives the same readings."""
    noisy = copied(rendered, tmp_path)
    spoilt = spoil(noisy, ())
    assert {"structures/lattice", "discs/u", "pictures/px_per_angstrom"} <= spoilt
    assert {"structures/space_group", "discs/number", "pictures/origin_u"} <= spoilt
    output = tmp_path / "readings.h5"
    assert main([str(noisy), "-o", str(output), *QUICK]) == 0
    assert_same_readings(output, readings)


def test_what_the_level_does_not_name_does_not_reach_the_reader(rendered, tmp_path):
    ids, noisy = "salt.cif", copied(rendered, tmp_path)
    geometry = [f"pictures/{name}" for name in ("px_per_angstrom", "origin_u", "origin_v")]
    spoilt = spoil(noisy, ("structures/lattice", *geometry))
    assert {"discs/u", "discs/number", "structures/space_group"} <= spoilt
    outputs = []
    for manifest in (rendered, noisy):
        outputs.append(tmp_path / f"k1-{len(outputs)}.h5")
        argv = ["--knowledge", "K1", "--ids", str(ids), "-o", str(outputs[-1]), *QUICK]
        assert main([str(manifest), *argv]) == 0
    assert_same_readings(*outputs)


def test_a_folder_of_pictures_is_read_like_its_manifest(rendered, readings, tmp_path):
    folder = as_folder(rendered, tmp_path / "photos")
    output = tmp_path / "f.h5"
    argv = ["--cameras", "frozen", "--convention", "C1", "-o", str(output), *QUICK]
    assert main([str(folder), *argv]) == 0
    one, two = rows(output), rows(readings)
    for name in READ:
        assert np.array_equal(one[name], two[name], equal_nan=name == "readings/lattice")
    single = tmp_path / "g.h5"
    assert main([str(folder / "salt.cif"), "-o", str(single), *QUICK]) == 0
    assert rows(single)["structures/id"].tolist() == ["salt.cif"]


def test_hostile_pictures_have_a_status_and_no_certificate(rendered, tmp_path):
    folder = as_folder(rendered, tmp_path / "photos")
    names = ("size", "cut", "other", "blank", "equal", "lacking", "text")
    for name in names:
        shutil.copytree(folder / "odd.cif", folder / name)
    for id_ in IDS:
        shutil.move(folder / id_, tmp_path / id_)
    shutil.copytree(tmp_path / "odd.cif", folder / "zodd")
    picture = folder / "size" / "axis_b.png"
    Image.open(picture).resize((100, 100)).save(picture)
    cut = folder / "cut" / "axis_a.png"
    cut.write_bytes(cut.read_bytes()[:2000])
    shutil.copy(tmp_path / "salt.cif" / "axis_c.png", folder / "other" / "axis_c.png")
    Image.new("RGB", (SIZE, SIZE), "white").save(folder / "blank" / "oblique2.png")
    for view in VIEWS[1:]:
        shutil.copy(folder / "equal" / "axis_a.png", folder / "equal" / f"{view}.png")
    (folder / "lacking" / "axis_a.png").unlink()
    (folder / "text" / "axis_a.png").write_text("no picture")
    output = tmp_path / "r.h5"
    assert main([str(folder), "-o", str(output), *QUICK]) == 3
    found = rows(output, (*READ, "readings/message"))
    by_id = {id_: k for k, id_ in enumerate(found["structures/id"])}
    certified = {id_ for id_, k in by_id.items() if found["readings/certified"][k]}
    assert certified <= {"zodd"}
    told = {
        "size": "picture 2 is 100 x 100",
        "cut": "axis_a.png",
        "blank": "picture 5 is blank",
        "equal": "all 5 pictures are the same",
        "lacking": "lacks axis_a.png",
        "text": "axis_a.png: no picture",
    }
    for name, what in told.items():
        k = by_id[name]
        assert found["structures/status"][k] == Status.read_error
        assert found["readings/status"][k] == ReadStatus.refused
        assert what in found["structures/message"][k]
    other = by_id["other"]
    assert found["structures/status"][other] == Status.ok
    assert found["readings/status"][other] != ReadStatus.read
    assert found["readings/message"][other]


def test_pictures_drawn_otherwise_are_never_certified(rendered, tmp_path):
    folder = as_folder(rendered, tmp_path / "photos", ["salt.cif", "odd.cif"])
    convention = tmp_path / "wrong.toml"
    convention.write_text("radii_factor = 0.4\n")
    output = tmp_path / "r.h5"
    main([str(folder), "--convention", str(convention), "-o", str(output), *QUICK])
    assert not rows(output)["readings/certified"].any()


def test_what_is_known_follows_the_level(rendered):
    source = open_pictures(rendered, Selection(), None, None)
    assert source.more("K0") == {}
    assert set(source.more("K1")["salt.cif"]) == {"lattice_A", "pixels_per_A", "origins_px"}
    assert source.more("K2")["salt.cif"]["species"] == (11,) * 4 + (17,) * 4
    assert source.more("K1")["salt.cif"]["lattice_A"] == pytest.approx(5.64 * np.eye(3))


@pytest.mark.parametrize("level", ["K1", "K2"])
def test_more_may_be_known(rendered, level, tmp_path):
    output, ids = tmp_path / "r.h5", tmp_path / "ids"
    ids.write_text("salt.cif\n")
    argv = ["--knowledge", level, "--ids", str(ids), "-o", str(output), *QUICK]
    assert main([str(rendered), *argv]) == 0
    assert rows(output)["readings/space_group"][0, 0] == 225


@pytest.mark.parametrize("knowledge", RELEASED)
def test_the_released_reading_is_named_and_never_certified(rendered, knowledge, tmp_path, capsys):
    output, scores = tmp_path / "r.h5", tmp_path / "s.h5"
    argv = [str(rendered), "--knowledge", knowledge, "-o", str(output), *QUICK]
    assert main(argv) == 0
    assert validate(output) == []
    found = rows(output, (*READ, "readings/message"))
    assert not found["readings/certified"].any()
    assert (found["readings/status"] == ReadStatus.uncertified).all()
    assert all("truth at hand" in one for one in found["readings/message"])
    with h5py.File(output) as h5:
        assert json.loads(h5.attrs["options"])["knowledge"] == knowledge
    assert score([str(output), str(rendered), "-o", str(scores), *QUICK]) == 0
    capsys.readouterr()
    for path in (output, scores):
        assert tables([str(path)]) == 0
        told = capsys.readouterr().out
        assert f"{knowledge}: as the released study read, told the truth" in told.replace("\n", " ")
    assert figures([str(scores), "-o", str(tmp_path)]) == 0


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["nowhere"], "no folder nowhere"),
        (["{folder}", "--knowledge", "released"], "tells no lattice"),
        (["nowhere.h5"], "no file nowhere.h5"),
        (["{renders}", "--cameras", "frozen"], "tells its own"),
        (["{renders}", "--ids", "{strange}"], "--ids: 1 of 1 are not in"),
        (["{renders}", "--ids", "nowhere.txt"], "nor is there a file of that name"),
        (["{folder}", "--knowledge", "K1"], "tells no lattice"),
        (["{folder}", "--convention", "C9"], "no convention 'C9'"),
        (["{empty}"], "holds no PNG"),
    ],
)
def test_what_cannot_be_read_is_told(rendered, tmp_path, argv, told, capsys):
    strange, empty = tmp_path / "ids", tmp_path / "empty"
    strange.write_text("unknown\n")
    empty.mkdir()
    folder = as_folder(rendered, tmp_path / "photos", ["salt.cif"])
    paths = {"renders": rendered, "strange": strange, "folder": folder, "empty": empty}
    argv = [one.format(**paths) for one in argv]
    assert main([*argv, "-o", str(tmp_path / "r.h5"), *QUICK]) == 2
    assert told in capsys.readouterr().err


# Scores.


def test_scores_are_of_the_truth(rendered, readings, tmp_path, capsys):
    output = tmp_path / "scores.h5"
    assert score([str(readings), str(rendered), "-o", str(output), *QUICK]) == 0
    assert validate(output) == []
    found = read_table(
        output,
        ("score/system_right", "score/certified", "score/sites_exact", "score/largest_error"),
    )
    assert found["score/system_right"][:, 0].all()
    assert found["score/sites_exact"].all()
    assert found["score/largest_error"].max() < 0.005
    assert tables([str(output)]) == 0
    assert "all but triclinic" in capsys.readouterr().out
    assert figures([str(output), "-o", str(tmp_path)]) == 0


CRYSTAL = Crystal(
    np.array(((4.0, 0, 0), (0.5, 5.0, 0), (0.2, 0.3, 6.0))),
    np.array((8, 8, 26)),
    np.array(((0.1, 0.2, 0.3), (0.6, 0.1, 0.8), (0.5, 0.5, 0.0))),
)


def test_a_crystal_told_from_another_corner_is_the_same():
    turned = np.array(((0, 1, 0), (-1, 0, 0), (0, 0, 1)))
    fractional = (CRYSTAL.fractional + (0.3, 0.1, 0.7)) @ np.linalg.inv(turned)
    order = [2, 0, 1]
    other = Crystal(turned @ CRYSTAL.lattice, CRYSTAL.numbers[order], fractional[order])
    found = compare(other, CRYSTAL, 0.1)
    assert (found.missing, found.extra) == (0, 0)
    assert found.largest < 1e-9 and found.frame < 1e-9


def test_what_differs_is_counted():
    moved = CRYSTAL.fractional.copy()
    moved[1] += (0.01, 0, 0)
    found = compare(Crystal(CRYSTAL.lattice, CRYSTAL.numbers, moved), CRYSTAL, 0.1)
    assert (found.missing, found.extra) == (0, 0) and 0.01 < found.largest < 0.04
    fewer = Crystal(CRYSTAL.lattice, CRYSTAL.numbers[:2], CRYSTAL.fractional[:2])
    assert (compare(fewer, CRYSTAL, 0.1).missing, compare(CRYSTAL, fewer, 0.1).extra) == (1, 1)
    swapped = Crystal(CRYSTAL.lattice, np.array((8, 26, 26)), CRYSTAL.fractional)
    assert compare(swapped, CRYSTAL, 0.1).missing
    long = Crystal(CRYSTAL.lattice * 2, CRYSTAL.numbers, CRYSTAL.fractional)
    assert np.isinf(compare(long, CRYSTAL, 0.1).frame)


@pytest.mark.filterwarnings("error")
def test_every_file_is_opened_as_a_tree(readings, rendered, tmp_path):
    scores = tmp_path / "s.h5"
    assert score([str(readings), str(rendered), "-o", str(scores), *QUICK]) == 0
    for path in (readings, rendered, scores):
        assert open_tree(path).load()["structures"].structure.values.tolist() == IDS
    old = tmp_path / "old.h5"  # as 0.2.0 wrote them: both dimensions have one name
    shutil.copy(readings, old)
    with h5py.File(old, "r+") as h5:
        second = h5["readings/frame_covariance"].dims[2]
        second.detach_scale(h5["other_frame"])
        second.attach_scale(h5["frame"])
        second.label = "frame"
        del h5["other_frame"]
    assert open_tree(old)["readings/frame_covariance"].dims == ("structure", "frame", "other_frame")
    assert not any("dimension" in line for line in validate(old))
    covariance = open_tree(readings)["readings/frame_covariance"]
    assert covariance.dims == ("structure", "frame", "other_frame")
    with h5py.File(readings) as h5:
        assert np.array_equal(covariance.values, h5["readings/frame_covariance"], equal_nan=True)


def test_what_may_be_typed_next_works_as_it_is_printed(rendered, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([str(rendered), "-o", "r.h5", "--ids", "salt.cif", "--progress", "none"]) == 0
    typed = {}
    for commands in ("r.h5", "r.scores.h5"):
        told = capsys.readouterr().out.partition("next:\n")[2]
        for line in told.splitlines():
            words = shlex.split(line, comments=True)
            typed[commands, words[2]] = words
            run = {"rc_hpc.score": score, "rc_hpc.show": show, "rc_hpc.tables": tables}[words[2]]
            if run is not score:
                assert run([*words[3:], "-q"]) == 0
        if commands == "r.h5":
            assert score([*typed["r.h5", "rc_hpc.score"][3:], "--progress", "none"]) == 0
    assert set(typed) == {
        *(("r.h5", f"rc_hpc.{word}") for word in ("score", "tables", "show")),
        *(("r.scores.h5", f"rc_hpc.{word}") for word in ("tables", "show")),
    }
    assert show(["r.scores.h5", "salt.cif"]) == 2
    assert "files: python -m rc_hpc.show r.h5 salt.cif" in capsys.readouterr().err


def test_what_was_not_drawn_keeps_its_status(tmp_path):
    folder = tmp_path / "s"
    folder.mkdir()
    write(folder / "salt.cif", bulk("NaCl", "rocksalt", 5.64))
    lengths = "".join(f"_cell_length_{x} 4.0\n" for x in "abc")
    angles = "".join(f"_cell_angle_{x} 90\n" for x in ("alpha", "beta", "gamma"))
    columns = "".join(f"_atom_site_{x}\n" for x in ("label", "type_symbol", *FRACTIONS))
    atoms = "Fe1 Fe 0 0 0 0.5\nO1 O 0.5 0.5 0.5 1\n"
    (folder / "half.cif").write_text(f"data_x\n{lengths}{angles}loop_\n{columns}{atoms}")
    asked = [str(folder), "-o", str(tmp_path / "p.h5"), "--size", str(SIZE), *QUICK]
    assert render(asked) == 3
    drawn = rows(tmp_path / "p.h5", ())
    assert Status(drawn["structures/status"][0]) == Status.disordered
    assert main([str(tmp_path / "p.h5"), "-o", str(tmp_path / "r.h5"), *QUICK]) == 3
    found = rows(tmp_path / "r.h5")
    for name in ("id", "status", "message"):
        column = f"structures/{name}"
        assert np.array_equal(found[column], drawn[column])
    scored = [str(tmp_path / "r.h5"), str(tmp_path / "p.h5"), "-o", str(tmp_path / "s.h5")]
    assert score([*scored, *QUICK]) == 3
    assert Status(rows(tmp_path / "s.h5", ())["structures/status"][0]) == Status.disordered


# One reading, shown.


def test_a_reading_is_shown_over_its_pictures(readings, tmp_path, capsys, monkeypatch):
    assert show([str(readings), "salt.cif", "-o", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "salt.cif: certified, 8 atoms read" in told and "discs found: axis_a" in told
    assert told.count("  Na ") == told.count("  Cl ") == 4
    sides = re.search(r"cell: a, b, c (.*) Å; alpha, beta, gamma (.*) degrees", told)
    assert np.allclose(np.fromstring(sides[1], sep=", "), 5.64, atol=1e-3)
    assert np.allclose(np.fromstring(sides[2], sep=", "), 90, atol=1e-2)
    assert not re.search(r"-0\.0+\b", told)
    assert (tmp_path / "salt.cif.readings.png").stat().st_size > 10_000
    drawn = []
    monkeypatch.setattr(
        "rc_hpc.kinds.readings.show.draw_reading", lambda _, views, __: drawn.extend(views)
    )
    assert show_one(readings, None, "odd.cif", "axis_c+oblique2")[1] is None
    assert [view.name for view in drawn] == ["axis_c", "oblique2"]
    for view in drawn:
        assert view.picture.shape == (SIZE, SIZE, 3) and len(view.atoms) == 24
        far = np.linalg.norm(view.centres[:, None] - view.atoms, axis=2).min(axis=1)
        assert len(far) and far.max() < 0.2


def test_a_disc_that_is_no_atoms_is_drawn_and_told_apart(readings, tmp_path, capsys):
    ring = np.array(((50.0, 50), (120, 60)))
    view = Shown("a", None, ring, np.array((9.0, 12)), np.array(((50.2, 50), (200, 200))), 300)
    figure = draw_reading("x", [view, view], np.array((8,)))
    solid, dashed = figure.axes[0].collections
    assert solid.get_offsets().tolist() == [[50, 50]] and dashed.get_offsets().tolist() == [
        [120, 60]
    ]
    assert not len(solid.get_facecolor()) and not len(dashed.get_facecolor())
    assert solid.get_linestyle()[0][1] is None and dashed.get_linestyle()[0][1] is not None
    looks = {
        text.get_text(): line
        for text, line in zip(figure.legends[0].texts, figure.legends[0].get_lines(), strict=True)
    }
    assert looks["disc found where no atom was read"].is_dashed()
    assert not looks["disc found"].is_dashed() and len(looks) == 4
    copy = tmp_path / "r.h5"
    shutil.copy(readings, copy)
    with h5py.File(copy, "r+") as h5:
        row = list(h5["structures/id"].asstr()).index("odd.cif")
        own = np.flatnonzero((h5["discs/structure"][()] == row) & (h5["discs/view"][()] == 0))
        h5["discs/u"][own[0]] += 7.0
        h5["discs/edge_pixels"][own[0]] = 9
    words, _ = show_one(copy, None, "odd.cif", "axis_a")
    assert "no atom was read where 1 of the discs drawn was found, which has 9 edge pixels" in words
    assert "no atom was read where" not in show_one(copy, None, "odd.cif", "axis_b")[0]


def test_what_cannot_be_shown_is_told(rendered, tmp_path, capsys):
    folder = as_folder(rendered, tmp_path / "photos", ["salt.cif"])
    (folder / "empty").mkdir()
    shutil.copy(folder / "salt.cif" / "axis_a.png", folder / "empty")
    output = tmp_path / "r.h5"
    assert main([str(folder), "-o", str(output), *QUICK]) == 3
    capsys.readouterr()
    shutil.rmtree(folder / "salt.cif")
    assert show([str(output), "salt.cif", "empty", "-o", str(tmp_path / "shown")]) == 0
    told = capsys.readouterr().out
    assert "without its pictures what was found in them is drawn alone" in told
    assert "status: read_error" in told and "lacks axis_b.png" in told
    assert (tmp_path / "shown" / "salt.cif.r.png").is_file()
    assert show([str(output), "gold.cif"]) == 2
    assert show([str(output), "salt.cif", "--subset", "front"]) == 2
    told = capsys.readouterr().err
    assert "no crystal 'gold.cif'" in told and "--subset front" in told


# Crystals read, for other programs.


def test_what_was_read_is_exported_with_what_is_known_of_it(readings, tmp_path, capsys):
    output = tmp_path / "read.extxyz"
    assert export([str(readings), "-o", str(output)]) == 0
    assert capsys.readouterr().out == f"{output}: cells of 3 structures\n"
    known = rows(readings, (*READ, "readings/differing_pixels", "readings/n_sites"))
    sites = read_table(readings, [f"sites/{name}" for name in ("structure", "sigma", "fractional")])
    for row, frame in enumerate(iread(output)):
        own = sites["sites/structure"] == row
        assert frame.info["id"] == known["structures/id"][row]
        assert frame.info["certified"] == known["readings/certified"][row]
        assert frame.info["reading"] == ReadStatus(known["readings/status"][row]).name
        assert frame.info["space_group"] == known["readings/space_group"][row, 0]
        assert frame.info["differing_pixels"] == known["readings/differing_pixels"][row]
        assert len(frame) == known["readings/n_sites"][row]
        assert np.allclose(frame.cell[:], known["readings/lattice"][row], atol=1e-6)
        assert np.allclose(frame.arrays["sigma_angstrom"], sites["sites/sigma"][own], atol=1e-7)
        turned = sites["sites/fractional"][own] @ known["readings/lattice"][row]
        assert np.allclose(frame.positions, turned, atol=1e-6)
    for form in ("cif", "poscar"):
        asked = ["--ids", "salt.cif", "--format", form, "-o", str(tmp_path / form)]
        assert export([str(readings), *asked]) == 0
    assert len(next(iread(tmp_path / "cif", format="cif"))) == 8
    capsys.readouterr()
    for asked, told in (
        (("--what", "phantoms"), "holds readings, of which there are cells only"),
        (("--subset", "axis_a+axis_b"), "a reading is of all pictures"),
        (("--ids", "gold.cif"), "no structure 'gold.cif'"),
    ):
        assert export([str(readings), *asked, "-o", str(tmp_path / "none.extxyz")]) == 2
        assert told in capsys.readouterr().err
