"""The rendering run: a packed file to PNG files and their manifest, by all ranks, largest structures first."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from pathlib import Path

import numpy as np

from rc_hpc.core.constants import SWEEP
from rc_hpc.core.errors import RcError, Status, UsageError
from rc_hpc.core.files import clean_leftovers, disk_errors, write_whole
from rc_hpc.core.vocabulary import Renderer
from rc_hpc.engine.run import (
    Run,
    RunOptions,
    count_failures,
    fail_row,
    identity_of,
    log,
    mergeable,
    on_root,
    open_run,
)
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.images.draw import Drawing, Picture
from rc_hpc.images.fast import FastRenderer
from rc_hpc.images.files import PICTURE_NAME, drawing_versions, picture_folder
from rc_hpc.images.scene import SAME_DEPTH
from rc_hpc.kinds.common.statics import protocol_datasets, protocol_of, vocabulary
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.kinds.packed.schema import STRUCTURES
from rc_hpc.kinds.renders.options import RenderOptions
from rc_hpc.kinds.renders.schema import RENDERS
from rc_hpc.parallel.cache import prepare_numba_cache, warm_once_per_node
from rc_hpc.parallel.launch import Comm
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.queue import WorkQueue
from rc_hpc.parallel.run import Totals, drive
from rc_hpc.parallel.shard import batch_costs, make_batches, shard_batches
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.store import layout
from rc_hpc.store.attributes import package_versions, result_versions
from rc_hpc.store.batch import empty_batch, empty_children
from rc_hpc.store.merge import merge
from rc_hpc.store.parts import discard
from rc_hpc.store.reader import open_ours

DIMS = {"setting": len(SWEEP)}
#: A batch holds at most this predicted time, ms, and this many structures.
BATCH_MS, BATCH_ROWS = 1000.0, 64
#: The rule of the pictures, for their readers.
PAINT_ORDER = (
    f"by rising depth; where depths in rising order follow each other within {SAME_DEPTH} angstrom they are one depth, "
    "painted by index, discs (tile by tile, atoms in the order of the conventional cell) before dashes; ASE's renderer: numpy.argsort"
)
#: Predicted time of a picture and of each atom in it, ms on a core of 2024.
FAST_MS, ASE_MS = (12.0, 0.06), (200.0, 1.2)


def prepare_matplotlib(comm: Comm) -> None:
    """Have matplotlib's font cache ready on each node before the ranks need it.

    Under a launcher it lies where the kernels are cached, on the node's own disk, unless
    MPLCONFIGDIR says otherwise: many ranks would write the one in the home folder at once.
    """
    if comm.size > 1:
        os.environ.setdefault("MPLCONFIGDIR", str(prepare_numba_cache().parent / "matplotlib"))
    warm_once_per_node(comm, functools.partial(FastRenderer, 16))


def predicted_costs(n_atoms, status, options: RenderOptions) -> np.ndarray:
    """Predicted time of each structure, (n,), ms."""
    drawn = np.asarray(n_atoms, float) * np.prod(options.protocol["tiling"])
    ways = [FAST_MS] * (options.renderer == "fast") + [ASE_MS] * (
        options.compare or options.renderer == "ase"
    )
    each = sum(base + per_atom * drawn for base, per_atom in ways)
    return np.where(np.asarray(status) == Status.ok, len(options.protocol["views"]) * each, 0.01)


def run_render(
    comm: Comm,
    packed: Path,
    protocol: Protocol,
    options: RenderOptions,
    run: RunOptions,
    stop: StopSignal,
) -> Totals | None:
    """Pictures of a packed file; all ranks together.

    Returns
    -------
    Totals
        None where the output was finished already.
    """
    folder = picture_folder(run.output)
    versions = result_versions() | drawing_versions()
    with PackedReader(packed) as reader:
        identity = identity_of(
            options,
            input_hash=str(reader.attrs["content_hash"]),
            total=len(reader),
            result_versions=versions,
        )
        with open_run(comm, run, RENDERS, DIMS, identity) as opened:
            if opened.finished:
                on_root(comm, lambda: _still_there(run.output, folder))
                return None
            lost = on_root(comm, lambda: _prepare(folder, run, opened))
            return _draw_all(
                comm, reader, Drawing(protocol, options), options, run, stop, opened, lost
            )


def _draw_all(
    comm: Comm,
    reader: PackedReader,
    drawing: Drawing,
    options: RenderOptions,
    run: RunOptions,
    stop: StopSignal,
    opened: Run,
    lost: set[str],
) -> Totals:
    costs = predicted_costs(
        reader.read("structures/n_atoms"), reader.read("structures/status"), options
    )
    bounds, order = make_batches(costs, min(1.0, BATCH_MS / costs.sum()), BATCH_ROWS)
    if run.shard:
        order = shard_batches(batch_costs(costs, bounds), *run.shard)
    done = opened.completed.contains(reader.ids, reader.read("structures/duplicate"))
    done &= ~np.isin(reader.ids, list(lost))
    left = np.add.reduceat(~done, bounds[:-1], dtype=int)
    order = order[left[order] > 0]
    worker = _Worker(comm, reader, drawing, opened, done, bounds, picture_folder(run.output))
    with Progress(int(left[order].sum()), "structures", run.progress, rank=comm.rank) as progress:
        queue = worker.queue = WorkQueue(comm, len(order), stop)
        totals = drive(comm, len(order), order, worker, progress, stop, queue)
    if totals.complete and not run.shard:
        on_root(comm, functools.partial(merge_renders, run.output))
    return totals


def merge_renders(output: Path, partial: bool = False) -> str:
    """Merge the parts of a manifest, and remove them where none is missing; returns the content hash.

    Raises
    ------
    RcError
        Rows are missing, unless `partial`; all are.
    """
    store, whole = mergeable(output, RENDERS, partial)
    protocol = protocol_of(json.loads(store.identity["options"])["protocol"])
    attrs = {
        "complete_rows": int(whole),
        "picture_folder": picture_folder(output).name,
        "paint_order": PAINT_ORDER,
        "package_versions": package_versions() | drawing_versions(),
    }
    digest = merge(
        store.folder, output, RENDERS, DIMS, vocabulary() | protocol_datasets(protocol), attrs
    )
    if whole:
        discard(store.folder)
    return digest


def missing_pictures(h5, folder: Path) -> np.ndarray:
    """Rows of /structures of a manifest, or of a part of one, of which a picture is not there whole."""
    files, sizes = layout.read_rows(h5["pictures/file"]), h5["pictures/bytes"][()]
    there = np.array(
        [_size(folder / name) == size for name, size in zip(files, sizes, strict=True)], bool
    )
    return np.unique(h5["pictures/structure"][()][~there])


def picture_problems(output: Path) -> list[str]:
    """Pictures that differ from what a finished manifest says, one line each; every file is read."""
    folder, problems = picture_folder(output), []
    with open_ours(output, RENDERS.kind) as h5:
        for name, digest in zip(
            layout.read_rows(h5["pictures/file"]),
            layout.read_rows(h5["pictures/sha256"]),
            strict=True,
        ):
            try:
                found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
            except OSError as error:
                problems.append(f"{folder / name}: cannot be read ({error.strerror})")
                continue
            if found != digest:
                problems.append(f"{folder / name}: changed: its SHA-256 is not the manifest's")
    return problems


def account(output: Path) -> str:
    """What a finished manifest says of its pictures, as a line or two."""
    with open_ours(output, RENDERS.kind) as h5:
        sizes, renderer = h5["pictures/bytes"][()], layout.read_rows(h5["pictures/renderer"])
        differing, largest = h5["pictures/pixels_not_ase"][()], h5["pictures/largest_not_ase"][()]
    text = f"{picture_folder(output)}: {len(sizes)} pictures, {sizes.sum() / 1e6:.1f} MB, {np.sum(renderer == Renderer.ase)} of them drawn by ASE"
    if np.any(differing >= 0):
        text += (
            f"\nagainst ASE: {np.sum(differing > 0)} of {np.sum(differing >= 0)} pictures differ, "
            f"in {differing[differing > 0].sum()} pixels (at most {differing.max()} of a picture, by {largest.max()} of 255)"
        )
    return text


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _still_there(output: Path, folder: Path) -> None:
    with open_ours(output, RENDERS.kind) as h5:
        missing = missing_pictures(h5, folder)
    if len(missing):
        raise RcError(
            f"{output} is finished, but pictures of {len(missing)} structures are missing in {folder}: --overwrite draws them again"
        )


def _prepare(folder: Path, run: RunOptions, opened: Run) -> set[str]:
    """Make the folder of pictures ready; the ids that are done but whose pictures are gone."""
    with disk_errors(folder):
        if (
            not (run.resume or run.shard or run.overwrite)
            and folder.exists()
            and any(folder.iterdir())
        ):
            raise UsageError(
                f"{folder}, where the pictures go, is not empty: --overwrite replaces pictures in it, -o names another manifest and folder"
            )
        folder.mkdir(exist_ok=True)
        if run.overwrite:
            for path in folder.iterdir():
                if PICTURE_NAME.fullmatch(path.name):
                    path.unlink()
        if not run.shard:
            clean_leftovers(folder)
    lost: set[str] = set()
    for part in opened.completed.parts:
        with layout.open_h5(opened.store.folder / part) as h5:
            lost.update(layout.read_rows(h5["structures/id"])[missing_pictures(h5, folder)])
    if lost:
        log.warning(
            "%s: pictures of %d structures are missing and are drawn again", folder, len(lost)
        )
    return lost


class _Worker:
    """Does one batch: a range of rows of the packed file, without those done before."""

    def __init__(
        self,
        comm: Comm,
        reader: PackedReader,
        drawing: Drawing,
        opened: Run,
        done,
        bounds,
        folder: Path,
    ):
        self.rank, self.reader, self.drawing, self.opened = comm.rank, reader, drawing, opened
        self.done, self.bounds, self.folder = done, bounds, folder
        self.queue: WorkQueue | None = None

    def __call__(self, number: int) -> tuple[int, int] | None:
        start, stop = int(self.bounds[number]), int(self.bounds[number + 1])
        packed, children = self.reader.rows(start, stop, ("atoms",))
        rows = np.flatnonzero(~self.done[start:stop])
        batch = empty_batch(RENDERS, len(rows), DIMS)
        for column in STRUCTURES:
            batch[column.path][:] = packed[column.path][rows]
        first = np.searchsorted(children["atoms"]["structure"], np.arange(stop - start + 1))
        found: list[tuple[int, list[Picture]]] = []
        for row, source in enumerate(rows):
            if self.queue.stopped:
                return None
            if batch["structures/status"][row] == Status.ok:
                atoms = slice(first[source], first[source + 1])
                found.append(
                    (
                        row,
                        self._draw(
                            batch,
                            row,
                            children["atoms"]["number"][atoms],
                            children["atoms"]["position"][atoms],
                        ),
                    )
                )
        self.opened.store.write(
            batch, _tables(found, self.drawing.options), f"{self.rank}-{number}"
        )
        return len(rows), count_failures(batch)

    def _draw(self, batch: dict, row: int, numbers, positions) -> list[Picture]:
        """Draw a row's pictures and write them; none where that fails, with the row's status and message."""
        id_ = batch["structures/id"][row]
        try:
            pictures = self.drawing.draw(id_, batch["structures/lattice"][row], numbers, positions)
        except Exception as error:  # noqa: BLE001 - whatever happens, the row is kept
            fail_row(batch, row, error, id_)
            return []
        # By name: the times of the files must not tell the camera.
        for picture in sorted(pictures, key=lambda picture: picture.file):
            write_whole(self.folder / picture.file, picture.png, durable=False)
        batch["structures/n_drawn"][row] = len(pictures[0].scene.numbers)
        log.debug("%s: drawn", id_)
        return pictures


def _tables(found: list[tuple[int, list[Picture]]], options: RenderOptions) -> dict:
    """The tables of pictures and discs of a batch, given each row's pictures."""
    shown = [(row, picture) for row, pictures in found for picture in pictures]
    entries = [_entry(picture, options) | {"structure": row} for row, picture in shown]
    discs = [_discs(picture, row) for row, picture in shown]
    tables = empty_children(RENDERS, DIMS)
    return {
        "pictures": {
            name: np.array([entry[name] for entry in entries], empty.dtype).reshape(
                -1, *empty.shape[1:]
            )
            for name, empty in tables["pictures"].items()
        },
        "discs": {
            name: np.concatenate([empty, *(columns[name] for columns in discs)]).astype(empty.dtype)
            for name, empty in tables["discs"].items()
        },
    }


def _entry(picture: Picture, options: RenderOptions) -> dict:
    """A picture's row in the table of pictures."""
    return {
        "view": picture.camera,
        "file": picture.file,
        "bytes": len(picture.png),
        "sha256": picture.sha256,
        "pixels_sha256": picture.pixels_sha256,
        "convention": options.convention,
        "renderer": Renderer[picture.renderer],
        "size": options.size,
        "tiling": options.protocol["tiling"],
        "radii_factor": options.radii_factor,
        "px_per_angstrom": picture.view.px_per_angstrom,
        "origin_u": picture.view.origin[0],
        "origin_v": picture.view.origin[1],
        "tied_pairs": picture.tied_pairs,
        "pixels_not_ase": picture.pixels_not_ase,
        "largest_not_ase": picture.largest_not_ase,
    }


def _discs(picture: Picture, row: int) -> dict:
    """A picture's rows in the table of discs."""
    scene, view, n = picture.scene, picture.view, len(picture.scene.numbers)
    return {
        "structure": np.full(n, row),
        "view": np.full(n, picture.camera),
        "number": scene.numbers,
        "site": scene.site,
        "u": view.centres[:, 0],
        "v": view.centres[:, 1],
        "radius": view.radii,
        "depth": view.depth[:n],
    }
