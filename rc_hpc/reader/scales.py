"""Scales of pictures from the radii of the discs: jointly, each element's radius is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rc_hpc.kernels.discs import fit_circle, vote_peaks
from rc_hpc.reader.calibration import profile
from rc_hpc.reader.convention import Convention
from rc_hpc.reader.edges import Edges
from rc_hpc.reader.records import NotReadError

#: Steps of the logarithm of a scale, and what counts as one scale in the vote of local circles.
STEP, BESIDE = 0.005, 4
#: Local circles that count: smallest radius, and largest distance of the pixels from them, px.
LEAST_RADIUS, LARGEST_RESIDUAL = 1.5, 0.15
#: Scales that are tried, and how far apart their logarithms are at least.
TRIED, APART = 4, 0.05
#: Discs of an element that are fitted, the best seen first, and edge pixels that they must have.
FITTED, LEAST_PIXELS = 12, 8
#: Distances from the circle of the pixels that count, px, step by step.
REACHES = (2.0, 1.2, 0.6, 0.3, 0.15, 0.08)
#: Scales of single discs that count are within this of the rough one, and agree within that and
#: two standard errors, relative.
NEAR, AGREE = 0.03, 1e-3
#: Standard error of a pixel's distance, and of a radius however many discs tell it, px.
PIXEL_SIGMA, FLOOR = 0.006, 0.0015


@dataclass(frozen=True)
class Scale:
    """Scale of one picture.

    Attributes
    ----------
    px_per_A, sigma
        With its standard error.
    pixels
        Edge pixels of the discs that agree on it.
    """

    px_per_A: float
    sigma: float
    pixels: int


def find_scales(
    edges: Sequence[Mapping[int, Edges]], convention: Convention, size_px: int
) -> list[Scale]:
    """Scale of each picture of one crystal.

    Every arc that bends outwards belongs to a disc whose radius in Å its fill tells. Local
    circles vote for the scales that are tried; on each, whole discs are fitted with free radii.
    All views are asked first, and one that shows too little to tell its scale is decided among
    those that it allows by what the others have.

    Parameters
    ----------
    edges
        By picture and element, as `rc_hpc.reader.edges.edges_of` gives them.

    Raises
    ------
    NotReadError
        A picture shows no disc from which its scale could be told.
    """
    tried = [
        [_refined(view, convention, rough, size_px) for rough in _rough(view, convention, size_px)]
        for view in edges
    ]
    sure = [max(scales, key=_weight) for scales in tried if scales and _clear(scales)]
    middle = np.median(np.log([scale.px_per_A for scale in sure])) if sure else None
    found = []
    for number, scales in enumerate(tried):
        scales = [scale for scale in scales if scale.pixels]
        if not scales:
            raise NotReadError(
                "no_scale", f"picture {number + 1} shows no disc whose radius tells its scale"
            )
        if middle is not None and not _clear(scales):
            best = max(map(_weight, scales))
            likely = [scale for scale in scales if _weight(scale) > best / 4]
            scales = [min(likely, key=lambda s: abs(np.log(s.px_per_A) - middle))]
        found.append(max(scales, key=_weight))
    return found


def _weight(scale: Scale) -> int:
    return scale.pixels


def _clear(scales: Sequence[Scale]) -> bool:
    """Whether one scale has far more discs than any other."""
    pixels = sorted((scale.pixels for scale in scales), reverse=True)
    return pixels[0] >= 100 and (len(pixels) == 1 or pixels[0] > 3 * pixels[1])


def _rough(edges: Mapping[int, Edges], convention: Convention, size_px: int) -> list[float]:
    """Scales that local circles vote for, the most votes first; whole discs are in the picture."""
    logs = [np.empty(0)]
    for number, own in edges.items():
        good = (own.radius > LEAST_RADIUS) & (own.residual < LARGEST_RESIDUAL)
        radius = own.radius[good] + convention.line_px / 2
        logs.append(np.log(radius / convention.radii_A[number]))
    log = np.concatenate(logs)
    largest = max((convention.radii_A[number] for number in edges), default=1.0)
    log = log[log < np.log(size_px / 2 / largest)]
    if not len(log):
        return []
    low = np.floor(log.min() / STEP) - BESIDE
    votes = np.bincount((np.floor(log / STEP) - low).astype(int), minlength=2 * BESIDE + 1)
    votes = np.convolve(np.pad(votes, BESIDE), np.ones(2 * BESIDE + 1), "same").astype(float)
    found: list[float] = []
    reach = int(APART / STEP)
    for _ in range(TRIED):
        top = int(votes.argmax())
        if votes[top] < LEAST_PIXELS:
            break
        found.append(float(np.exp((top + low - BESIDE + 0.5) * STEP)))
        votes[max(0, top - reach) : top + reach + 1] = 0
    return found


def _refined(
    edges: Mapping[int, Edges], convention: Convention, rough: float, size_px: int
) -> Scale:
    """A scale from the best seen discs, their radii free; without pixels where they disagree."""
    found = Scale(rough, np.inf, 0)
    for _ in range(2):
        fits = [
            _free_radii(own, convention, number, found.px_per_A, size_px)
            for number, own in edges.items()
            if convention.radii_A[number] * found.px_per_A > convention.line_px / 2 + 1.0
        ]
        values = np.concatenate([np.empty((0, 4)), *fits])
        values = values[np.abs(values[:, 0] / found.px_per_A - 1) < NEAR]
        if not len(values):
            return Scale(rough, np.inf, 0)
        value, sigma, count, radius = values.T
        agree = np.abs(value[:, None] / value - 1) < AGREE + 2 * np.hypot(sigma[:, None], sigma) / (
            value
        )
        best = agree[int((agree @ count).argmax())]
        weight = sigma[best] ** -2.0
        floor = FLOOR / np.average(radius[best], weights=weight)
        found = Scale(
            float(np.average(value[best], weights=weight)),
            float(np.hypot(weight.sum() ** -0.5, floor)),
            int(count[best].sum()),
        )
    return found


def _free_radii(
    own: Edges, convention: Convention, number: int, scale: float, size_px: int
) -> np.ndarray:
    """Scale, its standard error, edge pixels and radius in Å of each well seen disc, (m, 4)."""
    drawn = convention.radii_A[number] * scale
    radius = drawn - convention.line_px / 2
    outside = profile(drawn, convention.line_pt, convention.fill(number))
    near = np.abs(np.log(np.maximum(own.radius, 1e-3) / radius)) < 0.3
    outline = own.outline
    votes = outline.places + 0.5 + (own.offsets - radius)[:, None] * outline.normals
    peaks, counts = vote_peaks(votes, near, (size_px, size_px), 6)
    fits = []
    free = np.ones(len(own), bool)
    for peak in peaks[np.argsort(-counts, kind="stable")[:FITTED]]:
        _, size, count, rms, inverse = fit_circle(
            outline, free, peak, radius, outside, REACHES, True
        )
        if count < LEAST_PIXELS or inverse[2, 2] > 1.0:
            continue
        radius_A = convention.radii_A[number]
        sigma = max(rms, PIXEL_SIGMA) * inverse[2, 2] ** 0.5
        fits.append(((size + convention.line_px / 2) / radius_A, sigma / radius_A, count, radius_A))
    return np.array(fits).reshape(-1, 4)
