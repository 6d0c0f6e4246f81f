"""How pictures are drawn: what it takes besides the drawing of one structure."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rc_hpc.core.constants import SWEEP
from rc_hpc.core.errors import Status
from rc_hpc.images.fast import FastRenderer
from rc_hpc.kinds.common.costs import NOTHING_MS, Rows
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.common.statics import protocol_datasets, vocabulary
from rc_hpc.kinds.renders.options import RenderOptions
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.parallel.launch import launched_tasks

#: Predicted time of a picture and of each atom in it, ms on a core of 2024.
FAST_MS, ASE_MS = (12.0, 0.06), (200.0, 1.2)
#: Predicted time of a picture drawn fast, and by ASE, s.
FAST_S, ASE_S = 0.03, 0.6


def dims(_options: RenderOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return {"setting": len(SWEEP)}


def statics(options: RenderOptions) -> dict[str, Any]:
    """Datasets that belong to no structure."""
    return vocabulary(options.pack) | protocol_datasets(protocol_of(options.protocol))


def costs(options: RenderOptions, _shared: None, rows: Rows) -> np.ndarray:
    """Predicted time of each structure, (n,), ms."""
    drawn = rows("n_atoms").astype(float) * np.prod(options.protocol["tiling"])
    ways = [FAST_MS] * (options.renderer == "fast")
    ways += [ASE_MS] * (options.compare or options.renderer == "ase")
    each = sum(base + per_atom * drawn for base, per_atom in ways)
    return np.where(rows("status") == Status.ok, len(options.protocol["views"]) * each, NOTHING_MS)


def facts(options: RenderOptions) -> tuple[dict[str, Any], float]:
    """What a dry run tells, and seconds for a structure."""
    each = len(options.protocol["views"])
    fast = options.renderer == "fast" and not options.compare
    return {"pictures of each": each}, each * (FAST_S if fast else ASE_S)


def warm(_options: RenderOptions) -> None:
    """Have matplotlib's font cache ready before the ranks need it.

    Under a launcher it lies where the kernels are cached, on the node's own disk, unless
    MPLCONFIGDIR says otherwise: many ranks would write the one in the home folder at once.
    """
    if launched_tasks() > 1:
        os.environ.setdefault("MPLCONFIGDIR", str(prepare_numba_cache().parent / "matplotlib"))
    FastRenderer()
