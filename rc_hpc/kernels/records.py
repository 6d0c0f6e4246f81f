"""Arrays that belong together, under names: what the kernels take and return."""

from typing import NamedTuple

import numpy as np

# ------------------------------------------------------------------ cameras


class Cameras(NamedTuple):
    """V cameras and their P independent pairs.

    Attributes
    ----------
    rotations : (V, 3, 3) float64
    pairs : (P, 2) int64
        The two views of each pair.
    kappa : (P,) float64
        Conditioning of each pair.
    """

    rotations: np.ndarray
    pairs: np.ndarray
    kappa: np.ndarray


class PairFrames(NamedTuple):
    """Frames of the pairs of orthographic cameras, for triangulation without solving a system.

    With n the unit common normal of the pair's view directions and e_v = n x d_v, the
    rays of image points i (view v) and j (view w) run at heights ``t_i = u_i . normal_v``
    and ``t_j = u_j . normal_w`` along n. Their gap is abs(t_i - t_j) and the midpoint of
    closest approach is ``n (t_i + t_j)/2 + dual_v (u_i . side_v) + dual_w (u_j . side_w)``.

    Attributes
    ----------
    normal : (P, 3) float64
    screen_normal, screen_side : (P, 2, 2) float64
        n and e in the screen coordinates of each of the two views.
    dual : (P, 2, 3) float64
        Dual basis of (e_v, e_w) in the plane perpendicular to n.
    """

    normal: np.ndarray
    screen_normal: np.ndarray
    screen_side: np.ndarray
    dual: np.ndarray


class Pinholes(NamedTuple):
    """Where cameras of which some are pinholes stand.

    Attributes
    ----------
    centres : (V, 3) float64
        Å; what stands there for an orthographic camera is not used.
    pinhole : (V,) bool
    focal : (V,) float64
        Distance at which a pinhole picture is to scale, Å.
    """

    centres: np.ndarray
    pinhole: np.ndarray
    focal: np.ndarray


class Rays(NamedTuple):
    """Rays of image points of V views.

    Attributes
    ----------
    origin, direction : (V, n, 3) float64
        A point of the ray, Å, and the unit vector into the scene.
    ahead : (V,) bool
        Whether only what lies in front of the origin is seen.
    """

    origin: np.ndarray
    direction: np.ndarray
    ahead: np.ndarray


# ------------------------------------------------------------------ points


class ImagePoints(NamedTuple):
    """What V views show, species by species; which points belong together is not known.

    Attributes
    ----------
    screen : (V, n, 2) float64
        Å; of view v the first ``starts[v, S]`` rows are used.
    starts : (V, S + 1) int64
        Ranges of the species in each view.
    species : (S,) int64
        Atomic numbers, each once.
    """

    screen: np.ndarray
    starts: np.ndarray
    species: np.ndarray


class SortedPoints(NamedTuple):
    """Image points in the order in which the kernels search them.

    Attributes
    ----------
    screen : (V, n, 2) float64
        Å, along the generic direction within each species.
    heights : (V, n) float64
        Coordinates along that direction, Å.
    starts : (V, S + 1) int64
    source : (V, n) int64
        Lowest row of the `ImagePoints` at that place.
    """

    screen: np.ndarray
    heights: np.ndarray
    starts: np.ndarray
    source: np.ndarray


class PointSet(NamedTuple):
    """Points in space by species, each species sorted along the generic direction.

    Attributes
    ----------
    positions : (n, 3) float64
        Å.
    heights : (n,) float64
        Coordinates along that direction, Å.
    order : (n,) int64
        Where each point stood before it was sorted.
    starts : (S + 1,) int64
        Ranges of the species.
    """

    positions: np.ndarray
    heights: np.ndarray
    order: np.ndarray
    starts: np.ndarray


#: Stands for the true atoms where nobody knows them.
UNKNOWN = PointSet(np.empty((0, 3)), np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))


class Projection(NamedTuple):
    """Images of a cell, and the atoms that they are compared with in the end."""

    images: ImagePoints
    truth: PointSet


class Grid(NamedTuple):
    """Points sorted into cubic cells.

    Attributes
    ----------
    low, high : (3,) float64
        Corners of the box around the points, Å.
    edge : float
        Of a cell, Å.
    shape : (3,) int64
    starts : (cells + 1,) int64
        Rows of `inside` in each cell.
    inside : (n, 3) float64
        The points, cell by cell.
    """

    low: np.ndarray
    high: np.ndarray
    edge: float
    shape: np.ndarray
    starts: np.ndarray
    inside: np.ndarray


# ------------------------------------------------------------------ candidates


class Limits(NamedTuple):
    """How far an enumeration goes.

    Attributes
    ----------
    tie : float
        Scale at which ties are judged, Å: image points within it are one.
    reach_min, reach_max : float
        Gap that must be covered, and the one that is covered up to `many` candidates, Å.
    many : int
    too_many : int
        Number of candidates above which none is listed.
    """

    tie: float
    reach_min: float
    reach_max: float
    many: int
    too_many: int


class Candidates(NamedTuple):
    """Places where two rays of one species meet, sorted by species and along the generic direction.

    Attributes
    ----------
    pair, species : (C,) int32
    met : (C,) int64
        When the candidate was met: by pair, then, of candidates of atoms one by one, by the
        first view's image point and the second's, as a double loop over the atoms meets them.
    position : (C, 3) float64
        Midpoint of closest approach of the two rays, Å.
    height : (C,) float64
        Coordinate along the generic direction, Å.
    gap : (C,) float64
        Distance of the two rays, Å.
    residual : (C, V) float64
        Distance to the nearest image point of the species in each view; inf beyond the reach.
    nearest : (C, V) int32
        That point's row among the view's `SortedPoints`; -1 beyond the reach.
    """

    pair: np.ndarray
    species: np.ndarray
    met: np.ndarray
    position: np.ndarray
    height: np.ndarray
    gap: np.ndarray
    residual: np.ndarray
    nearest: np.ndarray


class Enumerated(NamedTuple):
    """Image points as they were searched, and the candidates that they gave."""

    points: SortedPoints
    candidates: Candidates


# ------------------------------------------------------------------ view subsets


class Subsets(NamedTuple):
    """K view subsets.

    Attributes
    ----------
    masks : (K,) int64
        Bit v is set where view v belongs.
    inverses : (K, 3, 3) float64
        Inverse normal matrices of all-view least squares.
    anchors : (K,) int64
        Pair that the reconstruction is restricted to, -1 for all pairs of the subset, -2 for
        none (the anchor views are parallel). Certificates always use all pairs.
    """

    masks: np.ndarray
    inverses: np.ndarray
    anchors: np.ndarray


class Merging(NamedTuple):
    """How accepted candidates become atoms.

    Attributes
    ----------
    rule : int
        See `rc_hpc.kernels.subsets`.
    delta : float
        Tolerance of acceptance and merging, Å.
    tie : float
        Scale at which ties are judged, Å: that of the enumeration.
    """

    rule: int
    delta: float
    tie: float


class Scales(NamedTuple):
    """Below which lengths are one number, Å.

    Attributes
    ----------
    zero : float
        Of gaps, residuals and distances.
    exact : float
        Of the phantom census and of Definition 7's exact intersection.
    same : float
        Of two reconstructions.
    """

    zero: float
    exact: float
    same: float


class Readout(NamedTuple):
    """What is made of candidates: subsets, merging, scales, and whether every subset's set is kept.

    Where it is not, only distinct reconstructions are.
    """

    subsets: Subsets
    merging: Merging
    scales: Scales
    keep_all: bool


class Acceptance(NamedTuple):
    """Which views accept which candidates at one delta.

    Attributes
    ----------
    own, seen : (C,) int64
        Bit masks of the views of a candidate's pair, and of those that accept it.
    accepted : (A,) int64
        Candidates whose own pair accepts them, ascending.
    """

    own: np.ndarray
    seen: np.ndarray
    accepted: np.ndarray


class Certificates(NamedTuple):
    """Phantoms of K view subsets.

    Attributes
    ----------
    n_phantoms, n_exact : (K,) int64
        Distinct phantoms at delta, and those among them at which two rays meet exactly.
    n_strict : (K,) int64
        Distinct points that no atom is at, at which two rays meet and all views show a point,
        everything exactly: the phantoms at a delta of the exact scale.
    phantom_delta, phantom_delta_exact : (K,) float64
        Smallest tolerance with a phantom of either kind, Å; inf up to the reach.
    phantoms : (F,) int64
        Candidates that are a phantom at delta for at least their own pair.
    """

    n_phantoms: np.ndarray
    n_exact: np.ndarray
    n_strict: np.ndarray
    phantom_delta: np.ndarray
    phantom_delta_exact: np.ndarray
    phantoms: np.ndarray


class Reconstructed(NamedTuple):
    """What K view subsets give.

    Attributes
    ----------
    n_recovered : (K,) int64
    reconstruction : (K,) int64
        Number of the distinct reconstruction; 0 is the true cell where that is known.
    entry : (K,) int64
        Which of the E point sets it is; the first is the truth where that is known.
    point_error, atom_error : (K,) float64
        Largest distance of a recovered point from the nearest atom of its species, and of an
        atom from the nearest point, Å; inf where there is none, NaN without a truth.
    set_starts : (E, S + 1) int64
        Ranges of the species of each set, as rows of the following two.
    set_positions : (T, 3) float64
        Å.
    set_order : (T,) int64
        When each point was met among the candidates, or where the atom stood in the cell.
    set_numbers : (E,) int64
        Number of the distinct reconstruction that each set is.
    """

    n_recovered: np.ndarray
    reconstruction: np.ndarray
    entry: np.ndarray
    point_error: np.ndarray
    atom_error: np.ndarray
    set_starts: np.ndarray
    set_positions: np.ndarray
    set_order: np.ndarray
    set_numbers: np.ndarray


class Centroids(NamedTuple):
    """Image points of one species in V views, n in each, and what a position is fitted with.

    Attributes
    ----------
    screen : (V, n, 2) float64
        Å.
    rotations : (V, 3, 3) float64
    inverse : (3, 3) float64
        Inverse of the sum of the views' projectors 1 - d d^T.
    """

    screen: np.ndarray
    rotations: np.ndarray
    inverse: np.ndarray
