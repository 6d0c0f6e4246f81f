"""What a kind computes results of, one row each: packed structures, or what the kind names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.store.batch import Batch
from rc_hpc.store.schema import TEXT, Column


class Source(Protocol):
    """Rows in a fixed order, alike on all ranks; a context manager."""

    @property
    def ids(self) -> list[str]:
        """In row order."""

    @property
    def content(self) -> str:
        """Hash of all that results depend on beside options and code."""

    def __enter__(self) -> Self:
        """Itself, open."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Close it."""

    def __len__(self) -> int:
        """Number of rows."""

    def read(self, name: str) -> np.ndarray:
        """Known values of the column ``structures/NAME``, all rows."""

    def block(self, start: int, stop: int) -> tuple[Batch, Callable[[int], Any]]:
        """Known columns of some rows, and what gives the oracle's input of the i-th of them."""


@dataclass(frozen=True)
class Listed:
    """Rows in memory.

    Attributes
    ----------
    known
        Columns that are known before the work; among them those of `about`.
    items
        What the oracle takes, by row.
    content
        See `Source`.
    """

    known: Batch
    items: Sequence[Any]
    content: str

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __len__(self) -> int:
        return len(self.items)

    @property
    def ids(self) -> list[str]:
        """In row order."""
        return list(map(str, self.known["structures/id"]))

    def read(self, name: str) -> np.ndarray:
        """See `Source`."""
        return self.known[f"structures/{name}"]

    def block(self, start: int, stop: int) -> tuple[Batch, Callable[[int], Any]]:
        """See `Source`."""
        batch = {path: values[start:stop] for path, values in self.known.items()}
        return batch, lambda i: self.items[start + i]


def about(what: str) -> tuple[Column, ...]:
    """Columns with which every kind begins that has a source of its own.

    Parameters
    ----------
    what
        What a row is, with its article: ``a question``.
    """
    noun = what.partition(" ")[2]
    return (
        Column("structures/id", TEXT, "1", f"Identifier of the {noun}.", fill=""),
        Column("structures/duplicate", "i4", "1", "0: every id occurs once."),
        Column("structures/source", TEXT, "1", "File or folder it was read from.", fill=""),
        Column("structures/sha256", TEXT, "1", "SHA-256 of what it was read from.", fill=""),
        Column("structures/status", Status, "1", f"Outcome of the work on {what}."),
        Column(
            "structures/message",
            TEXT,
            "1",
            "What went wrong and what to do; empty where nothing did.",
            fill="",
        ),
    )
