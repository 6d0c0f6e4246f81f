"""Questions to a solver: is there an explanation with, or without, some symmetry?

Minicard answers them (python-sat): clauses, and bounds on numbers of places, which it counts
itself. Every call has a budget of conflicts, so that none goes on for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np

from rc_hpc.core.errors import UsageError
from rc_hpc.oracle.explanations import Puzzle
from rc_hpc.oracle.symmetries import Operations, Symmetries

#: Conflicts after which bounds that follow from the others are told to the solver as well.
AT_ONCE = 5
#: Share of the places that the solver tries first as in a given choice of them.
NEAR = 0.8
MISSING = (
    "python-sat is not installed, which decides whether other crystals have the same pictures: "
    "pip install 'rc_hpc[unique]'"
)


class OutOfBudget(Exception):
    """The solver has not answered within its budget."""


def check_solver() -> None:
    """See that the solver is there.

    Raises
    ------
    UsageError
    """
    solver_class()


def solver_class():
    """That of python-sat: Minicard.

    Raises
    ------
    UsageError
    """
    try:
        from pysat.solvers import Minicard
    except ImportError as error:
        raise UsageError(MISSING) from error
    return Minicard


class Lack:
    """A condition: rotations of one order about fewer than so many axes, as far as is sure.

    Attributes
    ----------
    condition
    axes
        One or two: how many there must not be.
    told : set of int
        Operations that the solver has been told of.
    broken : dict of int to int
        Variable of each axis: no operation about it is there.
    """

    def __init__(self, condition: int, axes: int):
        self.condition, self.axes = condition, axes
        self.told: set[int] = set()
        self.broken: dict[int, int] = {}


class Questions:
    """Questions after explanations of one puzzle, under one set of conditions.

    Parameters
    ----------
    puzzle
    symmetries
        Of the same puzzle.
    counts
        Places by atomic number; None for any.
    conflicts
        Budget of one call.
    rng
        Makes the answers differ.
    """

    def __init__(
        self,
        puzzle: Puzzle,
        symmetries: Symmetries,
        counts: dict[int, int] | None,
        conflicts: int,
        rng: np.random.Generator,
    ):
        self.puzzle, self.symmetries = puzzle, symmetries
        self.conflicts, self.rng = conflicts, rng
        #: Places that answers are looked for near to, (C,) bool; None for anywhere.
        self.near: np.ndarray | None = None
        #: Conditions of all questions.
        self.assumed: tuple[int, ...] = ()
        self.solver = solver_class()()
        self._top = puzzle.size
        self._differences: dict[tuple[int, int], int] = {}
        self._asked: dict[tuple[str, int, int], int | None] = {}
        self._lacks: dict[tuple[int, int], Lack] = {}
        self._physical: int | None = None
        self._moves: list[int] | None = None
        add = self.solver.add_clause
        for one_of in puzzle.on:
            add(one_of)
        for a, b in (puzzle.clashes + 1).tolist():
            add([-a, -b])
        for kind, n in (counts or {}).items():
            own = np.flatnonzero(puzzle.numbers == kind) + 1
            self.solver.add_atmost(own.tolist(), n)
            self.solver.add_atmost((-own).tolist(), len(own) - n)
        self._implied = counts or {}

    def close(self) -> None:
        """Free the solver."""
        self.solver.delete()

    # ------------------------------------------------------------------ asking

    def ask(self, *conditions: int) -> np.ndarray | None:
        """An explanation under conditions, (C,) bool; None where there is none.

        Raises
        ------
        OutOfBudget
        """
        there = self.rng.random(self.puzzle.size) < 0.5
        if self.near is not None:
            there = np.where(self.rng.random(self.puzzle.size) < NEAR, self.near, there)
        signs = np.where(there, 1, -1)
        self.solver.set_phases((signs * np.arange(1, self.puzzle.size + 1)).tolist())
        assumptions = [*self.assumed, *conditions]
        self.solver.conf_budget(min(AT_ONCE, self.conflicts))
        answer = self.solver.solve_limited(assumptions=assumptions)
        if answer is None:
            for kind, n in self._implied.items():
                for places, most in implied_bounds(self.puzzle, kind, n):
                    self.solver.add_atmost((places + 1).tolist(), most)
            self._implied = {}
            self.solver.conf_budget(self.conflicts)
            answer = self.solver.solve_limited(assumptions=assumptions)
        if answer is None:
            raise OutOfBudget
        if not answer:
            return None
        return np.array(self.solver.get_model()[: self.puzzle.size]) > 0

    def not_this(self, condition: int, chosen: np.ndarray) -> None:
        """Under the condition an answer is not this crystal again."""
        there = np.zeros(len(self.body), bool)
        there[self.puzzle.body[chosen]] = True
        self._add([-condition, *np.where(there, -self.body, self.body)])

    # ------------------------------------------------------------------ conditions

    def another(self) -> int:
        """Condition: a phantom is chosen, or an atom is missing."""
        condition = self._new()
        phantom = np.zeros(len(self.body), bool)
        phantom[self.puzzle.body[self.puzzle.atom < 0]] = True
        self._add([-condition, *np.where(phantom, self.body, -self.body)])
        return condition

    def other_than(self, chosen: np.ndarray) -> int:
        """Condition: not these places."""
        condition = self.condition()
        self.not_this(condition, chosen)
        return condition

    def condition(self) -> int:
        """A condition that asks for nothing yet."""
        return self._new()

    def lacks(self, order: int, axes: int, known: np.ndarray) -> int:
        """Condition: rotations of this order about fewer than so many axes, as far as is sure.

        Asked for by `lacking` only, which tells the solver of operations as answers have them.

        Parameters
        ----------
        known : (C,) bool
            An explanation.
        """
        key = (order, axes)
        if key not in self._lacks:
            self._lacks[key] = Lack(self._new(), axes)
            self._tell(self._lacks[key], order, known)
        return self._lacks[key].condition

    def lacking(self, order: int, axes: int) -> np.ndarray | None:
        """An explanation that meets `lacks`, (C,) bool; None where there is none.

        Raises
        ------
        OutOfBudget
        """
        lack = self._lacks[order, axes]
        while True:
            answer = self.ask(lack.condition)
            if answer is None or not self._tell(lack, order, answer):
                return answer

    def _tell(self, lack: Lack, order: int, chosen: np.ndarray) -> bool:
        """Rule out the operations of a choice of places that has too many axes; whether it has."""
        operations = self.symmetries.operations(order, sure=True)
        there = self.symmetries.held_by(operations, chosen)
        axes = operations.axis[there].tolist()
        if len(set(axes)) < lack.axes:
            return False
        for n, axis in zip(there.tolist(), axes, strict=True):
            if axis not in lack.broken:
                name = self._new()
                for other in lack.broken.values() if lack.axes > 1 else [name]:
                    self._add([-lack.condition, name, other])
                lack.broken[axis] = name
            if n not in lack.told:
                lack.told.add(n)
                image = operations.image[n].tolist()
                self.solver.add_clause([-lack.broken[axis], *self._moved(image)])
        return True

    def has(self, order: int, axes: int, sure: bool = False) -> int | None:
        """Condition: rotations of this order about so many axes, as far as a label may find them.

        Or as far as it surely does. None where no explanation can have them.
        """
        key = ("surely has" if sure else "has", order, axes)
        if key not in self._asked:
            self._asked[key] = None
            operations = self.symmetries.operations(order, sure)
            if len(np.unique(operations.axis)) >= axes:
                self._asked[key] = self._has(operations, axes)
        return self._asked[key]

    @property
    def physical(self) -> int:
        """Condition: within the cell, and separated."""
        if self._physical is None:
            self._physical = self._new()
            for a, b in (self.puzzle.crowded + 1).tolist():
                self.solver.add_clause([-self._physical, -a, -b])
            for place in np.flatnonzero(self.puzzle.outside).tolist():
                self.solver.add_clause([-self._physical, -place - 1])
        return self._physical

    @cached_property
    def site(self) -> list[int]:
        """Variable of each site: one of its places is chosen."""
        return [self._any_of(own + 1) for own in self.symmetries.members]

    @cached_property
    def body(self) -> np.ndarray:
        """Variable of each atom and phantom: it is chosen, at any of its places."""
        names, first = np.unique(self.puzzle.body, return_index=True)
        if not self.puzzle.several:
            return first + 1
        of_body = [np.flatnonzero(self.puzzle.body == name) + 1 for name in names]
        return np.array([self._any_of(places) for places in of_body])

    def _has(self, operations: Operations, axes: int) -> int:
        condition = self._new()
        by_axis: dict[int, list[int]] = {}
        for there, axis in zip(self._each(operations), operations.axis.tolist(), strict=True):
            by_axis.setdefault(axis, []).append(there)
        about = []
        for names in by_axis.values():
            about.append(self._new())
            self._add([-about[-1], *names])
        for k in range(len(about) if axes > 1 else 1):
            others = about[:k] + about[k + 1 :] if axes > 1 else about
            self._add([-condition, *others])
        return condition

    def moved_by(self, translations: list[np.ndarray]) -> int:
        """Condition: one operation of order 1 of each of these sets of them."""
        condition = self._new()
        if self._moves is None:
            self._moves = self._each(self.symmetries.operations(1, sure=False))
        for numbers in translations:
            self._add([-condition, *(self._moves[n] for n in numbers.tolist())])
        return condition

    def _each(self, operations: Operations) -> list[int]:
        """Variables that hold only where a choice of sites has the operation."""
        names, site, add = [], self.site, self.solver.add_clause
        rows = zip(operations.image.tolist(), operations.alive.tolist(), strict=True)
        for n, (image, alive) in enumerate(rows):
            there = self._new()
            names.append(there)
            for s, t in enumerate(image):
                if not alive[s]:
                    add([-there, -site[s]])
                elif t != s:
                    others = [site[u] for u in operations.more.get((n, s), ())]
                    if s not in operations.more.get((n, s), ()):
                        add([-there, -site[s], site[t], *others])
        return names

    # ------------------------------------------------------------------ clauses

    def _moved(self, image: list[int]) -> list[int]:
        """Literals of which one holds where a choice of sites lacks an operation."""
        literals, site, known = [], self.site, self._differences
        for s, t in enumerate(image):
            if t < 0:
                literals.append(site[s])
            elif t != s:
                differs = known.get((s, t))
                if differs is None:
                    differs = known[s, t] = self._new()
                    self.solver.add_clause([-differs, site[s]])
                    self.solver.add_clause([-differs, -site[t]])
                literals.append(differs)
        return literals

    def _any_of(self, places: np.ndarray) -> int:
        """Variable that holds where one of these does."""
        if len(places) == 1:
            return int(places[0])
        name = self._new()
        self._add([-name, *places])
        for place in places:
            self._add([-place, name])
        return name

    def _new(self) -> int:
        self._top += 1
        return self._top

    def _add(self, clause: Iterable[int]) -> None:
        self.solver.add_clause([int(literal) for literal in clause])


def implied_bounds(puzzle: Puzzle, kind: int, n: int) -> Iterator[tuple[np.ndarray, int]]:
    """Places of which an explanation with `n` of a species has no more than so many.

    Each point of a view has a place, so that none has more than is left by the others; of two
    views each level has max(p, q) at least. A solver that had to find this out, by counting
    pigeons in holes, would not come to an end.
    """
    own = puzzle.numbers == kind
    for view in np.unique(puzzle.view):
        rows = puzzle.points[puzzle.view == view][:, own]
        rows = rows[rows.any(axis=1)]
        if (rows.sum(axis=0) == 1).all():
            yield from _bounded(rows, np.flatnonzero(own), n)
    levels = [level for level in puzzle.levels or () if level.number == kind]
    slack = n - sum(max(level.places.shape) for level in levels)
    for level in levels if slack >= 0 else ():
        most = max(level.places.shape) + slack
        places = level.places.ravel()
        if most < len(places):
            yield places, most
        for lines in (level.places, level.places.T):
            for line in lines:
                if most - (len(lines) - 1) < len(line):
                    yield line, most - (len(lines) - 1)


def _bounded(rows: np.ndarray, places: np.ndarray, n: int) -> Iterator[tuple[np.ndarray, int]]:
    most = n - (len(rows) - 1)
    for row in rows:
        if 0 <= most < np.count_nonzero(row):
            yield places[row], most
