"""Resampling regimes of a baseline: how its score depends on the split it was read on.

The released study speaks of 446 trials in three regimes and defines none; these are ours:

``redrawn-elements``
    As many elements as the fixed split reserves (those that no training structure holds) are drawn
    anew; structures with one of them are for evaluation, the others for training.
``formula-disjoint``
    Evaluation structures are drawn at random; structures that share a reduced formula with one of
    them are left out of training.
``balanced-subsample``
    The split stays; half of each class's training structures are drawn.

Evaluation sets are balanced: of each class of the fixed evaluation set as many as its rarest has,
drawn without replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rc_hpc.core.errors import RcError

REGIMES = ("redrawn-elements", "formula-disjoint", "balanced-subsample")
#: Draws of elements at most until every class has enough structures on the evaluation side.
_ATTEMPTS = 1_000


@dataclass(frozen=True)
class Pool:
    """All structures, training ones and evaluation ones together.

    Attributes
    ----------
    systems : (n,) str
    formulas : (n,) str
        Reduced formulas.
    elements : (n,) sequence of frozenset of str
    evaluation : (n,) bool
        The fixed split.
    """

    systems: np.ndarray
    formulas: np.ndarray
    elements: Sequence[frozenset[str]]
    evaluation: np.ndarray

    @property
    def per_class(self) -> int:
        """Structures of the rarest class in the fixed evaluation set."""
        return _rarest(self.systems[self.evaluation])

    @property
    def reserved(self) -> frozenset[str]:
        """Elements of evaluation structures that no training structure holds."""
        evaluation, training = (
            frozenset[str]().union(*(self.elements[row] for row in np.flatnonzero(side).tolist()))
            for side in (self.evaluation, ~self.evaluation)
        )
        return evaluation - training


def splits(
    pool: Pool, regime: str, n_trials: int, seed: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training and evaluation rows of each trial, ascending.

    Trial t is drawn from ``default_rng([seed, t])``: a longer series begins with the shorter one.

    Raises
    ------
    RcError
        These structures cannot satisfy the regime.
    """
    for trial in range(n_trials):
        train, evaluation = _DRAW[regime](pool, np.random.default_rng([seed, trial]))
        yield np.sort(train), np.sort(evaluation)


def _redrawn_elements(pool: Pool, rng: np.random.Generator):
    number = len(pool.reserved)
    if not number:
        raise RcError(
            "redrawn-elements: the split reserves no element; there is nothing to draw anew"
        )
    everything = sorted(frozenset().union(*pool.elements))
    for _ in range(_ATTEMPTS):
        reserved = set(rng.choice(everything, number, replace=False))
        held = np.array([not reserved.isdisjoint(elements) for elements in pool.elements])
        evaluation = _balanced(pool, held, pool.per_class, rng)
        if evaluation is not None and not held.all():
            return np.flatnonzero(~held), evaluation
    raise RcError(
        f"redrawn-elements: in {_ATTEMPTS} draws of {number} elements none left "
        f"{pool.per_class} structures of each class for evaluation; give more structures"
    )


def _formula_disjoint(pool: Pool, rng: np.random.Generator):
    evaluation = _balanced(pool, np.ones(len(pool.systems), bool), pool.per_class, rng)
    train = np.flatnonzero(~np.isin(pool.formulas, pool.formulas[evaluation]))
    if not len(train):
        raise RcError(
            "formula-disjoint: every structure shares a formula with an evaluation one; "
            "give more structures"
        )
    return train, evaluation


def _balanced_subsample(pool: Pool, rng: np.random.Generator):
    training = np.flatnonzero(~pool.evaluation)
    per_class = max(1, _rarest(pool.systems[training]) // 2)
    drawn = [
        rng.choice(training[pool.systems[training] == name], per_class, replace=False)
        for name in np.unique(pool.systems[training])
    ]
    return np.concatenate(drawn), np.flatnonzero(pool.evaluation)


def _rarest(systems: np.ndarray) -> int:
    return int(np.unique(systems, return_counts=True)[1].min())


_DRAW: dict[str, Callable] = dict(
    zip(REGIMES, (_redrawn_elements, _formula_disjoint, _balanced_subsample), strict=True)
)


def _balanced(
    pool: Pool, among: np.ndarray, per_class: int, rng: np.random.Generator
) -> np.ndarray | None:
    """Rows of `per_class` structures of each class, or None where some class has too few."""
    rows = []
    for name in np.unique(pool.systems[pool.evaluation]):
        own = np.flatnonzero(among & (pool.systems == name))
        if len(own) < per_class:
            return None
        rows.append(rng.choice(own, per_class, replace=False))
    return np.concatenate(rows)
