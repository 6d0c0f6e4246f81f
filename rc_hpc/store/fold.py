"""Chunks of a merged file, made apart from it by any number of ranks.

Chunks lie on one grid for each column, which depends on the column and on the number of rows alone.
A *block* is `layout.CHUNK_ROWS` rows of one table: whole chunks of all of its columns. Who owns a
block gathers its rows from the parts, compresses and hashes them; no one else needs to know.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from rc_hpc.store import layout
from rc_hpc.store.batch import shape_of
from rc_hpc.store.content import leaf_hash
from rc_hpc.store.part_file import PartFile
from rc_hpc.store.parts import PartStore
from rc_hpc.store.rows import RowMap
from rc_hpc.store.schema import TEXT, Column


@dataclass(frozen=True)
class Block:
    """Rows `start` to `stop` of one table; `table` is '' for the main columns."""

    table: str
    start: int
    stop: int


@dataclass
class Made:
    """What was made of one column of a block.

    Attributes
    ----------
    path
        Dataset.
    chunks
        First row and compressed bytes of each chunk; none where `texts` are.
    leaves
        SHA-256 of each leaf.
    texts
        First row and texts as UTF-8 of a column whose texts have no common length.
    """

    path: str
    chunks: list[tuple[int, bytes]] = field(default_factory=list)
    leaves: list[bytes] = field(default_factory=list)
    texts: tuple[int, list[bytes]] | None = None


def blocks_of(store: PartStore, rows: RowMap) -> list[Block]:
    """All blocks, table by table."""
    tables = {"": rows.n} | {table: int(rows.offsets[table][-1]) for table in store.schema.children}
    return [
        Block(table, start, min(start + layout.CHUNK_ROWS, n))
        for table, n in tables.items()
        for start in range(0, n, layout.CHUNK_ROWS)
    ]


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

    def make(self, blocks: list[Block]) -> Iterator[list[Made]]:
        """The columns of each block, in the order of the blocks."""
        at = 0
        while at < len(blocks):
            group = [blocks[at]]
            for block in blocks[at + 1 :]:
                size = self.bytes_of(Block(block.table, group[0].start, block.stop))
                if block.table != group[0].table or block.start != group[-1].stop:
                    break
                if size > self.memory:
                    break
                group.append(block)
            at += len(group)
            yield from self._group(group)

    def _columns(self, table: str) -> tuple[Column, ...]:
        return self.store.schema.children[table] if table else self.store.schema.main

    def _path(self, table: str, column: Column) -> str:
        return f"{table}/{column.path}" if table else column.path

    def bytes_of(self, block: Block) -> int:
        """Bytes of the rows of a block in memory, about."""
        size = 0
        for column in self._columns(block.table):
            values = int(np.prod(shape_of(column, 1, self.store.dims)))
            text = self.rows.lengths.get(self._path(block.table, column), 1)
            text = text or 4 * layout.TEXT_BYTES
            size += values * (text if column.dtype == TEXT else column.numpy_dtype.itemsize)
        return size * (block.stop - block.start)

    def _group(self, group: list[Block]) -> Iterator[list[Made]]:
        table, start, stop = group[0].table, group[0].start, group[-1].stop
        columns = {self._path(table, column): column for column in self._columns(table)}
        gathered = self._gather(table, start, stop, columns)
        for block in group:
            own = slice(block.start - start, block.stop - start)
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
    """A rank's own file of blocks that were made, for the one rank that assembles."""

    def __init__(self, path: Path):
        self.path = path

    def write(self, folder: Folder, blocks: list[tuple[int, Block]]) -> dict[int, int]:
        """Make blocks and write them; where each begins, by its number."""
        begins = {}
        with open(self.path, "xb") as file:
            made = folder.make([block for _, block in blocks])
            for (number, _), columns in zip(blocks, made, strict=True):
                begins[number] = file.tell()
                self._write(file, columns)
        return begins

    @staticmethod
    def _write(file: IO[bytes], columns: list[Made]) -> None:
        told = [
            {
                "path": one.path,
                "chunks": [(row, len(data)) for row, data in one.chunks],
                "leaves": [digest.hex() for digest in one.leaves],
                "texts": None
                if one.texts is None
                else (one.texts[0], [len(text) for text in one.texts[1]]),
            }
            for one in columns
        ]
        line = json.dumps(told).encode()
        file.write(len(line).to_bytes(8, "little") + line)
        for one in columns:
            file.writelines(data for _, data in one.chunks)
            if one.texts:
                file.writelines(one.texts[1])

    @staticmethod
    def read(file: IO[bytes], begin: int) -> list[Made]:
        """The columns of the block that begins there."""
        file.seek(begin)
        told = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        columns = []
        for one in told:
            made = Made(one["path"], leaves=[bytes.fromhex(digest) for digest in one["leaves"]])
            made.chunks = [(first, file.read(size)) for first, size in one["chunks"]]
            if one["texts"]:
                first, lengths = one["texts"]
                pieces: list[bytes] = [file.read(length) for length in lengths]
                made.texts = (first, pieces)
            columns.append(made)
        return columns
