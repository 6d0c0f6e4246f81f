"""One structure to all its scenes."""

from __future__ import annotations

from typing import Any

import numpy as np

from rc_hpc.benchmark.bases import base_structure
from rc_hpc.benchmark.display import display
from rc_hpc.benchmark.questions.variants import variants
from rc_hpc.benchmark.records import DisplayedScene
from rc_hpc.benchmark.scene_file import tables_of
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.scenes.options import ScenesOptions
from rc_hpc.oracle.cell import PackedCell


def oracle(options: ScenesOptions, given: Given) -> Compute:
    """What displays one structure."""

    def compute(cell: PackedCell) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        given.recorder.about(cell.id)
        fractional = cell.positions @ np.linalg.inv(cell.lattice)
        base = base_structure(
            cell.id, cell.lattice, fractional, cell.numbers, options.display, given.recorder
        )
        changed = variants(base, options.display.stretch)
        left_out: list[DisplayedScene] = []
        scenes = display(base, options.display, changed, given.recorder, left_out)
        counts = {"structures/n_scenes": len(scenes), "structures/n_too_small": len(left_out)}
        return counts, tables_of(base, scenes)

    return compute
