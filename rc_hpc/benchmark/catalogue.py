"""The base structures of the catalogue."""

from __future__ import annotations

from rc_hpc.benchmark.bases import base_structure, entries
from rc_hpc.benchmark.records import BaseStructure
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.structures.sources import iter_items

__all__ = ["base_structure", "catalogue_structures", "entries"]


def catalogue_structures(settings: DisplaySettings | None = None) -> list[BaseStructure]:
    """The 48 base structures, in the order of the prototypes."""
    settings = settings or DisplaySettings()
    found = []
    for item in iter_items(["catalogue"]):
        read = item.read(item, item.blob())
        found.append(base_structure(item.id, read.lattice, read.frac, read.numbers, settings))
    return found
