"""Rendered pictures to a pixel file: decoded and reduced once, so that training waits for no decoder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.engine.run import RunOptions
from rc_hpc.images.files import drawing_versions, picture_folder
from rc_hpc.images.pixels import check_reduction, decode
from rc_hpc.parallel.progress import Progress
from rc_hpc.store.arrays import new_arrays, read_arrays
from rc_hpc.store.attributes import package_versions
from rc_hpc.store.content import input_hash
from rc_hpc.store.outputs import check_conditions, check_not_read, check_output

KIND = "pixels"
TITLE = "Pictures of crystal structures, decoded and reduced for training."
_DATASETS = (
    "structures/id",
    "pictures/structure",
    "pictures/view",
    "pictures/file",
    "pictures/sha256",
    "protocol/view",
)


@dataclass(frozen=True)
class Manifest:
    """The pictures of one rendering run.

    Attributes
    ----------
    path
    views
        Camera names.
    ids
        Structures that have a picture from every camera.
    files, digests : (n, v) object
        Paths of their pictures and the SHA-256 of each.
    attrs
        Root attributes.
    n_without
        Structures without pictures.
    """

    path: Path
    views: tuple[str, ...]
    ids: tuple[str, ...]
    files: np.ndarray
    digests: np.ndarray
    attrs: dict
    n_without: int


def read_manifest(path: Path) -> Manifest:
    """Read a manifest written by the rendering command."""
    found, attrs = read_arrays(path, "renders", _DATASETS)
    views, ids = tuple(found["protocol/view"]), found["structures/id"]
    folder = picture_folder(path)
    files = np.full((len(ids), len(views)), "", object)
    digests = files.copy()
    place = found["pictures/structure"], found["pictures/view"]
    files[place] = [str(folder / name) for name in found["pictures/file"]]
    digests[place] = found["pictures/sha256"]
    whole = np.all(digests != "", axis=1)
    return Manifest(
        path, views, tuple(ids[whole]), files[whole], digests[whole], attrs, int(np.sum(~whole))
    )


def make_pixels(
    manifests: Sequence[Path], size: int, filter_: str, run: RunOptions, threads: int
) -> str:
    """Write the pixel file of some manifests; returns what to tell, empty where it was finished.

    Raises
    ------
    UsageError
        Manifests with other cameras or the same structures; an output that must not be replaced.
    RcError
        A picture is missing, changed, or none.
    """
    check_reduction(size, filter_)
    check_not_read(run.output, manifests)
    check_output(run.output, run.resume, run.overwrite)
    found = [read_manifest(path) for path in manifests]
    ids = _joined(found)
    options = {
        "size": size,
        "filter": filter_,
        "drawing": [json.loads(m.attrs["options"]) for m in found],
    }
    text = json.dumps(options, sort_keys=True)
    identity = {
        "options": text,
        "options_hash": hashlib.sha256(text.encode()).hexdigest(),
        "input_hash": input_hash(
            zip(ids, (json.dumps(list(row)) for m in found for row in m.digests), strict=True)
        ),
    }
    if run.output.exists() and run.resume and not run.overwrite:
        attrs = read_arrays(run.output, KIND, ())[1]
        check_conditions(run.output, {key: attrs[key] for key in identity}, identity)
        return ""
    _write(found, ids, size, filter_, run, threads, identity)
    n_without = sum(m.n_without for m in found)
    text = f"{run.output}: {len(ids)} structures, {len(ids) * len(found[0].views)} pictures of {size} px, {run.output.stat().st_size / 1e6:.1f} MB"
    return text + (
        f"; {n_without} structures have no pictures and are left out" if n_without else ""
    )


def _joined(found: Sequence[Manifest]) -> list[str]:
    seen: dict[str, Path] = {}
    for manifest in found:
        if manifest.views != found[0].views:
            raise UsageError(
                f"{manifest.path} shows {', '.join(manifest.views)}, {found[0].path} {', '.join(found[0].views)}: give manifests of one protocol"
            )
        for id_ in manifest.ids:
            if seen.setdefault(id_, manifest.path) is not manifest.path:
                raise UsageError(
                    f"{id_} is in {seen[id_]} and in {manifest.path}: give each structure once"
                )
    if not seen:
        raise RcError(f"{', '.join(str(m.path) for m in found)}: no structure has all its pictures")
    return list(seen)


def _write(
    found, ids, size: int, filter_: str, run: RunOptions, threads: int, identity: dict
) -> None:
    views = found[0].views
    attrs = {"package_versions": package_versions() | drawing_versions() | {"pillow": _pillow()}}
    with new_arrays(run.output, KIND, TITLE, identity, attrs) as file:
        file.add("structures/id", ids, "1", "Identifier of the structure.", ("structure",))
        file.add("protocol/view", views, "1", "Name of each camera.", ("view",))
        pixels = file.reserve(
            "pixels",
            (len(ids), len(views), size, size, 3),
            np.uint8,
            "1",
            "Red, green and blue of each picture, 0 to 255; rows from the top. Not compressed, so that it can be mapped.",
            ("structure", "view", "row", "column", "colour"),
        )
        with Progress(len(ids), "structures", run.progress) as progress:
            for row, pictures in enumerate(_decoded(found, size, filter_, threads)):
                pixels[row] = pictures
                file.h5.check_disk()
                progress.update(row + 1)


def _decoded(
    found: Sequence[Manifest], size: int, filter_: str, threads: int
) -> Iterator[np.ndarray]:
    """Pictures of each structure, (v, size, size, 3); a few structures ahead of their use."""
    rows = [row for m in found for row in zip(m.files, m.digests, strict=True)]
    one = partial(_decode_row, size=size, filter_=filter_)
    if threads == 1:
        yield from map(one, rows)
        return
    with ThreadPoolExecutor(threads) as pool:  # Pillow decodes and resizes without Python's lock
        for start in range(0, len(rows), 8 * threads):
            yield from pool.map(one, rows[start : start + 8 * threads])


def _decode_row(row, size: int, filter_: str) -> np.ndarray:
    return np.stack([decode(_bytes(*one), size, filter_, one[0]) for one in zip(*row, strict=True)])


def _bytes(name: str, digest: str) -> bytes:
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        raise RcError(
            f"{name}: {os.strerror(error.errno)}: keep the pictures beside their manifest, or render them again"
        ) from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise RcError(f"{name}: changed: its SHA-256 is not the manifest's; render it again")
    return data


def _pillow() -> str:
    import PIL

    return PIL.__version__
