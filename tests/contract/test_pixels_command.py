"""Pixel files: what is in them, what they refuse, and that they are the pictures."""

import os
import shutil
import signal

import h5py
import numpy as np
import pytest
from PIL import Image

from rc_hpc.core.errors import RcError
from rc_hpc.images.pixels import FILTERS, decode
from rc_hpc.pack import main as pack
from rc_hpc.parallel.state import read_state
from rc_hpc.pixels import main
from rc_hpc.render import main as render
from rc_hpc.store.arrays import mapped, read_arrays
from rc_hpc.training import pixel_files

QUICK = ["--progress", "none", "-q"]


@pytest.fixture(scope="module")
def renders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("renders")
    for name, seed in (("one", "1"), ("two", "2")):
        packed = folder / f"{name}.packed.h5"
        assert pack(["synthetic:5:6", "--seed", seed, "-o", str(packed), *QUICK]) in (0, 3)
        assert render([str(packed), "-o", str(folder / f"{name}.h5"), "--size", "96", *QUICK]) in (
            0,
            3,
        )
    return folder


@pytest.fixture(scope="module")
def pixels(renders):
    output = renders / "pixels.h5"
    assert main([str(renders / "one.h5"), "-o", str(output), "--size", "32", *QUICK]) == 0
    return output


def test_the_block_is_the_pictures(renders, pixels):
    block = mapped(pixels, "pixels", "pixels")
    found, attrs = read_arrays(pixels, "pixels", ("structures/id", "protocol/view", "pixels"))
    assert np.array_equal(block, found["pixels"]) and block.shape == (
        len(found["structures/id"]),
        5,
        32,
        32,
        3,
    )
    with h5py.File(renders / "one.h5") as h5:
        ids = h5["structures/id"].asstr()[()]
        assert found["protocol/view"].tolist() == h5["protocol/view"].asstr()[()].tolist()
        for structure, view, file in zip(
            h5["pictures/structure"],
            h5["pictures/view"],
            h5["pictures/file"].asstr()[()],
            strict=True,
        ):
            with Image.open(renders / "one" / file) as image:
                expected = np.asarray(
                    image.convert("RGB").resize((32, 32), Image.Resampling.BICUBIC)
                )
            assert np.array_equal(
                block[found["structures/id"].tolist().index(ids[structure]), view], expected
            )
    assert "bicubic" in attrs["options"] and len(attrs["content_hash"]) == 64
    with h5py.File(pixels) as h5:
        for name in ("pixels", "structures/id", "protocol/view"):
            assert h5[name].attrs["units"] and h5[name].attrs["description"]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_threads_change_nothing_and_manifests_join(renders, pixels, tmp_path, threads):
    output = tmp_path / "both.h5"
    request = [
        str(renders / "one.h5"),
        str(renders / "two.h5"),
        "-o",
        str(output),
        "--size",
        "32",
        "--threads",
        threads,
        *QUICK,
    ]
    assert main(request) == 0
    block, first = mapped(output, "pixels", "pixels"), mapped(pixels, "pixels", "pixels")
    assert len(block) > len(first) and np.array_equal(block[: len(first)], first)


def test_a_structure_is_given_once(renders, tmp_path, capsys):
    assert (
        main(
            [str(renders / "one.h5"), str(renders / "one.h5"), "-o", str(tmp_path / "p.h5"), *QUICK]
        )
        == 2
    )
    before = (renders / "one.h5").read_bytes()
    assert (
        main([str(renders / "one.h5"), "-o", str(renders / "one.h5"), *QUICK, "--overwrite"]) == 2
    )
    assert (renders / "one.h5").read_bytes() == before
    assert "each structure once" in capsys.readouterr().err


def test_finished_work_stays(renders, pixels, capsys):
    before = pixels.read_bytes()
    request = [str(renders / "one.h5"), "-o", str(pixels), "--progress", "none"]
    assert main([*request, "--size", "32"]) == 2 and "--overwrite" in capsys.readouterr().err
    assert (
        main([*request, "--size", "32", "--resume"]) == 0
        and "finished already" in capsys.readouterr().out
    )
    assert (
        main([*request, "--size", "48", "--resume"]) == 1
        and "size: was 32, now 48" in capsys.readouterr().err
    )
    assert pixels.read_bytes() == before


def test_the_same_pictures_give_the_same_hash(renders, pixels, tmp_path):
    again, other = tmp_path / "again.h5", tmp_path / "other.h5"
    assert (
        main([str(renders / "one.h5"), "-o", str(again), "--size", "32", "--threads", "2", *QUICK])
        == 0
    )
    assert (
        main([str(renders / "one.h5"), "-o", str(other), "--size", "32", "--filter", "box", *QUICK])
        == 0
    )
    hashes = [read_arrays(path, "pixels", ())[1]["content_hash"] for path in (pixels, again, other)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_changed_and_missing_pictures_are_named(renders, tmp_path, capsys):
    shutil.copy(renders / "one.h5", tmp_path / "one.h5")
    shutil.copytree(renders / "one", tmp_path / "one")
    picture = sorted((tmp_path / "one").iterdir())[3]
    request = [str(tmp_path / "one.h5"), "-o", str(tmp_path / "pixels.h5"), *QUICK]
    picture.write_bytes(picture.read_bytes()[:-1])
    assert main(request) == 1 and f"{picture.name}: changed" in capsys.readouterr().err
    picture.unlink()
    assert main(request) == 1 and picture.name in capsys.readouterr().err
    assert not (tmp_path / "pixels.h5").exists() and not list(tmp_path.glob(".*.tmp"))


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 0), ("SIGINT", 130)])
def test_a_signal_leaves_nothing_half_done(renders, tmp_path, monkeypatch, capsys, name, code):
    output, state = tmp_path / "p.h5", tmp_path / "state.json"
    read = pixel_files._bytes

    def interrupted(path, digest):
        os.kill(os.getpid(), getattr(signal, name))
        monkeypatch.undo()
        return read(path, digest)

    monkeypatch.setattr(pixel_files, "_bytes", interrupted)
    request = [str(renders / "one.h5"), "-o", str(output), "--threads", "1", *QUICK]
    assert main([*request, "--state", str(state)]) == code
    assert name in capsys.readouterr().err and list(tmp_path.iterdir()) == [state]
    assert read_state(state)["state"] == "stopped"
    assert main([*request, "--size", "32", "--state", str(state)]) == 0
    told, attrs = read_state(state), read_arrays(output, "pixels", ())[1]
    assert (told["state"], told["content_hash"]) == ("done", attrs["content_hash"])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--size", "4"], "--size"),
        (["--filter", "magic"], "bicubic"),
        (["--threads", "0"], "--threads"),
    ],
)
def test_wrong_requests(renders, tmp_path, capsys, more, said):
    assert main([str(renders / "one.h5"), "-o", str(tmp_path / "p.h5"), *QUICK, *more]) == 2
    assert said in capsys.readouterr().err


def test_a_packed_file_is_no_manifest(renders, tmp_path, capsys):
    assert main([str(renders / "one.packed.h5"), "-o", str(tmp_path / "p.h5"), *QUICK]) == 1
    assert "it is a packed file" in capsys.readouterr().err


def test_filters_average_but_for_nearest():
    """A picture of alternating black and white columns: all filters that widen see grey."""
    import io

    stripes = np.zeros((64, 64, 3), np.uint8)
    stripes[:, ::2] = 255
    buffer = io.BytesIO()
    Image.fromarray(stripes).save(buffer, "PNG")
    for filter_ in FILTERS:
        found = decode(buffer.getvalue(), 8, filter_, "stripes")
        assert found.shape == (8, 8, 3)
        assert (np.abs(found.astype(int) - 127.5) < 20).all() == (filter_ != "nearest")


def test_transparency_is_laid_on_white_and_oblong_refused(tmp_path):
    import io

    def png(image):
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        return buffer.getvalue()

    assert (decode(png(Image.new("RGBA", (16, 16), (255, 0, 0, 0))), 16, "box", "x") == 255).all()
    with pytest.raises(RcError, match="not square"):
        decode(png(Image.new("RGB", (16, 12))), 8, "box", "x")
    with pytest.raises(RcError, match="no picture"):
        decode(b"nothing", 8, "box", "x")
