"""What may be done with scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.store.reader import read_table


def after(path: Path) -> list[tuple[list[str | Path], str]]:
    """Showing the reading that is worst, where the file of readings is there.

    See `rc_hpc.core.kind.Kind`.
    """
    names = [f"structures/{name}" for name in ("id", "source", "status")]
    read = read_table(path, [*names, "score/system_right", "score/sites_exact", "score/certified"])
    ids, sources, status = (read[name] for name in names)
    right = read["score/system_right"][:, 0].astype(int) + read["score/sites_exact"]
    order = np.argsort(right + read["score/certified"], kind="stable")
    for row in order[status[order] == Status.ok].tolist():
        name, source = str(ids[row]), Path(str(sources[row]))
        if source.is_file() and name.isprintable() and not name.startswith("-"):
            return [(["show", source, name], "a reading over its pictures, the worst there is")]
    return []
