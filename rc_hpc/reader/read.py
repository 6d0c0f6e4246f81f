"""Pictures and marks to a crystal, and whether its pictures, drawn again, are the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rc_hpc.geometry.protocol import Protocol
from rc_hpc.reader.bundle import Bundle, adjusted, usual_variance
from rc_hpc.reader.completed import completed
from rc_hpc.reader.dashes import counted
from rc_hpc.reader.drawn import Drawn, Redrawing
from rc_hpc.reader.exact import exact
from rc_hpc.reader.frame import Frame
from rc_hpc.reader.judged import Found, judged
from rc_hpc.reader.labelled import dataset
from rc_hpc.reader.lattice import triples, vectors
from rc_hpc.reader.marked import Marked, marked
from rc_hpc.reader.origins import boxed, inked, layered
from rc_hpc.reader.records import Knowledge, Limits, Marks, NotReadError, Reading
from rc_hpc.reader.settle import FOUND_SIGMA, Settled, laid, settle, slipped
from rc_hpc.reader.sites import Sites, finder
from rc_hpc.reader.spoilt import spoilt

#: Edge pixels from which on a mark cannot be a mistake.
STRONG_ARC = 20
#: Least standard error of a scale that marks alone tell, as a share of it.
SCALE_SIGMA = 2e-4
#: Standard error of a frame that is known, px.
KNOWN_BLUR = 0.01
#: How far the box may lie off where it is known, and off where dashes show it, px.
KNOWN_SLACK, DASH_SLACK = 0.1, 3.0
#: Lattices whose box is looked for.
MOST_TRIPLES = 12
#: Pixels that the loss of a site must cost where no disc is its alone.
NEEDED = 30
#: How often the box is laid on the dashes at most: each time it moves by a pixel at most.
LAID = 6
NOWHERE = "no place is seen in two pictures"
FLAT = "no three directions fit all pictures: they are not of one crystal seen by these cameras"
#: Sites that may be spare and are tried one by one.
MOST_SPARE = 12


@dataclass(frozen=True)
class Try:
    """Tolerances of one search, px.

    Attributes
    ----------
    vector
        Of a displacement that two pictures foretell of a third.
    lost
        Share of the strong marks that may have no copy.
    window, prior
        Of the places of the box.
    blurs
        Of the frame, search after search.
    """

    vector: float
    lost: float
    window: float
    prior: float
    blurs: tuple[float, ...]


TRIES = (
    Try(0.4, 0.02, 3.0, 1.5, (0.08, 0.01)),
    Try(0.4, 0.02, 3.0, 1.5, (0.4, 0.08, 0.01)),
    Try(1.0, 0.05, 30.0, 10.0, (0.1, 0.03, 0.01)),
    Try(1.5, 0.10, 40.0, 15.0, (0.8, 0.2, 0.03, 0.01)),
)


def read(
    pictures: Sequence[np.ndarray], marks: Sequence[Marks], knowledge: Knowledge, limits: Limits
) -> Reading:
    """Read one crystal.

    Parameters
    ----------
    pictures : sequence of (H, W, 3) uint8
        In the order of the cameras.
    marks
        Of each picture.
    knowledge
        All that is known beside them.
    limits

    Returns
    -------
    Reading
        `read` where it is certified, else why it is not; of pictures whose colours were changed
        after they were drawn `convention` and no crystal.
    """
    reading = _read(pictures, marks, knowledge, limits)
    if not reading.certified and (why := spoilt(pictures)):
        return Reading("convention", why, tries=reading.tries)
    return reading


def _read(pictures, marks, knowledge: Knowledge, limits: Limits) -> Reading:
    pictures = [np.ascontiguousarray(picture) for picture in pictures]
    if sum(len(one) > 0 for one in marks) < 2:
        return Reading("uncertified", "fewer than two pictures show discs")
    joined = marked(pictures, marks, knowledge.convention, STRONG_ARC)
    redrawing = Redrawing(pictures, knowledge, limits.levels)
    find = finder(knowledge.rotations)
    best: tuple[Found, Drawn] | None = None
    message, status, tries = "", "uncertified", 0
    for tried in TRIES[: limits.max_tries]:
        tries += 1
        try:
            if knowledge.level == "K0":
                found = _unknown(joined, marks, redrawing, find, tried)
            else:
                found = _known(joined, redrawing, find)
            settled = _exact(*_parsimonious(found, redrawing), redrawing, limits)
            if best is None or settled[1].total < best[1].total:
                best = settled
        except NotReadError as error:
            status, message = error.status, str(error)
            continue
        except np.linalg.LinAlgError:
            status, message = "no_lattice", FLAT
            continue
        if best is not None and best[1].total <= limits.max_pixels:
            break
        if knowledge.level != "K0":
            break
    if best is None:
        return Reading(status, message, tries=tries)
    return judged(*best, limits, redrawing, tries)


def _known(joined: Marked, redrawing: Redrawing, find: Callable[..., Sites]) -> Found:
    """The crystal in a frame that is known."""
    knowledge = redrawing.knowledge
    assert knowledge.lattice_A is not None and knowledge.pixels_per_A is not None
    frame = Frame(
        knowledge.rotations,
        np.asarray(knowledge.lattice_A, float),
        np.asarray(knowledge.pixels_per_A, float),
        np.asarray(knowledge.origins_px, float),
        knowledge.convention.tiling,
    )
    sites = find(joined, frame, KNOWN_BLUR, KNOWN_SLACK)
    if not len(sites):
        raise NotReadError("uncertified", NOWHERE)
    bundle = adjusted(
        joined, frame, sites.positions, sites.rows, frame.scales, frame.scales, free=False
    )
    found = _found(joined, bundle, sites, frame.lattice, bundle.positions, 0.0)
    return _completed(found, frame, joined, sites, redrawing, KNOWN_SLACK)


def _unknown(
    joined: Marked,
    marks: Sequence[Marks],
    redrawing: Redrawing,
    find: Callable[..., Sites],
    tried: Try,
) -> Found:
    """The crystal in a frame that the pictures must tell."""
    scales = np.array([one.scale_px_per_A for one in marks])
    spread = np.maximum(np.array([one.scale_sigma for one in marks]), SCALE_SIGMA * scales)
    frame = _framed(joined, redrawing, scales, tried)
    boxes = frame.origins
    for blur in tried.blurs:
        sites, bundle = _searched(joined, find, frame, blur, scales, spread)
        frame = bundle.frame
        if blur != tried.blurs[-1]:
            joined = joined.calibrated(usual_variance(joined, bundle, sites.rows))
    sigma = float((spread / scales).min())
    other = slipped(frame, _boxed(joined, bundle, sites, redrawing, boxes, sigma).apart)
    if other is not None:
        sites, bundle = _searched(joined, find, other, tried.blurs[-1], scales, spread)
    return _settled(joined, bundle, sites, redrawing, boxes, sigma)


def _searched(joined, find, frame, blur, scales, spread) -> tuple[Sites, Bundle]:
    """Sites in a frame, and both adjusted to the marks."""
    sites = find(joined, frame, blur, DASH_SLACK)
    if not len(sites):
        raise NotReadError("uncertified", NOWHERE)
    return sites, adjusted(joined, frame, sites.positions, sites.rows, scales, spread)


def _boxed(joined, bundle, sites, redrawing, boxes, stretch_sigma: float) -> Settled:
    """The crystal in a box whose origins were seen at `boxes` (V, 2), px."""
    roots = np.tile(np.eye(2) / FOUND_SIGMA, (len(boxes), 1, 1))
    known = redrawing.knowledge
    return settle(
        bundle.frame, known.convention, known.size_px, bundle.positions,
        joined.radii[sites.species], stretch_sigma, boxes, roots,
    )  # fmt: skip


def _protocol(knowledge: Knowledge) -> Protocol:
    names = tuple(f"v{view}" for view in range(len(knowledge.rotations)))
    return Protocol("reader", names, np.asarray(knowledge.rotations))


def _framed(joined: Marked, redrawing: Redrawing, scales: np.ndarray, tried: Try) -> Frame:
    """The frame whose box lies best on the dashes, and on which layers agree."""
    knowledge, pictures = redrawing.knowledge, redrawing.pictures
    held = vectors(joined, knowledge.rotations, scales, tried.vector, tried.lost)
    lattices = triples(held)[:MOST_TRIPLES]
    if not lattices:
        told = f"{len(held)} vector(s) take every picture to itself, three are needed"
        if 1 in knowledge.convention.tiling:
            told += ": along a vector that is drawn once nothing has a copy; take K1 or more cells"
        raise NotReadError("no_lattice", told)
    ink = inked(pictures, joined, scales)
    framed = [
        boxed(joined, ink, knowledge.convention, knowledge.rotations, scales, lattice)
        for lattice in lattices
    ]
    score, places = max(framed, key=lambda one: one[0])
    if score == -np.inf:
        raise NotReadError("no_lattice", "no block of cells holds all discs")
    lattice = lattices[[one[0] for one in framed].index(score)]
    frame = Frame(
        knowledge.rotations, lattice, scales, np.array([one[0][1] for one in places]),
        knowledge.convention.tiling,
    )  # fmt: skip
    return layered(joined, frame, _protocol(knowledge), places, tried.window, tried.prior)[0]


def _found(
    joined: Marked, bundle: Bundle, sites: Sites, lattice, positions, stretch_sigma: float
) -> Found:
    return Found(
        lattice,
        joined.species[sites.species],
        positions,
        bundle.sigma,
        bundle.lattice_covariance,
        sites.spare,
        sites.others,
        stretch_sigma,
    )


def _settled(joined, bundle, sites, redrawing, boxes, stretch_sigma: float) -> Found:
    """The crystal in its box, which is laid on the dashes of the pictures."""
    frame, knowledge = bundle.frame, redrawing.knowledge
    radii = joined.radii[sites.species]
    numbers = joined.species[sites.species]
    known = (
        frame, knowledge.convention, knowledge.size_px, bundle.positions, radii, stretch_sigma
    )  # fmt: skip
    settled = _boxed(joined, bundle, sites, redrawing, boxes, stretch_sigma)
    for _ in range(LAID):
        drawn = redrawing.draw(settled.lattice, numbers, settled.positions)
        shift, roots = laid(drawn, redrawing.pictures, joined.line)
        origins = np.array([view.origin for view in drawn.views])
        settled = settle(*known, origins + shift, roots)
        if np.abs(shift).max() < 0.05:
            break
    left = float(np.sqrt(settled.covariance[3, 3]))
    found = _found(joined, bundle, sites, settled.lattice, settled.positions, left)
    return _completed(found, frame, joined, sites, redrawing, DASH_SLACK)


def _completed(found: Found, frame: Frame, joined, sites: Sites, redrawing, slack: float) -> Found:
    """With the sites that one picture alone shows."""
    if not len(sites.unexplained):
        return found
    crystal = completed(found.crystal, frame, joined, sites, redrawing, slack)
    more = len(crystal.numbers) - len(sites)
    return dataclasses.replace(
        found,
        numbers=crystal.numbers,
        positions=crystal.positions,
        sigma=np.append(found.sigma, np.full(more, np.inf)),  # along its ray nothing tells
        spare=np.append(found.spare, np.zeros(more, bool)),
    )


def _parsimonious(found: Found, redrawing: Redrawing) -> tuple[Found, Drawn]:
    """Without the sites whose loss the pictures do not show, and its drawing.

    The one whose loss does most good goes first.
    """
    drawn = redrawing.draw(found.lattice, found.numbers, found.positions)
    while np.any(found.spare):
        spare = np.flatnonzero(found.spare)[:MOST_SPARE]
        without = []
        for site in spare:
            keep = np.arange(len(found.numbers)) != site
            again = redrawing.draw(found.lattice, found.numbers[keep], found.positions[keep])
            without.append((again.total, site, again))
        total, site, again = min(without, key=lambda one: one[:2])
        if total > drawn.total:
            told = [at for cost, at, _ in without if cost > drawn.total + NEEDED]
            left = found.spare.copy()
            left[told] = False
            found = dataclasses.replace(found, spare=left)
            break
        keep = np.arange(len(found.numbers)) != site
        found = dataclasses.replace(
            found, numbers=found.numbers[keep], positions=found.positions[keep],
            sigma=found.sigma[keep], spare=found.spare[keep],
        )  # fmt: skip
        drawn = again
    return found, drawn


def _exact(found: Found, drawn: Drawn, redrawing: Redrawing, limits: Limits) -> tuple[Found, Drawn]:
    """With symmetries, directions and ties exact where the pictures are drawn better so."""
    if drawn.total == 0:
        return found, drawn
    crystal = found.crystal
    data = dataset(crystal, limits.tau)
    symmetries = None
    if data is not None and len(data.rotations) > 1:
        symmetries = data.rotations, data.translations
    lattice_sigma = np.sqrt(np.diagonal(found.lattice_covariance).clip(min=0)).reshape(3, 3)
    crystal, drawn = exact(
        crystal, drawn, redrawing, symmetries, found.stretch_sigma, lattice_sigma
    )
    if drawn.total > limits.max_pixels and redrawing.knowledge.level == "K0":
        error = found.stretch_sigma * np.linalg.norm(crystal.lattice, axis=1)
        error += np.linalg.norm(lattice_sigma, axis=1)
        crystal, drawn = counted(crystal, drawn, redrawing, error)
    found = dataclasses.replace(
        found, lattice=crystal.lattice, numbers=crystal.numbers, positions=crystal.positions,
        sigma=found.sigma[crystal.sites], spare=found.spare[crystal.sites],
    )  # fmt: skip
    return found, drawn
