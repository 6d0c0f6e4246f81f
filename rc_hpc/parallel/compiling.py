"""Compiling kernels: once on each node, and saying for about how long."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rc_hpc.core.lazy import resolve
from rc_hpc.parallel.cache import KERNELS, clean_old, prepare_numba_cache
from rc_hpc.parallel.launch import Comm

log = logging.getLogger(__name__)

#: CPU time in which a kilobyte of the source of kernels is compiled, s, on the machine of the
#: bench records.
COMPILE_S_PER_KB = 0.4
#: Kernels of packing, which are compiled in a second or two.
_LIGHT = "rc_hpc.kernels.near"
_OURS = "rc_hpc.kernels."
#: Modules without kernels.
_NOTHING = ("records", "compiled")
#: The one that waits for the next kernel.
_TELLERS: list[Any] = []


def compile_seconds(kilobytes: float) -> float:
    """About how long compiling takes on this machine, as busy as it is, s."""
    cores = os.cpu_count() or 1
    busy = os.getloadavg()[0] + 1
    return kilobytes * COMPILE_S_PER_KB * max(1.0, busy / cores)


def missing(folder: Path) -> list[Path]:
    """Sources of kernels that are loaded and of which nothing is compiled in a cache."""
    # numba files what it compiles as MODULE.FUNCTION-LINE.pyXY.nbi, in a folder that it names
    # by a hash of that of the source.
    mine = hashlib.sha1(str(KERNELS).encode(), usedforsecurity=False).hexdigest()
    made = {path.name.partition(".")[0] for path in folder.glob(f"*{mine}*/*.nbi")}
    loaded = {name.removeprefix(_OURS) for name in sys.modules if name.startswith(_OURS)}
    return [KERNELS / f"{name}.py" for name in sorted(loaded - made)]


def tell(folder: Path) -> None:
    """Warn that what is missing in a cache is compiled; caches that nobody uses are removed."""
    sources = (path for path in missing(folder) if path.stem not in _NOTHING)
    kilobytes = sum(path.stat().st_size for path in sources) / 1000
    log.warning(
        "compiling the kernels that this needs, once for this copy of the program and this "
        "machine: about %.0f s, as busy as it is (python -m rc_hpc.warm does so ahead of runs)",
        max(1.0, compile_seconds(kilobytes)),
    )
    clean_old(folder)


def tell_when_compiling() -> None:
    """Warn when the next kernel is compiled rather than loaded from the cache.

    Imports numba: for what needs it.
    """
    folder = prepare_numba_cache()
    from numba.core import event

    class Teller(event.Listener):
        def on_start(self, begun: Any) -> None:
            module = begun.data["dispatcher"].py_func.__module__
            if _TELLERS and module.startswith(_OURS) and module != _LIGHT:
                event.unregister("numba:compile", _TELLERS.pop())
                tell(folder)

        def on_end(self, ended: Any) -> None:
            pass

    if not _TELLERS:
        _TELLERS.append(Teller())
        event.register("numba:compile", _TELLERS[0])


def load(name: str) -> Any:
    """What a dotted name leads to, ``module:object``; where kernels come with it, as above."""
    prepare_numba_cache()  # before a kernel looks for its cache
    loaded = resolve(name)
    if "numba" in sys.modules:
        tell_when_compiling()
    return loaded


def warm_once_per_node(comm: Comm, warm: Callable[[], object]) -> None:
    """Call `warm` on all ranks, first on one of each node: it compiles, the others load.

    Where rank 0's cache folder is seen from another node, rank 0 compiles for that node too.

    Parameters
    ----------
    warm
        Runs every kernel once on small input.
    """
    folder = prepare_numba_cache()
    if comm.rank == 0:
        tell_when_compiling()
    if comm.size == 1:
        warm()
        return
    first = comm.node_rank() == 0
    token = None
    if comm.rank == 0:
        handle, token = tempfile.mkstemp(prefix="compiling-", dir=folder)
        os.close(handle)
    shared = Path(comm.bcast(token)).exists()
    alone = first and (comm.rank == 0 or not shared)
    if alone:
        warm()
    comm.barrier()
    if token:
        os.unlink(token)
    if not alone:
        warm()
