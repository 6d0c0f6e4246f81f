"""Sites that one picture alone shows: on its ray, where symmetry or the other pictures allow.

A site whose discs are covered in all pictures but one lies somewhere along that picture's view
direction. Symmetries of the other species tell where; where they do not, what it would cover tells.
"""

from __future__ import annotations

import numpy as np

from rc_hpc.kernels.copies import base_points, support
from rc_hpc.reader.drawn import Redrawing
from rc_hpc.reader.exact import Crystal
from rc_hpc.reader.frame import Frame
from rc_hpc.reader.labelled import dataset
from rc_hpc.reader.marked import Marked
from rc_hpc.reader.sites import GATE, LEAST_DISTANCE, Sites

#: Tolerance of the symmetries of the other species, Å.
SYMPREC = 0.02
#: How near to a ray an image under a symmetry lies that is taken to lie on it, px.
ON_RAY = 1.0
#: Unexplained marks of one picture that are no mistake.
LEAST_MARKS = 2
#: Step along a ray, Å, and places on it that are tried at most.
STEP, MOST_PLACES = 0.1, 40
#: Pixels by which a site must better the pictures.
WORTH_A_SITE = 50
#: Smallest step along it, Å.
LEAST_STEP = 0.002


def completed(
    crystal: Crystal, frame: Frame, marked: Marked, sites: Sites, redrawing: Redrawing, slack: float
) -> Crystal:
    """The crystal with the sites that single pictures show, where they draw the pictures better.

    Parameters
    ----------
    crystal
        Of the sites, in its box.
    frame
        In which the sites lie.
    slack
        How far the box may lie off, px.
    """
    found = rays(marked, frame, sites, slack)
    if not found:
        return crystal
    stretch = np.linalg.norm(crystal.lattice) / np.linalg.norm(frame.lattice)
    shift = crystal.positions[0] - stretch * sites.positions[0]
    least = crystal.draw(redrawing).total

    def tried(number: int, point: np.ndarray) -> tuple[int, Crystal]:
        again = Crystal(
            crystal.lattice,
            np.append(crystal.numbers, number),
            np.concatenate((crystal.positions, [stretch * point + shift])),
            np.append(crystal.sites, len(crystal.sites)),
        )
        return again.draw(redrawing).total, again

    for ray in found:
        number = int(marked.species[ray[1]])
        points, told = places_on(ray, marked, frame, sites)
        if not len(points):
            continue
        draws = [(*tried(number, point), point) for point in points]
        total, best, point = min(draws, key=lambda one: one[0])
        step, away = STEP / 2, frame.rotations[ray[0]][:, 2]
        while not told and step > LEAST_STEP:
            near = [(*tried(number, at), at) for at in (point - step * away, point + step * away)]
            total, best, point = min([(total, best, point), *near], key=lambda one: one[0])
            step /= 2
        if total < least - WORTH_A_SITE:
            least, crystal = total, best
    return crystal


def rays(
    marked: Marked, frame: Frame, sites: Sites, slack: float
) -> list[tuple[int, int, np.ndarray]]:
    """Views, species and places (2,), px, of sites that no site found explains."""
    open_ = np.zeros(len(marked.strong), bool)
    open_[sites.unexplained] = True
    lens, blanks = frame.lens, marked.blanks(frame.scales)
    found = []
    for view in range(len(frame.scales)):
        first, last = marked.marks.starts[view, [0, -1]]
        if open_[first:last].sum() < LEAST_MARKS:
            continue
        places, starts = base_points(marked.marks, lens, blanks, view, slack, 0.02, GATE)
        for s in range(len(marked.species)):
            low, high = marked.marks.starts[view, [s, s + 1]]
            mine = marked.marks.centres[low:high][open_[low:high]]
            for place in places[starts[s] : starts[s + 1]]:
                away = (place + lens.shifts[view])[:, None] - mine[None]
                if np.sum(np.hypot(*away.transpose(2, 0, 1)) < 0.1) >= LEAST_MARKS:
                    found.append((view, s, place))
    return found


def places_on(
    ray: tuple[int, int, np.ndarray], marked: Marked, frame: Frame, sites: Sites
) -> tuple[np.ndarray, bool]:
    """Where on a ray a site may lie, (k, 3), Å, and whether symmetry tells it."""
    view, s, place = ray
    symmetric = _images(ray, marked, frame, sites)
    if len(symmetric):
        kept = _allowed(symmetric, s, marked, frame, sites, 0.3)
        if len(kept):
            return kept, True
    rotation, scale = frame.rotations[view], frame.scales[view]
    plane = (place - frame.origins[view]) / scale * (1.0, -1.0)
    start = rotation[:, :2] @ plane
    reach = np.abs(frame.lattice @ rotation[:, 2]).sum()
    along = np.arange(-reach, reach, STEP)
    points = start + along[:, None] * rotation[:, 2]
    fractional = points @ np.linalg.inv(frame.lattice)
    inside = np.all((fractional > -0.02) & (fractional < 1.02), axis=1)
    return _allowed(points[inside], s, marked, frame, sites, 0.5)[:MOST_PLACES], False


def _images(ray, marked, frame, sites) -> np.ndarray:
    """Images of the species' sites under symmetries of the others that lie on the ray."""
    view, s, place = ray
    others = sites.species != s
    if not others.any() or others.all():
        return np.empty((0, 3))
    index = np.arange(int(others.sum()))
    numbers = marked.species[sites.species[others]]
    data = dataset(Crystal(frame.lattice, numbers, sites.positions[others], index), SYMPREC)
    if data is None:
        return np.empty((0, 3))
    inverse = np.linalg.inv(frame.lattice)
    mine = sites.positions[~others] @ inverse
    images = np.einsum("mab,nb->mna", data.rotations, mine) + data.translations[:, None]
    images = np.mod(images.reshape(-1, 3) + 1e-3, 1.0) - 1e-3
    points = images @ frame.lattice
    seen = frame.pixels(points)[view]
    points = points[np.hypot(*(seen - place).T) < ON_RAY]
    kept: list[np.ndarray] = []
    for point in points:
        if all(np.linalg.norm(point - other) > LEAST_DISTANCE for other in kept):
            kept.append(point)
    return np.array(kept).reshape(-1, 3)


def _allowed(points, s, marked, frame, sites, blur) -> np.ndarray:
    """Those of the points that no picture contradicts and no site holds."""
    if not len(points):
        return points
    species = np.full(len(points), s, np.int64)
    blurs = np.full(len(points), blur)
    blanks = marked.blanks(frame.scales)
    _, score = support(points, species, marked.marks, frame.lens, blanks, blurs, GATE, 1)
    apart = (points[:, None] - sites.positions[None]) @ np.linalg.inv(frame.lattice)
    apart = np.linalg.norm((apart - np.round(apart)) @ frame.lattice, axis=2).min(axis=1)
    kept: np.ndarray = points[(score > -np.inf) & (apart > 5 * LEAST_DISTANCE)]
    return kept
