"""Options of a camera design."""

from __future__ import annotations

from dataclasses import dataclass, field

from rc_hpc.core import constants
from rc_hpc.core.options import Options
from rc_hpc.core.vocabulary import TRUTHS
from rc_hpc.kinds.packed.options import PackOptions


@dataclass(frozen=True)
class DesignOptions(Options):
    """What one camera design computes; the sets found by its search are part of it.

    Attributes
    ----------
    protocols
        `Protocol.identity()` and name of each: the sets found, then those beside them.
    scores
        Of each protocol on the searched structures, see `rc_hpc.geometry.camera_sets.SCORES`.
    cameras
        Of each set found, as a protocol file has them.
    views, keep, seed, starts, sample, training, held_out
        What was searched, for whom: cameras of a set, names of kept ones, seed of the search and
        of the split, random starts, structures that the search looks at, structures that choose
        between the sets found, and the share that is held out, or `ids`.
    sides
        Hash of the side of every structure.
    delta
        Tolerance of the phantom rates, Å.
    sigmas, seeds, truth, quarantine, pack
        See `NoiseOptions`; quarantined structures are dropped or kept.
    """

    protocols: tuple[dict, ...] = field(hash=False)
    scores: tuple[dict, ...] = field(hash=False)
    cameras: tuple[tuple[dict, ...], ...] = field(hash=False)
    views: int
    keep: tuple[str, ...]
    seed: int
    starts: int
    sample: int
    training: int
    held_out: str
    sides: str
    delta: float = constants.DELTA
    sigmas: tuple[float, ...] = constants.DESIGN_SIGMAS
    seeds: int = 3
    truth: str = TRUTHS[0]
    quarantine: str = "drop"
    pack: PackOptions = PackOptions()
