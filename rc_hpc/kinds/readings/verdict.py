"""Readings in a sentence or two that a person can quote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rc_hpc.core.vocabulary import ReadStatus

if TYPE_CHECKING:
    from rc_hpc.kinds.readings.counts import ReadingCounts

#: How reading ended, as told behind a number of crystals.
_ENDED = {
    ReadStatus.uncertified: "read but not certified",
    ReadStatus.no_lattice: "without a lattice",
    ReadStatus.no_scale: "without a scale",
    ReadStatus.convention: "drawn by another convention",
    ReadStatus.refused: "refused",
}


def verdict(counts: ReadingCounts) -> str:
    """How many crystals were read, certified, and what became of the others."""
    ok, rows = counts.ok, counts.rows
    certified = int((ok & rows["certified"]).sum())
    ended = [
        (int((ok & ~rows["certified"] & (rows["status"] == code)).sum()), told)
        for code, told in _ENDED.items()
    ]
    ended.append((counts.n_rows - int(ok.sum()), "of pictures that could not be opened"))
    others = ", ".join(f"{n} {told}" for n, told in ended if n)
    pictures = len(counts.views)
    return (
        f"From {pictures} picture{'s' * (pictures != 1)} each, {certified} of {counts.n_rows} "
        "crystals are read and certified: drawn again they give the same pictures, which fix "
        "lattice and sites closely enough for the label. "
        f"{f'The others: {others}.' if others else 'No other is left.'}"
    )
