"""Filling the kernel cache ahead of the work: once on each node, so that no rank waits."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from rc_hpc.core.door import Asked, Talk, setup_logging
from rc_hpc.core.errors import Exit
from rc_hpc.core.kind import Kind
from rc_hpc.core.options import Options, declared, opt
from rc_hpc.engine import entry
from rc_hpc.kinds.registry import KINDS
from rc_hpc.parallel.cache import clean_old, prepare_numba_cache
from rc_hpc.parallel.launch import limit_threads

#: Kinds whose options need no file to be made.
WARMED = ("census", "frontier", "occlusion", "design", "noise", "unique", "readings")


@dataclass(frozen=True)
class WarmOptions(Options):
    """What is compiled.

    Attributes
    ----------
    kinds
        Names of kinds of result files.
    protocol
        Their cameras.
    """

    kinds: tuple[str, ...] = opt(
        ("census",),
        "kinds of result whose kernels are compiled, or loaded where they are there",
        name="kind",
        choices=WARMED,
        many=True,
        positional=True,
        metavar="KIND",
    )
    protocol: str = opt(
        "frozen",
        "cameras: pinholes have kernels of their own",
        metavar="NAME|FILE",
    )


def warm(asked: Asked) -> int:
    """Compile or load the kernels of some kinds; says how long it took and where they lie."""
    setup_logging(asked.make(Talk))
    options = asked.make(WarmOptions)
    limit_threads()
    folder = prepare_numba_cache()
    removed = clean_old(folder)
    before, started = _files(folder), time.perf_counter()
    for name in options.kinds or ("census",):
        KINDS[name].load("warm")(options_of(KINDS[name], options.protocol))
    compiled = _files(folder) - before
    did = f"{compiled} kernels compiled" if compiled else "all kernels were there"
    gone = f"; {removed} caches of other versions removed" if removed else ""
    print(f"{folder}: {did}, {time.perf_counter() - started:.1f} s{gone}")
    return Exit.CLEAN


def options_of(kind: Kind, protocol: str) -> Options:
    """The default options of a kind, with these cameras where it asks for cameras."""
    options = kind.load("options")
    known = {one.name: one.flag for one in declared(options)}
    flag = known.get("protocol") or known.get("protocols")
    made: Options = entry.parser(kind).read([flag, protocol] if flag else []).make(options)
    return made


def _files(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*.nbi"))
