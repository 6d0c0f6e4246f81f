"""What is designed before any structure is computed: the split, and the search on one side."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import Status, UsageError
from rc_hpc.core.vocabulary import Side
from rc_hpc.kinds.common.options import identity_of, protocol_of
from rc_hpc.kinds.design.options import DesignOptions
from rc_hpc.kinds.design.oracle import sample_scores
from rc_hpc.kinds.design.search import search
from rc_hpc.kinds.design.sides import split_sides
from rc_hpc.kinds.packed.reader import PackedReader

log = logging.getLogger("rc_hpc")

#: Atoms of a structure that the search looks at, at most.
LARGEST = 200


def plan(packed: Path, options: DesignOptions) -> tuple[DesignOptions, dict[str, int]]:
    """Split the structures and search on those that may be looked at.

    Returns
    -------
    options
        With the sets found and those beside them.
    sides : dict of str to int
        Code of `Side` by id, without unused structures.

    Raises
    ------
    UsageError
        Structures or protocols that cannot be.
    """
    with PackedReader(packed) as reader:
        ids = np.array(reader.ids, object)
        columns = {
            name: reader.read(f"structures/{name}")
            for name in ("formula", "status", "quarantine", "n_atoms")
        }
        usable = columns["status"] == Status.ok
        if options.quarantine == "drop":
            usable &= columns["quarantine"] == 0
        if strange := options.ids - set(ids.tolist()):
            raise UsageError(f"--held-out names {min(strange)!r}, which {packed} does not hold")
        codes = split_sides(
            ids,
            columns["formula"],
            usable,
            columns["n_atoms"],
            options.ids if options.held_out == "ids" else float(options.held_out),
            options.training,
            options.sample,
            LARGEST,
            options.seed,
        )
        cells = [reader.cell(row) for row in np.flatnonzero(codes == Side.searched).tolist()]
    log.info(
        "design: %d structures held out, %d choose, %d of these are searched",
        (codes == Side.held_out).sum(),
        ((codes == Side.training) | (codes == Side.searched)).sum(),
        len(cells),
    )
    best = search(
        cells,
        options.views,
        options.keep,
        options.delta,
        options.seed,
        options.starts,
        options.shortlist,
        options.ask,
    )
    sets = [one.cameras.protocol(f"found{k}") for k, one in enumerate(best, 1)]
    beside = [protocol_of(identity) for identity in options.beside]
    if taken := {one.name for one in sets} & {one.name for one in beside}:
        raise UsageError(
            f"--beside holds a protocol named {min(taken)!r}, as the sets that are found are: "
            "give it another name"
        )
    scores = [one.scores for one in best]
    scores += [sample_scores(one, cells, options.delta, options.ask) for one in beside]
    sides = {id: int(code) for id, code in zip(ids, codes, strict=True) if code}
    planned = dataclasses.replace(
        options,
        protocols=tuple(identity_of(one) for one in (*sets, *beside)),
        scores=tuple(map(_plain, scores)),
        cameras=tuple(tuple(one.cameras.cameras()) for one in best),
        sides=hashlib.sha256(json.dumps(sorted(sides.items())).encode()).hexdigest(),
    )
    return planned, sides


def _plain(scores: dict[str, float]) -> dict[str, float | None]:
    """JSON has no infinity."""
    return {name: float(value) if np.isfinite(value) else None for name, value in scores.items()}
