"""The figures of a file, or of the ladder's tables, from their frames to PDF, PNG and CSV."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from rc_hpc.answers.predictions import find_files
from rc_hpc.core.errors import UsageError
from rc_hpc.engine.old_registry import OF_FILES
from rc_hpc.ladder import figures as ladder
from rc_hpc.ladder.evidence import Evidence
from rc_hpc.report import recorded
from rc_hpc.report.plot import NothingToDraw, Origin, Plot, write
from rc_hpc.report.tables import Table

#: Files written of each figure by its name, and why others were left out.
Drawn = tuple[dict[str, list[Path]], dict[str, str]]


def draw_file(path: Path, names: Sequence[str], folder: Path) -> Drawn:
    """Draw figures of a census or sweep file; `names` is empty for all of them.

    Raises
    ------
    UsageError
        There are no figures of files of this kind, or none of such a name.
    """
    from rc_hpc.store.reader import open_ours
    from rc_hpc.tables import tables_of

    with open_ours(path) as h5:
        kind = str(h5.attrs["kind"])
    if kind not in OF_FILES:
        raise UsageError(
            f"{path}: there are no figures of a {kind} file, only of {', '.join(OF_FILES)} files"
        )
    known = {plot.name: plot for plot in OF_FILES[kind]}
    for name in names:
        if name not in known:
            raise UsageError(
                f"--figure {name}: {path} is a {kind} file, whose figures are {', '.join(known)}"
            )
    chosen = [known[name] for name in dict.fromkeys(names)] or list(known.values())
    counts, found = tables_of(
        path, tuple(dict.fromkeys(name for plot in chosen for name in plot.tables))
    )
    conditions = _conditions(path, counts)
    origin = Origin(path.name, str(counts.attrs["content_hash"]), counts.options)
    return _draw(chosen, found, origin, lambda name: recorded.find(name, conditions), folder)


def draw_ladder(evidence: Evidence, found: Iterable[Table], folder: Path) -> Drawn:
    """Draw what there is of the figures of the ladder among these tables."""
    request = evidence.request
    origin = Origin(
        ", ".join(path.name for path in (*request.predictions, *request.census)),
        _hash_of(evidence),
        {
            "ceilings": {
                name: int(np.sum(determined)) for name, determined in evidence.ceilings.items()
            },
            "structures": len(evidence.ids),
            "gate_samples": request.gate_samples,
        },
    )
    conditions = {"sample": recorded.sample_of(evidence.ids)}
    names = {table.name for table in found}
    plots = [plot for plot in ladder.PLOTS if names.issuperset(plot.tables)]
    return _draw(plots, found, origin, lambda name: recorded.find(name, conditions), folder)


def _draw(
    plots: Iterable[Plot],
    found: Iterable[Table],
    origin: Origin,
    published: Callable[[str], tuple[dict, ...]],
    folder: Path,
) -> Drawn:
    by_name = {table.name: table for table in found}
    written, left_out = {}, {}
    for plot in plots:
        try:
            written[plot.name] = write(plot, by_name, origin, published(plot.name), folder)
        except NothingToDraw as reason:
            left_out[plot.name] = str(reason)
    return written, left_out


def _conditions(path: Path, counts) -> dict:
    """What published values depend on: options, the cameras if they are ours by name and matrix, and the structures."""
    from rc_hpc.store.reader import read_table

    options = counts.options
    ids = read_table(path, ("structures/id",))["structures/id"]
    headline = next(iter(counts.sets().values()))
    conditions = {
        name: options[name]
        for name in ("enumeration", "merge", "delta", "truth", "radii_factor", "seeds")
        if name in options
    }
    conditions |= {"tau": options["pack"]["tau"]}
    conditions |= (
        _protocol(options["protocol"])
        if "protocol" in options
        else {"protocols": _ours(options["protocols"])}
    )
    return conditions | ({"sample": recorded.sample_of(ids)} if int(headline.n) == len(ids) else {})


def _protocol(protocol: dict) -> dict:
    found = {"tiling": list(protocol["tiling"])}
    return found | ({"protocol": protocol["name"]} if _ours([protocol]) else {})


def _ours(protocols: list[dict]) -> frozenset[str]:
    """Names of the protocols that are built in, with these very cameras; a tiling may follow an @."""
    from rc_hpc.geometry.protocol import BUILT_IN, load_protocol

    found = set()
    for protocol in protocols:
        name = protocol["name"].split("@")[0]
        if name in BUILT_IN and load_protocol(name, tuple(protocol["tiling"])).identity() == {
            key: value for key, value in protocol.items() if key != "name"
        }:
            found.add(protocol["name"])
    return frozenset(found)


def _hash_of(evidence: Evidence) -> str:
    """SHA-256 of the contents of the prediction files, whatever their order and names."""
    files = find_files(evidence.request.predictions)
    return hashlib.sha256(
        "\n".join(sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)).encode()
    ).hexdigest()
