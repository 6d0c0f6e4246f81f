"""How a column lies in an HDF5 file: type, chunks, compression, attributes, dimension scales.

The dimension scales follow netCDF-4, so that xarray opens every group; enums also
carry the CF attributes `flag_values` and `flag_meanings`, because xarray shows an
HDF5 enum as plain numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import EnumType, IntEnum
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from rc_hpc.store.schema import TEXT, Column

#: Aim for a chunk of a column, bytes. Chunks depend on the column alone, never on the work split.
CHUNK_BYTES = 1 << 17
#: Rows of a chunk at most; every smaller chunk divides it, so blocks of it are whole chunks.
CHUNK_ROWS = 1 << 13
#: The fastest: level 4 took a third more time for 9 % less file. No shuffle filter: values that
#: repeat exactly, of which a census is full, are torn apart by it (a file of 1,820 rows is 38 %
#: smaller without).
GZIP_LEVEL = 1
#: Rows of a chunk of texts, whatever their length.
TEXT_ROWS = 1 << 11
#: Longest text, in bytes, up to which a column of texts has one length in the file: such chunks can
#: be made apart from it. Longer ones lie behind references, which only the file itself can make.
TEXT_BYTES = 96
#: Dimension of the main rows.
MAIN_DIM = "structure"
# netCDF-4's mark of a scale that only gives a length.
_LENGTH_ONLY = "This is a netCDF dimension but not a netCDF variable. {:9d}"


def open_bare(path: str | Path) -> h5py.File:
    """Open a file for reading as it is, which may crash HDF5: see `rc_hpc.store.opening`.

    Finished files never change, so no lock is needed, and some network file systems have none.
    """
    try:
        return h5py.File(path, "r", locking=False)
    except OSError as error:
        if "locking flag" not in str(error):
            raise
        return h5py.File(path, "r")  # this process has it open already, with other flags


def h5_dtype(column: Column, length: int = 0) -> Any:
    """Type in the file: UTF-8, an HDF5 enum over uint8, or the NumPy type.

    Parameters
    ----------
    length
        Bytes of every text; 0: each has its own.
    """
    if column.dtype == TEXT:
        return h5py.string_dtype(length=length or None)
    if isinstance(column.dtype, EnumType):
        members: Mapping[str, IntEnum] = column.dtype.__members__
        codes = {name: int(member) for name, member in members.items()}
        return h5py.enum_dtype(codes, basetype="u1")
    return np.dtype(column.dtype)


def chunk_rows(column: Column, shape: tuple[int, ...]) -> int:
    """Rows of a whole chunk of a column, a power of two; also those of a leaf of its hashes."""
    if column.dtype == TEXT:
        return TEXT_ROWS
    row = int(h5_dtype(column).itemsize) * int(np.prod(shape[1:], dtype=np.int64))
    return min(CHUNK_ROWS, 1 << max(0, (CHUNK_BYTES // max(1, row)).bit_length() - 1))


def create(
    h5: h5py.File, path: str, column: Column, shape: tuple[int, ...], length: int = 0
) -> h5py.Dataset:
    """Create the dataset of a column, still unwritten, with its attributes.

    `length` as in `h5_dtype`.
    """
    storage = {}
    if shape and 0 not in shape:
        chunks = (min(chunk_rows(column, shape), shape[0]), *shape[1:])
        storage = {
            "chunks": chunks,
            "compression": "gzip",
            "compression_opts": GZIP_LEVEL,
        }
    dtype = h5_dtype(column, length)
    dataset = h5.create_dataset(path, shape=shape, dtype=dtype, track_times=False, **storage)
    if length:
        dataset.attrs["_Encoding"] = "utf-8"  # netCDF-4's word for it: readers give text, not bytes
    dataset.attrs["units"] = column.unit
    dataset.attrs["description"] = column.description
    if isinstance(column.dtype, type) and issubclass(column.dtype, IntEnum):
        dataset.attrs["flag_values"] = np.array(
            [int(member) for member in column.dtype], dtype=np.uint8
        )
        dataset.attrs["flag_meanings"] = " ".join(member.name for member in column.dtype)
    return dataset


def write_rows(dataset: h5py.Dataset, start: int, rows: np.ndarray) -> None:
    """Write `rows` from row `start` on; enums come as uint8, text as str objects."""
    if rows.size:
        dataset[start : start + len(rows)] = rows


def read_rows(dataset: h5py.Dataset, selection: Any = ()) -> np.ndarray:
    """Read rows: enums as uint8, text as an object array of str."""
    if h5py.check_string_dtype(dataset.dtype):
        texts: np.ndarray = dataset.asstr()[selection]
        return texts
    values: np.ndarray = dataset[selection]
    return values.view(np.uint8) if h5py.check_enum_dtype(dataset.dtype) else values


def is_length(dataset: h5py.Dataset) -> bool:
    """Whether a dataset holds no values and only gives a dimension its length."""
    name = dataset.attrs.get("NAME", b"")
    return bytes(name).startswith(_LENGTH_ONLY.partition("{")[0].strip().encode())


def row_blocks(dataset: h5py.Dataset, size: int = 1 << 23) -> Iterable[slice]:
    """Slices along the first axis, about `size` bytes each, that cover the dataset."""
    row = dataset.dtype.itemsize * int(np.prod(dataset.shape[1:], dtype=np.int64))
    if h5py.check_string_dtype(dataset.dtype):
        row *= 16  # the text itself lies elsewhere
    step = max(1, size // max(1, row))
    if step > CHUNK_ROWS:
        step -= step % CHUNK_ROWS  # no chunk is decompressed twice
    for start in range(0, dataset.shape[0], step):
        yield slice(start, min(start + step, dataset.shape[0]))


class Dimensions:
    """Dimension scales of one file, created at first use."""

    def __init__(self, h5: h5py.File):
        self.h5 = h5
        self.scales: dict[str, h5py.Dataset] = {}

    def attach(self, dataset: h5py.Dataset, names: tuple[str, ...]) -> None:
        """Name the axes of `dataset`; a name with a slash is local to its group."""
        if len(names) != dataset.ndim:
            raise ValueError(
                f"{dataset.name}: {len(names)} dimension names for shape {dataset.shape}"
            )
        for axis, (name, length) in enumerate(zip(names, dataset.shape, strict=True)):
            scale = self.scales.get(name) or self._create(name, length)
            if scale.shape != (length,):
                raise ValueError(
                    f"{dataset.name}: {length} along {name!r}, which is {scale.shape[0]} elsewhere"
                )
            dataset.dims[axis].attach_scale(scale)
            dataset.dims[axis].label = name.rpartition("/")[2]

    def _create(self, name: str, length: int) -> h5py.Dataset:
        scale = self.h5.create_dataset(name, shape=(length,), dtype=np.uint8, track_times=False)
        scale.make_scale(_LENGTH_ONLY.format(length))
        scale.attrs["units"] = "1"
        scale.attrs["description"] = (
            f"Length of the dimension {name.rpartition('/')[2]!r}; holds no values."
        )
        self.scales[name] = scale
        return scale
