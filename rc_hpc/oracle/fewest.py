"""The fewest places of each species that have the pictures."""

from __future__ import annotations

import numpy as np

from rc_hpc.oracle.explanations import Puzzle
from rc_hpc.oracle.levels import sparse
from rc_hpc.oracle.solving import OutOfBudget, implied_bounds, solver_class

#: Explanations that are tried, and conflicts after which fewest atoms are left to HiGHS.
TRIES, AT_ONCE = 8, 200
#: Status of `scipy.optimize.milp`.
INFEASIBLE = 2


def fewest(
    puzzle: Puzzle, seconds: float, known: np.ndarray | None = None
) -> dict[int, int] | None:
    """Fewest places of each species that explain its image points; None where there are none.

    No fewer than a view's points; two views: than the sum of max(p, q) over the levels. Where
    the solver does not find as few at once, as clashes may forbid, HiGHS does.

    Parameters
    ----------
    seconds
        Time of one call of HiGHS.
    known
        An explanation, which may be one of them.

    Raises
    ------
    OutOfBudget
        Not proved within the time.
    """
    least = dict.fromkeys(puzzle.counts, 0)
    if puzzle.levels is not None:
        for level in puzzle.levels:
            least[level.number] += max(level.places.shape)
    else:
        # A view has no fewer places than points, where a place is on one of them.
        single = (puzzle.points[puzzle.view == v] for v in np.unique(puzzle.view))
        for rows in (rows for rows in single if (rows.sum(axis=0) <= 1).all()):
            for kind in least:
                seen = rows[:, puzzle.numbers == kind].any(axis=1)
                least[kind] = max(least[kind], int(np.count_nonzero(seen)))
    if known is not None and all(
        np.count_nonzero(known & (puzzle.numbers == kind)) == n for kind, n in least.items()
    ):
        return least
    if _attained(puzzle, least):
        return least
    proved = {}
    for kind in puzzle.counts:
        number = _fewest_of(puzzle, kind, seconds)
        if number is None:
            return None
        proved[kind] = number
    return proved


def _attained(puzzle: Puzzle, counts: dict[int, int]) -> bool:
    """Whether the solver finds, at once, an explanation with these counts."""
    if puzzle.levels is not None:
        tried = sparse(puzzle.levels, puzzle.size, np.random.default_rng(0), TRIES)
        clashes = puzzle.clashes
        if not (tried[:, clashes[:, 0]] & tried[:, clashes[:, 1]]).any(axis=1).all():
            return True
    solver = solver_class()()
    try:
        for one_of in puzzle.on:
            solver.add_clause(one_of)
        for a, b in (puzzle.clashes + 1).tolist():
            solver.add_clause([-a, -b])
        for kind, n in counts.items():
            solver.add_atmost((np.flatnonzero(puzzle.numbers == kind) + 1).tolist(), n)
            for places, most in implied_bounds(puzzle, kind, n):
                solver.add_atmost((places + 1).tolist(), most)
        solver.conf_budget(AT_ONCE)
        return bool(solver.solve_limited())
    finally:
        solver.delete()


def _fewest_of(puzzle: Puzzle, kind: int, seconds: float) -> int | None:
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    own = np.flatnonzero(puzzle.numbers == kind)
    rows = puzzle.points[:, own]
    constraints = [LinearConstraint(csr_array(rows[rows.any(axis=1)].astype(float)), 1)]
    place = np.full(puzzle.size, -1)
    place[own] = np.arange(len(own))
    pairs = place[puzzle.clashes]
    pairs = pairs[(pairs >= 0).all(axis=1)]
    if len(pairs):
        index = np.repeat(np.arange(len(pairs)), 2)
        shape = (len(pairs), len(own))
        at_once = csr_array((np.ones(2 * len(pairs)), (index, pairs.ravel())), shape)
        constraints.append(LinearConstraint(at_once, ub=1))
    solution = milp(
        np.ones(len(own)),
        constraints=constraints,
        integrality=np.ones(len(own)),
        bounds=Bounds(0, 1),
        options={"time_limit": seconds},
    )
    if solution.status == INFEASIBLE:
        return None
    if solution.status != 0:
        raise OutOfBudget
    return round(solution.fun)
