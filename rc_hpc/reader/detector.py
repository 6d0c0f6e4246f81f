"""Discs of pictures: elements by their fill, centres to some thousandths of a pixel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rc_hpc.kernels.discs import find_discs
from rc_hpc.reader.calibration import drawn_shift, profile
from rc_hpc.reader.convention import Convention
from rc_hpc.reader.edges import Edges, edges_of, fills_of
from rc_hpc.reader.records import Knowledge, Marks, NotReadError
from rc_hpc.reader.scales import PIXEL_SIGMA, Scale, find_scales
from rc_hpc.reader.spoilt import spoilt

#: Edge pixels that a disc must have, and the same as a share of a whole outline's for small discs;
#: fewer are seen by chance.
LEAST_PIXELS, LEAST_SHARE = 8, 0.25
#: Share of its outline that must be seen of a white disc, which is told from the background by
#: nothing else.
WHITE_RING = 0.55
#: Smallest radius of the inner edge that is looked for, px.
LEAST_RADIUS = 1.2
#: Pictures that cannot all be alike.
MANY = 4
#: Standard error of a centre along each axis that no number of pixels betters, px: Agg cuts
#: coordinates to 1/256 px.
CUT = 1 / 256 / 12**0.5


def detect(pictures: Sequence[np.ndarray], knowledge: Knowledge) -> list[Marks]:
    """The discs of each picture.

    Parameters
    ----------
    pictures
        Of one crystal, one a camera of `knowledge`, (size, size, 3) uint8 RGB.

    Raises
    ------
    NotReadError
        They are not of the size or number known, one is blank, all are the same, their colours
        were changed after they were drawn, or a scale cannot be told.
    """
    _check(pictures, knowledge)
    convention = knowledge.convention
    fills = fills_of(convention, knowledge.species)
    edges = [edges_of(pixels, fills) for pixels in pictures]
    if knowledge.pixels_per_A is None:
        try:
            scales = find_scales([view[0] for view in edges], convention, knowledge.size_px)
        except NotReadError as error:
            if why := spoilt(pictures):
                raise NotReadError("convention", why) from error
            raise
    else:
        scales = [Scale(float(k), 0.0, 0) for k in knowledge.pixels_per_A]
    return [
        _marks(*view, convention, scale, knowledge.size_px)
        for view, scale in zip(edges, scales, strict=True)
    ]


def least_pixels(radius_px: float) -> int:
    """Edge pixels that a disc must have."""
    return int(np.clip(LEAST_SHARE * 2 * np.pi * radius_px, LEAST_PIXELS / 2, LEAST_PIXELS))


def _check(pictures: Sequence[np.ndarray], knowledge: Knowledge) -> None:
    size, views = knowledge.size_px, len(knowledge.rotations)
    if len(pictures) != views:
        raise NotReadError(
            "refused", f"{len(pictures)} pictures for {views} cameras: give one each"
        )
    for number, pixels in enumerate(pictures, 1):
        if pixels.shape != (size, size, 3) or pixels.dtype != np.uint8:
            raise NotReadError(
                "refused",
                f"picture {number} is {' x '.join(map(str, pixels.shape))} {pixels.dtype}, not "
                f"{size} x {size} x 3 uint8",
            )
        if (pixels == pixels[0, 0]).all():
            raise NotReadError("refused", f"picture {number} is blank")
    # Two views of a crystal may be alike by its symmetry; no crystal looks so from everywhere.
    if views >= MANY and all(np.array_equal(pixels, pictures[0]) for pixels in pictures[1:]):
        raise NotReadError("refused", f"all {views} pictures are the same one")


def _marks(
    coloured: Mapping[int, Edges],
    white: Mapping[int, Edges],
    convention: Convention,
    scale: Scale,
    size_px: int,
) -> Marks:
    """Discs of one picture at its scale."""
    found = []
    for edges, ring in ((coloured, 0.0), (white, WHITE_RING)):
        for number, own in edges.items():
            drawn = convention.radii_A[number] * scale.px_per_A
            radius = drawn - convention.line_px / 2
            if radius < LEAST_RADIUS or not len(own):
                continue
            middles, counts, rms, inverses, visible = find_discs(
                own.outline,
                own.offsets,
                radius,
                profile(drawn, convention.line_pt, convention.fill(number)),
                (size_px, size_px),
                least_pixels(radius),
                ring,
            )
            error2 = np.maximum(rms, PIXEL_SIGMA) ** 2
            covariance = error2[:, None, None] * inverses + CUT**2 * np.eye(2)
            found.append(
                (np.full(len(counts), number), middles, covariance, drawn, counts, visible)
            )
    if not found:
        return Marks(
            np.empty(0, np.int64), np.empty((0, 2)), np.empty((0, 2, 2)), np.empty(0),
            np.empty(0, np.int64), np.empty(0), scale.px_per_A, scale.sigma,
        )  # fmt: skip
    species, middles, covariance, drawn, counts, visible = zip(*found, strict=True)
    return Marks(
        np.concatenate(species),
        np.concatenate(middles) - drawn_shift(convention.line_pt),
        np.concatenate(covariance),
        np.repeat(drawn, [len(each) for each in species]),
        np.concatenate(counts),
        np.concatenate(visible),
        scale.px_per_A,
        scale.sigma,
    )
