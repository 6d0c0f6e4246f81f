"""Noise sweep: frames made of its counts."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.geometry import conditioning
from rc_hpc.kinds.common.subsets import GRANULARITIES
from rc_hpc.kinds.noise.tally import BUDGETS, Axes, NoiseTally
from rc_hpc.report import recorded
from rc_hpc.stats.crossing import crossing, over_structures
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson
from rc_hpc.stats.statistics import sign_test

if TYPE_CHECKING:
    import pandas as pd


def by_sigma(sets: dict[str, NoiseTally], axes: Axes) -> pd.DataFrame:
    """R1 over sigma, one row per set of structures, arm and sigma.

    `R1` is the mean over the seeds, of the crystal system; `R1_min` and `R1_max` are the seeds'
    extremes. The intervals take a structure for one trial, however many seeds it was read with:
    Wilson's, and a bootstrap over structures. `right`, `wrong` and `undecided` are shares of the
    readings: undecided are those of which the chi-squares do not exclude a lower system.
    """
    records = []
    for name, t in sets.items():
        for p, r, arm in axes.arms():
            limits, _ = over_structures(axes.sigmas, t.hits[:, p, r], axes.seeds)
            for d, sigma in enumerate(axes.sigmas):
                seeds = t.correct[0, p, r, d]
                read, open_ = t.n * axes.seeds, t.undecided[p, r, d]
                right = seeds.sum() - t.undecided_right[p, r, d]
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
                        "R1_lowboot95": limits[d, 0],
                        "R1_highboot95": limits[d, 1],
                        "right": _share(right, read) if t.tested else np.nan,
                        "undecided": _share(open_, read) if t.tested else np.nan,
                        "wrong": _share(read - open_ - right, read) if t.tested else np.nan,
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
        "R1_lowboot95",
        "R1_highboot95",
        "right",
        "undecided",
        "wrong",
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

    Of the seeds' mean, with the extremes of the single seeds and a bootstrap over structures;
    infinite where it does not fall below at any sigma of the sweep, missing where it is below at
    the first. `released` is the released record's, on its own 210 structures.
    """
    released = {
        (entry["protocol"], entry["rule"]): entry["crossing_angstrom"]
        for entry in recorded.find("noise-crossing", {})
    }
    records = []
    for name, t in sets.items():
        if not t.n:
            continue
        for p, r, arm in axes.arms():
            seeds = [crossing(axes.sigmas, counts / t.n) for counts in t.correct[0, p, r].T]
            _, ends = over_structures(axes.sigmas, t.hits[:, p, r], axes.seeds)
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
                    "crossing_lowboot95": ends[0],
                    "crossing_highboot95": ends[1],
                    "seed_crossings_min": min(seeds),
                    "seed_crossings_max": max(seeds),
                    "released_angstrom": released.get((arm["protocol"], arm["rule"]), np.nan),
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
        "crossing_lowboot95",
        "crossing_highboot95",
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
