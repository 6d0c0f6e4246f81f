"""Whether a run is about molecules: as asked for, as the source is, or as packed structures are."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rc_hpc.core.apart import Lost, alone
from rc_hpc.core.door import Asked
from rc_hpc.core.errors import UsageError
from rc_hpc.core.kind import Kind
from rc_hpc.engine.options import HDF5
from rc_hpc.store import layout
from rc_hpc.store.opening import DAMAGE
from rc_hpc.structures.molecules import G2

#: Options that are taken from packed molecules where nothing else is asked for.
_KEPT = ("group_tolerance", "orientation")


def settled(asked: Asked) -> Asked:
    """What was asked for, with what its source tells of molecules.

    Raises
    ------
    UsageError
        `g2` beside another source, without ``--molecules``.
    """
    values = dict(asked.values)
    sources: Any = values.get("source") or ()
    if "molecules" not in values or isinstance(sources, str):
        return asked
    if G2 in sources:
        others = [one for one in sources if one != G2]
        if others and not values["molecules"]:
            raise UsageError(
                f"g2 are molecules, and {others[0]} are taken for crystals: give them to runs of "
                "their own, or --molecules where all are molecules"
            )
        values["molecules"] = True
    elif len(sources) == 1 and Path(sources[0]).suffix in HDF5 and Path(sources[0]).is_file():
        packed = _options_of(Path(sources[0]))
        if packed.get("molecules"):
            values["molecules"] = True
            defaults = {one.name: one.asked for one in asked.declarations}
            for name in _KEPT:
                if values[name] == defaults[name]:
                    values[name] = packed[name]
    return replace(asked, values=values)


def _options_of(path: Path) -> dict[str, Any]:
    """Options of a packed file; none where they cannot be read: that is told later."""
    with suppress(Lost):
        found: dict[str, Any] = alone(_read_options, path)
        return found
    return {}


def _read_options(path: Path) -> dict[str, Any]:
    with suppress(*DAMAGE, ValueError), layout.open_bare(path) as h5:
        if h5.attrs.get("kind") == "packed":
            found: dict[str, Any] = json.loads(h5.attrs["options"])
            return found
    return {}


def check_knows(kind: Kind, options: Any) -> None:
    """Refuse molecules where a kind knows none.

    Raises
    ------
    UsageError
        With the reason.
    """
    pack = getattr(options, "pack", options)
    if getattr(pack, "molecules", False) and kind.load("schema").molecules is None:
        why = kind.lattice or "it is about crystals"
        raise UsageError(f"{kind.command} takes no molecules: {why}")
