"""Two sides of a sample that share no id and no composition.

What a search sees, and what its result is judged on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Sequence

import numpy as np

from rc_hpc.core.errors import UsageError
from rc_hpc.core.vocabulary import Side


def key_of(text: str, seed: int) -> float:
    """Number in [0, 1) that depends on a text and a seed only."""
    digest = hashlib.blake2b(f"{seed}\n{text}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2.0**64


def split_sides(
    ids: Sequence[str] | np.ndarray,
    formulas: Sequence[str] | np.ndarray,
    usable: np.ndarray,
    n_atoms: np.ndarray,
    held_out: float | Container[str],
    training: int,
    sample: int,
    largest: int,
    seed: int,
) -> np.ndarray:
    """Side of every structure, (n,) uint8, codes of `Side`.

    Which structures are taken follows from keyed hashes of ids and formulas, not from their order.

    Parameters
    ----------
    ids, formulas : (n,)
        Ids and reduced formulas; all structures of a formula are on one side.
    usable : (n,) bool
        The others take no part.
    n_atoms : (n,) int
        Atoms of the conventional cell.
    held_out
        Share of the formulas that are held out, or the ids of the structures that are; with ids,
        structures of their formulas are not searched on either.
    training, sample
        Most structures of the training side, and of those among them that the search looks at.
    largest
        Atoms of a structure that the search looks at, at most.

    Raises
    ------
    UsageError
        One side is empty.
    """
    usable = np.asarray(usable, bool)
    if isinstance(held_out, float):
        out = usable & np.array([key_of(formula, seed) < held_out for formula in formulas], bool)
    else:
        out = usable & np.array([id in held_out for id in ids], bool)
    sides = np.where(out, Side.held_out, Side.unused).astype(np.uint8)
    known = {formula for formula, one in zip(formulas, out, strict=True) if one}
    free = [k for k in np.flatnonzero(usable & ~out).tolist() if formulas[k] not in known]
    free.sort(key=lambda k: key_of(f"id\n{ids[k]}", seed))
    sides[free[:training]] = Side.training
    seen = [k for k in free[:training] if n_atoms[k] <= largest][:sample]
    sides[seen] = Side.searched
    for what, there in (
        ("held out", out.any()),
        (f"for the search (of up to {largest} atoms, of no formula that is held out)", bool(seen)),
    ):
        if not there:
            raise UsageError(
                f"no structure is left {what}: give more structures, or another --held-out"
            )
    return sides
