"""Where published values apply to a result file: only on their structures, under their options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rc_hpc.geometry.protocol import BUILT_IN, load_protocol
from rc_hpc.kinds.common.counting import Counts
from rc_hpc.report import recorded
from rc_hpc.store.reader import read_table

_OPTIONS = ("enumeration", "merge", "delta", "truth", "radii_factor", "seeds")


def conditions_of(path: Path, counts: Counts) -> dict[str, Any]:
    """What published values depend on.

    These are options, the cameras if they are ours by name and matrix, and the structures. Of
    rows that are no packed structures nothing is published.
    """
    options = counts.options
    if "pack" not in options:
        return {}
    conditions = {name: options[name] for name in _OPTIONS if name in options}
    conditions["tau"] = options["pack"]["tau"]
    if "protocol" in options:
        conditions["tiling"] = list(options["protocol"]["tiling"])
        if _ours([options["protocol"]]):
            conditions["protocol"] = options["protocol"]["name"]
    if "protocols" in options:
        conditions["protocols"] = _ours(options["protocols"])
    ids = read_table(path, ("structures/id",))["structures/id"]
    headline = next(iter(counts.sets().values()))
    if int(headline.n) == len(ids):
        conditions["sample"] = recorded.sample_of(ids)
    return conditions


def _ours(protocols: list[Mapping[str, Any]]) -> frozenset[str]:
    """Names of the protocols that are built in, with these very cameras; an @ may follow."""
    names = set()
    for protocol in protocols:
        name = protocol["name"].split("@")[0]
        if name not in BUILT_IN:
            continue
        cameras = {key: value for key, value in protocol.items() if key != "name"}
        if load_protocol(name, tuple(protocol["tiling"])).identity() == cameras:
            names.add(protocol["name"])
    return frozenset(names)
