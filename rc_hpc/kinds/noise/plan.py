"""In which order the structures of a noise sweep draw the record's errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rc_hpc.core.errors import Status, UsageError
from rc_hpc.kinds.noise.options import NoiseOptions
from rc_hpc.kinds.packed.reader import PackedReader


def plan(packed: Path, options: NoiseOptions) -> tuple[NoiseOptions, dict[str, int]]:
    """Atoms of the conventional cells that are computed, in the order in which they draw.

    Raises
    ------
    UsageError
        The order asked for is not one of the usable structures.
    """
    if not options.shared:
        return options, {}
    with PackedReader(packed) as reader:
        usable = reader.read("structures/status") == Status.ok
        ids = np.array(reader.ids, object)[usable].tolist()
        sizes = dict(zip(ids, reader.read("structures/n_atoms")[usable].tolist(), strict=True))
    if not options.order:
        return options, sizes
    for id in options.ids:
        if id not in sizes:
            raise UsageError(
                f"--order names {id!r}, which {packed} does not hold as a usable structure: "
                "the errors of all that follow would be others"
            )
    if missing := sizes.keys() - set(options.ids):
        raise UsageError(
            f"--order does not name {min(missing)!r}, a structure of {packed}: "
            "it must name all of them"
        )
    if len(set(options.ids)) != len(options.ids):
        raise UsageError("--order names an id twice")
    return options, {id: sizes[id] for id in options.ids}
