"""A package of the benchmark from any source: packed structures, scenes, questions, pictures."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.benchmark.package import MANIFEST, package_of
from rc_hpc.benchmark.questions.draw import Draw, draw_questions
from rc_hpc.benchmark.records import BaseStructure
from rc_hpc.benchmark.scene_file import read_bases, read_scenes
from rc_hpc.benchmark.writing import question_line, write_package
from rc_hpc.core.door import Asked, Talk, setup_logging
from rc_hpc.core.errors import Exit, RcError, UsageError
from rc_hpc.core.files import disk_errors, parts_folder
from rc_hpc.core.kind import Kind
from rc_hpc.engine.ending import refused_rows
from rc_hpc.engine.listing import Listing
from rc_hpc.engine.options import PackedSourceOptions, RunOptions
from rc_hpc.engine.packing import run_packing
from rc_hpc.engine.rows import PackedRows, run_rows
from rc_hpc.engine.run import Work
from rc_hpc.engine.status import status
from rc_hpc.engine.subset import copy_chosen
from rc_hpc.kinds.common.source import Listed, Source
from rc_hpc.kinds.pictures.options import BuildOptions
from rc_hpc.kinds.pictures.oracle import Shown
from rc_hpc.kinds.registry import KINDS, PACKED
from rc_hpc.kinds.scenes.options import ScenesOptions
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.parallel.compiling import warm_once_per_node
from rc_hpc.parallel.launch import communicator, launcher_rank, on_root
from rc_hpc.parallel.run import Totals
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.parallel.state import RunState
from rc_hpc.store.parts import begun
from rc_hpc.store.reader import open_ours

SCENES, PICTURES = KINDS["scenes"], KINDS["pictures"]
#: Name of the file of scenes within a package.
SCENE_FILE = "scenes.h5"


def build(asked: Asked) -> int:
    """Build a package; all ranks together.

    Raises
    ------
    RcError
        The run cannot begin or go on, or the questions cannot be drawn.
    """
    talk, source = asked.make(Talk), asked.make(PackedSourceOptions)
    options, how = asked.make(BuildOptions), asked.make(RunOptions)
    setup_logging(talk, launcher_rank())
    if talk.quiet and how.progress == "auto":
        how = dataclasses.replace(how, progress="none")
    prepare_numba_cache()
    for word in source.source:
        path = Path(word)
        if folder := path if (path / MANIFEST).is_file() else package_of(path):
            raise UsageError(
                f"{word}: {folder} is a package of questions, not structures of which to ask: give "
                "those, or the .displays.h5 beside it"
            )
    root = how.output
    if not root.name or root.suffix in (".h5", ".hdf5"):
        raise UsageError(f"-o {root}: name the folder of the package, not a file")
    how = dataclasses.replace(how, output=root / SCENE_FILE)
    named = RunState(how.state, "benchmark", how.output, how.shard, rank=launcher_rank())
    with named as state, StopSignal() as stop:
        return _Build(root, options, how, source, talk, stop, state).run()


class _Build:
    def __init__(
        self,
        root: Path,
        options: BuildOptions,
        how: RunOptions,
        source: PackedSourceOptions,
        talk: Talk,
        stop: StopSignal,
        state: RunState,
    ):
        self.comm = communicator()
        self.root, self.options, self.how, self.source = root, options, how, source
        self.talk, self.stop, self.state = talk, stop, state

    def run(self) -> int:
        packed, displays = self._inputs()
        if self.how.shard and displays is None:
            raise UsageError(
                "--shard needs all that may be displayed: python -m rc_hpc.benchmark scenes "
                "SOURCE -o displays.h5 (it takes --shard too), then build displays.h5"
            )
        if self.how.dry_run:
            return on_root(self.comm, self._dry_run)
        self.state.begin()
        on_root(self.comm, self._check)
        if displays is None:
            packed = packed or self.source.packed or self._beside("packed")
            displays = self._beside("displays")
            for step in (self._pack, self._display):
                totals = step(packed, displays)
                if totals is not None and not totals.complete:
                    return self._stopped(totals)
        options = on_root(self.comm, lambda: self._same_displays(displays))
        if not (self.talk.quiet or self.how.shard):
            on_root(self.comm, lambda: self._tell_refused(displays))
        draw, bases = self._draw(displays, options)
        work = Work.of(PICTURES, options, self.how)
        self._warm(PICTURES, options)
        shown = shown_scenes(draw, bases, on_root(self.comm, lambda: _content(displays)))
        totals = run_rows(self.comm, shown, work, None, self.stop, self.state)
        if totals is not None and not totals.complete:
            return self._stopped(totals)
        failures = 0 if totals is None else totals.failures
        if self.how.shard:
            self._tell(
                f"shard {self.how.shard[0]}/{self.how.shard[1]} is done; when all are: the "
                "same command with --resume in place of --shard"
            )
        else:
            failures = on_root(self.comm, lambda: self._finish(draw, bases, options, displays))
        code = Exit.FAILURES if failures else Exit.CLEAN
        self.state.done(code)
        return code

    def _inputs(self) -> tuple[Path | None, Path | None]:
        """Packed structures and scenes, where the source is one of these."""
        given = self.source.packed_file
        if given is None:
            return None, None
        with open_ours(given) as h5:
            kind = h5.attrs["kind"]
        if kind == SCENES.name:
            if self.source.chosen.given:
                raise UsageError(
                    f"{given} holds scenes: choose structures where they are made "
                    "(python -m rc_hpc.benchmark scenes)"
                )
            return None, given
        if self.source.chosen.given:
            chosen = self._beside("packed")
            on_root(self.comm, lambda: copy_chosen(given, self.source.chosen, chosen, self.how))
            return chosen, None
        return given, None

    def _beside(self, word: str) -> Path:
        return self.root.with_name(f"{self.root.name}.{word}.h5")

    def _pack(self, packed: Path, _displays: Path) -> Totals | None:
        if self.source.packed_file is not None:
            return None
        listing = Listing.of(self.source, self.how.output, packed, self._beside("displays"))
        work = self._work(PACKED, self.options.scenes.pack, packed)
        return run_packing(self.comm, listing, work, self.stop, self.state)

    def _display(self, packed: Path, displays: Path) -> Totals | None:
        options = self.options.scenes
        work = self._work(SCENES, options, displays)
        self._warm(SCENES, options)
        with PackedRows(packed, options.pack, tell=self.comm.rank == 0) as rows:
            return run_rows(self.comm, rows, work, None, self.stop, self.state)

    def _work(self, kind: Kind, options: Any, output: Path) -> Work:
        """Work on a file beside the package; it goes on by itself where the package does.

        One that is whole is taken as it is: when too many questions were asked for, fewer are.
        """
        whole = output.exists() and not begun(parts_folder(output))
        resume = self.how.resume or whole or begun(parts_folder(self.how.output))
        how = dataclasses.replace(self.how, output=output, resume=resume and not self.how.overwrite)
        return Work.of(kind, options, how)

    def _warm(self, kind: Kind, options: Any) -> None:
        warm_once_per_node(self.comm, functools.partial(kind.load("warm"), options))

    def _same_displays(self, displays: Path) -> BuildOptions:
        """The options, with those under which the scenes were made.

        Raises
        ------
        RcError
            Others were asked for.
        """
        with open_ours(displays, SCENES.name) as h5:
            made = ScenesOptions.from_dict(json.loads(h5.attrs["options"]))
        default = ScenesOptions()
        asked = self.options.scenes
        if asked not in (made, default):
            raise UsageError(
                f"{displays} was made under other options of what is displayed: leave them out, or "
                "build from the structures"
            )
        return dataclasses.replace(self.options, scenes=made)

    def _draw(self, displays: Path, options: BuildOptions) -> tuple[Draw, list[BaseStructure]]:
        def draw() -> tuple[Draw, list[BaseStructure]]:
            bases = read_bases(displays)
            if not bases:
                raise RcError(
                    f"{displays}: nothing is displayed of any structure, so that nothing can be "
                    "asked; -v tells why of each"
                )
            scenes = read_scenes(displays)
            return draw_questions(bases, scenes, options.questions, options.scenes.display), bases

        drawn: tuple[Draw, list[BaseStructure]] = on_root(self.comm, draw)
        return drawn

    def _check(self) -> None:
        """Look at the folder before any work is done for it."""
        with disk_errors(self.root):
            self.root.mkdir(exist_ok=True)
        Work.of(PICTURES, self.options, self.how).check()

    def _finish(
        self, draw: Draw, bases: list[BaseStructure], options: BuildOptions, displays: Path
    ) -> int:
        """Write all that surrounds scenes and pictures; the number of failures."""
        failed = {k: n for k, n in status(self.how.output).by_status.items() if k != "ok"}
        if failed:
            raise RcError(f"{self.how.output}: not all scenes could be drawn: {failed}")
        with open_ours(displays) as h5:
            sources = dict(
                zip(
                    h5["structures/id"].asstr()[()].tolist(),
                    h5["structures/source"].asstr()[()].tolist(),
                    strict=True,
                )
            )
        used = {question.structure for question in draw.questions}
        write_package(
            self.root,
            draw,
            [base for base in bases if base.name in used],
            sources,
            options.to_dict(),
        )
        if not self.talk.quiet:
            pictures = len({path for one in draw.questions for path in one.image_paths})
            print(
                f"{self.root}: {len(draw.questions)} questions, {len(draw.mini)} of them mini, on "
                f"{len(used)} structures, {len(draw.scenes)} scenes and {pictures} pictures"
            )
            sys.stdout.flush()
        return self._failures(displays)

    def _failures(self, displays: Path) -> int:
        counts = status(displays).by_status
        return sum(n for name, n in counts.items() if name not in ("ok", "quarantined"))

    def _tell_refused(self, displays: Path) -> None:
        """Structures of which nothing is displayed: how many, or with ``-v`` which and why."""
        if self.talk.verbose:
            for line in (*refused_rows(displays), *_too_small(displays)):
                print(line)
        elif failures := self._failures(displays):
            print(f"{displays}: structures that were refused: {failures}; -v names them")
        sys.stdout.flush()

    def _stopped(self, totals: Totals) -> int:
        self.state.stopped(totals.stop_code)
        self._tell("stopped in good order; the same command with --resume goes on")
        return totals.stop_code

    def _tell(self, text: str) -> None:
        if self.comm.rank == 0:
            print(f"{self.root}: {text}", file=sys.stderr)

    def _dry_run(self) -> Exit:
        if self.root.exists():
            Work.of(PICTURES, self.options, self.how).check()
        asked = self.options.questions.questions
        print(f"would build {self.root}: {asked} questions with {self.comm.size} rank(s)")
        if self.source.packed_file is None:
            print(f"  structures: {Listing.of(self.source, self.how.output).count()}")
        return Exit.CLEAN


def _too_small(displays: Path) -> Iterator[str]:
    """Structures of which some scenes are left out."""
    with open_ours(displays) as h5:
        if "structures/n_too_small" not in h5:  # an older file
            return
        counts = h5["structures/n_too_small"][()]
        ids = h5["structures/id"].asstr()[()]
    for id_, count in zip(ids.tolist(), counts.tolist(), strict=True):
        if count:
            yield f"{id_}: {count} of its scenes left out, whose discs are too small (--least-fill)"


def _content(displays: Path) -> str:
    with open_ours(displays) as h5:
        return str(h5.attrs["content_hash"])


def shown_scenes(draw: Draw, bases: list[BaseStructure], displays: str) -> Source:
    """The scenes that questions show, as rows: each with the views that are drawn.

    Parameters
    ----------
    displays
        Content hash of the scenes of which the questions were drawn.
    """
    named = {base.name: base for base in bases}
    views: dict[str, set[str]] = {}
    for question in draw.questions:
        for path in question.image_paths:
            _, scene, file = path.split("/")
            views.setdefault(scene, set()).add(file.removesuffix(".png"))
    ids = sorted(views)
    items = [
        Shown(named[draw.scenes[id_].structure], draw.scenes[id_], tuple(sorted(views[id_])))
        for id_ in ids
    ]
    digest = hashlib.sha256(displays.encode())
    for question in draw.questions:
        digest.update(question_line(question).encode())
    known = {
        "structures/id": np.array(ids, object),
        "structures/duplicate": np.zeros(len(ids), np.int32),
        "structures/source": np.array([one.base.name for one in items], object),
        "structures/sha256": np.full(len(ids), "", object),
        "structures/status": np.zeros(len(ids), np.uint8),
        "structures/message": np.full(len(ids), "", object),
    }
    return Listed(known, items, digest.hexdigest())
