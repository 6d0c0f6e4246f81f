"""One new file that many ranks write: each its own chunks, one of them all else.

That one lets HDF5 place all chunks, with placeholders that are not written, and so writes the
whole file but for them. Then each rank copies its chunks from its spill to their places, no two
into the same bytes. A rank that dies leaves an unfinished file under a name of its own, which does
not count; what the parts hold is not touched.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rc_hpc.core.errors import RcError
from rc_hpc.core.files import appear, disk_errors
from rc_hpc.store.files import (
    NewFile,
    hashes_of,
    seal_of,
    sealed,
    state_of,
    trust,
    unsealed_h5,
    write_seal,
)
from rc_hpc.store.fold import Block, Folder, Made, Spill, Told, block_bytes


class Ranks(Protocol):
    """The ranks that merge together; all of them call `merge`."""

    rank: int
    size: int

    def bcast(self, value: Any, root: int = 0) -> Any:
        """`value` of one rank, on all."""

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        """All ranks' values on one."""

    def allgather(self, value: Any) -> list[Any]:
        """All ranks' values on all."""


class _Alone:
    rank, size = 0, 1

    def bcast(self, value: Any, root: int = 0) -> Any:
        return value

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        return [value]

    def allgather(self, value: Any) -> list[Any]:
        return [value]


ALONE = _Alone()


def write_together(
    output: Path,
    folder: Folder,
    blocks: Sequence[Block],
    fill: Callable[[NewFile, Iterable[list[Made]]], str],
    ranks: Ranks,
) -> str:
    """Make blocks and write the file that holds them; all ranks call it together.

    Parameters
    ----------
    output
    folder
        Makes the blocks.
    blocks
        All, in the order in which `fill` gets them.
    fill
        Writes a file from the columns of all blocks, and gives its content hash; one rank calls it.
    ranks

    Raises
    ------
    RcError
        On all ranks, where the disk of one is full.
    """
    first, last = _shares(folder, blocks, ranks.size)[ranks.rank]
    spill = Spill(folder.store.folder / f"{ranks.rank}.spill")
    with contextlib.ExitStack() as stack:
        stack.callback(spill.path.unlink, missing_ok=True)
        told = each(ranks, spill.path, lambda: spill.write(folder, blocks[first:last]))
        gathered = ranks.gather(told) or []
        # The file gets its name when this is closed.
        named = stack.enter_context(contextlib.ExitStack())

        def place() -> tuple[Path, str, int, list[np.ndarray]]:
            with disk_errors(output):
                temporary = named.enter_context(appear(output))
                with unsealed_h5(temporary) as h5:
                    digest = fill(h5, placeholders(h5, chain.from_iterable(gathered)))
                ends = np.cumsum([len(sizes_of(own)) for own in gathered])
                absent = np.array(h5.sink.absent, np.int64)
                return temporary, digest, temporary.stat().st_size, np.split(absent, ends[:-1])

        temporary, digest, size, places = together(ranks, place)
        sizes = np.array(sizes_of(told), np.int64)
        each(ranks, temporary, lambda: spill.place(temporary, sizes, places[ranks.rank]))
        # Each rank hashes what it has just written: it need not come from the disk again.
        begins = [int(own[0]) if len(own) else 0 for own in places]
        bounds = [0, *np.maximum.accumulate(begins)[1:].tolist(), size]
        own = bounds[ranks.rank : ranks.rank + 2]
        hashes = ranks.gather(each(ranks, temporary, lambda: _hashes(temporary, size, *own)))

        def end() -> None:
            with disk_errors(output), open(temporary, "r+b") as file:
                write_seal(file, b"".join(hashes or []))
            named.close()

        together(ranks, end)
    return str(digest)


def check_together(path: Path, ranks: Ranks) -> None:
    """Take a file whose bytes are what was written for checked, each rank reading its share.

    Of any other nothing is told here: who opens it looks itself.
    """
    state, end, seal = together(ranks, lambda: _sealed(path))
    own = [end * (ranks.rank + k) // ranks.size for k in range(2)]
    hashes = ranks.gather(each(ranks, path, lambda: _hashes(path, end, *own)))
    if together(ranks, lambda: seal == seal_of(b"".join(hashes or []))):
        trust(state)


def _sealed(path: Path) -> tuple[tuple[str, int, int], int, bytes]:
    """State of a file, where its seal begins, and the seal."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return state_of(path), *sealed(file, path.stat().st_size)
    return ("", 0, 0), 0, b""


def _shares(folder: Folder, blocks: Sequence[Block], size: int) -> list[tuple[int, int]]:
    """First block of each rank, and the one after its last.

    Neighbours are together, so that few parts are read by several.
    """
    weights = [block_bytes(folder.store, folder.rows, block) for block in blocks]
    before = np.cumsum([0, *weights])
    middle = before[:-1] + np.diff(before) / 2
    owner = middle * size // max(1, before[-1])
    bounds = np.searchsorted(owner, np.arange(size + 1)).tolist()
    return list(pairwise(bounds))


def placeholders(h5: NewFile, told: Iterable[list[Told]]) -> Iterator[list[Made]]:
    """The columns of each block, with placeholders for the chunks that other ranks have."""
    for columns in told:
        yield [
            Made(
                one.path,
                [(row, h5.sink.placeholder(size)) for row, size in one.chunks],
                one.leaves,
                one.texts,
            )
            for one in columns
        ]


def sizes_of(told: Iterable[list[Told]]) -> list[int]:
    """Bytes of all chunks, in order."""
    return [size for columns in told for one in columns for _, size in one.chunks]


def _hashes(path: Path, size: int, start: int, stop: int) -> bytes:
    with open(path, "rb") as file:
        return hashes_of(file, size, start, stop)


def together(ranks: Ranks, function: Callable[[], Any]) -> Any:
    """Result of `function` on rank 0, on all ranks; its RcError is raised on all of them."""
    result = None
    if ranks.rank == 0:
        try:
            result = function()
        except RcError as error:
            result = error
    result = ranks.bcast(result)
    if isinstance(result, RcError):
        raise result
    return result


def each(ranks: Ranks, path: Path, function: Callable[[], Any]) -> Any:
    """Result of `function`, which writes or reads `path`, on each rank.

    An RcError of any of them, or what the disk refused, is raised on all.
    """
    result, error = None, None
    try:
        with disk_errors(path):
            result = function()
    except RcError as fault:
        error = fault
    errors = [one for one in ranks.allgather(error) if one is not None]
    if errors:
        raise errors[0]
    return result
