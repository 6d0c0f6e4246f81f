"""Chunks of a merged file, made apart from it by any number of ranks.

Chunks lie on one grid for each column, which depends on the column and on the number of rows alone.
A *block* is `layout.CHUNK_ROWS` rows of some columns of a table: whole chunks of these. Who owns a
block gathers its rows from the parts, compresses and hashes them; no one else needs to know.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from rc_hpc.store import layout
from rc_hpc.store.batch import shape_of
from rc_hpc.store.content import leaf_hash
from rc_hpc.store.part_file import PartFile
from rc_hpc.store.parts import PartStore
from rc_hpc.store.rows import RowMap
from rc_hpc.store.schema import TEXT, Column

#: Bytes of a block in memory, about; a column is never cut, so that it may be more.
BLOCK_BYTES = 1 << 23
#: Bytes that are copied at once.
_PIECE = 1 << 23


@dataclass(frozen=True)
class Block:
    """Rows `start` to `stop` of columns of one table; `table` is '' for the main columns."""

    table: str
    columns: tuple[Column, ...]
    start: int
    stop: int

    def path_of(self, column: Column) -> str:
        """Dataset of one of its columns."""
        return f"{self.table}/{column.path}" if self.table else column.path


@dataclass
class Made:
    """What was made of one column of a block.

    Attributes
    ----------
    path
        Dataset.
    chunks
        First row and compressed bytes of each chunk, or what stands for them; none where `texts`
        are.
    leaves
        SHA-256 of each leaf.
    texts
        First row and texts as UTF-8 of a column whose texts have no common length.
    """

    path: str
    chunks: list[tuple[int, bytes | memoryview]] = field(default_factory=list)
    leaves: list[bytes] = field(default_factory=list)
    texts: tuple[int, list[bytes]] | None = None


class Told(NamedTuple):
    """What others must know of one column of a block, see `Made`: of a chunk its row and bytes."""

    path: str
    chunks: list[tuple[int, int]]
    leaves: list[bytes]
    texts: tuple[int, list[bytes]] | None


def blocks_of(store: PartStore, rows: RowMap) -> list[Block]:
    """All blocks, table by table, and in each a few columns after the other."""
    tables = [("", store.schema.main, rows.n)]
    for table, columns in store.schema.children.items():
        tables.append((table, columns, int(rows.offsets[table][-1])))
    return [
        Block(table, group, start, min(start + layout.CHUNK_ROWS, n))
        for table, columns, n in tables
        for group in _groups(store, rows, table, columns)
        for start in range(0, n, layout.CHUNK_ROWS)
    ]


def _groups(
    store: PartStore, rows: RowMap, table: str, columns: tuple[Column, ...]
) -> list[tuple[Column, ...]]:
    """Columns of a table, so many together as a block may hold."""
    groups: list[tuple[Column, ...]] = []
    for column in columns:
        more = (*groups[-1], column) if groups else (column,)
        if groups and block_bytes(store, rows, Block(table, more, 0, layout.CHUNK_ROWS)) <= (
            BLOCK_BYTES
        ):
            groups[-1] = more
        else:
            groups.append((column,))
    return groups


def block_bytes(store: PartStore, rows: RowMap, block: Block) -> int:
    """Bytes of the rows of a block in memory, about."""
    size = 0
    for column in block.columns:
        values = int(np.prod(shape_of(column, 1, store.dims)))
        text = rows.lengths.get(block.path_of(column), 1) or 4 * layout.TEXT_BYTES
        size += values * (text if column.dtype == TEXT else column.numpy_dtype.itemsize)
    return size * (block.stop - block.start)


class Folder:
    """Makes blocks.

    Parameters
    ----------
    store, rows
        The parts, and where their rows go.
    memory
        Bytes of rows that are gathered at once; a block at least.
    """

    def __init__(self, store: PartStore, rows: RowMap, memory: int):
        self.store, self.rows, self.memory = store, rows, memory

    def make(self, blocks: Sequence[Block]) -> Iterator[list[Made]]:
        """The columns of each block, in the order of the blocks."""
        at = 0
        while at < len(blocks):
            group = [blocks[at]]
            for block in blocks[at + 1 :]:
                whole = replace(group[0], stop=block.stop)
                if replace(block, start=whole.start) != whole or block.start != group[-1].stop:
                    break
                if block_bytes(self.store, self.rows, whole) > self.memory:
                    break
                group.append(block)
            at += len(group)
            yield from self._group(group)

    def _group(self, group: list[Block]) -> Iterator[list[Made]]:
        whole = replace(group[0], stop=group[-1].stop)
        columns = {whole.path_of(column): column for column in whole.columns}
        gathered = self._gather(whole.table, whole.start, whole.stop, columns)
        for block in group:
            own = slice(block.start - whole.start, block.stop - whole.start)
            yield [
                self._made(path, column, gathered[path][own], block)
                for path, column in columns.items()
            ]

    def _gather(
        self, table: str, start: int, stop: int, columns: dict[str, Column]
    ) -> dict[str, np.ndarray]:
        """Rows of all columns of a table, texts in fixed-length bytes or as objects."""
        rows = self.rows
        values: dict[str, np.ndarray] = {}
        for path, column in columns.items():
            dtype = column.numpy_dtype
            if column.dtype == TEXT:
                length = rows.lengths.get(path, 1)
                dtype = np.dtype(f"S{length}" if length else object)
            values[path] = np.empty(shape_of(column, stop - start, self.store.dims), dtype)
        if table:
            offsets = rows.offsets[table]
            first = int(np.searchsorted(offsets, start, "right")) - 1
            last = int(np.searchsorted(offsets, stop, "left"))
            main = np.arange(first, last)
        else:
            main = np.arange(start, stop)
        for number, own in rows.by_part(main):
            file, at = rows.places[number]
            with PartFile(self.store.folder / file, at) as part:
                source = rows.at[main[own]].astype(np.int64)
                target = own
                if table:
                    source, target, owner = self._children(
                        part, table, main[own], source, start, stop
                    )
                for path, column in columns.items():
                    if table and column.path == "structure":
                        values[path][target] = owner
                    elif values[path].dtype == object:
                        values[path][target] = part.raw(path)[source].tolist()
                    else:
                        values[path][target] = part.raw(path)[source]
        for path in columns:
            for row, value in rows.patches.get(path, {}).items():
                if start <= row < stop:
                    values[path][row - start] = value.encode() if isinstance(value, str) else value
        return values

    def _children(
        self,
        part: PartFile,
        table: str,
        main: np.ndarray,
        source: np.ndarray,
        start: int,
        stop: int,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of a child table that belong to these main rows: in the part, here, and whose."""
        offsets = self.rows.offsets[table]
        first = np.searchsorted(part.raw(f"{table}/structure"), source)
        sizes = offsets[main + 1] - offsets[main]
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        target = np.repeat(offsets[main], sizes) + within - start
        inside = (target >= 0) & (target < stop - start)
        here = np.repeat(first, sizes) + within
        return here[inside], target[inside], np.repeat(main, sizes)[inside]

    def _made(self, path: str, column: Column, values: np.ndarray, block: Block) -> Made:
        made = Made(path)
        n = self.rows.n if not block.table else int(self.rows.offsets[block.table][-1])
        step = layout.chunk_rows(column, values.shape)
        whole = min(step, n)
        each_its_length = values.dtype.hasobject
        if each_its_length:
            texts = values.ravel().tolist()
            made.texts = (block.start, texts)
        for first in range(0, len(values), step):
            piece = values[first : first + step]
            if each_its_length:
                piece = np.array(piece.ravel().tolist() or np.empty(0, "S1"), "S")
            made.leaves.append(leaf_hash(piece, piece.dtype))
            if each_its_length or 0 in values.shape:
                continue
            data = piece.tobytes()
            data += bytes(piece[:1].nbytes * (whole - len(piece)))
            made.chunks.append((block.start + first, zlib.compress(data, layout.GZIP_LEVEL)))
        return made


class Spill:
    """A rank's own file of the chunks that it has made, until it is known where they belong."""

    def __init__(self, path: Path):
        self.path = path

    def write(self, folder: Folder, blocks: Sequence[Block]) -> list[list[Told]]:
        """Make blocks and write their chunks; what is to be told of each block's columns."""
        with open(self.path, "xb") as file:
            return [self._write(file, columns) for columns in folder.make(blocks)]

    @staticmethod
    def _write(file: IO[bytes], columns: list[Made]) -> list[Told]:
        for one in columns:
            file.writelines(data for _, data in one.chunks)
        return [
            Told(
                one.path,
                [(row, len(data)) for row, data in one.chunks],
                one.leaves,
                one.texts,
            )
            for one in columns
        ]

    def place(self, target: Path, sizes: np.ndarray, places: np.ndarray) -> None:
        """Write the chunks into a file, each to its place; they are on the disk then.

        Parameters
        ----------
        target
            A file in which no one else writes to these places.
        sizes, places : (n,) int64
            Bytes of each chunk, and its first byte in `target`.
        """
        if not len(places):
            return  # of few rows some ranks have no chunk
        # Chunks that follow each other there too are one piece, but not one of any length.
        ends = places + sizes
        apart = np.flatnonzero(places[1:] != ends[:-1]) + 1
        starts = np.cumsum(sizes) - sizes
        with open(self.path, "rb") as file, open(target, "r+b", buffering=0) as into:
            for first, last in pairwise([0, *apart.tolist(), len(places)]):
                file.seek(int(starts[first]))
                into.seek(int(places[first]))
                left = int(sizes[first:last].sum())
                while left:
                    piece = memoryview(file.read(min(left, _PIECE)))
                    left -= len(piece)
                    while piece:
                        piece = piece[into.write(piece) :]
            os.fsync(into.fileno())
