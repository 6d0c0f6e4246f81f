"""Cells and cameras that the kernels find hard, and what the definitions make of them."""

import itertools

import naive
import numpy as np
from hypothesis import strategies as st

from rc_hpc.core.constants import CENSUS_ZERO, NUMERICAL_ZERO
from rc_hpc.geometry.cameras import rotation_from_direction, rotation_from_matrix
from rc_hpc.geometry.protocol import Protocol, load_protocol

FROZEN = load_protocol("frozen")
OFF_AXIS = load_protocol("off-axis")
#: The three axis cameras without the 6e-17 that cos 90 leaves: on dyadic points no step rounds.
EXACT = Protocol(
    "exact",
    ("a", "b", "c"),
    np.array(
        [
            rotation_from_matrix([[0, 0, 1], [0, 1, 0], [-1, 0, 0]]),
            rotation_from_matrix([[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
            np.eye(3),
        ]
    ),
)
#: Two cameras face each other: one pair of the six is no pair.
FACING = Protocol(
    "facing",
    ("front", "side", "back", "corner"),
    np.array([rotation_from_direction(d) for d in ([1, 0, 0], [0, 1, 0], [-1, 0, 0], [1, 2, 3])]),
)

GRID = st.integers(-4, 4).map(lambda k: k / 4)
OFFSET = st.sampled_from([0.0, 0.0, 0.0, 0.004, -0.02])


@st.composite
def cells(draw, max_atoms=9, dyadic=False):
    """Positions (n, 3), Å, and atomic numbers (n,) of a cell whose images fall together.

    Coordinates lie on a coarse grid, now and then a little off it; sometimes in one layer or
    on one line; one species or many, in any order; two atoms never in one place.
    """
    points = draw(
        st.lists(st.tuples(GRID, GRID, GRID), min_size=1, max_size=max_atoms, unique=True)
    )
    positions = np.array(points)
    shape = draw(st.sampled_from(["bulk", "bulk", "layer", "line"]))
    if shape != "bulk":
        positions[:, 2] = 0.25
    if shape == "line":
        positions[:, 1] = -0.5
    if not dyadic:
        positions += np.array([draw(st.tuples(OFFSET, OFFSET, OFFSET)) for _ in points])
    positions = np.unique(positions, axis=0)
    n = len(positions)
    positions = positions[draw(st.permutations(range(n)))]
    species = draw(st.sampled_from(["one", "all", "some"]))
    if species == "one":
        return positions, np.full(n, 26)
    if species == "all":
        return positions, np.arange(n) * 7 % 83 + 1
    return positions, np.array(draw(st.lists(st.sampled_from([1, 8, 26]), min_size=n, max_size=n)))


def decided(values, limit):
    """Whether no length lies at the limit, where rounding would decide."""
    values = np.asarray(values)
    return not (np.abs(values[np.isfinite(values)] - limit) < min(1e-9, 1e-3 * limit)).any()


def clear_of(candidates, distance, delta):
    """Whether rounding decides nothing about these candidates at delta."""
    between = np.linalg.norm(candidates.positions[:, None] - candidates.positions[None], axis=2)
    return all(
        decided(values, limit)
        for values in (candidates.gap, candidates.residuals, distance, between)
        for limit in (delta, CENSUS_ZERO, NUMERICAL_ZERO)
    )


def same_points(found, wanted, tolerance=1e-9):
    """Whether two point sets are one, each point with a partner of its own."""
    if len(found) != len(wanted):
        return False
    distance = np.linalg.norm(np.asarray(found)[:, None] - np.asarray(wanted)[None], axis=2)
    for k in range(len(found)):
        partner = distance[k].argmin()
        if not distance[k, partner] <= tolerance:
            return False
        distance[:, partner] = np.inf
    return True


def same_cells(found, wanted, tolerance=1e-9):
    """`same_points` per species of (numbers, positions)."""
    kinds = set(found[0]) | set(wanted[0])
    return all(
        same_points(found[1][found[0] == kind], wanted[1][wanted[0] == kind], tolerance)
        for kind in kinds
    )


def distinct(positions, numbers, radius=CENSUS_ZERO):
    """Indices of the points that are left when those within `radius` are one."""
    return naive.merge_first(positions, numbers, np.nextafter(radius, np.inf))


def best_of_each(candidates, kappas, delta):
    """Indices of the candidates that the rule best-residual keeps, best first.

    By worst residual in steps of numerical zero, conditioning of the pair, species and
    height along the generic direction; then dropped within delta of a better one.
    """
    worst = np.floor(candidates.worst / NUMERICAL_ZERO + 0.5)
    kappa = np.array([kappas[tuple(pair)] for pair in candidates.views.tolist()])
    height = candidates.positions @ np.sqrt([1 / 6, 2 / 6, 3 / 6])
    order = np.lexsort((height, candidates.symbols, kappa, worst))
    kept = naive.merge_first(
        candidates.positions[order], candidates.symbols[order], np.nextafter(delta, np.inf)
    )
    return order[kept]


def least_squares_choices(point, images, rotations):
    """Least-squares points of the images nearest to `point`: more than one where they tie."""
    rows = np.concatenate([rotation[:, :2].T for rotation in rotations])
    choices = []
    for rotation, image in zip(rotations, images):
        away = np.linalg.norm(image - point @ rotation[:, :2], axis=1)
        choices.append(image[away <= away.min() + 1e-9])
    return [
        np.linalg.lstsq(rows, np.concatenate(choice), rcond=None)[0]
        for choice in itertools.product(*choices)
    ]
