"""Whether the explanations of a molecule's pictures have one point group.

As in `rc_hpc.oracle.uniqueness`, with no lattice: there is no list of operations to ask a solver
about, so that all explanations are counted up and labelled, as far as the budget goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from rc_hpc.core.vocabulary import Known, Undecided, Uniqueness
from rc_hpc.oracle.decision import Decision
from rc_hpc.oracle.explanations import Puzzle
from rc_hpc.oracle.systems import Systems
from rc_hpc.oracle.uniqueness import Cell
from rc_hpc.symmetry.point_groups import LINEAR, SCHOENFLIES

#: Operations of the groups without an axis to count by; linear ones, and a single atom's, have more
#: than any other.
_ORDERS = {"C1": 1, "Cs": 2, "Ci": 2, "T": 12, "Td": 24, "Th": 24, "O": 24, "Oh": 48}
_ORDERS |= {"I": 60, "Ih": 120, **dict.fromkeys((*LINEAR, "Kh"), 1000)}
#: Columns of a crystal system, and of a molecule's point group in its place.
GROUPS = {
    "maximal_system": "maximal_group",
    "random_system": "random_group",
    "system": "group",
    "best_system": "best_group",
}


def names_of(molecules: bool) -> dict[str, str]:
    """How columns of systems are named in a file of molecules."""
    return GROUPS if molecules else {}


def order_of(symbol: str) -> int:
    """Number of operations of a point group; infinite ones count 1000.

    Cn has n, Cnv, Cnh and Dn have 2n, Dnh and Dnd have 4n; Sn has n.
    """
    if symbol in _ORDERS:
        return _ORDERS[symbol]
    letter, axis, plane = re.fullmatch(r"([CSD])(\d+)([vhd]?)", symbol).groups()  # type: ignore[union-attr]
    return int(axis) * (2 if letter == "D" else 1) * (2 if plane else 1)


class _Groups(Systems):
    """Point groups of choices of places, each found once, by their label alone."""

    def __init__(self, puzzle: Puzzle, label: Callable[[np.ndarray], Any], own: Any):
        no_lattice: Any = None
        super().__init__(puzzle, no_lattice, label, own)

    def look(self, chosen: np.ndarray) -> None:
        """There are no operations to tell them by."""


class MoleculeCell(Cell):
    """One molecule and view subset under all policies; what is a system there is a group's code."""

    def _named(self, label: Callable[[np.ndarray], Any], metric: Any) -> Systems:
        return _Groups(self.puzzle, label, self.own)

    def _search(self, policy: Known, decision: Decision, policies: tuple[Known, ...]) -> None:
        """Label one explanation after the other, until two differ or there are no more."""
        questions = self._questions(policy)
        condition = questions.condition()
        for seen in decision.labelled.values():
            questions.not_this(condition, seen)
        ask = partial(questions.ask, condition)
        if self._exhausted(decision, questions, condition, ask, policies):
            decision.status = Uniqueness.determined
        elif decision.systems.bit_count() < 2:
            decision.status, decision.reason = Uniqueness.unknown, Undecided.limit

    def _best(self, policy: Known, decision: Decision, policies: tuple[Known, ...]) -> None:
        """The group with most operations of any explanation, where all could be labelled."""
        if decision.status == Uniqueness.determined:
            decision.best = decision.reference
        if decision.status != Uniqueness.undetermined:
            return
        questions = self._questions(policy)
        condition = questions.condition()
        for seen in decision.labelled.values():
            questions.not_this(condition, seen)
        for _ in range(self.budget.limit):
            answer = questions.ask(condition)
            if answer is None:
                found = [code for code in self._codes if decision.systems >> code & 1]
                decision.best = max(found, key=lambda code: order_of(SCHOENFLIES[code - 1]))
                return
            self.consider(answer, policies)
            questions.not_this(condition, answer)

    @cached_property
    def _codes(self) -> Any:
        return range(1, len(SCHOENFLIES) + 1)
