"""How pictures of a package are drawn: what it takes besides the drawing of one scene."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rc_hpc.benchmark.drawing import ScenePainter
from rc_hpc.kinds.common.costs import Rows
from rc_hpc.kinds.pictures.options import BuildOptions
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.parallel.launch import launched_tasks

#: Predicted time of the pictures of a scene, ms on a core of 2024, and s.
SCENE_MS, SCENE_S = 60.0, 0.08


def dims(_options: BuildOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return {}


def statics(_options: BuildOptions) -> dict[str, Any]:
    """Datasets that belong to no scene."""
    return {}


def costs(_options: BuildOptions, _shared: None, rows: Rows) -> np.ndarray:
    """Predicted time of each scene, (n,), ms."""
    return np.full(len(rows("id")), SCENE_MS)


def facts(options: BuildOptions) -> tuple[dict[str, Any], float]:
    """What a dry run tells, and seconds for a scene."""
    return {"questions": options.questions.questions}, SCENE_S


def warm(options: BuildOptions) -> None:
    """Have matplotlib's font cache ready before the ranks need it; see `rc_hpc.kinds.renders`."""
    if launched_tasks() > 1:
        os.environ.setdefault("MPLCONFIGDIR", str(prepare_numba_cache().parent / "matplotlib"))
    ScenePainter(options.scenes.display)
