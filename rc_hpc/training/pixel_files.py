"""Pixel files: pictures decoded and reduced once, so that training waits for no decoder."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.door import Talk, setup_logging
from rc_hpc.core.errors import Exit, RcError, UsageError
from rc_hpc.core.files import read_regular
from rc_hpc.core.fingerprint import code_of
from rc_hpc.engine.options import CodedWorkOptions
from rc_hpc.images.files import LARGEST_FILE, drawing_versions
from rc_hpc.images.pixels import check_reduction, decode
from rc_hpc.kinds.renders.manifest import Manifest, read_manifest
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.parallel.state import RunState
from rc_hpc.store.arrays import mapped, new_arrays, read_arrays
from rc_hpc.store.attributes import package_versions
from rc_hpc.store.conditions import accepted, check_conditions
from rc_hpc.store.content import input_hash
from rc_hpc.store.outputs import check_not_read, check_output
from rc_hpc.training.examples import Examples
from rc_hpc.training.options import PixelOptions

KIND = "pixels"
TITLE = "Pictures of crystal structures, decoded and reduced for training."
#: Modules that decide what is in a file.
CODE = ("images/pixels",)


@dataclass(frozen=True)
class PixelBlock:
    """One block of pixels and where each structure lies in it."""

    path: Path
    pixels: np.ndarray
    row: dict[str, int]
    views: tuple[str, ...]
    attrs: dict

    @property
    def drawing(self) -> dict | None:
        """What predictions record of the pictures, None where manifests differ in it."""
        options = json.loads(self.attrs["options"]).get("drawing", ())
        names = ("convention", "protocol", "radii_factor")
        drawings = [{name: one[name] for name in names} for one in options]
        if not drawings or any(one != drawings[0] for one in drawings):
            return None
        return drawings[0] | {"manifest": "RENDERS.h5"}

    def examples(self, ids: Sequence[str], systems: Sequence[str], path: Path) -> Examples:
        """Pictures and labels of some structures, which `path` names.

        Raises
        ------
        RcError
            Some have no pictures.
        """
        missing = [id_ for id_ in ids if id_ not in self.row]
        if missing:
            raise RcError(
                f"{len(missing)} of {len(ids)} structures of {path} have no pictures, the first "
                f"{missing[0]}: render them and make the pixel file again (python -m rc_hpc.pixels)"
            )
        labels = np.array([CRYSTAL_SYSTEMS.index(system) for system in systems], np.int64)
        return Examples(self.pixels, np.array([self.row[id_] for id_ in ids], np.int64), labels)


def read_pixels(path: Path) -> PixelBlock:
    """Map a pixel file into memory."""
    columns, attrs = read_arrays(path, KIND, ("structures/id", "protocol/view"))
    return PixelBlock(
        path,
        mapped(path, KIND, "pixels"),
        {id_: row for row, id_ in enumerate(columns["structures/id"])},
        tuple(columns["protocol/view"]),
        attrs,
    )


def make_pixels(options: PixelOptions, work: CodedWorkOptions, talk: Talk) -> int:
    """Write the pixel file of some manifests, tell it, and give the exit code.

    Raises
    ------
    UsageError
        Manifests with other cameras or the same structures; an output that must not be replaced.
    RcError
        A picture is missing, changed, or none.
    """
    setup_logging(talk)
    with RunState(work.state, "pixels", work.output) as state:
        state.begin()
        with StopSignal() as stop:
            try:
                told = _make(options, work, stop, state)
            except _Stopped:
                state.stopped(stop.exit_code)
                print(
                    f"{work.output}: stopped by {stop.name}, nothing is kept: "
                    "the same command begins anew",
                    file=sys.stderr,
                )
                return stop.exit_code
        state.done()
    if not talk.quiet:
        print(told)
    return Exit.CLEAN


class _Stopped(Exception):
    """A signal came; what is half written goes."""


def _make(options: PixelOptions, work: CodedWorkOptions, stop: StopSignal, state: RunState) -> str:
    check_reduction(options.size, options.filter)
    check_not_read(work.output, options.manifest)
    check_output(work.output, work.resume, work.overwrite, kind=KIND)
    manifests = [read_manifest(path) for path in options.manifest]
    options = dataclasses.replace(options, drawing=tuple(one.options for one in manifests))
    ids = _joined(manifests)
    digests = (json.dumps(list(row)) for one in manifests for row in one.digests[one.whole])
    identity = {
        "options": options.to_json(),
        "options_hash": options.digest(),
        "input_hash": input_hash(zip(ids, digests, strict=True)),
        "code": code_of(CODE),
    }
    if work.output.exists() and work.resume:
        attrs = read_arrays(work.output, KIND, ())[1]
        before = {key: attrs.get(key) for key in identity}
        check_conditions(work.output, before, accepted(before, identity, work.accept_code))
        return f"{work.output}: finished already"
    n_views = len(manifests[0].views)
    with Progress(len(ids), "structures", work.progress, state=state) as progress:
        _write(manifests, ids, options, work.output, identity, progress, stop)
    n_without = sum(int(np.sum(~one.whole)) for one in manifests)
    size = work.output.stat().st_size / 1e6
    text = (
        f"{work.output}: {len(ids)} structures, {len(ids) * n_views} pictures of "
        f"{options.size} px, {size:.1f} MB"
    )
    without = f"; {n_without} structures have no pictures and are left out" if n_without else ""
    return text + without


def _joined(manifests: Sequence[Manifest]) -> list[str]:
    """Ids of all structures with pictures, in the order of the manifests."""
    first = manifests[0]
    seen: dict[str, Path] = {}
    for manifest in manifests:
        if manifest.views != first.views:
            raise UsageError(
                f"{manifest.path} shows {', '.join(manifest.views)}, {first.path} "
                f"{', '.join(first.views)}: give manifests of one protocol"
            )
        for row in np.flatnonzero(manifest.whole).tolist():
            id_ = manifest.ids[row]
            if seen.setdefault(id_, manifest.path) is not manifest.path:
                raise UsageError(
                    f"{id_} is in {seen[id_]} and in {manifest.path}: give each structure once"
                )
    if not seen:
        paths = ", ".join(str(one.path) for one in manifests)
        raise RcError(f"{paths}: no structure has all its pictures")
    return list(seen)


def _write(
    manifests: Sequence[Manifest],
    ids: Sequence[str],
    options: PixelOptions,
    output: Path,
    identity: dict,
    progress: Progress,
    stop: StopSignal,
) -> None:
    views, size = manifests[0].views, options.size
    attrs = {"package_versions": package_versions() | drawing_versions() | {"pillow": _pillow()}}
    with new_arrays(output, KIND, TITLE, identity, attrs) as file:
        file.add("structures/id", ids, "1", "Identifier of the structure.", ("structure",))
        file.add("protocol/view", views, "1", "Name of each camera.", ("view",))
        pixels = file.reserve(
            "pixels",
            (len(ids), len(views), size, size, 3),
            np.uint8,
            "1",
            "Red, green and blue of each picture, 0 to 255; rows from the top. Not compressed, "
            "so that it can be mapped.",
            ("structure", "view", "row", "column", "colour"),
        )
        for row, pictures in enumerate(_decoded(manifests, options)):
            if stop.requested:
                raise _Stopped
            pixels[row] = pictures
            file.h5.check_disk()
            progress.update(row + 1)


def _decoded(manifests: Sequence[Manifest], options: PixelOptions) -> Iterator[np.ndarray]:
    """Pictures of each structure, (v, size, size, 3); a few structures ahead of their use."""
    rows = [
        (one.paths(row), one.digests[row])
        for one in manifests
        for row in np.flatnonzero(one.whole).tolist()
    ]
    threads = options.threads or len(os.sched_getaffinity(0))

    def decoded(row) -> np.ndarray:
        pictures = [
            decode(_bytes(path, digest), options.size, options.filter, str(path))
            for path, digest in zip(*row, strict=True)
        ]
        return np.stack(pictures)

    if threads == 1:
        yield from map(decoded, rows)
        return
    with ThreadPoolExecutor(threads) as pool:  # Pillow decodes and resizes without Python's lock
        for start in range(0, len(rows), 8 * threads):
            yield from pool.map(decoded, rows[start : start + 8 * threads])


def _bytes(path: Path, digest: str) -> bytes:
    try:
        data = read_regular(path, LARGEST_FILE)
    except OSError as error:
        raise RcError(
            f"{path}: {error.strerror}: keep the pictures beside their manifest, "
            "or render them again"
        ) from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise RcError(f"{path}: changed: its SHA-256 is not the manifest's; render it again")
    return data


def _pillow() -> str:
    import PIL

    return PIL.__version__
