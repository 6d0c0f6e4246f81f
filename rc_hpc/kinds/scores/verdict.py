"""Scores in a sentence or two that a person can quote."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rc_hpc.kinds.scores.counts import ScoreCounts


def verdict(counts: ScoreCounts) -> str:
    """How many crystals are read rightly, with every site, certified, and certified but wrong."""
    ok, rows = counts.ok, counts.rows
    n = int(ok.sum())
    if not n:
        return "No reading was scored."
    right, exact = ok & rows["system_right"][:, 0], rows["sites_exact"]
    certified = ok & rows["certified"]
    wrong = int((certified & ~(right & exact)).sum())
    unscored = counts.n_rows - n
    aside = f"; {unscored} of {counts.n_rows} could not be scored" if unscored else ""
    return (
        f"R2: of {n} crystals {int(right.sum())} are read with the true crystal system at symprec "
        f"{counts.symprecs[0]:g} Å, {int((right & exact).sum())} of them with every site{aside}. "
        f"{int(certified.sum())} readings are certified, {wrong or 'none'} of them wrong."
    )
