"""pymatgen's dictionaries of structures, each field checked before pymatgen sees it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.structures.checks import from_pymatgen, refuse, version_of
from rc_hpc.structures.fields import (
    ANGLES,
    LENGTHS,
    check_metric,
    check_periodic,
    check_place,
    field,
    list_of,
    numbers_of,
    object_of,
    text_in,
)
from rc_hpc.structures.record import Item, Structure

#: What the occupancies of a site may sum to beyond 1, by rounding.
OCCUPANCY_TOLERANCE = 1e-6


def read_dictionary(item: Item, blob: bytes, entry: dict[str, Any], space_group: int) -> Structure:
    """Read an entry with ``lattice`` and ``sites``; a `StructureError` says what is wrong in it."""
    from pymatgen.core import Structure as PymatgenStructure

    lattice = _lattice(item, object_of(item, entry["lattice"], "its lattice"))
    told = list_of(item, entry["sites"], "its 'sites'")
    if not told:
        raise refuse(item, Status.empty, "it holds no atoms; write the structure again")
    # Site properties stay behind: pymatgen would load any class that they name.
    sites = [_site(item, site, f"site {row}", lattice) for row, site in enumerate(told, 1)]
    structure = PymatgenStructure.from_dict({"lattice": lattice, "sites": sites})
    return from_pymatgen(
        item,
        blob,
        structure,
        space_group=space_group,
        reader=f"pymatgen {version_of('pymatgen')} Structure.from_dict",
    )


def _lattice(item: Item, lattice: dict[str, Any]) -> dict[str, Any]:
    """Its vectors, or its six numbers where it tells no vectors; these are held against those."""
    if lattice.get("pbc") is not None:
        check_periodic(item, lattice["pbc"], "'pbc' of its lattice")
    if lattice.get("matrix") is None:
        for name in (*LENGTHS, *ANGLES):
            if name not in lattice:
                raise refuse(
                    item,
                    Status.read_error,
                    f"its lattice has neither 'matrix' nor {name!r}; add it",
                )
        six = {
            name: float(numbers_of(item, lattice[name], f"{name!r} of its lattice", ()))
            for name in (*LENGTHS, *ANGLES)
        }
        if not all(map(math.isfinite, six.values())):
            raise refuse(item, Status.non_finite, "the cell holds NaN or Inf; correct its numbers")
        lengths, angles = list(six.values())[:3], list(six.values())[3:]
        if min(lengths) <= 0 or min(angles) <= 0 or max(angles) >= 180:
            raise refuse(
                item,
                Status.singular_cell,
                f"lengths and angles {[*lengths, *angles]} span no volume; correct them",
            )
        return six
    matrix = numbers_of(item, lattice["matrix"], "'matrix' of its lattice")
    if matrix.size == 9:
        matrix = matrix.reshape(3, 3)
    if matrix.shape != (3, 3):
        raise refuse(
            item,
            Status.read_error,
            f"'matrix' of its lattice has {matrix.size} numbers; give three vectors of three",
        )
    check_metric(item, matrix, lattice, "its lattice")
    return {"matrix": matrix.tolist()}


def _site(item: Item, site: Any, name: str, lattice: dict[str, Any]) -> dict[str, Any]:
    """Species and fractional coordinates of a site, as pymatgen knows them."""
    site = object_of(item, site, name)
    told = list_of(item, field(item, site, "species", name), f"'species' of {name}")
    if not told:
        raise refuse(item, Status.read_error, f"{name} has no species; name its element")
    species = [_species(item, one, name) for one in told]
    total = sum(one["occu"] for one in species)
    if not math.isfinite(total):
        raise refuse(item, Status.non_finite, f"occupancy of {name} is NaN or Inf; correct it")
    if min(one["occu"] for one in species) < 0 or total > 1 + OCCUPANCY_TOLERANCE:
        raise refuse(
            item, Status.read_error, f"occupancy of {name} is {total:g}, not 0 to 1; correct it"
        )
    if total == 0:
        raise refuse(
            item, Status.disordered, f"{name} has occupancy 0; give an ordered approximant"
        )
    coordinates = field(item, site, "abc", name)
    abc = numbers_of(item, coordinates, f"'abc' of {name}", (3,))
    if "matrix" in lattice and site.get("xyz") is not None:
        check_place(item, np.array(lattice["matrix"]), abc, site["xyz"], name)
    return {"species": species, "abc": abc.tolist()}


def _species(item: Item, told: Any, name: str) -> dict[str, Any]:
    """Element and occupancy.

    An oxidation state makes a known symbol a Species, an unknown one a dummy; neither is wanted, so
    it is dropped.
    """
    from pymatgen.core import Element

    told = object_of(item, told, f"a species of {name}")
    symbol = text_in(
        item, field(item, told, "element", f"a species of {name}"), f"{name}'s element"
    )
    if not Element.is_valid_symbol(symbol):
        raise refuse(
            item,
            Status.unknown_species,
            f"{name} is {symbol!r}, which is no element; name its element",
        )
    share = field(item, told, "occu", f"{symbol} of {name}")
    return {"element": symbol, "occu": float(numbers_of(item, share, f"'occu' of {name}", ()))}
