"""A source as a countable, repeatable stream of items."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Self

from rc_hpc.core.errors import UsageError
from rc_hpc.core.files import parts_folder
from rc_hpc.core.text import storable
from rc_hpc.engine.options import SourceOptions
from rc_hpc.engine.selection import Selection
from rc_hpc.structures.poscar import read_poscar
from rc_hpc.structures.record import Item
from rc_hpc.structures.sources import iter_items, told_strays


class Listing:
    """A source as a countable, repeatable stream of items.

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
    """

    def __init__(
        self,
        sources: Iterable[str],
        chosen: Selection = Selection(),  # noqa: B008 - frozen
        format: str | None = None,
        seed: int = 0,
        outputs: Iterable[Path] = (),
        species: tuple[str, ...] = (),
    ):
        self.sources, self.chosen = tuple(sources), chosen
        self.format, self.seed, self.species = format, seed, species
        self._places: frozenset[int] | None = None
        self._outputs = tuple(
            os.path.abspath(path) for output in outputs for path in (output, parts_folder(output))
        )

    @classmethod
    def of(cls, options: SourceOptions, *outputs: Path) -> Self:
        """The source that options name, without the run's own outputs.

        Raises
        ------
        UsageError
            A source is not there, or the list of ids cannot be read.
        """
        listing = cls(
            options.source,
            options.chosen,
            options.format,
            options.seed,
            outputs,
            options.species,
        )
        iter(listing)  # a source that is not there is told before anything else
        return listing

    def __iter__(self) -> Iterator[Item]:
        #: Files of folders that are passed over, by ending, once all items are listed.
        self.strays: Counter[str] = Counter()
        items = self._all(self.strays)
        return self._meant(items) if self.chosen.given else items

    def _all(self, strays: Counter[str] | None = None) -> Iterator[Item]:
        listed = iter_items(self.sources, format=self.format, seed=self.seed, strays=strays)
        return (self._named(item) for item in listed if not self._ours(item.source))

    def _meant(self, items: Iterator[Item]) -> Iterator[Item]:
        if self._places is None:
            ids = [storable(item.id) for item in self._all()]
            self._places = frozenset(self.chosen.places(ids, ", ".join(self.sources)))
        for place, item in enumerate(items):
            if place in self._places:
                yield item

    def _named(self, item: Item) -> Item:
        """The item, its elements named where its file may not name them."""
        if not self.species or item.read is not read_poscar:
            return item
        return replace(item, read=functools.partial(read_poscar, species=self.species))

    def _ours(self, source: str) -> bool:
        path = os.path.abspath(source)
        return any(path == own or path.startswith(f"{own}{os.sep}") for own in self._outputs)

    def count(self) -> int:
        """Number of items."""
        return self._some(sum(1 for _ in self))

    def measure(self) -> tuple[int, str, str]:
        """Number of items, a hash of their ids and bytes in their order, what was passed over.

        Work under way is told apart by ids and places in the stream: it cannot go on
        where these have changed, and must not where the content has.
        """
        count, digest = 0, hashlib.sha256(",".join(self.species).encode())
        for count, item in enumerate(self, 1):  # noqa: B007 - the last count is wanted
            try:
                content = hashlib.sha256(item.blob()).hexdigest()
            except OSError:
                content = ""  # its row will say why
            digest.update(json.dumps([item.id, content]).encode())
        told = told_strays(self.strays) if self.strays else ""
        return self._some(count), digest.hexdigest(), told

    def _some(self, count: int) -> int:
        if count == 0:
            raise UsageError(f"no structures in {', '.join(self.sources)}")
        return count
