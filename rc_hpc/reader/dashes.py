"""How many dashes an edge has where its length is a whole number of them, to within its error.

An edge has ``floor(length / dash)`` dashes, so that no error is small enough there to tell the
number: the pictures do.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from rc_hpc.reader.drawn import Drawn, Redrawing
from rc_hpc.reader.exact import Crystal

#: Standard errors of a length within which it may be a whole number of dashes.
REACH = 5.0
#: How far beside such a length an edge is drawn, as a share of it.
BESIDE = 1e-9


def counted(
    crystal: Crystal, drawn: Drawn, redrawing: Redrawing, error: np.ndarray
) -> tuple[Crystal, Drawn]:
    """The crystal with as many dashes along each edge as the pictures are drawn best with.

    Parameters
    ----------
    drawn
        Of the crystal.
    error : (3,)
        Standard errors of the lengths of its vectors, Å.
    """
    known = redrawing.knowledge.convention
    if not known.box:
        return crystal, drawn
    dash = known.dash_A / np.array(known.tiling)
    lengths = np.linalg.norm(crystal.lattice, axis=1)
    whole = np.round(lengths / dash) * dash
    unsure = np.abs(lengths - whole) < REACH * error
    if not unsure.any():
        return crystal, drawn
    best, fractional = crystal, crystal.fractional
    # most of an error is that of the scale, which all lengths share
    shared = lengths * np.mean(whole[unsure] / lengths[unsure])
    for side in itertools.product(*((-BESIDE, BESIDE) if one else (0.0,) for one in unsure)):
        wanted = np.where(unsure, whole * (1 + np.array(side)), shared)
        lattice = crystal.lattice * (wanted / lengths)[:, None]
        again = dataclasses.replace(crystal, lattice=lattice, positions=fractional @ lattice)
        if (tried := again.draw(redrawing)).total < drawn.total:
            best, drawn = again, tried
    return best, drawn
