"""What a noise figure rests on: the bare lattice, near-symmetric crystals, those never right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.kinds.noise.tally import Axes, NoiseTally
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson

if TYPE_CHECKING:
    import pandas as pd

#: How the two kinds of crystals are called.
_KINDS = {True: "near-symmetric", False: "others"}
_ARM = ("protocol", "rule", "estimator")


def by_system(sets: dict[str, NoiseTally], axes: Axes) -> pd.DataFrame:
    """The bare lattice, which is given exactly, and R1 by sigma; a row per system and in all."""
    records = []
    for name, t in sets.items():
        for p, r, arm in axes.arms():
            for code, system in ((0, "all"), *enumerate(CRYSTAL_SYSTEMS, 1)):
                mine = t.system == code if code else np.ones(len(t.system), bool)
                n = int(mine.sum())
                if not n:
                    continue
                shares = t.hits[mine, p, r].mean(axis=0) / axes.seeds
                told = (t.lattice[mine] > 0).all()
                records.append(
                    {
                        "structures": name,
                        **arm,
                        "system": system,
                        "lattice_alone_count": int((t.lattice == t.system)[mine].sum())
                        if told
                        else None,
                        "n": n,
                        **{
                            f"R1 at {sigma:g} Å": share
                            for sigma, share in zip(axes.sigmas, shares, strict=True)
                        },
                    }
                )
    sigmas = [f"R1 at {sigma:g} Å" for sigma in axes.sigmas]
    columns = ["structures", *_ARM, "system", "lattice_alone_count", "n", *sigmas]
    return frame_of(records, columns, ("lattice_alone_count", "n"))


def near_symmetric(sets: dict[str, NoiseTally], axes: Axes) -> pd.DataFrame:
    """R1 of the crystals whose label changes over the sweep of tolerances, and of the others."""
    records = []
    for name, t in sets.items():
        for p, r, arm in axes.arms():
            for near, kind in _KINDS.items():
                mine = t.near == near
                n = int(mine.sum())
                for d, sigma in enumerate(axes.sigmas if n else ()):
                    count = t.hits[mine, p, r, d].sum() / axes.seeds
                    low, high = wilson(count, n)
                    records.append(
                        {
                            "structures": name,
                            **arm,
                            "crystals": kind,
                            "sigma_angstrom": sigma,
                            "n": n,
                            "R1": count / n,
                            "R1_low95": low,
                            "R1_high95": high,
                        }
                    )
    columns = ["structures", *_ARM, "crystals", "sigma_angstrom", "n", "R1"]
    return frame_of(records, [*columns, "R1_low95", "R1_high95"], ("n",))


def never_right(sets: dict[str, NoiseTally], axes: Axes) -> pd.DataFrame:
    """Structures that are wrong in every seed, one row per set, arm and sigma with any."""
    records = []
    for name, t in sets.items():
        for p, r, arm in axes.arms():
            for d, sigma in enumerate(axes.sigmas):
                lost = t.hits[:, p, r, d] == 0
                if lost.any():
                    records.append(
                        {
                            "structures": name,
                            **arm,
                            "sigma_angstrom": sigma,
                            "never_right_count": int(lost.sum()),
                            "n": int(t.n),
                            "near_symmetric": int((lost & t.near).sum()),
                            "ids": ", ".join(sorted(map(str, t.ids[lost]))),
                        }
                    )
    columns = ["structures", *_ARM, "sigma_angstrom", "never_right_count", "n"]
    return frame_of(
        records, [*columns, "near_symmetric", "ids"], ("never_right_count", "n", "near_symmetric")
    )


def displaced(sets: dict[str, NoiseTally], axes: Axes) -> pd.DataFrame:
    """How often displaced cells are read as the system that they no longer have, by system."""
    records = []
    for name, t in sets.items():
        for p, r, arm in axes.arms():
            for s, system in enumerate(CRYSTAL_SYSTEMS):
                if s == 0 or not t.displaced[s]:
                    continue  # nothing is lower than triclinic
                for d, sigma in enumerate(axes.sigmas):
                    n = int(t.displaced[s])
                    count = t.kept_system[p, r, d, s] / axes.seeds
                    low, high = wilson(count, n)
                    records.append(
                        {
                            "structures": name,
                            **arm,
                            "system": system,
                            "sigma_angstrom": sigma,
                            "n": n,
                            "read_as_before": count / n,
                            "read_as_before_low95": low,
                            "read_as_before_high95": high,
                        }
                    )
    columns = ["structures", *_ARM, "system", "sigma_angstrom", "n", "read_as_before"]
    return frame_of(records, [*columns, "read_as_before_low95", "read_as_before_high95"], ("n",))
