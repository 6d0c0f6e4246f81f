"""The source ``catalogue``: 48 prototypes, each under the name of its mineral."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from rc_hpc.core.errors import UsageError
from rc_hpc.structures.record import Item


@cache
def catalogue() -> tuple[Mapping[str, Any], ...]:
    """Entries of ``data/catalogue.toml``, which says what each field is."""
    text = resources.files("rc_hpc.structures").joinpath("data/catalogue.toml").read_text("utf-8")
    return tuple(tomllib.loads(text)["prototype"])


def catalogue_items(prototypes: Iterable[Item]) -> Iterator[Item]:
    """Those prototypes that are in the catalogue, in their own order.

    The label of the AFLOW encyclopedia is no key, label and formula together are.

    Raises
    ------
    UsageError
        The installed pymatgen lacks some of them.
    """
    wanted = {(one["aflow"], one["formula"]): one["name"] for one in catalogue()}
    labels = {label for label, _ in wanted}
    for item in prototypes:
        label = item.id.partition("#")[0]
        if label not in labels:
            continue
        formula = formula_of(item.read(item, item.blob()).numbers)
        if name := wanted.pop((label, formula), None):
            yield replace(item, id=name, source="catalogue")
    if wanted:
        raise UsageError(
            f"the prototypes of the installed pymatgen lack {', '.join(sorted(wanted.values()))} "
            "of the catalogue: install another version or name another source"
        )


def formula_of(numbers) -> str:
    """Reduced formula, elements in alphabetical order: ``O2Ti``."""
    from ase.data import chemical_symbols

    kinds, counts = np.unique(np.asarray(numbers), return_counts=True)
    counts = counts // np.gcd.reduce(counts)
    symbols = {chemical_symbols[kind]: int(n) for kind, n in zip(kinds, counts, strict=True)}
    return "".join(f"{name}{n if n > 1 else ''}" for name, n in sorted(symbols.items()))
