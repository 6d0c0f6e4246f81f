"""The rendering command: pictures, manifest, failures, resuming, options."""

import hashlib
import itertools
import json
import re

import h5py
import numpy as np
import pytest
from ase.build import bulk
from ase.data.colors import jmol_colors
from ase.io import write
from PIL import Image

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import Status, UsageError
from rc_hpc.core.vocabulary import Renderer
from rc_hpc.engine import rows as engine_rows
from rc_hpc.engine.validate import validate
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.renders.options import RenderOptions
from rc_hpc.kinds.renders.schema import PICTURES
from rc_hpc.pack import main as pack
from rc_hpc.render import main, parser
from rc_hpc.store.layout import read_rows
from rc_hpc.store.reader import read_table

pytestmark = pytest.mark.long

VIEWS = ["axis_a", "axis_b", "axis_c", "body_diagonal", "oblique2"]
QUICK = ["--size", "96", "--progress", "none", "-q"]
ATOMS = {"salt": 8, "titanium": 2, "iron": 2, "silicon": 8}


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """Four crystals, an unreadable file and one with atoms on each other."""
    folder = tmp_path_factory.mktemp("sources")
    crystals = {
        "salt": bulk("NaCl", "rocksalt", 5.64),
        "titanium": bulk("Ti"),
        "iron": bulk("Fe"),
        "silicon": bulk("Si"),
    }
    for name, atoms in crystals.items():
        write(folder / f"{name}.cif", atoms)
    clash = bulk("Fe", cubic=True)
    clash.positions[1] = clash.positions[0] + [0.01, 0, 0]
    write(folder / "clash.cif", clash)
    (folder / "broken.cif").write_text("data_nothing\n_cell_length_a abc\n")
    output = tmp_path_factory.mktemp("packed") / "packed.h5"
    assert pack([str(folder), "-o", str(output), "--progress", "none", "-q"]) == 3
    return output


@pytest.fixture(scope="module")
def rendered(packed, tmp_path_factory):
    """A finished run: its manifest."""
    output = tmp_path_factory.mktemp("rendered") / "renders.h5"
    assert main([str(packed), "-o", str(output), *QUICK]) == 3
    return output


def content_hash(path):
    with h5py.File(path) as h5:
        return h5.attrs["content_hash"]


def columns(path, table):
    with h5py.File(path) as h5:
        return {name: read_rows(dataset) for name, dataset in h5[table].items() if name != "row"}


def test_every_structure_has_a_row_and_five_pictures_or_a_reason(packed, rendered):
    assert validate(rendered) == []
    rows, pictures = columns(rendered, "structures"), columns(rendered, "pictures")
    names = [id_.rpartition("/")[2].removesuffix(".cif") for id_ in rows["id"]]
    status = dict(zip(names, rows["status"], strict=True))
    assert status == dict.fromkeys(ATOMS, Status.ok) | {
        "broken": Status.empty,
        "clash": Status.close_atoms,
    }
    assert all(
        bool(message) == (code != 0)
        for message, code in zip(rows["message"], rows["status"], strict=True)
    )
    drawn = [names[row] for row in pictures["structure"]]
    assert drawn == [name for name in names if name in ATOMS for _ in VIEWS]
    assert pictures["view"].tolist() == [0, 1, 2, 3, 4] * 4
    assert read_table(rendered, ["protocol/view"])["protocol/view"].tolist() == VIEWS
    assert {name: rows["n_drawn"][k] for k, name in enumerate(names)} == {
        name: 8 * ATOMS.get(name, 0) for name in names
    }
    for name in ("lattice", "space_group", "crystal_system_conventional", "sha256"):
        np.testing.assert_array_equal(
            rows[name], read_table(packed, [f"structures/{name}"])[f"structures/{name}"]
        )


def test_manifest_says_what_is_in_the_folder(rendered):
    pictures, folder = columns(rendered, "pictures"), rendered.with_suffix("")
    assert sorted(path.name for path in folder.iterdir()) == sorted(pictures["file"])
    for k, name in enumerate(pictures["file"]):
        data = (folder / name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (
            pictures["bytes"][k],
            pictures["sha256"][k],
        )
        image = Image.open(folder / name)
        assert image.size == (96, 96) and image.info == {}
        assert (
            hashlib.sha256(np.asarray(image).tobytes()).hexdigest() == pictures["pixels_sha256"][k]
        )
    assert set(pictures["convention"]) == {"C1"} and set(pictures["renderer"]) == {Renderer.fast}
    assert (
        (pictures["tiling"] == 2).all()
        and (pictures["radii_factor"] == 0.5).all()
        and (pictures["size"] == 96).all()
    )
    with h5py.File(rendered) as h5:
        assert h5.attrs["picture_folder"] == folder.name
        assert {"matplotlib", "ase", "zlib"} <= json.loads(h5.attrs["package_versions"]).keys()
        assert "rising depth" in h5.attrs["paint_order"]
        assert set(h5["pictures"]) - {"row"} == {column.path for column in PICTURES}


def test_no_name_tells_anything(rendered):
    pictures, rows = columns(rendered, "pictures"), columns(rendered, "structures")
    for name in pictures["file"]:
        assert re.fullmatch(r"[0-9a-f]{32}\.png", name)
    text = b"".join((rendered.with_suffix("") / name).read_bytes() for name in pictures["file"])
    for word in (*VIEWS, *CRYSTAL_SYSTEMS, *rows["id"], "NaCl", "Software", "matplotlib", "tEXt"):
        assert word.encode() not in text


def to_segment(points, start, end):
    along = np.clip(
        (points - start) @ (end - start) / max((end - start) @ (end - start), 1e-30), 0, 1
    )
    return np.linalg.norm(points - start - along[:, None] * (end - start), axis=1)


def test_discs_lie_where_the_picture_shows_them(rendered):
    """From the manifest alone: a disc that nothing is near has its element's colour."""
    pictures, discs = columns(rendered, "pictures"), columns(rendered, "discs")
    rotation = read_table(rendered, ["protocol/rotation"])["protocol/rotation"]
    lattices, checked = columns(rendered, "structures")["lattice"], 0
    for k, (row, view) in enumerate(zip(pictures["structure"], pictures["view"], strict=True)):
        pixels = np.asarray(Image.open(rendered.with_suffix("") / pictures["file"][k])).astype(int)
        mine = (discs["structure"] == row) & (discs["view"] == view)
        number, site, u, v, radius, depth = (
            discs[name][mine] for name in ("number", "site", "u", "v", "radius", "depth")
        )
        centres, n = np.column_stack((u, v)), len(u) // 8
        assert site.tolist() == list(range(n)) * 8

        scale = pictures["px_per_angstrom"][k] * np.array([1, -1])
        origin = np.array([pictures["origin_u"][k], pictures["origin_v"][k]])
        step = (lattices[row] @ rotation[view])[
            2
        ]  # the second tile is one step along the third vector
        np.testing.assert_allclose(
            centres[n : 2 * n] - centres[:n], np.tile(step[:2] * scale, (n, 1)), atol=1e-9
        )
        np.testing.assert_allclose(depth[n : 2 * n] - depth[:n], step[2], atol=1e-9)

        corners = np.array(list(itertools.product((0, 2), repeat=3)))
        on_screen = origin + (corners @ lattices[row] @ rotation[view])[:, :2] * scale
        edges = [
            (i, j)
            for i, j in itertools.combinations(range(8), 2)
            if np.count_nonzero(corners[i] - corners[j]) == 1
        ]
        to_edges = np.min(
            [to_segment(centres, on_screen[i], on_screen[j]) for i, j in edges], axis=0
        )
        apart = np.linalg.norm(centres[:, None] - centres, axis=2) + 1e3 * (
            depth < depth[:, None] - 1e-6
        )
        np.fill_diagonal(apart, np.inf)
        for disc in np.flatnonzero(
            (to_edges > 3) & (apart > radius + 3).all(axis=1) & (radius > 3)
        ):
            found = pixels[int(np.floor(v[disc])), int(np.floor(u[disc]))]
            assert np.abs(found - np.round(jmol_colors[number[disc]] * 255)).max() <= 1
            checked += 1
    assert checked > 40


def test_shards_in_any_order_give_the_same(packed, rendered, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(engine_rows, "BATCH_MS", 1.0)  # a structure is a batch
    output = tmp_path / "renders.h5"
    for shard in ("1/3", "0/3"):
        assert main([str(packed), "-o", str(output), "--shard", shard, *QUICK]) in (0, 3)
    assert main(["merge", str(output)]) == 1
    assert "not done yet" in capsys.readouterr().err
    assert main([str(packed), "-o", str(output), "--shard", "2/3", *QUICK]) in (0, 3)
    assert main(["merge", str(output)]) == 0
    assert content_hash(output) == content_hash(rendered)
    assert main(["validate", str(output)]) == 0


def test_resume_draws_what_is_missing(packed, rendered, tmp_path, monkeypatch):
    monkeypatch.setattr(engine_rows, "BATCH_MS", 1.0)
    output = tmp_path / "renders.h5"
    for shard in ("0/2", "1/2"):
        main([str(packed), "-o", str(output), "--shard", shard, *QUICK])
    folder, pictures = (
        output.with_suffix(""),
        columns(rendered, "pictures"),
    )  # names depend on ids and views alone
    gone, cut, kept = (
        folder / name for name in pictures["file"][[0, 5, 10]]
    )  # of three structures
    gone.unlink()
    cut.write_bytes(b"cut")
    time = kept.stat().st_mtime_ns
    assert main([str(packed), "-o", str(output), "--resume", *QUICK]) == 3
    assert content_hash(output) == content_hash(rendered)
    assert main(["validate", str(output)]) == 0
    assert kept.stat().st_mtime_ns == time


def test_finished_runs(packed, rendered, tmp_path, capsys):
    output = tmp_path / "renders.h5"
    arguments = [str(packed), "-o", str(output), *QUICK]
    assert main(arguments) == 3
    assert main(arguments) == 2
    assert "--overwrite replaces it" in capsys.readouterr().err
    assert main([*arguments, "--resume"]) == 3
    victim = next(output.with_suffix("").iterdir())
    data = victim.read_bytes()
    victim.write_bytes(data[:-1] + b"x")
    assert main(["validate", str(output)]) == 1
    assert f"{victim}: changed" in capsys.readouterr().out
    victim.unlink()
    assert main([*arguments, "--resume"]) == 1
    assert "pictures of 1 structures are missing" in capsys.readouterr().err
    (output.with_suffix("") / "notes.txt").write_text("mine")
    (output.with_suffix("") / f"{'0' * 32}.png").write_bytes(b"old")
    assert main([*arguments, "--overwrite"]) == 3
    assert content_hash(output) == content_hash(rendered)
    left = {path.name for path in output.with_suffix("").iterdir()}
    assert left == {*columns(output, "pictures")["file"], "notes.txt"}


def test_a_folder_in_use_is_not_written_into(packed, tmp_path, capsys):
    (tmp_path / "renders").mkdir()
    (tmp_path / "renders" / "thesis.txt").write_text("mine")
    assert main([str(packed), "-o", str(tmp_path / "renders.h5"), *QUICK]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert not (tmp_path / "renders.h5").exists()


def test_other_options_are_not_mixed(packed, tmp_path, capsys):
    output = tmp_path / "renders.h5"
    assert main([str(packed), "-o", str(output), "--shard", "0/2", *QUICK]) in (0, 3)
    assert main([str(packed), "-o", str(output), "--resume", "--radii", "0.22", *QUICK]) == 1
    assert "radii_factor: was 0.5, now 0.22" in capsys.readouterr().err


def test_seed_changes_names_and_nothing_else(packed, rendered, tmp_path):
    output = tmp_path / "renders.h5"
    assert main([str(packed), "-o", str(output), "--name-seed", "secret", *QUICK]) == 3
    ours, others = columns(output, "pictures"), columns(rendered, "pictures")
    assert not set(ours["file"]) & set(others["file"])
    assert ours["pixels_sha256"].tolist() == others["pixels_sha256"].tolist()


def test_ase_is_asked_for_by_name(packed, rendered, tmp_path, capsys):
    output = tmp_path / "renders.h5"
    assert (
        main(
            [
                str(packed),
                "-o",
                str(output),
                "--renderer",
                "ase",
                "--size",
                "96",
                "--progress",
                "none",
            ]
        )
        == 3
    )
    assert "20 pictures" in capsys.readouterr().out
    pictures = columns(output, "pictures")
    assert set(pictures["renderer"]) == {Renderer.ase}
    free = pictures["tied_pairs"] == 0
    same = pictures["pixels_sha256"] == columns(rendered, "pictures")["pixels_sha256"]
    assert free.any() and same[free].all()


def test_raw_sources_are_packed_first(tmp_path, capfd):
    write(tmp_path / "iron.cif", bulk("Fe"))
    output = tmp_path / "out.h5"
    assert (
        main([str(tmp_path / "iron.cif"), "-o", str(output), "--size", "32", "--progress", "none"])
        == 0
    )
    assert (tmp_path / "out.packed.h5").is_file() and len(list((tmp_path / "out").iterdir())) == 5
    assert "1 structures: 1 ok" in capfd.readouterr().out
    assert main([str(tmp_path / "iron.cif"), "-o", str(tmp_path / "more.h5"), "--dry-run"]) == 0
    assert "pictures of each: 5" in capfd.readouterr().out
    assert not (tmp_path / "more.packed.h5").exists()


def resolved(*arguments):
    options = parser().read(list(arguments)).make(RenderOptions)
    return options, protocol_of(options.protocol)


@pytest.mark.parametrize(
    ("arguments", "name", "tiling", "radii", "cameras"),
    [
        ([], "C1", (2, 2, 2), 0.5, "frozen"),
        (["--convention", "C2"], "C2", (1, 1, 1), 0.5, "frozen"),
        (["--convention", "C3"], "C3", (2, 2, 2), 0.22, "frozen"),
        (["--convention", "C4"], "C4", (2, 2, 2), 0.5, "off-axis"),
        (["--convention", "C5"], "C5", (1, 1, 1), 0.22, "frozen"),
        (["--tiling", "1"], "C2", (1, 1, 1), 0.5, "frozen"),
        (["--convention", "C3", "--protocol", "off-axis"], "custom", (2, 2, 2), 0.22, "off-axis"),
        (["--tiling", "3,1,2", "--radii", "0.4"], "custom", (3, 1, 2), 0.4, "frozen"),
    ],
)
def test_conventions_and_what_overrides_them(arguments, name, tiling, radii, cameras):
    options, protocol = resolved(*arguments)
    assert (options.convention, protocol.tiling, options.radii_factor, protocol.name) == (
        name,
        tiling,
        radii,
        cameras,
    )
    assert options.protocol["tiling"] == list(tiling)


def test_protocol_files(tmp_path):
    cameras = (
        '[[camera]]\nname = "front"\nrotation = "-90x"\n'
        '[[camera]]\nname = "corner"\ndirection = [1, 1, 1]\n'
    )
    (tmp_path / "mine.toml").write_text(cameras)
    (tmp_path / "tiled.toml").write_text("tiling = [3, 3, 1]\n" + cameras)
    assert resolved("--protocol", str(tmp_path / "mine.toml"))[1].tiling == (2, 2, 2)
    options, protocol = resolved("--protocol", str(tmp_path / "tiled.toml"))
    assert (options.convention, protocol.tiling, protocol.views) == (
        "custom",
        (3, 3, 1),
        ("front", "corner"),
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--size", "4"], "--size must be between"),
        (["--radii", "0"], "--radii must be a positive"),
        (["--radii", "nan"], "--radii must be a positive"),
        (["--compare", "--renderer", "ase"], "--compare compares"),
        (["--convention", "C9"], "'C9': one of C1, C2"),
        (["--renderer", "povray"], "invalid choice"),
        (["--protocol", "nowhere"], "no protocol"),
        (["--tiling", "0"], "tiling"),
    ],
)
def test_wrong_options_say_what_is_right(arguments, why):
    with pytest.raises(UsageError, match=why):
        resolved(*arguments)


def test_a_manifest_needs_an_ending(packed, tmp_path, capsys):
    assert main([str(packed), "-o", str(tmp_path / "renders")]) == 2
    assert "must end in .h5" in capsys.readouterr().err
