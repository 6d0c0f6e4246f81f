"""Where the box of a lattice lies in every picture: by its dashes, then by layers of sites."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from rc_hpc.geometry.pairs import pair_frames
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kernels.copies import base_points
from rc_hpc.kernels.displacements import dash_scores, ink_of, layer_shift
from rc_hpc.reader.convention import Convention
from rc_hpc.reader.frame import Frame, rows_of
from rc_hpc.reader.marked import Marked

#: Of a pixel's colours the largest that is still ink.
DARK = 100
#: By how much marks and radii may mislead the place of the box, px.
SLACK = 2.0
#: Places of the box that are followed in one picture, and how far apart they are, px.
MOST_PLACES, APART = 4, 4
#: Within which layers of two pictures are one, px.
SAME_LAYER = 0.08


@dataclasses.dataclass(frozen=True, eq=False)
class Inked:
    """Pictures reduced to what dashes can be: see `rc_hpc.kernels.displacements.ink_of`."""

    ink: list[np.ndarray]
    size: int


def inked(pictures: Sequence[np.ndarray], marked: Marked, scales: np.ndarray) -> Inked:
    """Ink of all pictures (H, W, 3)."""
    marks, n_species = marked.marks, len(marked.species)
    ink = []
    for view, picture in enumerate(pictures):
        mine = slice(*marks.starts[view, [0, -1]])
        radii = np.repeat(marked.radii * scales[view], np.diff(marks.starts[view, : n_species + 1]))
        dark = np.all(picture <= DARK, axis=2)
        ink.append(
            ink_of(dark, marked.blank[view], marks.centres[mine], radii, marked.line / 2 + 1.0)
        )
    return Inked(ink, pictures[0].shape[0])


def boxed(
    marked: Marked, inked_: Inked, convention: Convention, rotations, scales, lattice
) -> tuple[float, list[list[tuple[float, np.ndarray]]]]:
    """Places of the box of a lattice that lie well on the dashes, in every picture.

    Returns
    -------
    score : float
        Points of dashes on ink, less those on blank pixels and gaps on ink, of all pictures; -inf
        where no box holds all discs.
    places
        Of each picture the best, each with its score and the origin (2,), px.
    """
    box = lattice * np.array(convention.tiling)[:, None]
    dashes, gaps = _dashes(box, convention.dash_A)
    places, total = [], 0.0
    for view, row in enumerate(rows_of(rotations, scales)):
        planes = _inside_box(marked, view, (row @ box.T).T)
        if planes is None:
            return -np.inf, []
        fit = _fit(marked, view, (row @ box.T).T, scales[view], inked_.size)
        points, holes = dashes @ row.T, gaps @ row.T
        found: list[tuple[float, np.ndarray]] = []
        for limits in (np.concatenate((planes, fit)), planes):
            found = _best(inked_.ink[view], points, holes, limits)
            if found and found[0][0] > 0:
                break
        if not found:
            return -np.inf, []
        places.append(found)
        total += found[0][0]
    return total, places


def _dashes(box: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Points of the dashes of a box, and of the gaps between them, (k, 3) and (g, 3), Å."""
    dashes, gaps = [], []
    for axis, edge in enumerate(box):
        count = max(2, int(np.linalg.norm(edge) / period))
        half = edge / (4 * count - 2)
        along = np.arange(1, 4 * count, 4)[:, None] * half
        for i, j in itertools.product((0, 1), repeat=2):
            corner = i * box[axis - 2] + j * box[axis - 1]
            dashes += [along - half / 2 + corner, along + half / 2 + corner]
            gaps.append(along[:-1] + 2 * half + corner)
    return np.concatenate(dashes), np.concatenate(gaps)


def _inside_box(marked: Marked, view: int, vectors: np.ndarray) -> np.ndarray | None:
    """Half planes of the origins whose box holds all strong marks, (m, 3); None: there are none."""
    mine = slice(*marked.marks.starts[view, [0, -1]])
    centres = marked.marks.centres[mine][marked.strong[mine]]
    if not len(centres):
        return None
    planes = []
    for x, y in vectors:
        length = np.hypot(x, y)
        if length < 1.0:
            continue
        normal = np.array((-y, x)) / length
        along, seen = vectors @ normal, centres @ normal
        low = seen.max() - np.maximum(along, 0).sum() - SLACK
        high = seen.min() - np.minimum(along, 0).sum() + SLACK
        if low > high:
            return None
        planes += [(*normal, high), (*-normal, -low)]
    return np.array(planes)


def _fit(marked: Marked, view: int, vectors: np.ndarray, scale: float, size: int) -> np.ndarray:
    """Half planes of the origins for which discs and box lie in the middle of the picture."""
    marks = marked.marks
    mine = slice(*marks.starts[view, [0, -1]])
    radii = np.repeat(marked.radii * scale, np.diff(marks.starts[view]))
    planes = []
    for axis in (0, 1):
        low = (marks.centres[mine][:, axis] - radii).min(initial=size)
        high = (marks.centres[mine][:, axis] + radii).max(initial=0)
        box_low = np.minimum(vectors[:, axis], 0).sum()
        box_high = np.maximum(vectors[:, axis], 0).sum()
        unit = np.eye(2)[axis]
        # The middle of what is fitted in moves with the box, never back.
        offsets = np.arange(-size, 2 * size, 0.5)
        ends = np.minimum(low, box_low + offsets) + np.maximum(high, box_high + offsets)
        centred = offsets[np.abs(ends - size) <= 2 * SLACK]
        if len(centred):
            planes += [(*unit, centred[-1] + 0.5), (*-unit, 0.5 - centred[0])]
    return np.array(planes).reshape(-1, 3)


def _best(ink, dashes, gaps, planes) -> list[tuple[float, np.ndarray]]:
    """The best offsets within the half planes, each with its score, px."""
    low, high = _corners(planes, ink.shape[0])
    if low[0] > high[0] or low[1] > high[1]:
        return []
    shape = (int(high[0] - low[0]) + 2, int(high[1] - low[1]) + 2)
    coarse = dash_scores(ink, dashes, gaps, planes, low, shape, 1.0)
    found: list[tuple[float, np.ndarray]] = []
    top = coarse.max()
    while len(found) < MOST_PLACES:
        peak = np.unravel_index(np.argmax(coarse), shape)
        if coarse[peak] == -np.inf or (found and coarse[peak] < 0.5 * top):
            break
        at = low + np.array(peak)
        fine = dash_scores(ink, dashes, gaps, np.empty((0, 3)), at - 1.5, (13, 13), 0.25)
        good = np.argwhere(fine >= fine.max() - 0.03 * abs(fine.max()))
        found.append((float(fine.max()), at - 1.5 + 0.25 * good.mean(0)))
        coarse[
            max(0, peak[0] - APART) : peak[0] + APART + 1,
            max(0, peak[1] - APART) : peak[1] + APART + 1,
        ] = -np.inf
    return sorted(found, key=lambda one: -one[0])


def _corners(planes: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest u and v of the points within half planes, none far off the picture."""
    from scipy.optimize import linprog

    bounds = [(-size, 2 * size)] * 2
    ends = np.zeros((2, 2))
    for axis, sign in itertools.product((0, 1), (1, -1)):
        found = linprog(
            sign * np.eye(2)[axis], A_ub=planes[:, :2], b_ub=planes[:, 2], bounds=bounds
        )
        if found.x is None:
            return np.ones(2), np.zeros(2)
        ends[0 if sign > 0 else 1, axis] = found.x[axis]
    return ends[0], ends[1]


def layered(
    marked: Marked,
    frame: Frame,
    protocol: Protocol,
    places: list[list[tuple[float, np.ndarray]]],
    window: float,
    prior: float,
) -> tuple[Frame, float]:
    """The frame with its origins where layers seen in two pictures coincide.

    Along the normal of two view directions both pictures show every site at one height. Of the
    places of the box in each picture those are taken on which most layers agree.

    Parameters
    ----------
    places
        See `boxed`.
    window, prior
        Largest movement of a place, and its standard error, px.

    Returns
    -------
    frame : Frame
    agreement : float
        Share of the layers that coincide, the mean of all pairs of pictures.
    """
    lens, blanks = frame.lens, marked.blanks(frame.scales)
    pairs, frames = protocol.pairs(), pair_frames(protocol)
    scale = frame.scales.mean()
    seen: list[list[tuple[np.ndarray, np.ndarray]]] = []
    for view, mine in enumerate(places):
        seen.append([])
        for _, origin in mine:
            lens.origins[view] = origin
            found, starts = base_points(marked.marks, lens, blanks, view, window + SLACK, 0.03, 5.0)
            seen[view].append(((found - origin) / frame.scales[view] * (1.0, -1.0), starts))
    met: dict[tuple[int, int, int], tuple[float, float]] = {}
    for p, (v, w) in enumerate(pairs):
        layers = [
            [_layers(one, frames.screen_normal[p, side] * scale) for one in seen[view]]
            for side, view in enumerate((v, w))
        ]
        for (a, first), (b, second) in itertools.product(*map(enumerate, layers)):
            shift, count = layer_shift(first, second, window, SAME_LAYER, prior)
            met[p, a, b] = shift / scale, count / max(1, min(len(first), len(second)))
    best, chosen = -np.inf, tuple(0 for _ in places)
    for some in itertools.product(*(range(len(mine)) for mine in places)):
        score = sum(met[p, some[v], some[w]][1] for p, (v, w) in enumerate(pairs)) / len(pairs)
        # Dashes decide where layers do not.
        score += (
            0.1
            * sum(mine[k][0] / max(1.0, mine[0][0]) for k, mine in zip(some, places, strict=True))
            / len(places)
        )
        if score > best:
            best, chosen = score, some
    told = [met[p, chosen[v], chosen[w]] for p, (v, w) in enumerate(pairs)]
    moved = _moved(pairs, frames.screen_normal, told, len(places), scale)
    origins = np.array([mine[k][1] for k, mine in zip(chosen, places, strict=True)])
    # A place on the screen is (u - origin) / scale right, and as much down.
    step = moved * frame.scales[:, None] * (1.0, -1.0)
    agreement = float(np.mean([share for _, share in told]))
    return dataclasses.replace(frame, origins=origins + step), agreement


def _moved(pairs, normals, told, n_views: int, scale: float) -> np.ndarray:
    """Movements of the origins (V, 2), Å, that the shifts of the pairs ask for."""
    left, right = np.zeros((len(pairs), 2 * n_views)), np.zeros(len(pairs))
    weight = np.array([share for _, share in told])
    for p, (v, w) in enumerate(pairs):
        left[p, 2 * v : 2 * v + 2] = normals[p, 0]
        left[p, 2 * w : 2 * w + 2] = -normals[p, 1]
        right[p] = told[p][0]
    trust = np.ones(len(pairs))
    moved: np.ndarray = np.zeros(2 * n_views)
    for _ in range(10):  # a pair that most others contradict has a wrong layer
        weights = (weight * trust)[:, None]
        moved = np.linalg.solve(
            left.T @ (weights * left) + 1e-6 * np.eye(2 * n_views), left.T @ (weights[:, 0] * right)
        )
        off = np.abs(left @ moved - right) * scale
        trust[:] = 1.0 / (1.0 + (off / 0.1) ** 2)
    return moved.reshape(-1, 2)


def _layers(seen: tuple[np.ndarray, np.ndarray], normal: np.ndarray) -> np.ndarray:
    """Heights of the layers of each species, each once, ascending; those of species far apart."""
    away, starts = seen
    found = []
    for s in range(len(starts) - 1):
        heights = np.sort(away[starts[s] : starts[s + 1]] @ normal)
        found.append(1e5 * s + heights[np.diff(heights, prepend=-np.inf) > SAME_LAYER / 4])
    return np.concatenate(found)
