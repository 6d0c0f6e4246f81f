"""Building a package: what lies in it, and the same bytes however the work was done."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image
from ranks import MPIEXEC, needs_ranks

from rc_hpc.assembly.baselines import oracle_readers, prediction_file
from rc_hpc.benchmark.__main__ import main
from rc_hpc.benchmark.bases import base_structure
from rc_hpc.benchmark.catalogue import catalogue_structures
from rc_hpc.benchmark.determined_file import read_determined
from rc_hpc.benchmark.display import display
from rc_hpc.benchmark.drawing import ScenePainter
from rc_hpc.benchmark.package import read_manifest, read_package
from rc_hpc.benchmark.questions.variants import variants
from rc_hpc.benchmark.scene_file import read_bases, read_scenes, read_settings
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.core.errors import StructureError
from rc_hpc.images.files import encode_png
from rc_hpc.kinds.determined.source import open_package
from rc_hpc.pack import main as pack
from rc_hpc.store.reader import read_table

pytestmark = pytest.mark.long

NAMES = (
    *("rock salt", "zincblende", "wurtzite", "fluorite", "pyrite", "marcasite", "rutile"),
    *("alpha quartz", "beta quartz", "alpha cristobalite", "AlCl3", "potassium chlorate"),
    *("black phosphorus", "calcite", "graphite 2H"),
)
QUIET = ["--progress", "none", "-q"]
DISPLAYED = ["--supercells", "2"]
ASKED = ["--questions", "64", "--mini", "4", "--per-structure", "8", "--per-difficulty", "6"]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Folder with packed structures, all that may be displayed of them, and a package."""
    folder = tmp_path_factory.mktemp("bench")
    (folder / "ids.txt").write_text("\n".join(NAMES))
    source = ["catalogue", "--ids", str(folder / "ids.txt")]
    assert main(["build", *source, *DISPLAYED, *ASKED, "-o", str(folder / "b"), *QUIET]) == 0
    return folder


def content(root):
    """Bytes of every file of a package, by path."""
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def test_what_lies_in_a_package(work):
    root = work / "b"
    files = content(root)
    pictures = {name for name in files if name.startswith("images/")}
    assert set(files) - pictures == {
        *("README.md", "LICENSE", "manifest.json", "croissant.json", "scenes.h5"),
        *("questions.jsonl", "questions_mini.jsonl", "provenance/structures.jsonl"),
    }
    package = read_package(root)
    assert len(package.questions) == 64
    shown = {f"images/{path}" for one in package.questions for path in one.image_paths}
    assert shown == pictures
    manifest = read_manifest(root)
    assert set(manifest) == set(files) - {"manifest.json"}
    for name, (digest, size) in manifest.items():
        assert hashlib.sha256(files[name]).hexdigest() == digest and len(files[name]) == size
    full, mini = (
        (root / name).read_text().splitlines()
        for name in ("questions.jsonl", "questions_mini.jsonl")
    )
    assert set(mini) < set(full) and len(mini) == 32
    assert {type(json.loads(row)["scene_id"]) for row in full} == {list}
    with Image.open(root / sorted(pictures)[0]) as picture:
        assert picture.size == (512, 512) and picture.mode == "RGB" and not picture.info
    told = json.loads(files["manifest.json"])["settings"]
    assert told["scenes"]["display"]["seed"] == 20261021 and told["questions"]["questions"] == 64


def test_no_name_is_written_where_a_model_could_see_it(work):
    told = "".join(path for path in content(work / "b") if path.startswith("images/"))
    for name in NAMES:
        assert name not in told


def test_scenes_are_read_as_they_were_displayed(work):
    """What was written and read is what displaying the structure gives."""
    scenes = {scene.id: scene for scene in read_scenes(work / "b.displays.h5")}
    bases = {base.name: base for base in read_bases(work / "b.displays.h5")}
    settings = DisplaySettings(supercells=2)
    for base in catalogue_structures():
        if base.name not in ("marcasite", "AlCl3"):
            continue
        read = bases[base.name]
        # The file went by way of the packed cell: the same crystal, perhaps in another order.
        assert (read.formula, read.system, read.pairs) == (base.formula, base.system, base.pairs)
        assert np.allclose(read.lattice, base.lattice, atol=1e-4)
        for made in display(read, settings, variants(read, settings.stretch)):
            other = scenes[made.id]
            for name in made.__dataclass_fields__:
                mine, its = getattr(made, name), getattr(other, name)
                if name == "cameras":
                    assert [one.id for one in mine] == [one.id for one in its]
                    for a, b in zip(mine, its, strict=True):
                        assert np.array_equal(a.rotation, b.rotation)
                        assert np.array_equal(a.direction, b.direction)
                        assert a.tilt_degrees == b.tilt_degrees
                elif isinstance(mine, np.ndarray):
                    assert np.array_equal(mine, its), name
                else:
                    assert mine == its, name


def test_scenes_of_a_package_are_those_of_its_questions(work):
    package = read_package(work / "b")
    scenes = {scene.id: scene for scene in read_scenes(work / "b" / "scenes.h5")}
    wanted = set()
    for question in package.questions:
        ids = question.scene_id if isinstance(question.scene_id, list) else [question.scene_id]
        wanted.update(ids)
        for path, view in zip(question.image_paths, question.view_ids, strict=True):
            _, scene, file = path.split("/")
            assert scene in ids and file == f"{view}.png"
            assert view in [one.id for one in scenes[scene].cameras]
    assert wanted == set(scenes)
    assert any(scene.marks for scene in scenes.values())
    assert {base.name for base in read_bases(work / "b" / "scenes.h5")} <= set(NAMES)


def test_a_picture_is_a_function_of_its_scene(work):
    scenes = {scene.id: scene for scene in read_scenes(work / "b" / "scenes.h5")}
    painter = ScenePainter(DisplaySettings())
    table = read_table(
        work / "b" / "scenes.h5",
        [f"pictures/{name}" for name in ("file", "sha256", "origin_u", "origin_v")],
    )
    for k in range(0, len(table["pictures/file"]), 25):
        file = table["pictures/file"][k]
        _, id_, view = file.removesuffix(".png").split("/")
        scene = scenes[id_]
        pixels, _ = painter.draw(scene, view)
        data = (work / "b" / "images" / file).read_bytes()
        assert encode_png(pixels) == data
        assert hashlib.sha256(data).hexdigest() == table["pictures/sha256"][k]
        # A disc that nothing covers has one colour at its middle, where the file says it lies.
        camera = [one.id for one in scene.cameras].index(view)
        marked = set(scene.marks.values())
        for atom in np.flatnonzero(scene.visible[camera] > 0.999):
            x, y, _ = scene.cameras[camera].rotation @ scene.positions[atom]
            u = table["pictures/origin_u"][k] + scene.px_per_angstrom * x
            v = table["pictures/origin_v"][k] - scene.px_per_angstrom * y
            around = pixels[int(v) - 1 : int(v) + 2, int(u) - 1 : int(u) + 2].reshape(-1, 3)
            assert atom in marked or ((around == around[0]).all() and around.min() < 250)


def test_exact_centres_determine_every_question_and_oracles_score_that(work, tmp_path):
    """What three pictures determine, from the package's own scenes."""
    told, root = tmp_path / "d.h5", str(work / "b")
    assert main(["determine", root, "-o", str(told), *QUIET]) == 0
    found = read_determined(told)
    assert found.asked("known").all() and found.asked("determined")[:, 0].all()
    assert not found.asked("misled")[:, [0, 2]].any()
    listed = open_package(work / "b", "full", None)
    assert {item.display for item in listed.items} == {DisplaySettings(supercells=2)}
    one_view = found.readings["determined"][found.questions["stratum"] != "Q6", :, 0]
    assert one_view.mean() < 0.2
    package = read_package(root)
    readers = oracle_readers(told, package)
    for number, sight in enumerate(found.sights):
        name = f"oracle {sight}"
        file = prediction_file(package, "image", name, readers[name])
        assert file.n_correct == found.asked("determined")[:, number].sum()


def test_a_reader_knows_how_the_package_was_drawn(tmp_path):
    """Radii of discs and reach of bonds are the package's own, not an option beside it."""
    (tmp_path / "ids.txt").write_text("\n".join(NAMES))
    source = ["catalogue", "--ids", str(tmp_path / "ids.txt"), "--radii", "0.3"]
    source += ["--bond-factor", "1.12", "--supercells", "1"]
    out = tmp_path / "d.h5"
    assert main(["scenes", *source, "-o", str(out), *QUIET]) == 0
    settings = read_settings(out)
    assert (settings.radii, settings.bond_factor, settings.supercells) == (0.3, 1.12, 1)


def test_shards_give_the_same_bytes(work, tmp_path):
    build = ["build", str(work / "b.displays.h5"), *ASKED, "-o", str(tmp_path / "b"), *QUIET]
    for shard in ("1/2", "0/2"):
        assert main([*build, "--shard", shard]) == 0
    assert not (tmp_path / "b" / "manifest.json").exists()
    assert main([*build, "--resume"]) == 0
    assert content(tmp_path / "b") == content(work / "b")


def test_a_stopped_run_goes_on(work, tmp_path, monkeypatch, capsys):
    drawn, draw, me = [], ScenePainter.draw, os.getpid()

    def stopping(self, scene, view):  # in a process of its own
        drawn.append(view)
        if len(drawn) == 60:
            os.kill(me, signal.SIGUSR1)
        return draw(self, scene, view)

    monkeypatch.setattr(ScenePainter, "draw", stopping)
    displays = str(work / "b.displays.h5")
    build = ["build", displays, *ASKED, "-o", str(tmp_path / "b"), *QUIET]
    assert main(build) == 0
    assert "--resume goes on" in capsys.readouterr().err
    assert not (tmp_path / "b" / "scenes.h5").exists()
    assert 30 <= len(list((tmp_path / "b" / "images").rglob("*.png"))) < 150
    monkeypatch.undo()
    assert main(build) == 2  # earlier work, and nobody said what to do with it
    assert main([*build, "--resume"]) == 0
    first = next((tmp_path / "b" / "images" / "scenes").iterdir())
    assert content(tmp_path / "b") == content(work / "b")
    # Once more: nothing to do, and still whole.
    assert main([*build, "--resume"]) == 0
    assert content(tmp_path / "b") == content(work / "b")
    # A picture that is gone is told.
    next(first.iterdir()).unlink()
    assert main([*build, "--resume"]) == 1
    assert "--overwrite draws them again" in capsys.readouterr().err
    assert main(["validate", str(tmp_path / "b" / "scenes.h5")]) == 1


def test_what_is_asked_for_in_the_wrong_way(work, tmp_path, capsys):
    displays = str(work / "b.displays.h5")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("dear")
    for argv, words in (
        (["build", displays, "-o", str(tmp_path / "full")], "is not empty"),
        (["build", displays, "-o", str(tmp_path / "full"), "--dry-run"], "is not empty"),
        (["build", displays, "-o", str(tmp_path / "full"), "--overwrite"], "'thesis.tex'"),
        (["build", displays, "-o", str(tmp_path / "p.h5")], "name the folder"),
        (["build", "--shard", "0/2", "-o", str(tmp_path / "b")], "--shard needs all that may be"),
        (
            ["build", displays, "--radii", "0.3", "-o", str(tmp_path / "b")],
            "was made under other options",
        ),
        (["build", displays, "--tilt", "50", "-o", str(tmp_path / "b")], "below 45 degrees"),
        (["build", "no-such-folder", "-o", str(tmp_path / "b")], "there is no source"),
    ):
        assert main([*argv, *QUIET]) == 2, argv
        assert words in capsys.readouterr().err
    assert (tmp_path / "full" / "thesis.tex").read_text() == "dear"


def test_too_few_structures_are_told(work, tmp_path, capsys):
    displays = str(work / "b.displays.h5")
    assert main(["build", displays, "-o", str(tmp_path / "b"), *QUIET]) == 1
    told = capsys.readouterr().err
    assert "questions can be drawn of 15 base structures" in told
    most = re.search(r"take --questions (\d+), the most that can be drawn", told)[1]
    build = ["build", displays, "--questions", most, "-o", str(tmp_path / "c"), *QUIET]
    assert main(build) == 0


def test_fewer_questions_are_asked_of_what_lies_beside(work, tmp_path, capsys):
    """What a build that asks for too much ends with is a line that works."""
    source = [str(work / "b.packed.h5"), *DISPLAYED, "-o", str(tmp_path / "b"), *QUIET]
    assert main(["build", *source]) == 1
    most = re.search(r"take --questions (\d+), the most", capsys.readouterr().err)[1]
    assert main(["check", str(tmp_path / "b")]) == 3
    told = capsys.readouterr().out
    assert "is not finished: the command that began it, with --resume, goes on" in told
    assert told.splitlines()[-1] == "1 findings"
    made = (tmp_path / "b.displays.h5").read_bytes()
    assert main(["build", *source, "--questions", most, "--mini", "2"]) == 0
    assert (tmp_path / "b.displays.h5").read_bytes() == made
    assert main(["check", str(tmp_path / "b")]) == 0
    other = [*source, "--ids", "rutile,pyrite"]
    shutil.rmtree(tmp_path / "b")
    assert main(["build", *other]) in (1, 2)  # of other structures nothing is taken
    assert "b.displays.h5" in capsys.readouterr().err


def test_any_source_has_a_row_for_each_structure(tmp_path):
    """Broken files and all seven systems: a status each, and scenes of what can be used."""
    from ase import Atoms
    from ase.build import bulk
    from ase.io import write

    (tmp_path / "s").mkdir()
    write(tmp_path / "s" / "salt.cif", bulk("NaCl", "rocksalt", 5.64))
    cell = [[5.1, 0, 0], [1.3, 6.2, 0], [-0.7, 1.1, 7.4]]
    scaled = [[0, 0, 0], [0.31, 0.42, 0.27], [0.6, 0.1, 0.7]]
    write(tmp_path / "s" / "crooked.cif", Atoms("TiO2", scaled_positions=scaled, cell=cell))
    (tmp_path / "s" / "broken.cif").write_text("data_nothing\n_cell_length_a abc\n")
    out = tmp_path / "d.h5"
    run = ["scenes", str(tmp_path / "s"), *DISPLAYED, "--quarantine", "keep", "-o", str(out)]
    assert main([*run, *QUIET]) == 3
    table = read_table(out, ["structures/id", "structures/status", "structures/n_scenes"])
    counts = dict(zip(table["structures/id"], table["structures/n_scenes"], strict=True))
    assert counts["broken.cif"] == 0 and counts["salt.cif"] > 3 and counts["crooked.cif"] > 3
    systems = {base.name: base.system for base in read_bases(out)}
    assert systems == {"salt.cif": "cubic", "crooked.cif": "triclinic"}
    with pytest.raises(StructureError):
        base_structure("x", np.zeros((3, 3)), np.zeros((1, 3)), [1], DisplaySettings())


def test_programs_read_the_package(work, monkeypatch, tmp_path):
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    metadata = json.loads((work / "b" / "croissant.json").read_text())
    dataset = mlcroissant.Dataset(work / "b" / "croissant.json")
    records = list(dataset.records("mini"))
    assert len(records) == 32
    assert records[0]["mini/id"].decode().startswith("q1a-")
    assert metadata["conformsTo"] == "http://mlcommons.org/croissant/1.0"


def test_hugging_face_reads_the_package(work, tmp_path):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    made = datasets.load_dataset(
        str(work / "b"), "full", split="test", cache_dir=str(tmp_path / "cache")
    )
    rows = [json.loads(row) for row in (work / "b" / "questions.jsonl").open()]
    assert len(made) == len(rows)
    for name in ("id", "options", "answer", "image_paths", "scene_id", "text_repr"):
        assert [row[name] for row in rows] == list(made[name])


def kill_and_resume(command, times, rng, done):
    """Kill a command at random moments, so often; then let it end."""
    resume: list[str] = []
    for _ in range(times):
        process = subprocess.Popen([*command, *resume], start_new_session=True)
        time.sleep(rng.uniform(4.0, 25.0))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        resume = ["--resume"]
        if done.exists():
            break
    subprocess.run([*command, *resume], check=True)


@needs_ranks
@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_the_default_package_is_the_same_however_it_is_made(tmp_path):
    """716 and 200 questions; by one rank, two, three, shards, ten kills: the same bytes.

    Some 8 minutes of one core's work in all.
    """
    build = [sys.executable, "-m", "rc_hpc.benchmark", "build", "--progress", "none", "-q"]
    for name, ranks in (("one", 1), ("two", 2), ("three", 3)):
        launch = [] if ranks == 1 else [MPIEXEC, "-n", str(ranks)]
        subprocess.run([*launch, *build, "-o", str(tmp_path / name)], check=True)
    whole = content(tmp_path / "one")
    assert len(whole["questions.jsonl"].splitlines()) == 716
    assert len(whole["questions_mini.jsonl"].splitlines()) == 200
    rng = np.random.default_rng(1)
    killed = tmp_path / "killed"
    kill_and_resume([*build, "-o", str(killed)], 10, rng, killed / "manifest.json")
    displays, shards = str(tmp_path / "d.h5"), str(tmp_path / "shards")
    packed = str(tmp_path / "p.h5")
    assert pack(["catalogue", "-o", packed, *QUIET]) == 0
    for i in (2, 0, 1):
        assert main(["scenes", packed, "--shard", f"{i}/3", "-o", displays, *QUIET]) == 0
    assert main(["merge", displays]) == 0
    for i in (1, 2, 0):
        assert main(["build", displays, "--shard", f"{i}/3", "-o", shards, *QUIET]) == 0
    assert main(["build", displays, "--resume", "-o", shards, *QUIET]) == 0
    for name in ("two", "three", "killed", "shards"):
        assert content(tmp_path / name) == whole, name
