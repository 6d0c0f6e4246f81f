"""Which cameras leave other crystals with the same pictures: built-in and designed ones, tiling.

Cameras are designed on one half of the compositions, once for few phantoms and once for few
subsets of two and three views with a place that is not forced, all free or with the principal
axes kept. Each set, and the built-in ones, with one cell and with 2x2x2 cells in the picture, is
then judged on the other half: cells of two and three views, atoms of each species known.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.end_to_end import pack_each, run
from bench.unique import swept, table

#: Kept cameras of the designs, by name of the design.
KEPT = {"free": "", "axes kept": "axis_a,axis_b,axis_c"}
#: What a design may ask for.
ASKED = ("phantoms", "unique")


def measure(
    prototypes: bool = False,
    every: int = 1,
    packed: Path | None = None,
    deltas: Sequence[float] = (1e-6, 0.01),
    starts: int = 32,
    sample: int = 40,
    tiled_atoms: int = 16,
) -> dict:
    """Pack (where no packed file is given), four designs, then the sweeps.

    Parameters
    ----------
    prototypes, every, packed
        See `bench.unique.measure`.
    deltas
        Up to which a point is on another, Å.
    starts, sample
        Of the designs' search: starts, and structures that it looks at.
    tiled_atoms
        Atoms of the structures whose pictures show 2x2x2 cells, at most.
    """
    folder = Path(tempfile.mkdtemp(prefix="rc-bench-"))
    try:
        name = "prototypes" if prototypes else "e3 evaluation"
        if packed is None:
            packed, name, _ = pack_each(folder, every, prototypes)
        cameras = {"frozen": "frozen", "off-axis": "off-axis"}
        cost = {}
        for (kept, names), ask in itertools.product(KEPT.items(), ASKED):
            output = folder / f"{kept.replace(' ', '-')}-{ask}.h5"
            cost[f"{kept}, {ask}"] = run(_designed(packed, output, names, ask, starts, sample))
            cameras[f"{kept}, {ask}"] = str(output.with_suffix(".toml"))
        held_out, small = _held_out(output, tiled_atoms)
        rows = []
        for (label, protocol), delta in itertools.product(cameras.items(), deltas):
            each = [("1,1,1", held_out)]
            if small and protocol in ("frozen", "off-axis") and delta == min(deltas):
                each += [("1,1,1", small), ("2,2,2", small)]
            for tiling, ids in each:
                rows += _judged(packed, folder, label, protocol, delta, tiling, ids)
        return {
            "set": name,
            "held_out": len(held_out),
            "tiled": len(small),
            "cost": cost,
            "statuses": rows,
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _designed(
    packed: Path, output: Path, kept: str, ask: str, starts: int, sample: int
) -> list[str]:
    """Command line of a design whose search alone counts: one set, read once under noise."""
    more = ["--ask", ask, "--starts", starts, "--search-sample", sample, "--training", sample]
    more += ["--shortlist", 1, "--seeds", 1, "--sigmas", "0.1", "--beside", "frozen"]
    more += ["--keep", kept] if kept else []
    return swept("design", packed, output, list(map(str, more)))


def _held_out(path: Path, most_atoms: int) -> tuple[list[str], list[str]]:
    """Ids that a design held out, and those of at most so many atoms."""
    import h5py

    from rc_hpc.core.vocabulary import Side

    with h5py.File(path) as h5:
        ids = h5["structures/id"].asstr()[()]
        out = h5["design/split"][()] == Side.held_out
        small = out & (h5["structures/n_atoms"][()] <= most_atoms)
    return ids[out].tolist(), ids[small].tolist()


def _judged(
    packed: Path,
    folder: Path,
    label: str,
    protocol: str,
    delta: float,
    tiling: str,
    ids: list[str],
) -> list[dict]:
    """Cells by status of one sweep, and what it cost."""
    from rc_hpc.geometry.protocol import load_protocol

    views = load_protocol(protocol).views
    subsets = ["+".join(some) for n in (2, 3) for some in itertools.combinations(views, n)]
    (folder / "ids.txt").write_text("\n".join(ids), encoding="utf-8")
    output = folder / "unique.h5"
    more = ["--ids", str(folder / "ids.txt"), "--subsets", ",".join(subsets), "--policy", "counts"]
    more += ["--protocol", protocol, "--tiling", tiling, "--delta", str(delta)]
    cost = run(swept("unique", packed, output, [*more, "--quarantine", "keep"]))
    own = {"cameras": label, "tiling": tiling, "delta": delta, "structures": len(ids), **cost}
    return [{**row, **own} for row in table(output, "unique", folder)]
