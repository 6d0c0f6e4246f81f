"""The functions of ``import rc_hpc``: one structure, many, their pictures, and result files."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rc_hpc.api.inputs import StructureLike, StructuresLike, many_items, one_item, packed_file
from rc_hpc.api.keywords import options_of, takes
from rc_hpc.api.results import CENSUS, Ceiling, Ceilings, ceiling_of
from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.core.lazy import resolve
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.census.computed import Computed
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.renders.options import RenderOptions
from rc_hpc.parallel.compiling import tell_when_compiling

if TYPE_CHECKING:
    from PIL.Image import Image
    from xarray import DataTree

    from rc_hpc.kinds.packed.options import PackOptions
    from rc_hpc.store.batch import Rows
    from rc_hpc.structures.record import Item

#: A protocol as functions take it: its name or TOML file, itself, or its record in a file.
Cameras = str | os.PathLike[str] | Protocol | Mapping[str, Any]
#: Options of pictures that only files have.
_OF_FILES = ("compare", "name_seed")


@takes(CensusOptions)
def ceiling(structure: StructureLike, *, cameras: Cameras | None = None, **options: Any) -> Ceiling:
    """What the cameras determine of one structure.

    Parameters
    ----------
    structure
        ASE Atoms, a pymatgen Structure, the path of a file with one structure, or (lattice
        vectors as rows in Å, Cartesian positions in Å, atomic numbers).
    cameras
        ``frozen`` (the default), ``off-axis``, or a TOML file.
    **options
        Those of ``python -m rc_hpc.census``, with ``_`` for ``-``; see below.

    Returns
    -------
    Ceiling
        ``certified``, ``label``, ``truth``; the frames ``subsets`` and ``phantoms``; ``plot()``.

    Raises
    ------
    StructureError
        The structure cannot be used; `status` and message say why.
    UsageError
        The request cannot be.

    Examples
    --------
    >>> import rc_hpc
    >>> from ase.build import bulk
    >>> rc_hpc.ceiling(bulk("NaCl", "rocksalt", a=5.64), cameras="frozen").certified
    True
    """
    settled = options_of(CensusOptions, cameras, options)
    return ceiling_of(_census(_packed([one_item(structure)], settled.pack), settled), 0)


@takes(CensusOptions)
def ceilings(
    structures: StructuresLike, *, cameras: Cameras | None = None, **options: Any
) -> Ceilings:
    """What the cameras determine of many structures, in memory and in this process.

    For more than some hundred there is ``python -m rc_hpc.census``, on many cores.

    Parameters
    ----------
    structures
        A mapping of ids, or a sequence (numbered from 0), of what `ceiling` takes; or a source
        as the commands take it: a file, folder or glob, ``prototypes``, ``synthetic:N``, a packed
        HDF5 file.
    cameras, **options
        As in `ceiling`.

    Returns
    -------
    Ceilings
        The frames ``structures`` (with status and message), ``subsets``, ``phantoms`` and
        ``views``; ``ceilings[id]`` is the `Ceiling` of one.

    Raises
    ------
    UsageError
        The request cannot be. A structure that cannot be used is a row with its status.
    """
    settled = options_of(CensusOptions, cameras, options)
    if packed := packed_file(structures):
        if not Path(packed).is_file():
            raise UsageError(f"no file {packed}")
        rows = resolve("rc_hpc.engine.memory:read_packed")(Path(packed), settled.pack)
        return Ceilings(_census(rows, settled))
    return Ceilings(_census(_packed(many_items(structures), settled.pack), settled))


@takes(RenderOptions, without=_OF_FILES)
def draw(
    structure: StructureLike, *, cameras: Cameras | None = None, **options: Any
) -> dict[str, Image]:
    """Pictures of one structure, as ``python -m rc_hpc.render`` draws them.

    Parameters
    ----------
    structure
        As in `ceiling`.
    cameras
        ``frozen``, ``off-axis``, or a TOML file; by default the convention's.
    **options
        See below.

    Returns
    -------
    dict
        Pictures by the names of their views.

    Raises
    ------
    StructureError
        The structure cannot be used; `status` and message say why.
    UsageError
        The request cannot be.
    """
    settled = options_of(RenderOptions, cameras, options, _OF_FILES)
    packed = _packed([one_item(structure)], settled.pack)
    status = Status(int(packed.batch["structures/status"][0]))
    if status != Status.ok:
        raise StructureError(status, f"{status.name}: {packed.batch['structures/message'][0]}")
    cell = resolve("rc_hpc.kinds.packed.reader:packed_cell")(
        packed.batch, 0, packed.child("atoms", 0)
    )
    pictures = resolve("rc_hpc.kinds.renders.oracle:pictures_of")(settled)(cell)
    views, opened = settled.protocol["views"], resolve("PIL.Image:open")
    return {views[one.camera]: opened(io.BytesIO(one.png)).convert("RGB") for one in pictures}


def open(path: str | os.PathLike[str]) -> DataTree:
    """Any result file, with coordinates and names: see `rc_hpc.engine.tree.open_tree`.

    Parameters
    ----------
    path
        A finished file: packed structures, census, sweep, renders, pixels, training, answers.

    Returns
    -------
    xarray.DataTree
        ``tree["cells"].sel(structure="mp-149", subset="axis_a+axis_b")``; options and captions
        are in ``tree.attrs``.

    Raises
    ------
    RcError
        Not a finished file of ours; says what it seems to be.
    """
    tree: DataTree = resolve("rc_hpc.engine.tree:open_tree")(path)
    return tree


def _packed(items: Iterable[Item], options: PackOptions) -> Rows:
    rows: Rows = resolve("rc_hpc.engine.memory:pack")(items, options)
    return rows


def _census(packed: Rows, options: CensusOptions) -> Computed:
    with _kernels():
        rows = resolve("rc_hpc.engine.memory:compute")(CENSUS, options, packed)
        return Computed(options, packed, rows)


@contextmanager
def _kernels() -> Iterator[None]:
    """Kernels imported within come from the cache of the runs; numba's own setting stays."""
    before = os.environ.get("NUMBA_CACHE_DIR")
    tell_when_compiling()
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("NUMBA_CACHE_DIR", None)
        else:
            os.environ["NUMBA_CACHE_DIR"] = before
        if numba := sys.modules.get("numba"):
            numba.config.CACHE_DIR = before or ""
