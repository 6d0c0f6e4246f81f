"""Reading manifests: what was drawn comes back, and names that lead elsewhere are refused."""

import io
import os
import shutil
import struct
import zlib

import h5py
import numpy as np
import pytest
from PIL import Image

from rc_hpc.core.door import Talk
from rc_hpc.core.errors import RcError
from rc_hpc.engine.options import CodedWorkOptions
from rc_hpc.images.pixels import decode
from rc_hpc.kinds.renders.manifest import read_manifest
from rc_hpc.pack import main as pack
from rc_hpc.render import main as render
from rc_hpc.training.options import PixelOptions
from rc_hpc.training.pixel_files import make_pixels

QUIET = ["--progress", "none", "-q"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("renders")
    packed, manifest = folder / "packed.h5", folder / "renders.h5"
    (folder / "broken.cif").write_text("data_broken")  # a row without pictures
    assert pack(["synthetic:4:6", str(folder / "broken.cif"), "-o", str(packed), *QUIET]) == 3
    arguments = ["--size", "64", "--protocol", "off-axis", *QUIET]
    assert render([str(packed), "-o", str(manifest), *arguments]) in (0, 3)
    return manifest


def test_a_manifest_comes_back(path):
    found = read_manifest(path)
    with h5py.File(path) as h5:
        ids = h5["structures/id"].asstr()[()]
        table = {name: h5[f"pictures/{name}"] for name in ("structure", "view", "bytes", "size")}
        files = h5["pictures/file"].asstr()[()]
        digests = h5["pictures/sha256"].asstr()[()]
        assert found.ids == tuple(ids) and found.convention == h5["pictures/convention"].asstr()[0]
        assert found.content_hash == h5.attrs["content_hash"]
        for entry, (row, view) in enumerate(zip(table["structure"], table["view"], strict=True)):
            assert found.files[row, view] == files[entry]
            assert found.digests[row, view] == digests[entry]
            assert found.n_bytes[row, view] == table["bytes"][entry]
            assert found.sizes[row, view] == 64
        assert (found.files != "").sum() == len(files)
    assert found.views == found.protocol.views
    assert found.tiling == found.protocol.tiling == (2, 2, 2)
    rows = np.flatnonzero(found.whole)
    assert 0 < len(rows) < len(found.ids)
    for row in rows:
        paths = found.paths(row)
        assert [each.stat().st_size for each in paths] == found.n_bytes[row].tolist()
    (without, *_) = np.flatnonzero(~found.whole)
    assert found.paths(without) == [] and not found.n_bytes[without].any()


def test_discs_are_those_of_one_picture(path):
    found = read_manifest(path)
    with h5py.File(path) as h5:
        table = {name: h5[f"discs/{name}"][()] for name in h5["discs"]}
    n = 0
    for row in range(len(found.ids)):
        for camera in range(len(found.views)):
            shown = (table["structure"] == row) & (table["view"] == camera)
            discs = found.discs(row, camera)
            assert set(discs) == {"number", "site", "u", "v", "radius", "depth"}
            for name, values in discs.items():
                assert np.array_equal(values, table[name][shown])
            n += len(discs["u"])
    assert n == len(table["u"]) > 0


def test_rows_go_by_id(path):
    found = read_manifest(path)
    assert [found.ids[row] for row in found.row.values()] == list(found.row)
    assert len(found.row) == len(found.ids)


@pytest.fixture
def spoilt(path, tmp_path):
    def write(name, value):
        copy = tmp_path / "renders.h5"
        shutil.copy(path, copy)
        with h5py.File(copy, "r+") as h5:
            h5[f"pictures/{name}"][0] = value
        return copy

    return write


@pytest.mark.parametrize("name", ["../other.png", "/etc/passwd", "a/b.png", "..", ".", ""])
def test_names_that_lead_elsewhere_are_refused(spoilt, name):
    with pytest.raises(RcError, match=r"names a picture .*rc_hpc\.render"):
        read_manifest(spoilt("file", name))


@pytest.mark.parametrize(("name", "value"), [("structure", 99), ("structure", -1), ("view", 9)])
def test_pictures_of_nothing_are_refused(spoilt, name, value):
    with pytest.raises(RcError, match="does not name"):
        read_manifest(spoilt(name, value))


def test_links_are_not_followed(path, tmp_path):
    found = read_manifest(path)
    row = int(np.flatnonzero(found.whole)[0])
    shutil.copy(path, tmp_path / "renders.h5")
    (tmp_path / "renders").symlink_to(found.folder)
    with pytest.raises(RcError, match="symbolic link"):
        read_manifest(tmp_path / "renders.h5").paths(row)
    (tmp_path / "renders").unlink()
    shutil.copytree(found.folder, tmp_path / "renders")
    linked = read_manifest(tmp_path / "renders.h5").paths(row)[0]
    linked.unlink()
    linked.symlink_to(found.paths(row)[0])
    options = PixelOptions(manifest=(tmp_path / "renders.h5",))
    work = CodedWorkOptions(output=tmp_path / "x.pixels.h5", progress="none")
    with pytest.raises(RcError, match=linked.name):
        make_pixels(options, work, Talk())
    linked.unlink()
    os.mkfifo(linked)  # which would be waited for
    with pytest.raises(RcError, match="no regular file"):
        make_pixels(options, work, Talk())


def test_only_png_of_a_bounded_size_is_decoded():
    sink = io.BytesIO()
    Image.new("RGB", (9, 9)).save(sink, "JPEG")
    with pytest.raises(RcError, match="no PNG"):
        decode(sink.getvalue(), 9, "box", "x.png")
    header = struct.pack(">IIBBBBB", 12000, 12000, 8, 2, 0, 0, 0)
    chunk = (
        struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    )
    rows = zlib.compress(bytes(9))
    data = (
        struct.pack(">I", len(rows))
        + b"IDAT"
        + rows
        + struct.pack(">I", zlib.crc32(b"IDAT" + rows))
    )
    with pytest.raises(RcError, match="12000 x 12000"):
        decode(b"\x89PNG\r\n\x1a\n" + chunk + data, 9, "box", "x.png")
