"""The box about the sites: what the fit into the square and the dashes say of it.

Marks tell where the sites lie to each other, not where the box lies about them, and the scale of
the whole only by the radii. The rule by which a drawing is fitted into its picture tells both
where the box or the discs reach out; the dashes tell the place of the box.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass

import numpy as np

from rc_hpc.kernels.registration import rings, stroke_shift
from rc_hpc.reader.convention import Convention
from rc_hpc.reader.drawn import Drawn
from rc_hpc.reader.frame import Frame, rows_of

#: Standard errors of what the rule says, of dashes that were found, and of dashes laid on those of
#: a drawing, px.
RULE_SIGMA, FOUND_SIGMA, LAID_SIGMA = 0.01, 0.6, 0.03
#: Distance of rule and marks at which one of them is wrong, px.
SLIP = 0.2
#: Step of differences: a length, Å, and a stretch.
STEP = 1e-5
STEPS = 12


@dataclass(frozen=True, eq=False)
class Settled:
    """A crystal that the rules put where the pictures have it.

    Attributes
    ----------
    lattice : (3, 3), positions : (n, 3)
        Å, the box at the origin.
    covariance : (4, 4) float64
        Of the place of the box, Å^2, and of the logarithm of the stretch.
    apart : (V, 2) float64
        By how much the rule puts each picture beside where the marks have it, px.
    """

    lattice: np.ndarray
    positions: np.ndarray
    covariance: np.ndarray
    apart: np.ndarray


def settle(
    frame: Frame,
    convention: Convention,
    size: int,
    positions: np.ndarray,
    radii: np.ndarray,
    stretch_sigma: float,
    box: np.ndarray,
    box_sigma: np.ndarray,
) -> Settled:
    """Shift and stretch a crystal so that the rule puts it where the marks have it.

    Parameters
    ----------
    frame
        As the marks have it.
    size
        Of the pictures, px.
    positions : (n, 3), radii : (n,)
        Å.
    stretch_sigma
        Standard error of the scale as a share of it.
    box : (V, 2) float64
        Where the box's origin was seen, px.
    box_sigma : (V, 2, 2)
        Square roots of the inverse covariances of that, 1/px.
    """
    probes = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    probes = probes @ (frame.lattice * np.array(frame.tiling)[:, None])
    seen = frame.pixels(probes)
    plain = rows_of(frame.rotations, np.ones(len(frame.scales)))

    def misfits(shift: np.ndarray) -> np.ndarray:
        move, stretch = shift[:3], np.exp(shift[3])
        lattice, places = frame.lattice * stretch, (positions - move) * stretch
        origins, scales = fitted(frame, convention, size, lattice, places, radii)
        rows = plain * scales[:, None, None]
        told = origins[:, None] + np.einsum("vcx,nx->vnc", rows, (probes - move) * stretch)
        where = frame.origins + np.einsum("vcx,x->vc", frame.rows, move)
        return np.concatenate(
            (
                ((told - seen) / RULE_SIGMA).ravel(),
                np.einsum("vij,vj->vi", box_sigma, where - box).ravel(),
                [shift[3] / stretch_sigma],
            )
        )

    shift = np.zeros(4)
    value = misfits(shift)
    left = np.eye(4)
    for _ in range(STEPS):
        slope = np.stack(
            [(misfits(shift + STEP * unit) - misfits(shift - STEP * unit)) / (2 * STEP)
             for unit in np.eye(4)], axis=1,
        )  # fmt: skip
        left = slope.T @ slope + 1e-6 * np.eye(4)
        step = -np.linalg.solve(left, slope.T @ value)
        for _ in range(6):  # the rule has kinks, where another disc reaches out
            again = misfits(shift + step)
            if again @ again <= value @ value:
                break
            step = step / 2
        else:
            break
        shift, value = shift + step, again
        if np.abs(step).max() < 1e-9:
            break
    stretch = np.exp(shift[3])
    rule = value[: 2 * len(probes) * len(plain)] * RULE_SIGMA
    return Settled(
        frame.lattice * stretch,
        (positions - shift[:3]) * stretch,
        np.linalg.inv(left),
        rule.reshape(len(plain), len(probes), 2).mean(axis=1),
    )


def fitted(
    frame: Frame, convention: Convention, size: int, lattice, positions, radii
) -> tuple[np.ndarray, np.ndarray]:
    """Origins (V, 2) and scales (V,) that the rule gives, as `rc_hpc.images.view.project`."""
    box = lattice * np.array(frame.tiling)[:, None]
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=3))) @ box
    shifts = frame.tiles @ lattice
    origins, scales = np.empty((len(frame.rotations), 2)), np.empty(len(frame.rotations))
    for view, rotation in enumerate(frame.rotations):
        plane = rotation[:, :2]
        site, shift = positions @ plane, shifts @ plane
        low = (site - radii[:, None]).min(0) + shift.min(0)
        high = (site + radii[:, None]).max(0) + shift.max(0)
        if convention.box:
            edge = corners @ plane
            low, high = np.minimum(low, edge.min(0)), np.maximum(high, edge.max(0))
        scale = (size / (convention.margin * (high - low))).min()
        middle = (low + high) / 2
        scales[view] = scale
        origins[view] = size / 2 - scale * middle[0], size / 2 + scale * middle[1]
    return origins, scales


def laid(drawn: Drawn, pictures, line: float) -> tuple[np.ndarray, np.ndarray]:
    """How far the picture's dashes lie from the drawing's, and how well that is known.

    Returns
    -------
    shift : (V, 2) float64
        px.
    root : (V, 2, 2) float64
        Square root of the inverse covariance, 1/px; zeros where no dash tells.
    """
    shifts, roots = np.zeros((len(drawn.views), 2)), np.zeros((len(drawn.views), 2, 2))
    shown = ~drawn.scene.segments.hidden
    for k, (view, pixels) in enumerate(zip(drawn.views, drawn.pixels, strict=True)):
        masked = rings(*pixels.shape[:2], view.centres, view.radii, line / 2 + 1.5)
        left, right = stroke_shift(
            np.asarray(pictures[k]), pixels, masked, view.middles[shown], view.halves[shown], 2.5
        )
        values, axes = np.linalg.eigh(left)
        # Of some thousand soft pixels; fewer tell nothing.
        good = values > 1e6
        if not good.any():
            continue
        axes, values = axes[:, good], values[good]
        shift = axes @ ((axes.T @ right) / values)
        shifts[k] = shift * min(1.0, 1.0 / max(np.hypot(*shift), 1e-9))
        roots[k] = axes @ axes.T / LAID_SIGMA
    return shifts, roots


def slipped(frame: Frame, apart: np.ndarray) -> Frame | None:
    """The frame with pictures moved by a vector of the cell where the rule asks for it.

    Where a vector is nearly along the view direction, most of a cell's discs hide those of the
    next, and the marks alone do not tell one from the other.

    Parameters
    ----------
    apart : (V, 2) float64
        See `Settled`.
    """
    origins, found = frame.origins.copy(), False
    for view, away in enumerate(apart):
        if np.hypot(*away) < SLIP:
            continue
        steps = np.array([n for n in itertools.product((-1, 0, 1), repeat=3) if any(n)])
        seen = steps @ frame.lattice @ frame.rows[view].T
        if np.hypot(*(seen - away).T).min() < SLIP / 2:
            origins[view] += away
            found = True
    return dataclasses.replace(frame, origins=origins) if found else None
