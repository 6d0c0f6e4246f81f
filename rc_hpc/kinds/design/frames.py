"""Camera sets compared: which the training structures choose, what the held-out ones say of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.geometry.camera_sets import SCORES
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.stats.crossing import crossing, paired
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson
from rc_hpc.stats.statistics import ALPHA, sign_test

if TYPE_CHECKING:
    import pandas as pd

#: Columns that the tables need, below `design/`.
DESIGN_COLUMNS = (
    "n_recovered",
    "correct",
    "largest_error",
    "phantom_subsets",
    "n_phantoms",
    "n_aligned",
    "screen_length",
)


@dataclass(frozen=True)
class Design:
    """What a design run measured.

    Attributes
    ----------
    protocols : (P,) sequence of Protocol
        The sets found, best of the search first, then those beside them.
    scores : (P,) sequence of dict
        See `rc_hpc.geometry.camera_sets.SCORES`.
    n_found
        Number of sets found.
    sigmas : (D,) float64
        Å.
    training, held_out : dict of (n, P, ...)
        `DESIGN_COLUMNS` of the structures of each side.
    """

    protocols: tuple[Protocol, ...]
    scores: tuple[dict[str, float], ...]
    n_found: int
    sigmas: np.ndarray
    training: dict[str, np.ndarray]
    held_out: dict[str, np.ndarray]

    def curve(self, side: dict[str, Any], p: int) -> np.ndarray:
        """R1 of a protocol by sigma, (D,): mean over structures and seeds."""
        return np.asarray(side["correct"][:, p].mean(axis=(0, 2)))

    def tolerance(self, side: dict[str, Any], p: int) -> float:
        """Noise tolerance of a protocol: R1, the mean over all sigmas but 0."""
        return float(self.curve(side, p)[self.sigmas > 0].mean())

    @property
    def best(self) -> int:
        """The set found with the highest noise tolerance on the training structures.

        Of equal ones that of lower cost.
        """
        return max(
            range(self.n_found),
            key=lambda p: (self.tolerance(self.training, p), -self.scores[p]["cost"]),
        )

    def role(self, p: int) -> str:
        """Part that a protocol plays in the tables."""
        return "beside" if p >= self.n_found else "best" if p == self.best else "found"


def verdict(design: Design) -> pd.DataFrame:
    """The best set against each protocol beside it, on held-out structures.

    A structure is better under the best set where more of its pictures, over all sigmas but 0
    and all seeds, have the right crystal system. The best set beats the other where its noise
    tolerance is higher, more structures are better than worse, and the exact two-sided sign
    test on these is significant at 0.05.
    """
    side, best = design.held_out, design.best
    noisy = design.sigmas > 0
    right = side["correct"][:, :, noisy].sum(axis=(2, 3))
    records = []
    for p in range(design.n_found, len(design.protocols)):
        better, worse = (
            int((right[:, best] > right[:, p]).sum()),
            int((right[:, best] < right[:, p]).sum()),
        )
        test = sign_test(better, worse)
        gained = design.tolerance(side, best) - design.tolerance(side, p)
        if gained > 0 and better > worse:
            said = "beats it" if test < ALPHA else "is ahead, not significantly"
        elif gained < 0 and better < worse:
            said = "loses to it" if test < ALPHA else "is behind, not significantly"
        else:
            said = "is not told apart from it"
        records.append(
            {
                "best": design.protocols[best].name,
                "beside": design.protocols[p].name,
                "n": len(right),
                "best_R1": design.tolerance(side, best),
                "beside_R1": design.tolerance(side, p),
                "best_crossing_angstrom": crossing(design.sigmas, design.curve(side, best)),
                "beside_crossing_angstrom": crossing(design.sigmas, design.curve(side, p)),
                "better": better,
                "worse": worse,
                "p": test,
                "verdict": f"the best set {said}",
            }
        )
    columns = [
        "best",
        "beside",
        "n",
        "best_R1",
        "beside_R1",
        "best_crossing_angstrom",
        "beside_crossing_angstrom",
        "better",
        "worse",
        "p",
        "verdict",
    ]
    return frame_of(records, columns, ("n", "better", "worse"))


def candidates(design: Design) -> pd.DataFrame:
    """Every protocol: scores of the search, tolerance on both sides, held-out crossing."""
    records = [
        {
            "protocol": protocol.name,
            "role": design.role(p),
            "views": len(protocol.views),
            **design.scores[p],
            "training_R1": design.tolerance(design.training, p),
            "held_out_R1": design.tolerance(design.held_out, p),
            "crossing_angstrom": crossing(design.sigmas, design.curve(design.held_out, p)),
        }
        for p, protocol in enumerate(design.protocols)
    ]
    names = [*SCORES, "training_R1", "held_out_R1", "crossing_angstrom"]
    frame = frame_of(records, ["protocol", "role", "views", *names], ("views",))
    return frame.rename(columns={"screen_length": "screen_length_angstrom"})


def by_sigma(design: Design) -> pd.DataFrame:
    """R1 of held-out structures by protocol and sigma; a structure is one trial of the interval."""
    side = design.held_out
    n = len(side["correct"])
    records = []
    for p, protocol in enumerate(design.protocols):
        for d, sigma in enumerate(design.sigmas):
            seeds = side["correct"][:, p, d].mean(axis=0)
            low, high = wilson(float(seeds.mean()) * n, n)
            records.append(
                {
                    "protocol": protocol.name,
                    "role": design.role(p),
                    "sigma_angstrom": sigma,
                    "n": n,
                    "seeds": len(seeds),
                    "R1": seeds.mean(),
                    "R1_min": seeds.min(),
                    "R1_max": seeds.max(),
                    "R1_low95": low,
                    "R1_high95": high,
                    "largest_error_angstrom": np.nanmax(side["largest_error"][:, p, d]),
                }
            )
    return frame_of(
        records,
        [
            "protocol",
            "role",
            "sigma_angstrom",
            "n",
            "seeds",
            "R1",
            "R1_min",
            "R1_max",
            "R1_low95",
            "R1_high95",
            "largest_error_angstrom",
        ],
        ("n", "seeds"),
    )


def pairs(design: Design) -> pd.DataFrame:
    """Held-out structures right under the best set or the one beside only, by sigma.

    Right is: in more than half of the seeds. With exact tests.
    """
    correct, best = design.held_out["correct"], design.best
    records = []
    for p in range(design.n_found, len(design.protocols)):
        for d, sigma in enumerate(design.sigmas):
            only_best, only_beside, test = paired(correct[:, best, d].T, correct[:, p, d].T)
            records.append(
                {
                    "best": design.protocols[best].name,
                    "beside": design.protocols[p].name,
                    "sigma_angstrom": sigma,
                    "n": len(correct),
                    "only_best": only_best,
                    "only_beside": only_beside,
                    "p": test,
                }
            )
    return frame_of(
        records,
        ["best", "beside", "sigma_angstrom", "n", "only_best", "only_beside", "p"],
        ("n", "only_best", "only_beside"),
    )


def phantoms(design: Design) -> pd.DataFrame:
    """Phantoms of held-out structures by protocol and number of views in a subset."""
    side = design.held_out
    n = len(side["phantom_subsets"])
    records = []
    for p, protocol in enumerate(design.protocols):
        for size in range(2, len(protocol.views) + 1):
            with_phantom, subsets = (
                side["phantom_subsets"][:, p, size - 2],
                comb(len(protocol.views), size),
            )
            records.append(
                {
                    "protocol": protocol.name,
                    "role": design.role(p),
                    "views": size,
                    "n": n,
                    "subsets": subsets,
                    "with_phantom": int(with_phantom.sum()),
                    "rate": with_phantom.sum() / (n * subsets),
                    "structures_with_phantom": int((with_phantom > 0).sum()),
                    "phantoms": int(side["n_phantoms"][:, p, size - 2].sum(dtype=np.int64)),
                }
            )
    integers = ("views", "n", "subsets", "with_phantom", "structures_with_phantom", "phantoms")
    return frame_of(
        records,
        [
            "protocol",
            "role",
            "views",
            "n",
            "subsets",
            "with_phantom",
            "rate",
            "structures_with_phantom",
            "phantoms",
        ],
        integers,
    )


def cameras(design: Design) -> pd.DataFrame:
    """Direction of every camera, and how lattice vectors of held-out structures lie to it.

    How many structures have one along a camera, and the shortest that is seen.
    """
    records = []
    for p, protocol in enumerate(design.protocols):
        lengths = np.median(design.held_out["screen_length"][:, p])
        for view, direction in zip(protocol.views, protocol.directions, strict=True):
            records.append(
                {
                    "protocol": protocol.name,
                    "role": design.role(p),
                    "camera": view,
                    "x": direction[0],
                    "y": direction[1],
                    "z": direction[2],
                    "structures_aligned": int((design.held_out["n_aligned"][:, p] > 0).sum()),
                    "median_screen_length_angstrom": lengths,
                }
            )
    columns = [
        "protocol",
        "role",
        "camera",
        "x",
        "y",
        "z",
        "structures_aligned",
        "median_screen_length_angstrom",
    ]
    return frame_of(records, columns, ("structures_aligned",))
