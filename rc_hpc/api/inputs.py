"""Structures as people hold them in Python, as the items that are packed."""

from __future__ import annotations

import itertools
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from rc_hpc.core.errors import Status, UsageError
from rc_hpc.engine.options import HDF5
from rc_hpc.structures.checks import build, guarded, refuse, version_of
from rc_hpc.structures.readers import read_json
from rc_hpc.structures.record import Item, Structure
from rc_hpc.structures.sources import iter_items

if TYPE_CHECKING:
    from ase import Atoms
    from numpy.typing import ArrayLike
    from pymatgen.core.structure import IStructure

#: One structure: the last is lattice vectors (rows, Å), Cartesian positions (Å), atomic numbers.
StructureLike: TypeAlias = (
    "Atoms | IStructure | str | os.PathLike[str] | tuple[ArrayLike, ArrayLike, ArrayLike]"
)
#: Many of them, or a source as the commands take it.
StructuresLike: TypeAlias = (
    "Mapping[Any, StructureLike] | Iterable[StructureLike] | str | os.PathLike[str]"
)
#: Id of a structure that comes without one.
NAMELESS = "structure"
_FORMS = "ASE Atoms, a pymatgen Structure, a path, or (lattice, positions, numbers)"


def one_item(structure: StructureLike) -> Item:
    """The one structure that is meant.

    Raises
    ------
    TypeError
        It is none.
    UsageError
        A source that does not exist, or holds several.
    """
    if not _is_path(structure):
        return _item(structure, NAMELESS)
    source = os.fspath(structure)
    if packed_file(source):
        raise UsageError(f"{source} holds packed structures: rc_hpc.ceilings takes it")
    first = list(itertools.islice(iter_items([source]), 2))
    if len(first) != 1:
        many = "several structures: rc_hpc.ceilings takes them" if first else "no structure"
        raise UsageError(f"{source} holds {many}")
    return first[0]


def many_items(structures: StructuresLike) -> Iterator[Item]:
    """All that are meant: keys of a mapping are ids, others without one are numbered from 0."""
    if isinstance(structures, Mapping):
        for id_, structure in structures.items():
            item = one_item(structure) if _is_path(structure) else _item(structure, str(id_))
            yield replace(item, id=str(id_))
        return
    if _is_path(structures):
        yield from iter_items([os.fspath(structures)])
        return
    if _is_one(structures):
        yield _item(structures, "0")
        return
    if not isinstance(structures, Iterable):
        raise _no_structure(structures)
    listed: list[Any] = list(structures)
    if all(map(_is_path, listed)):
        yield from iter_items([os.fspath(path) for path in listed])
        return
    for number, structure in enumerate(listed):
        if _is_path(structure):
            yield from iter_items([os.fspath(structure)])
        else:
            yield _item(structure, str(number))


def packed_file(source: Any) -> str | None:
    """The path of a packed file, where that is the source."""
    path = os.fspath(source) if _is_path(source) else ""
    return path if path.endswith(HDF5) else None


def _is_path(structure: Any) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(structure, str | os.PathLike)


def _is_atoms(structure: Any) -> bool:
    return hasattr(structure, "get_atomic_numbers") and hasattr(structure, "pbc")


def _is_pymatgen(structure: Any) -> bool:
    return hasattr(structure, "frac_coords") and hasattr(structure, "lattice")


def _is_one(structure: Any) -> bool:
    """Whether this is one structure rather than a sequence of three."""
    if _is_atoms(structure) or _is_pymatgen(structure):
        return True
    triple = isinstance(structure, tuple) and len(structure) == 3
    return triple and np.shape(structure[0]) == (3, 3) and not _is_atoms(structure[0])


def _no_structure(structure: Any) -> TypeError:
    return TypeError(f"{type(structure).__name__} is no structure: give {_FORMS}")


def _item(structure: Any, id_: str) -> Item:
    if _is_atoms(structure):
        return _atoms_item(structure, id_)
    if _is_pymatgen(structure):
        return _pymatgen_item(structure, id_)
    if isinstance(structure, tuple | list) and len(structure) == 3:
        return _cell_item(structure, id_)
    raise _no_structure(structure)


def _atoms_item(atoms: Atoms, id_: str) -> Item:
    cell = (atoms.cell.array, atoms.positions, atoms.numbers)
    occupancies = [of for site in atoms.info.get("occupancy", {}).values() for of in site.values()]
    if not all(atoms.pbc):
        problem = (
            Status.read_error,
            "it is not periodic in three directions; set pbc=True and its cell",
        )
    elif any(occupancy < 1 for occupancy in occupancies):
        problem = Status.disordered, "its sites are shared; give an ordered approximant"
    else:
        return Item(id_, "ase.Atoms", partial(_bytes, *cell), partial(_read, _ase_reader()))
    return Item(id_, "ase.Atoms", partial(_bytes, *cell), partial(_refuse, *problem))


def _ase_reader() -> str:
    return f"ase {version_of('ase')} Atoms"


def _pymatgen_item(structure: Any, id_: str) -> Item:
    sites = []
    for site in structure:
        species = [
            {"element": one["element"], "occu": one["occu"]} for one in site.as_dict()["species"]
        ]
        sites.append({"species": species, "abc": site.frac_coords.tolist()})
    entry = {"lattice": {"matrix": structure.lattice.matrix.tolist()}, "sites": sites}
    blob = partial(bytes, json.dumps(entry).encode())
    if not all(getattr(structure.lattice, "pbc", ())):
        message = "it is not periodic in three directions; give its lattice pbc=(True, True, True)"
        return Item(id_, "pymatgen", blob, partial(_refuse, Status.read_error, message))
    return Item(id_, "pymatgen", blob, read_json)


def _cell_item(cell: Any, id_: str) -> Item:
    try:
        lattice, positions = (np.asarray(values, np.float64) for values in cell[:2])
        numbers = np.asarray(cell[2])
        whole = numbers.astype(np.int64)
        shapes = lattice.shape, positions.shape, numbers.shape
        fits = shapes == ((3, 3), (len(numbers), 3), (len(numbers),))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{id_}: lattice, positions and numbers must be numbers ({error})"
        ) from error
    if not fits or not np.array_equal(whole, numbers):
        raise TypeError(
            f"{id_}: give lattice vectors (3, 3), positions (n, 3) and n atomic numbers, "
            f"not {', '.join(map(str, shapes))}"
        )
    if len(numbers) > 1 and positions.min() >= 0 and positions.max() <= 1:
        warnings.warn(
            f"{id_}: positions are Cartesian, in Å, and these all lie within 1 Å of the origin: "
            "are they fractional? Then give positions @ lattice",
            stacklevel=5,
        )
    blob = partial(_bytes, lattice, positions, whole)
    return Item(id_, "arrays", blob, partial(_read, f"numpy {version_of('numpy')} arrays"))


def _bytes(lattice: Any, positions: Any, numbers: Any) -> bytes:
    parts = {"numbers": numbers, "positions": positions, "cell": lattice}
    return json.dumps({name: np.asarray(one).tolist() for name, one in parts.items()}).encode()


def _read(reader: str, item: Item, blob: bytes) -> Structure:
    parts = json.loads(blob)
    lattice = np.array(parts["cell"], np.float64)
    positions = np.array(parts["positions"], np.float64).reshape(-1, 3)
    if not np.isfinite(lattice).all():
        raise refuse(item, Status.non_finite, "the cell holds NaN or Inf; correct its numbers")
    with guarded(item):
        frac = np.linalg.solve(lattice.T, positions.T).T
        return build(item, blob, lattice, frac, parts["numbers"], reader=reader)


def _refuse(status: Status, message: str, item: Item, blob: bytes) -> Structure:
    raise refuse(item, status, message)
