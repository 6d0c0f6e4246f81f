"""Baselines without pictures: forests on the cell's metric, an untrained rule, the majority.

Cells come as lattices (n, 3, 3), rows in Å, with the number of atoms in the cell (n,) and the mean
mass of an atom (n,), u. Whether they are stored or conventional cells is the caller's to say, and
it matters: the pictures show the conventional one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from rc_hpc.core.errors import RcError

#: The 19 features, in the order in which the forest takes them.
FEATURES = (
    "a",
    "b",
    "c",
    "alpha",
    "beta",
    "gamma",
    "volume",
    "min/mid",
    "mid/max",
    "min/max",
    "|alpha-90|",
    "|beta-90|",
    "|gamma-90|",
    "|gamma-120|",
    "angle range",
    "angle sd",
    "edge sd/mean",
    "n_sites",
    "density",
)
#: Readings of the three ratios: of the sorted edges, smaller over larger (the released one), the
#: other way round, and of a, b, c as they stand.
RATIOS = ("sorted", "sorted, inverse", "as they stand")
#: Features of the shape-free forest, in its order.
SHAPE_FREE = ("n_sites", "density", "volume")
#: Decimals kept of a feature: with all of them, as the released forest had it, last-bit noise in
#: split thresholds decides single structures.
DECIMALS = 10
#: Released forest.
N_TREES, FOREST_SEED = 500, 23
#: Lengths x and y are equal if they differ by less than this share of the larger.
LENGTH_TOLERANCE = 0.02
#: Angles are equal within this, degrees.
ANGLE_EQUAL = 1.0
#: Classes that a cell's metric can tell; the first is two systems and the second a shape of one.
AMBIGUOUS, RHOMBOHEDRAL = "hexagonal_or_trigonal", "rhombohedral"
#: Grams per cubic centimetre of one atomic mass unit per cubic ångström.
_DENSITY_UNIT = 1.66053906660


def cell_parameters(lattices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges (n, 3) in Å, angles (n, 3) in degrees and volumes (n,) in Å^3 of cells (n, 3, 3)."""
    lattices = np.asarray(lattices, float)
    edges = np.linalg.norm(lattices, axis=2)
    pairs = ((1, 2), (0, 2), (0, 1))
    cosines = [
        np.einsum("nx,nx->n", lattices[:, i], lattices[:, j]) / (edges[:, i] * edges[:, j])
        for i, j in pairs
    ]
    angles = np.degrees(np.arccos(np.clip(np.stack(cosines, axis=1), -1, 1)))
    return edges, angles, np.abs(np.linalg.det(lattices))


def features(
    lattices: np.ndarray,
    n_sites: np.ndarray,
    mass_per_atom: np.ndarray,
    ratio: str = RATIOS[0],
    angle_ddof: int = 0,
    edge_ddof: int = 0,
) -> np.ndarray:
    """The features named in `FEATURES` of n cells, (n, 19).

    Parameters
    ----------
    ratio
        Of `RATIOS`: what the three ratios of edges are of.
    angle_ddof, edge_ddof
        0 for population, 1 for sample deviations.
    """
    edges, angles, volume = cell_parameters(lattices)
    one, two, three = (edges if ratio == RATIOS[2] else np.sort(edges, axis=1)).T
    ratios = [one / two, two / three, one / three]
    if ratio == RATIOS[1]:
        ratios = [1 / each for each in ratios]
    alpha, beta, gamma = angles.T
    density = n_sites * mass_per_atom * _DENSITY_UNIT / volume
    columns = np.column_stack(
        [
            edges,
            angles,
            volume,
            *ratios,
            abs(alpha - 90),
            abs(beta - 90),
            abs(gamma - 90),
            abs(gamma - 120),
            angles.max(axis=1) - angles.min(axis=1),
            angles.std(axis=1, ddof=angle_ddof),
            edges.std(axis=1, ddof=edge_ddof) / edges.mean(axis=1),
            n_sites,
            density,
        ]
    )
    return np.round(columns, DECIMALS)


def shape_free(columns: np.ndarray) -> np.ndarray:
    """The features named in `SHAPE_FREE` out of all, (n, 3): size and density, no shape."""
    return columns[:, [FEATURES.index(name) for name in SHAPE_FREE]]


def forest(
    train: np.ndarray,
    labels: Sequence[str] | np.ndarray,
    evaluation: np.ndarray,
    n_trees: int = N_TREES,
    seed: int = FOREST_SEED,
) -> np.ndarray:
    """Train the released random forest; its labels (n,) of the evaluation structures.

    They depend on the order of the training rows (the released one is that of the training file)
    and of the columns.

    Raises
    ------
    RcError
        scikit-learn is not installed.
    """
    try:
        from sklearn.ensemble import RandomForestClassifier
    except ImportError as error:
        raise RcError(
            "forests need scikit-learn, which is not installed: pip install 'rc_hpc[ladder]', "
            "or leave out the training structures"
        ) from error
    model = RandomForestClassifier(n_estimators=n_trees, random_state=seed).fit(train, labels)
    return model.predict(evaluation)


def majority(labels: Iterable[str]) -> tuple[str, int]:
    """The most frequent label and how often it occurs: what one fixed answer gets right."""
    return Counter(labels).most_common(1)[0]


def metric_class(lattices: np.ndarray) -> np.ndarray:
    """The class that the edges and angles of conventional cells (n, 3, 3) tell, (n,) str.

    The branches are tried from the most to the least symmetric one.
    """
    edges, angles, _ = cell_parameters(lattices)

    def equal(i, j):
        return np.abs(edges[:, i] - edges[:, j]) < LENGTH_TOLERANCE * np.maximum(
            edges[:, i], edges[:, j]
        )

    a_is_b, one_edge = equal(0, 1), equal(0, 1) & equal(1, 2) & equal(0, 2)
    right = np.abs(angles - 90) <= ANGLE_EQUAL
    square = right.all(axis=1)
    one_angle = np.ptp(angles, axis=1) <= ANGLE_EQUAL
    branches = (
        ("cubic", one_edge & square),
        (
            AMBIGUOUS,
            a_is_b & right[:, 0] & right[:, 1] & (np.abs(angles[:, 2] - 120) <= ANGLE_EQUAL),
        ),
        (RHOMBOHEDRAL, one_edge & one_angle),
        ("tetragonal", a_is_b & square),
        ("orthorhombic", square),
        ("monoclinic", right[:, 0] & right[:, 2]),
    )
    return np.select([mask for _, mask in branches], [name for name, _ in branches], "triclinic")


def metric_rule(classes: np.ndarray, tie: str = "hexagonal") -> np.ndarray:
    """Crystal systems by an untrained rule from `metric_class`; the ambiguous go to `tie`."""
    systems = np.where(classes == AMBIGUOUS, tie, classes)
    return np.where(systems == RHOMBOHEDRAL, "trigonal", systems)


def cue_sufficient(classes: np.ndarray, systems: np.ndarray) -> np.ndarray:
    """Whether the cell's metric alone tells the true system, (n,) bool; no ambiguous one does."""
    return (classes == systems) | ((classes == RHOMBOHEDRAL) & (np.asarray(systems) == "trigonal"))
