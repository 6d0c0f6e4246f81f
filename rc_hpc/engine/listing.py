"""A source as items by number, found together by all ranks."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Self

import numpy as np

from rc_hpc.core.apart import Lost, alone
from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.files import parts_folder
from rc_hpc.core.text import storable
from rc_hpc.engine.options import SourceOptions
from rc_hpc.kinds.common.selection import Selection
from rc_hpc.parallel.launch import Comm, SerialComm, each, on_root
from rc_hpc.structures.molecules import G2, as_molecule
from rc_hpc.structures.poscar import read_poscar
from rc_hpc.structures.record import Item
from rc_hpc.structures.shelves import slices, told_strays
from rc_hpc.structures.sources import shelves_of


class Listing:
    """A source as items by number.

    Parameters
    ----------
    sources, format, seed
        See `rc_hpc.structures.sources.iter_items`.
    chosen
        Which of the structures.
    outputs
        Files of this run, which are no part of a source although they may lie in its folder.
    species
        Elements of POSCAR files that name none.
    molecules
        Whether XYZ files are read as molecules.
    """

    def __init__(
        self,
        sources: Iterable[str],
        chosen: Selection = Selection(),  # noqa: B008 - frozen
        format: str | None = None,
        seed: int = 0,
        outputs: Iterable[Path] = (),
        species: tuple[str, ...] = (),
        molecules: bool = False,
    ):
        if not molecules and G2 in tuple(sources):
            raise UsageError(
                "g2 are molecules, which have no lattice: this command is about crystals"
            )
        self.molecules = molecules
        self.sources, self.chosen = tuple(sources), chosen
        self.format, self.seed, self.species = format, seed, species
        self._outputs = tuple(
            os.path.abspath(path) for output in outputs for path in (output, parts_folder(output))
        )
        self._shelves = shelves_of(self.sources, format=format, seed=seed, skip=self._ours)
        self._starts = [0]
        self._places: np.ndarray | None = None

    @classmethod
    def of(cls, options: SourceOptions, *outputs: Path, molecules: bool = False) -> Self:
        """The source that options name, without the run's own outputs.

        Raises
        ------
        UsageError
            A source is not there, or the list of ids cannot be read.
        """
        # a source that is not there is told before anything else
        return cls(
            options.source,
            options.chosen,
            options.format,
            options.seed,
            outputs,
            options.species,
            molecules,
        )

    def _named(self, item: Item) -> Item:
        """The item as it is read here: its elements named where its file may not name them."""
        if self.molecules:
            return as_molecule(item)
        if not self.species or item.read is not read_poscar:
            return item
        return replace(item, read=functools.partial(read_poscar, species=self.species))

    def _ours(self, source: str) -> bool:
        path = os.path.abspath(source)
        return any(path == own or path.startswith(f"{own}{os.sep}") for own in self._outputs)

    def count(self) -> int:
        """Number of items."""
        return self.measure(SerialComm())[0]

    def measure(
        self, comm: Comm, stopped: Callable[[], bool] = lambda: False
    ) -> tuple[int, str, str]:
        """Number of items, a hash of what lists them, what was passed over; all ranks together.

        From then on `items` gives any of them. Files are scanned, and databases asked, in processes
        that may be lost. What the items hold is not read: see `changed`.

        Raises
        ------
        UsageError
            There are none.
        RcError
            A parser crashed on the source.
        Cut
            `stopped` said so.
        """
        for shelf in self._shelves:
            begun = on_root(comm, lambda shelf=shelf: self._alone(shelf.begin, stopped=stopped))
            part = each(
                comm,
                lambda shelf=shelf, begun=begun: self._alone(
                    shelf.part, begun, comm.rank, comm.size, stopped=stopped
                ),
            )
            shelf.join(begun, comm.allgather(part))
        self._starts = [0, *accumulate(shelf.count for shelf in self._shelves)]
        digest = hashlib.sha256(",".join(self.species).encode())
        for shelf in self._shelves:
            digest.update(json.dumps([shelf.count, shelf.digest]).encode())
        if self.chosen.given:
            self._places, names = self._choose(comm, stopped)
            digest.update(json.dumps(names).encode())
        strays = sum((shelf.strays for shelf in self._shelves), Counter[str]())
        return self._some(len(self)), digest.hexdigest(), told_strays(strays) if strays else ""

    def _alone(self, function: Callable[..., Any], *arguments: Any, stopped: Any) -> Any:
        try:
            return alone(function, *arguments, stopped=stopped)
        except Lost as lost:
            raise RcError(
                f"{', '.join(self.sources)}: {lost} while its structures were listed: list "
                "its files in parts to find the one"
            ) from lost

    def _choose(self, comm: Comm, stopped: Callable[[], bool]) -> tuple[np.ndarray, list[str]]:
        """Places and ids of the items that are meant; each rank looks at its share."""
        low, high = (self._starts[-1] * k // comm.size for k in (comm.rank, comm.rank + 1))
        gathered = comm.gather(
            each(comm, lambda: self._alone(self._ids, low, high, stopped=stopped))
        )

        def chosen() -> tuple[np.ndarray, list[str]]:
            ids = list(chain.from_iterable(gathered or []))
            places = self.chosen.places(ids, ", ".join(self.sources))
            return np.array(places, np.int64), [ids[place] for place in places]

        found: tuple[np.ndarray, list[str]] = on_root(comm, chosen)
        return found

    def _ids(self, low: int, high: int) -> list[str]:
        return [storable(item.id) for item in self._range(low, high)]

    def __len__(self) -> int:
        return self._starts[-1] if self._places is None else len(self._places)

    def __iter__(self) -> Iterator[Item]:
        """All items, in one process."""
        return self.items(0, len(self) or self.count())

    def items(self, start: int, stop: int) -> Iterator[Item]:
        """Items `start` to `stop`, once the listing is measured; quickest in ascending order."""
        if self._places is None:
            yield from self._range(start, stop)
            return
        for row in self._places[start:stop].tolist():
            yield from self._range(row, row + 1)

    def _range(self, start: int, stop: int) -> Iterator[Item]:
        for number, low, high in slices(self._starts, start, stop):
            yield from map(self._named, self._shelves[number].items(low, high))

    def _some(self, count: int) -> int:
        if count == 0:
            raise UsageError(f"no structures in {', '.join(self.sources)}")
        return count
