"""The most symmetric of all crystals that have the pictures: readers that know no counts.

The merge rule `dominance` returns all places, phantoms among them. These return a crystal of the
highest system that any explanation has (`symmetric`), or any with as few atoms of each species as
the pictures allow (`parsimonious`). They know the pictures and the lattice, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.core.vocabulary import System
from rc_hpc.oracle.explanations import Puzzle, puzzle_of
from rc_hpc.oracle.fewest import fewest
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.labels import SpaceGroupLabel
from rc_hpc.oracle.reading import Enumeration
from rc_hpc.oracle.rotations import Metric
from rc_hpc.oracle.solving import OutOfBudget, Questions
from rc_hpc.oracle.symmetries import HOLOHEDRY, MADE_BY, Symmetries, TooMany

#: Conflicts of one call of the solver, seconds of one of HiGHS, explanations of one system that are
#: labelled, and places of a puzzle that are looked at, at most.
CONFLICTS, SECONDS, TRIES, PLACES = 5000, 5.0, 64, 1500


def most_symmetric(
    puzzle: Puzzle,
    metric: Metric,
    system: Callable[[np.ndarray], System],
    few: bool,
) -> np.ndarray | None:
    """An explanation of the highest system that there is, (C,) bool.

    Parameters
    ----------
    puzzle
        Its atoms are not looked at.
    metric
        Of its lattice.
    system
        Of a choice of places.
    few
        Among those with the fewest atoms of each species only. Else it is all places where none
        is of a higher system.

    Returns
    -------
    (C,) bool or None
        None where there is none, or the solvers do not find one within their budgets.
    """
    if puzzle.size > PLACES:
        return None
    best, every = None, np.ones(puzzle.size, bool)
    try:
        least = fewest(puzzle, SECONDS) if few else None
        if few and least is None:
            return None
        symmetries = Symmetries(puzzle, metric)
        questions = Questions(puzzle, symmetries, least, CONFLICTS, np.random.default_rng(0))
    except OutOfBudget:
        return None
    try:
        best = every if not few and puzzle.explains(every) else questions.ask()
        if best is None:
            return None
        reached = system(best)
        for wanted, order, axes in sorted(MADE_BY, key=lambda one: -HOLOHEDRY[one[0]]):
            if HOLOHEDRY[wanted] <= HOLOHEDRY[reached]:
                break
            # What a label surely finds is asked for first: the rest may take many answers.
            for sure in (True, False):
                condition = questions.has(order, axes, sure)
                if condition is None or HOLOHEDRY[reached] >= HOLOHEDRY[wanted]:
                    continue
                for _ in range(TRIES):
                    answer = questions.ask(condition)
                    if answer is None:
                        break
                    found = system(answer)
                    if HOLOHEDRY[found] > HOLOHEDRY[reached]:
                        best, reached = answer, found
                    if HOLOHEDRY[reached] >= HOLOHEDRY[wanted]:
                        break
                    questions.not_this(condition, answer)
    except (OutOfBudget, TooMany):
        pass  # the best so far
    finally:
        questions.close()
    return best


class SymmetricReader:
    """Reads view subsets as their most symmetric explanation.

    Parameters
    ----------
    geometry
        Of orthographic cameras.
    labeller
    fewest
        Of those with the fewest atoms of each species.
    """

    def __init__(self, geometry: GeometricOracle, labeller: SpaceGroupLabel, fewest: bool):
        geometry.protocol.require_orthographic("merge rules that choose among crystals")
        self.geometry, self.labeller, self.few = geometry, labeller, fewest

    def read(
        self, found: Enumeration, subsets: np.ndarray, lattice: np.ndarray
    ) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Atomic numbers and positions (Å) of some subsets; not of those where nothing is found.

        Parameters
        ----------
        found
            Enumerated to `CENSUS_ZERO` at least.
        subsets
            Indices of view subsets whose candidates explain all image points.
        lattice
            Of the drawn cell.
        """
        unknown = Enumeration(found.points, found.candidates, found.species, found.reach, found.tie)
        metric = Metric(lattice, self.labeller.angle_tolerance)
        cells = {}
        for k in subsets.tolist():
            puzzle = puzzle_of(self.geometry, unknown, k, CENSUS_ZERO, lattice)

            def system(chosen: np.ndarray, puzzle: Puzzle = puzzle) -> System:
                cell = puzzle.numbers[chosen], puzzle.positions[chosen]
                label, _ = self.labeller.label(lattice, *cell)
                return System(int(self.labeller.codes(label)[0]))

            chosen = most_symmetric(puzzle, metric, system, self.few)
            if chosen is not None:
                cells[k] = puzzle.numbers[chosen], puzzle.positions[chosen]
        return cells
