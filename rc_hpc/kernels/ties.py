"""Whether the scale at which ties are judged may decide anything about a cell."""

from rc_hpc.kernels.compiled import inner
from rc_hpc.kernels.points import sort_points

#: Part of the finest scale up to which residuals decide nothing, and what the scales are widened by
#: so that rounding does not.
_SETTLED, _WIDER = 1e-3, 1.01


@inner
def ties_may_matter(images, once, accept, residual, tie, factors):
    """Whether a cell may be read otherwise with ties judged at other scales.

    It may not where its image points group alike at the finest and at the coarsest, and every
    view has an image point right where it accepts a candidate. Then no other image point is as
    near, no candidate dominates another, and all residuals are of one step.

    Parameters
    ----------
    images : ImagePoints
        Of orthographic cameras.
    once : bool
        See `rc_hpc.kernels.points.sort_points`.
    accept : Acceptance
    residual : (C, V) float64
        Of the candidates with ties judged at `tie`, Å.
    tie : float
        Å.
    factors : (F,) float64
        The other scales, in units of `tie`.
    """
    if factors.size == 0:
        return False
    finest = coarsest = tie
    for factor in factors:
        finest, coarsest = min(finest, factor * tie), max(coarsest, factor * tie)
    for c in accept.accepted:
        for u in range(residual.shape[1]):
            if accept.seen[c] >> u & 1 and residual[c, u] > _SETTLED * finest:
                return True
    fine = sort_points(images, once, finest / _WIDER).starts
    coarse = sort_points(images, once, coarsest * _WIDER).starts
    for v in range(fine.shape[0]):
        for s in range(fine.shape[1]):
            if fine[v, s] != coarse[v, s]:
                return True
    return False
