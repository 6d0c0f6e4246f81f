"""Where a command's time goes: its functions wrapped from outside, by an exclusive stopwatch.

Run as a program, alone or as an MPI rank: ``python -m bench.stages OUT census packed.h5 -o c.h5``
runs that command of rc_hpc and writes the stages, as JSON, to OUT (rank 0 only). The rank does the
structures itself, where the stopwatch sees it: handing them to a process of their own, which may be
lost, is no stage, and is in the cost of a plain run alone.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import json
import sys
import time
from collections import defaultdict
from pathlib import Path

REST = "other Python of the command"
IMPORTS = "imports"
SPGLIB = "spglib"
LOADING = "load compiled kernels"

#: Stage: what is wrapped, as module:object. The innermost wrapped function that runs gets the time.
CENSUS = {
    "open the run": ("rc_hpc.engine.rows:open_run",),
    "read packed rows": (
        "rc_hpc.kinds.packed.reader:PackedReader.__init__",
        "rc_hpc.kinds.packed.reader:PackedReader.read",
        "rc_hpc.kinds.packed.reader:PackedReader.rows",
    ),
    "geometry: compiled kernels": tuple(
        f"rc_hpc.oracle.geometry:{name}" for name in ("read_cell", "read_pinhole_cell")
    ),
    "geometry: Python around them": ("rc_hpc.oracle.geometry:GeometricOracle.run",),
    "labels": ("rc_hpc.oracle.labels:SpaceGroupLabel.label",),
    "columns of a structure": (
        "rc_hpc.kinds.census.oracle:CensusOracle.run",
        "rc_hpc.kinds.census.oracle:CensusOracle._labels",
    ),
    "fill batches": ("rc_hpc.engine.rows:_Worker.__call__",),
    "write parts": ("rc_hpc.store.parts:PartStore.write",),
    "merge": ("rc_hpc.engine.rows:merge_output",),
    LOADING: ("rc_hpc.kinds.census.work:warm",),
    "summary table": ("rc_hpc.engine.command:summary",),
}
PACK = {
    "open the run": ("rc_hpc.engine.packing:open_run",),
    "list the source": ("rc_hpc.engine.listing:Listing.measure",),
    "read": ("rc_hpc.engine.packing:_Worker._pack",),
    "columns of a structure": ("rc_hpc.engine.packing:pack_structure",),
    "checks and distances": (
        "rc_hpc.kinds.packed.oracle:check_cell",
        "rc_hpc.kinds.packed.oracle:min_distances",
    ),
    "label": ("rc_hpc.kinds.packed.oracle:label_cell", "rc_hpc.kinds.packed.oracle:symmetry_of"),
    "is one call enough": ("rc_hpc.kinds.packed.oracle:is_sharp",),
    "sweep": ("rc_hpc.kinds.packed.oracle:sweep", "rc_hpc.kinds.packed.oracle:order_dependent"),
    "conventional cell": ("rc_hpc.kinds.packed.oracle:conventional_cell",),
    "fill batches": ("rc_hpc.engine.packing:_Worker.__call__",),
    "write parts": ("rc_hpc.store.parts:PartStore.write",),
    "merge": ("rc_hpc.engine.packing:merge_output",),
}
#: Of the noise sweep; the four parts that matter come first.
NOISE = {
    "generation: errors and images": (
        "rc_hpc.kinds.noise.oracle:counter_draws",
        "rc_hpc.kinds.noise.oracle:SharedStream.draws",
        "rc_hpc.oracle.noise:project",
        "rc_hpc.oracle.noise:tile",
    ),
    "correspondence": (
        "rc_hpc.oracle.noise:sort_points",
        "rc_hpc.oracle.noise:correspond",
        "rc_hpc.oracle.noise:enumerate_points",
    ),
    "triangulation": (
        "rc_hpc.oracle.correspondence:fit_tuples",
        "rc_hpc.oracle.noise:reconstruct_subsets",
    ),
    "label: statistical test": ("rc_hpc.oracle.noise:symmetrised",),
    "label": ("rc_hpc.oracle.noise:NoisyOracle.label",),
    "Python around one reading": (
        "rc_hpc.oracle.noise:NoisyOracle.run",
        "rc_hpc.oracle.noise:NoisyOracle.locate",
        "rc_hpc.oracle.noise:NoisyOracle._pair_points",
    ),
    "columns of a structure": ("rc_hpc.kinds.noise.oracle:NoiseSweep.run",),
    "open the run": CENSUS["open the run"],
    "read packed rows": CENSUS["read packed rows"],
    "fill batches": CENSUS["fill batches"],
    "write parts": CENSUS["write parts"],
    "merge": CENSUS["merge"],
    LOADING: ("rc_hpc.kinds.noise.work:warm",),
    "summary table": CENSUS["summary table"],
}
STAGES = {"census": CENSUS, "pack": PACK, "sweep": NOISE}
#: Wall time of these as a whole, with all that runs inside.
WHOLE = {
    "census": {"run": "rc_hpc.engine.command:run_rows", "batches": "rc_hpc.engine.rows:drive"},
    "pack": {
        "run": "rc_hpc.engine.command:run_packing",
        "batches": "rc_hpc.engine.packing:drive",
    },
    "sweep": {"run": "rc_hpc.engine.command:run_rows", "batches": "rc_hpc.engine.rows:drive"},
}


class Stopwatch:
    """Exclusive times by stage: what a wrapped function calls is not counted to it again."""

    def __init__(self):
        self.stack = [REST]
        self.times = defaultdict(lambda: [0.0, 0.0, 0])
        self.whole: dict[str, list[float]] = {}
        self._last = self._now()

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.process_time(), time.perf_counter()

    def _switch(self) -> None:
        """Give the time since the last switch to the stage that ran."""
        now = self._now()
        entry = self.times[self.stack[-1]]
        entry[0] += now[0] - self._last[0]
        entry[1] += now[1] - self._last[1]
        self._last = now

    def timed(self, stage: str, function):
        """`function`, its time given to `stage`; spglib's to the stage it is called from."""

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if LOADING in self.stack:  # what is called there belongs to it
                return function(*args, **kwargs)
            self._switch()
            name = stage if stage != SPGLIB else f"{SPGLIB} in {self.stack[-1]}"
            self.stack.append(name)
            self.times[name][2] += 1
            try:
                return function(*args, **kwargs)
            finally:
                self._switch()
                self.stack.pop()

        return wrapper

    def spanned(self, name: str, function):
        """`function`, its whole [CPU s, wall s] kept under `name`."""

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            before = self._now()
            try:
                return function(*args, **kwargs)
            finally:
                self.whole[name] = [
                    after - start for after, start in zip(self._now(), before, strict=True)
                ]

        return wrapper

    def stages(self) -> list[dict]:
        """Stages with their CPU and wall seconds, longest first."""
        self._switch()
        rows = [
            {"stage": name, "cpu_s": cpu, "wall_s": wall, "calls": calls}
            for name, (cpu, wall, calls) in self.times.items()
        ]
        return sorted(rows, key=lambda row: -row["wall_s"])


def _wrap(where: str, wrapper) -> None:
    module, _, path = where.partition(":")
    *owners, name = path.split(".")
    owner = functools.reduce(getattr, owners, importlib.import_module(module))
    setattr(owner, name, wrapper(getattr(owner, name)))


def _time_imports(watch: Stopwatch) -> None:
    """Give the time of import statements that load something to a stage of their own."""
    plain = builtins.__import__

    def importing(name, globals=None, locals=None, fromlist=(), level=0):
        if IMPORTS in watch.stack or level or name in sys.modules:
            return plain(name, globals, locals, fromlist, level)
        return watch.timed(IMPORTS, plain)(name, globals, locals, fromlist, level)

    builtins.__import__ = importing


def _each(hand, calls):
    """What a hand is asked to do, done by the rank."""
    for arguments, _ in calls:
        try:
            yield [None], hand.gather([hand.function(*arguments)])
        except Exception as error:  # noqa: BLE001 - it is the structure's
            yield [error], hand.gather([])


def _once(hand, function, *arguments, default):
    return function(*arguments)


def instrument(command: str, watch: Stopwatch) -> None:
    """Import the command's modules and wrap its functions."""
    from rc_hpc.parallel.cache import prepare_numba_cache

    prepare_numba_cache()  # before the kernels are imported: they look for their cache then
    _time_imports(watch)
    for stage, places in STAGES[command].items():
        for place in places:
            _wrap(place, functools.partial(watch.timed, stage))
    _wrap("spglib:get_symmetry_dataset", functools.partial(watch.timed, SPGLIB))
    _wrap("rc_hpc.engine.hand:Hand.each", lambda _: _each)
    _wrap("rc_hpc.engine.hand:Hand.once", lambda _: _once)
    for name, place in WHOLE[command].items():
        _wrap(place, functools.partial(watch.spanned, name))


def main(argv: list[str]) -> int:
    """Run a command under the stopwatch."""
    born = time.process_time()
    out, command, *rest = argv
    watch = Stopwatch()
    instrument(command, watch)
    code = importlib.import_module(f"rc_hpc.{command}").main(rest)
    from rc_hpc.parallel.launch import launcher_rank

    if launcher_rank() == 0:
        found = {"stages": watch.stages(), "whole": watch.whole, "before_cpu_s": born}
        Path(out).write_text(json.dumps(found), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
