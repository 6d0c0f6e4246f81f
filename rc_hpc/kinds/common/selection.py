"""Which structures of a source are meant: by name, the first, or a sample."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rc_hpc.core.errors import UsageError
from rc_hpc.core.ids import IDS, asked_ids
from rc_hpc.core.options import Options, at_least, opt
from rc_hpc.core.text import storable

log = logging.getLogger("rc_hpc")

_NAMED = 5


def _sample(flag: str, text: str) -> None:
    if not re.fullmatch(r"[1-9]\d{0,17}(:\d{1,18})?", text, re.ASCII):
        raise UsageError(f"{flag} {text}: write it as N or N:SEED, whole numbers, such as 100:7")


@dataclass(frozen=True)
class Selection(Options):
    """Which structures of a source are meant.

    Attributes
    ----------
    ids, exclude
        Names, or a file of them.
    first
        Number of those that come first.
    sample
        ``N`` or ``N:SEED``.
    """

    ids: str | None = opt(
        None,
        IDS,
        metavar="IDS|FILE",
        recorded=False,
    )
    exclude: str | None = opt(
        None, "all but these, given in the same way", metavar="IDS|FILE", recorded=False
    )
    first: int | None = opt(
        None,
        "of what is left the first N, in the order of the source (of a packed file: by id)",
        parse=int,
        metavar="N",
        check=at_least(1),
        recorded=False,
    )
    sample: str | None = opt(
        None,
        "of what is left N by lot; the lots follow from ids and SEED (0), not from their order",
        metavar="N[:SEED]",
        check=_sample,
        recorded=False,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first and self.sample:
            raise UsageError("--first and --sample contradict each other: give one")

    @property
    def given(self) -> bool:
        """Whether anything is asked for."""
        return any((self.ids, self.exclude, self.first, self.sample))

    def places(self, ids: Sequence[str], where: str) -> list[int]:
        """Places of the structures that are meant, ascending.

        Parameters
        ----------
        ids
            Of all structures of the source, in their order.
        where
            The source, for messages.

        Raises
        ------
        UsageError
            An id of ``--ids`` is not there, or nothing is left.
        """
        known = set(ids)
        left = list(range(len(ids)))
        if self.ids is not None:
            wanted = {storable(id_) for id_ in asked_ids(self.ids, "--ids")}
            if missing := sorted(wanted - known):
                shown = ", ".join(missing[:_NAMED]) + (", ..." if len(missing) > _NAMED else "")
                raise UsageError(
                    f"--ids: {len(missing)} of {len(wanted)} are not in {where}: {shown}; check "
                    f"their spelling (ids there are such as {ids[0]!r}{_no_file(self.ids)})"
                    if ids
                    else f"no structures in {where}"
                )
            left = [place for place in left if ids[place] in wanted]
        if self.exclude is not None:
            without = {storable(id_) for id_ in asked_ids(self.exclude, "--exclude")}
            if strange := sorted(without - known):
                log.warning("--exclude: %d are not in %s: %s", len(strange), where, strange[0])
            left = [place for place in left if ids[place] not in without]
        if self.first is not None:
            left = left[: self.first]
        if self.sample is not None:
            n, _, seed = self.sample.partition(":")
            left = sorted(sorted(left, key=lambda place: _lot(ids[place], seed))[: int(n)])
        if not left:
            raise UsageError(f"nothing of {where} is left: exclude less")
        return left


def _no_file(asked: str) -> str:
    """That what was asked for is no file, where one may have been meant."""
    named = "," not in asked and not Path(asked).is_file()
    return "; nor is there a file of that name" if named else ""


def _lot(id_: str, seed: str) -> bytes:
    return hashlib.blake2b(f"{int(seed or 0)}\n{id_}".encode(), digest_size=16).digest()
