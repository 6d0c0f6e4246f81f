"""Noise sweep: counts that add up over blocks of structures, and frames made of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.geometry import conditioning
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.common.subsets import GRANULARITIES
from rc_hpc.stats.crossing import crossing, majority
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson
from rc_hpc.stats.statistics import sign_test

if TYPE_CHECKING:
    import pandas as pd

#: Columns that `tally_noise` needs.
NOISE_COLUMNS = (
    "n_recovered",
    "median_error",
    "largest_error",
    "space_group",
    "aligned",
    "n_images",
    "budget_record",
    "budget_certain",
    "budget_probable",
    *(f"correct_{name}" for name in GRANULARITIES),
)
BUDGETS = ("record", "certain", "probable")
#: Crossings of the released record, Å, on its 210 structures.
RELEASED_CROSSINGS = {"frozen": 0.01455, "off-axis": 0.00688, "frozen@2x2x2": 0.00477}


@dataclass(frozen=True)
class Axes:
    """Axes of a noise sweep.

    Attributes
    ----------
    protocols : (P,) sequence of Protocol
    readings : (R,) sequence of (str, str)
        Rule and estimator.
    sigmas : (D,) float64
        Å.
    seeds : int
        N.
    deltas : (P, R, D) float64
        Å.
    gains : (P, R) float64
        Largest standard deviation of a position in units of sigma.
    """

    protocols: tuple[Protocol, ...]
    readings: tuple[tuple[str, str], ...]
    sigmas: np.ndarray
    seeds: int
    deltas: np.ndarray
    gains: np.ndarray

    def arms(self) -> list[tuple[int, int, dict[str, Any]]]:
        """Protocol and reading of every arm, with the cells that name it in a table."""
        return [
            (p, r, {"protocol": protocol.name, "rule": rule, "estimator": estimator})
            for r, (rule, estimator) in enumerate(self.readings)
            for p, protocol in enumerate(self.protocols)
        ]


@dataclass(frozen=True)
class NoiseTally:
    """Counts over some structures; the tallies of two disjoint sets add up.

    Attributes
    ----------
    n : () int64
        Structures.
    correct : (4, P, R, D, N) int64
        Structures with the true label, by granularity.
    majority : (P, R, D) int64
        Structures whose crystal system is right in more than half of the seeds.
    only : (P R, P R, D) int64
        Of these, those of the first arm that are none of the second's.
    more, fewer, unlabelled : (P, R, D) int64
        Pictures read with more and with fewer atoms than there are, and without a label.
    read : (P, R, D) int64
        Pictures from which at least one atom was read.
    median_errors : (P, R, D) float64
        Sum of their median position errors, Å.
    largest_error : (P, R, D) float64
        Å; NaN where there is none.
    atoms : (P,) int64
        Drawn atoms of all structures.
    aligned, coincident, images : (P, V) int64
        Structures with a lattice vector along the camera, those in whose pictures atoms of
        one species coincide, and places at which atoms are seen.
    budgets : dict of (n, P, R) float64
        By the names of `BUDGETS`, Å.
    """

    n: np.int64
    correct: np.ndarray
    majority: np.ndarray
    only: np.ndarray
    more: np.ndarray
    fewer: np.ndarray
    unlabelled: np.ndarray
    read: np.ndarray
    median_errors: np.ndarray
    largest_error: np.ndarray
    atoms: np.ndarray
    aligned: np.ndarray
    coincident: np.ndarray
    images: np.ndarray
    budgets: dict[str, np.ndarray]

    def __add__(self, other: NoiseTally) -> NoiseTally:
        joined = {
            name: np.add(value, getattr(other, name))
            for name, value in vars(self).items()
            if name not in ("largest_error", "budgets")
        }
        return NoiseTally(
            **joined,
            largest_error=np.fmax(self.largest_error, other.largest_error),
            budgets={
                name: np.concatenate((values, other.budgets[name]))
                for name, values in self.budgets.items()
            },
        )


def tally_noise(rows: dict[str, np.ndarray], tilings: np.ndarray) -> NoiseTally:
    """Tally of a block of computed structures.

    Parameters
    ----------
    rows
        `n_atoms` (n,) and `NOISE_COLUMNS` as in the file, any n from 0 on.
    tilings : (P,) int
        Conventional cells in the drawn cell.
    """
    atoms = rows["n_atoms"][:, None].astype(np.int64) * tilings
    drawn = atoms[:, :, None, None, None]
    recovered = rows["n_recovered"]
    right = majority(rows["correct_crystal_system"])
    n, n_protocols, n_readings, n_sigmas = right.shape
    arms = right.reshape(n, n_protocols * n_readings, n_sigmas).astype(np.int64)
    both = np.einsum("iad,ibd->abd", arms, arms)
    return NoiseTally(
        n=np.int64(n),
        correct=np.array(
            [rows[f"correct_{name}"].sum(axis=0, dtype=np.int64) for name in GRANULARITIES]
        ),
        majority=right.sum(axis=0, dtype=np.int64),
        only=arms.sum(axis=0)[:, None] - both,
        more=np.count_nonzero(recovered > drawn, axis=(0, 4)),
        fewer=np.count_nonzero(recovered < drawn, axis=(0, 4)),
        unlabelled=np.count_nonzero(rows["space_group"] == 0, axis=(0, 4)),
        read=np.count_nonzero(recovered > 0, axis=(0, 4)),
        median_errors=np.nansum(rows["median_error"], axis=(0, 4), dtype=float),
        largest_error=np.fmax.reduce(
            np.fmax.reduce(rows["largest_error"], axis=4, initial=np.nan), axis=0, initial=np.nan
        ).astype(float),
        atoms=atoms.sum(axis=0),
        aligned=np.count_nonzero(rows["aligned"].any(axis=3), axis=0),
        coincident=np.count_nonzero(
            (rows["n_images"] >= 0) & (rows["n_images"] < atoms[:, :, None]), axis=0
        ),
        images=np.maximum(rows["n_images"], 0).sum(axis=0, dtype=np.int64),
        budgets={
            name: rows[f"budget_{name}"]
            if name != "record"
            else np.repeat(rows["budget_record"][:, :, None], n_readings, axis=2)
            for name in BUDGETS
        },
    )


def by_sigma(sets: dict[str, NoiseTally], axes: Axes) -> pd.DataFrame:
    """R1 over sigma, one row per set of structures, arm and sigma.

    `R1` is the mean over the seeds, of the crystal system; `R1_min` and `R1_max` are the seeds'
    extremes. The interval takes a structure for one trial, however many seeds it was read with.
    """
    records = []
    for name, t in sets.items():
        for p, r, arm in axes.arms():
            for d, sigma in enumerate(axes.sigmas):
                seeds = t.correct[0, p, r, d]
                shares = [
                    _share(t.correct[k, p, r, d].sum(), t.n * axes.seeds)
                    for k in range(len(GRANULARITIES))
                ]
                low, high = wilson(t.correct[0, p, r, d].sum() / axes.seeds, int(t.n))
                records.append(
                    {
                        "structures": name,
                        **arm,
                        "sigma_angstrom": sigma,
                        "delta_angstrom": axes.deltas[p, r, d],
                        "n": int(t.n),
                        "seeds": axes.seeds,
                        "R1": shares[0],
                        "R1_min": _share(seeds.min(), t.n),
                        "R1_max": _share(seeds.max(), t.n),
                        "R1_low95": low,
                        "R1_high95": high,
                        **{
                            f"R1_{granularity}": share
                            for granularity, share in zip(
                                GRANULARITIES[1:], shares[1:], strict=True
                            )
                        },
                        "more": int(t.more[p, r, d]),
                        "fewer": int(t.fewer[p, r, d]),
                        "unlabelled": int(t.unlabelled[p, r, d]),
                        "median_error_angstrom": _share(t.median_errors[p, r, d], t.read[p, r, d]),
                        "largest_error_angstrom": t.largest_error[p, r, d],
                    }
                )
    columns = [
        "structures",
        *_ARM,
        "sigma_angstrom",
        "delta_angstrom",
        "n",
        "seeds",
        "R1",
        "R1_min",
        "R1_max",
        "R1_low95",
        "R1_high95",
        *(f"R1_{name}" for name in GRANULARITIES[1:]),
        "more",
        "fewer",
        "unlabelled",
        "median_error_angstrom",
        "largest_error_angstrom",
    ]
    return frame_of(records, columns, ("n", "seeds", "more", "fewer", "unlabelled"))


def crossings(sets: dict[str, NoiseTally], axes: Axes) -> pd.DataFrame:
    """sigma at which R1 falls below `LEVEL`, one row per set of structures and arm.

    Of the seeds' mean, with the extremes of the single seeds; infinite where it does not fall
    below at any sigma of the sweep, missing where it is below at the first. `released` is the
    released record's, on its own 210 structures.
    """
    records = []
    for name, t in sets.items():
        if not t.n:
            continue
        for p, r, arm in axes.arms():
            seeds = [crossing(axes.sigmas, counts / t.n) for counts in t.correct[0, p, r].T]
            released = (
                RELEASED_CROSSINGS.get(arm["protocol"], np.nan)
                if arm["rule"] == "record"
                else np.nan
            )
            records.append(
                {
                    "structures": name,
                    **arm,
                    "n": int(t.n),
                    "seeds": axes.seeds,
                    "kappa": max(axes.protocols[p].kappas().values()),
                    "gain": axes.gains[p, r],
                    "crossing_angstrom": crossing(
                        axes.sigmas, t.correct[0, p, r].mean(axis=1) / t.n
                    ),
                    "seed_crossings_min": min(seeds),
                    "seed_crossings_max": max(seeds),
                    "released_angstrom": released,
                }
            )
    columns = [
        "structures",
        *_ARM,
        "n",
        "seeds",
        "kappa",
        "gain",
        "crossing_angstrom",
        "seed_crossings_min",
        "seed_crossings_max",
        "released_angstrom",
    ]
    return frame_of(records, columns, ("n", "seeds"))


def paired(sets: dict[str, NoiseTally], axes: Axes) -> pd.DataFrame:
    """Paired exact tests of arms that differ in protocol or in reading, one row per sigma.

    A structure is right in an arm where more than half of the seeds are.
    """
    records = []
    for name, t in sets.items():
        for (p, r, first), (q, s, second) in combinations(axes.arms(), 2):
            if p != q and r != s:
                continue
            a, b = p * len(axes.readings) + r, q * len(axes.readings) + s
            for d, sigma in enumerate(axes.sigmas):
                only = int(t.only[a, b, d]), int(t.only[b, a, d])
                records.append(
                    {
                        "structures": name,
                        "first": ", ".join(first.values()),
                        "second": ", ".join(second.values()),
                        "sigma_angstrom": sigma,
                        "n": int(t.n),
                        "first_right": int(t.majority[p, r, d]),
                        "second_right": int(t.majority[q, s, d]),
                        "only_first": only[0],
                        "only_second": only[1],
                        "p": sign_test(*only),
                    }
                )
    integers = ("n", "first_right", "second_right", "only_first", "only_second")
    return frame_of(
        records, ["structures", "first", "second", "sigma_angstrom", *integers, "p"], integers
    )


def pairs(axes: Axes) -> pd.DataFrame:
    """Every independent camera pair, and all views together.

    Separation, kappa, and the amplification of random errors.
    """
    records = []
    for protocol in axes.protocols:
        angles = conditioning.separation_angles(protocol)
        for views in (*angles, tuple(range(len(protocol.views)))):
            names = "+".join(protocol.views[v] for v in views) if len(views) == 2 else "all views"
            kappa = conditioning.gain(protocol, views)
            measured = conditioning.amplification(protocol, views)
            records.append(
                {
                    "protocol": protocol.name,
                    "views": names,
                    "angle_degrees": angles.get(views, np.nan),
                    "kappa": kappa,
                    "largest_measured": measured.max(),
                    "rms_measured": float(np.sqrt(np.mean(measured**2))),
                    "measured_over_kappa": measured.max() / kappa,
                }
            )
    return frame_of(
        records,
        [
            "protocol",
            "views",
            "angle_degrees",
            "kappa",
            "largest_measured",
            "rms_measured",
            "measured_over_kappa",
        ],
    )


def spread(axes: Axes) -> pd.DataFrame:
    """How kappa is distributed over the pairs of each protocol."""
    records = [
        {
            "protocol": protocol.name,
            "views": len(protocol.views),
            "pairs": len(protocol.pairs()),
            **conditioning.distribution(protocol),
        }
        for protocol in axes.protocols
    ]
    frame = frame_of(
        records,
        ["protocol", "views", "pairs", "max", "min", "median", "mean", "all_views"],
        ("views", "pairs"),
    )
    return frame.rename(
        columns={name: f"{name}_kappa" for name in ("max", "min", "median", "mean", "all_views")}
    )


def budgets(sets: dict[str, NoiseTally], axes: Axes) -> pd.DataFrame:
    """Noise budgets over the structures.

    The record's prediction, the certain and the probable one, 5th percentile and median.
    """
    records = []
    for name, t in sets.items():
        for p, r, arm in axes.arms():
            found: dict[str, float] = {}
            for budget in BUDGETS:
                values = t.budgets[budget][:, p, r]
                found |= {
                    f"{budget}_p5_angstrom": _percentile(values, 5),
                    f"{budget}_median_angstrom": _percentile(values, 50),
                }
            records.append(
                {"structures": name, **arm, "n": int(t.n), "gain": axes.gains[p, r], **found}
            )
    columns = [
        "structures",
        *_ARM,
        "n",
        "gain",
        *(f"{budget}_{what}_angstrom" for budget in BUDGETS for what in ("p5", "median")),
    ]
    return frame_of(records, columns, ("n",))


def aligned(sets: dict[str, NoiseTally], axes: Axes) -> pd.DataFrame:
    """Structures with a lattice vector along a camera, and with atoms that it shows as one."""
    records = [
        {
            "structures": name,
            "protocol": protocol.name,
            "view": view,
            "aligned_count": int(t.aligned[p, v]),
            "coincident_count": int(t.coincident[p, v]),
            "n": int(t.n),
            "atoms": int(t.atoms[p]),
            "places": int(t.images[p, v]),
            "places_per_atom": _share(t.images[p, v], t.atoms[p]),
        }
        for name, t in sets.items()
        for p, protocol in enumerate(axes.protocols)
        for v, view in enumerate(protocol.views)
    ]
    integers = ("aligned_count", "coincident_count", "n", "atoms", "places")
    return frame_of(
        records, ["structures", "protocol", "view", *integers, "places_per_atom"], integers
    )


_ARM = ("protocol", "rule", "estimator")


def _share(count: Any, n: Any) -> float:
    return float(count) / float(n) if n else np.nan


def _percentile(values: np.ndarray, q: float) -> float:
    """Linear between order statistics; infinite where either is."""
    if not len(values):
        return np.nan
    ordered = np.sort(values)
    place = q / 100 * (len(ordered) - 1)
    low, high = ordered[int(np.floor(place))], ordered[int(np.ceil(place))]
    return (
        float(high)
        if high == low or np.isinf(high)
        else float(low + (place - np.floor(place)) * (high - low))
    )
