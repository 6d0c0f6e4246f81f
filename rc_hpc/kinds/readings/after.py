"""What may be done with readings."""

from __future__ import annotations

from pathlib import Path

from rc_hpc.images.files import HDF5
from rc_hpc.store.reader import read_table


def after(path: Path) -> list[tuple[list[str | Path], str]]:
    """Scoring them, where the manifest of their pictures is there; see `rc_hpc.core.kind.Kind`."""
    sources = dict.fromkeys(read_table(path, ["structures/source"])["structures/source"])
    told: list[tuple[list[str | Path], str]] = []
    for source in map(Path, sources):
        if source.suffix in HDF5 and source.is_file():
            scores = path.with_name(f"{path.stem}.scores.h5")
            more = ["--overwrite"] if scores.exists() else []
            words: list[str | Path] = ["score", path, source, "-o", scores, *more]
            told.append((words, "against the structures that were drawn"))
    return told
