"""Uniqueness: how many cells are, what is guaranteed to any reader, and a pair of crystals."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.core.vocabulary import Undecided, Uniqueness
from rc_hpc.kinds.common.subsets import Subsets
from rc_hpc.kinds.unique.pairs import Pair
from rc_hpc.stats.frames import frame_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class UniqueTally:
    """Counts over some structures; the tallies of two disjoint sets add up.

    Attributes
    ----------
    n : () int64
        Structures.
    trivial, phantoms, maximal, random, drawn : (K,) int64
        Structures of which every place is forced; that have phantoms; whose maximal and whose
        random explanation have the true system; of which one was drawn.
    status : (P, 6, K) int64
        Structures that are not trivial, by the code of their status.
    reason : (P, 8, K) int64
        Unknown ones, by the code of the reason.
    guaranteed, possible : (P, K) int64
        Structures whose every explanation has the true system, and the same with the unknown.
    luck : (P, K) int64
        Undetermined, and the maximal explanation is right.
    better, wrong : (P, K) int64
        Determined or unique, the maximal explanation being wrong: with the true system, and with
        another.
    best, best_known : (P, K) int64
        Structures whose most symmetric explanation has the true system, and of which it is known.
    """

    n: np.int64
    trivial: np.ndarray
    phantoms: np.ndarray
    maximal: np.ndarray
    random: np.ndarray
    drawn: np.ndarray
    status: np.ndarray
    reason: np.ndarray
    guaranteed: np.ndarray
    possible: np.ndarray
    luck: np.ndarray
    better: np.ndarray
    wrong: np.ndarray
    best: np.ndarray
    best_known: np.ndarray

    def __add__(self, other: UniqueTally) -> UniqueTally:
        return UniqueTally(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )


def tally_unique(rows: dict[str, np.ndarray], truth: np.ndarray) -> UniqueTally:
    """Tally of a block of computed structures, any number of rows from 0 on.

    Parameters
    ----------
    truth : (n,)
        Code of the true crystal system.
    """
    true, trivial = truth[:, None], rows["trivial"].astype(bool)
    right = rows["maximal_system"] == true
    status = rows["status"]
    settled = np.isin(status, (Uniqueness.unique, Uniqueness.determined))
    meets = settled & (rows["system"] == true[:, None])
    open_cell = ~trivial[:, None]

    def total(values: np.ndarray) -> np.ndarray:
        return np.asarray(values.sum(axis=0, dtype=np.int64))

    unknown = status == Uniqueness.unknown
    return UniqueTally(
        n=np.int64(len(truth)),
        trivial=total(trivial),
        phantoms=total(rows["n_phantoms"] > 0),
        maximal=total(right),
        random=total(rows["random_system"] == true),
        drawn=total(rows["random_system"] > 0),
        status=np.stack([total(open_cell & (status == code)) for code in Uniqueness], axis=1),
        reason=np.stack([total(unknown & (rows["reason"] == code)) for code in Undecided], axis=1),
        guaranteed=total(meets),
        possible=total(meets | unknown),
        luck=total((status == Uniqueness.undetermined) & right[:, None]),
        better=total(meets & ~right[:, None]),
        wrong=total(settled & (rows["system"] != true[:, None])),
        best=total(rows["best_system"] == true[:, None]),
        best_known=total(rows["best_system"] > 0),
    )


def by_status(
    sets: dict[str, UniqueTally], policies: tuple[str, ...], subsets: Subsets
) -> pd.DataFrame:
    """Cells by status: one row per set of structures, number of views and policy."""
    return _statuses(
        sets,
        policies,
        [({"views": size, "subsets": len(own)}, own) for size, own in subsets.by_size().items()],
    )


def by_subset(
    sets: dict[str, UniqueTally], policies: tuple[str, ...], subsets: Subsets
) -> pd.DataFrame:
    """Cells by status: one row per set of structures, subset and policy."""
    each = [
        ({"subset": name, "views": int(size)}, np.array([k]))
        for k, (name, size) in enumerate(zip(subsets.names, subsets.sizes, strict=True))
    ]
    return _statuses(sets, policies, each)


_STATUSES = ("unique", "determined", "undetermined", "unknown", "inadmissible")


def _statuses(
    sets: dict[str, UniqueTally],
    policies: tuple[str, ...],
    groups: list[tuple[dict[str, Any], np.ndarray]],
) -> pd.DataFrame:
    records = []
    for name, t in sets.items():
        for about, own in groups:
            for p, policy in enumerate(policies):
                records.append(
                    {"structures": name}
                    | about
                    | {
                        "policy": policy,
                        "n": int(t.n) * len(own),
                        "forced": int(t.trivial[own].sum()),
                        "with_phantoms": int(t.phantoms[own].sum()),
                    }
                    | {
                        status: int(t.status[p, Uniqueness[status]][own].sum())
                        for status in _STATUSES
                    }
                    | {"wrong": int(t.wrong[p, own].sum())}
                )
    counted = ("n", "forced", "with_phantoms", *_STATUSES, "wrong")
    columns = ["structures", *(groups[0][0] if groups else ()), "policy", *counted]
    integers = [name for name in ("views", "subsets") if name in columns]
    return frame_of(records, columns, (*integers, *counted))


def by_reader(
    sets: dict[str, UniqueTally], policies: tuple[str, ...], subsets: Subsets
) -> pd.DataFrame:
    """R1 of readers: one row per set of structures, number of views and policy.

    `guaranteed` counts unknown cells as not, `possible` as guaranteed; `maximal` and `random` do
    not depend on the policy.
    """
    records = []
    for name, t in sets.items():
        for size, own in subsets.by_size().items():
            n = int(t.n) * len(own)
            for p, policy in enumerate(policies):
                record = {
                    "structures": name,
                    "views": size,
                    "policy": policy,
                    "n": n,
                    "R1_guaranteed": _ratio(t.guaranteed[p, own], n),
                    "R1_possible": _ratio(t.possible[p, own], n),
                    "R1_maximal": _ratio(t.maximal[own], n),
                    "R1_random": _ratio(t.random[own], int(t.drawn[own].sum())),
                    "R1_most_symmetric": _ratio(t.best[p, own], n),
                    "most_symmetric_unknown": n - int(t.best_known[p, own].sum()),
                    "luck": int(t.luck[p, own].sum()),
                    "better": int(t.better[p, own].sum()),
                }
                records.append(record)
    columns = [
        "structures",
        "views",
        "policy",
        "n",
        "R1_guaranteed",
        "R1_possible",
        "R1_maximal",
        "R1_random",
        "R1_most_symmetric",
        "most_symmetric_unknown",
        "luck",
        "better",
    ]
    integers = ("views", "n", "most_symmetric_unknown", "luck", "better")
    return frame_of(records, columns, integers)


def by_reason(
    sets: dict[str, UniqueTally], policies: tuple[str, ...], subsets: Subsets
) -> pd.DataFrame:
    """Unknown cells by reason: one row per set of structures, number of views, policy, reason."""
    records = [
        {
            "structures": name,
            "views": size,
            "policy": policy,
            "reason": reason.name,
            "cells": int(t.reason[p, reason, own].sum()),
        }
        for name, t in sets.items()
        for size, own in subsets.by_size().items()
        for p, policy in enumerate(policies)
        for reason in Undecided
        if t.reason[p, reason, own].sum()
    ]
    columns = ["structures", "views", "policy", "reason", "cells"]
    return frame_of(records, columns, ("views", "cells"))


def pair_frame(pair: Pair | None) -> pd.DataFrame:
    """Places of a pair of crystals with the same pictures, and which crystal has an atom there."""
    columns = ["structure", "label", "other_label", "policies", "subset", "number", *"xyz"]
    columns += ["atom", "witness"]
    records = []
    if pair is not None:
        cell: dict[str, float] = {}
        if np.isfinite(pair.lattice).all():
            names = [f"{axis}_{n}" for axis in "abc" for n in "xyz"]
            cell = dict(zip(names, pair.lattice.ravel().tolist(), strict=True))
            columns += names
        for k, number in enumerate(pair.numbers.tolist()):
            at = dict(zip("xyz", pair.positions[k].tolist(), strict=True))
            records.append(
                {"structure": pair.id, "label": pair.labels[0], "other_label": pair.labels[1]}
                | {"policies": ", ".join(pair.policies), "subset": pair.subset, "number": number}
                | at
                | {"atom": bool(pair.atom[k]), "witness": bool(pair.witness[k])}
                | cell
            )
    return frame_of(records, columns, ("number",))


def _ratio(counts: np.ndarray, n: int) -> float:
    return int(counts.sum()) / n if n else float("nan")
