"""Splits by composition: reserved elements occur in evaluation structures only.

Draws do not drift: which structures are taken follows from a keyed hash of each id, not from the
order or the number of the others. A database that has grown gives the same draw but for what its
new structures displace.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Candidate:
    """A structure that may be drawn.

    Attributes
    ----------
    id, system
    formula
        Reduced formula.
    elements
        Sorted symbols.
    """

    id: str
    system: str
    formula: str
    elements: tuple[str, ...]


@dataclass(frozen=True)
class Caps:
    """How much is drawn at most; 0: no limit.

    Attributes
    ----------
    train, evaluation
        Structures of a crystal system on each side.
    formula
        Structures of one formula.
    """

    train: int = 0
    evaluation: int = 0
    formula: int = 0


@lru_cache(maxsize=1 << 16)
def reduced(formula: str) -> str:
    """The formula reduced, its elements in one order, so that two spellings are one text."""
    from pymatgen.core import Composition

    try:
        return Composition(formula).reduced_formula
    except ValueError as error:
        raise UsageError(f"{formula!r} is no chemical formula ({error})") from error


def rank(seed: int, id_: str) -> bytes:
    """Place of an id in the draw of this seed."""
    return hashlib.blake2b(
        id_.encode(errors="surrogatepass"), key=seed.to_bytes(16, "little"), digest_size=16
    ).digest()


def draw_reserved(candidates: Iterable[Candidate], count: int, seed: int) -> tuple[str, ...]:
    """Elements to reserve, drawn from those that occur; sorted."""
    occurring = {element for candidate in candidates for element in candidate.elements}
    if not 0 < count < len(occurring):
        raise UsageError(
            f"--reserve {count}: {len(occurring)} elements occur; give fewer, at least 1"
        )
    return tuple(sorted(sorted(occurring, key=lambda element: rank(seed, element))[:count]))


def build(
    candidates: Sequence[Candidate],
    reserved: Sequence[str],
    seed: int,
    caps: Caps,
    prior_ids: frozenset[str] = frozenset(),
    prior_formulas: frozenset[str] = frozenset(),
) -> tuple[list[Candidate], list[Candidate]]:
    """Training and evaluation structures.

    A structure with a reserved element can only be evaluated, one without only be trained on; what
    was used before (`prior`), by id or formula, is left out. Each side is drawn system by system,
    and sorted by system and draw.
    """
    sides: dict[bool, list[Candidate]] = {False: [], True: []}
    wanted, limits = set(reserved), {False: caps.train, True: caps.evaluation}
    taken: Counter[tuple[bool, str]] = Counter()
    by_formula: Counter[str] = Counter()
    for candidate in sorted(
        candidates, key=lambda c: (CRYSTAL_SYSTEMS.index(c.system), rank(seed, c.id))
    ):
        side = bool(wanted & set(candidate.elements))
        if candidate.id in prior_ids or candidate.formula in prior_formulas:
            continue
        if limits[side] and taken[side, candidate.system] >= limits[side]:
            continue
        if caps.formula and by_formula[candidate.formula] >= caps.formula:
            continue
        taken[side, candidate.system] += 1
        by_formula[candidate.formula] += 1
        sides[side].append(candidate)
    return sides[False], sides[True]


@dataclass(frozen=True)
class Leakage:
    """What the sides of a split share.

    Attributes
    ----------
    train_inter_eval
        Formulas on both sides.
    train_inter_prior, eval_inter_prior
        Formulas that were used before.
    ids_inter_prior
        Ids of either side that were used before.
    train_reserved, eval_unreserved
        Training structures with a reserved element, evaluation structures without one.
    """

    train_inter_eval: tuple[str, ...]
    train_inter_prior: tuple[str, ...]
    eval_inter_prior: tuple[str, ...]
    ids_inter_prior: tuple[str, ...]
    train_reserved: tuple[str, ...]
    eval_unreserved: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing is shared and every element is on its side."""
        return not any(getattr(self, name) for name in self.__dataclass_fields__)


def audit(
    train: Sequence[Candidate],
    evaluation: Sequence[Candidate],
    reserved: Sequence[str],
    prior_ids: frozenset[str] = frozenset(),
    prior_formulas: frozenset[str] = frozenset(),
) -> Leakage:
    """Leakage of a split; without reserved elements nothing is said of them."""
    in_train, in_eval = ({candidate.formula for candidate in side} for side in (train, evaluation))
    wanted = set(reserved)
    return Leakage(
        tuple(sorted(in_train & in_eval)),
        tuple(sorted(in_train & prior_formulas)),
        tuple(sorted(in_eval & prior_formulas)),
        tuple(sorted({c.id for c in (*train, *evaluation)} & prior_ids)),
        tuple(c.id for c in train if wanted & set(c.elements)),
        tuple(c.id for c in evaluation if wanted and not wanted & set(c.elements)),
    )


def leakage_frame(leakage: Leakage) -> pd.DataFrame:
    """One row for each kind: count and the first few."""
    import pandas as pd

    told = {
        "train_inter_eval": "formulas on both sides",
        "train_inter_prior": "training formulas used before",
        "eval_inter_prior": "evaluation formulas used before",
        "ids_inter_prior": "structures used before",
        "train_reserved": "training structures with a reserved element",
        "eval_unreserved": "evaluation structures without a reserved element",
    }
    rows = [
        {
            "leakage": text,
            "number": len(getattr(leakage, name)),
            "first": ", ".join(getattr(leakage, name)[:5]),
        }
        for name, text in told.items()
    ]
    return pd.DataFrame(rows)
