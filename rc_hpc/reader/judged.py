"""Whether a crystal that was found is certified, and why not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rc_hpc.reader.drawn import Drawn, Redrawing
from rc_hpc.reader.exact import Crystal
from rc_hpc.reader.labelled import by_pictures, labels
from rc_hpc.reader.records import Limits, Reading
from rc_hpc.reader.sites import LEAST_DISTANCE
from rc_hpc.symmetry.distances import min_distances

#: Standard errors of frame and sites may be this share of the label's tolerance.
LABEL_SHARE = 0.2
#: The label must be the same at tolerances that are so many standard errors, and at least this
#: share, smaller and larger: it flips where a displacement comes to its tolerance.
MARGIN, LEAST_MARGIN = 4.0, 0.01
#: Pictures of which no more tell a crystal only where no other place is as good as its sites.
FEW_VIEWS = 3


@dataclass(frozen=True, eq=False)
class Found:
    """A crystal found in the pictures, before it is held against them."""

    lattice: np.ndarray
    numbers: np.ndarray
    positions: np.ndarray
    sigma: np.ndarray
    lattice_covariance: np.ndarray
    spare: np.ndarray
    others: int
    stretch_sigma: float

    @property
    def crystal(self) -> Crystal:
        """Lattice, elements and places."""
        return Crystal(self.lattice, self.numbers, self.positions, np.arange(len(self.numbers)))

    @property
    def lattice_error(self) -> float:
        """Standard error of the lattice along its worst direction, Å."""
        return float(np.sqrt(max(0.0, np.linalg.eigvalsh(self.lattice_covariance)[-1])))

    @property
    def error(self) -> float:
        """The largest standard error, of the lattice or of a site, Å."""
        return max(self.lattice_error, float(self.sigma.max()))


def judged(found: Found, drawn: Drawn, limits: Limits, redrawing: Redrawing, tries: int) -> Reading:
    """The reading, certified or not."""
    crystal = found.crystal
    fractional = crystal.fractional
    numbers = labels(found.lattice, fractional, found.numbers, limits.symprecs)
    at_tau = labels(found.lattice, fractional, found.numbers, (limits.tau,))[0]
    told = by_pictures(crystal, drawn, limits, redrawing)
    why = doubts(found, drawn, limits)
    if not why and told != at_tau:
        why = f"space group {at_tau} at {limits.tau:g} Å, but {told} draws the pictures as well"
    why = why or _unsure(found, at_tau, limits.tau)
    return Reading(
        "uncertified" if why else "read",
        why,
        found.lattice,
        found.numbers,
        fractional,
        found.sigma,
        found.lattice_covariance,
        drawn.total,
        not why,
        told,
        numbers,
        tries,
    )


def _unsure(found: Found, number: int, tau: float) -> str:
    """Whether the label, this number at tau, is another within the reading's own error."""
    margin = max(MARGIN * found.error, LEAST_MARGIN * tau)
    near = tau - margin, tau + margin
    others = labels(found.lattice, found.crystal.fractional, found.numbers, near)
    for other, symprec in zip(others, near, strict=True):
        if other != number:
            return (
                f"space group {number} at {tau:g} Å, but {other} at {symprec:.4f} Å, within the "
                "reading's own error"
            )
    return ""


def doubts(found: Found, drawn: Drawn, limits: Limits) -> str:
    """Why a reading is not certified; empty where nothing speaks against it."""
    if not np.isfinite(found.sigma).all():
        return f"{int(np.isinf(found.sigma).sum())} site(s) are seen in one picture only"
    if drawn.total > limits.max_pixels:
        return f"drawn again, {drawn.total} pixels differ (at most {limits.max_pixels})"
    if found.error > LABEL_SHARE * limits.tau:
        return (
            f"standard errors of {found.lattice_error:.4f} Å (lattice) and "
            f"{found.sigma.max():.4f} Å (sites) are too large for a label at {limits.tau:g} Å"
        )
    closest = min_distances(found.lattice, found.positions, found.numbers)
    if min(closest) < LEAST_DISTANCE:
        return f"two sites {min(closest):.3f} Å apart"
    if found.others and len(drawn.views) <= FEW_VIEWS:
        return (
            f"{found.others} more place(s) that no picture contradicts: {len(drawn.views)} "
            "pictures may show another crystal"
        )
    if np.any(found.spare):
        return f"{int(found.spare.sum())} site(s) without a disc of their own"
    return ""
