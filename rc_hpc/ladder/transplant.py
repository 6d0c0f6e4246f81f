"""Scores of emitted atom lists against the true cell: strict, species-free, relabelled, and null.

The reference is the conventional standard cell; positions are fractional, distances are norms of
fractional differences to the nearest image, and a match is at most the tolerance. Matching is
``in-order`` (each emitted atom in turn takes the nearest site that is still free: the released
rule, which depends on the order of the list) or ``best`` (as many matches as can be had, then the
shortest). A picture without a legend cannot name elements and says nothing about the origin, so
the strict score must never be read alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rc_hpc.stats.frames import frame_of

if TYPE_CHECKING:
    import pandas as pd

#: Largest distance of a match, fractional.
TOLERANCE = 0.15
#: How often the lists are dealt anew for the null.
REPEATS = 10
#: Summaries whose spread over the repeats is told.
SPREAD = ("median_recall", "mean_recall", "median_precision", "zero_match")


class Atoms(NamedTuple):
    """Atoms of one structure, in order.

    `species` (n,) are element symbols as emitted, `frac` (n, 3) fractional coordinates.
    """

    species: np.ndarray
    frac: np.ndarray


class Match(NamedTuple):
    """Matches of one emitted list.

    `recall` is matches over sites, `precision` matches over emitted atoms, `distance` the median
    fractional distance of a match (NaN without one).
    """

    matches: int
    recall: float
    precision: float
    distance: float


def atoms_of(species: Sequence[str], frac) -> Atoms:
    """Atoms from any sequences, with no atom in them as well."""
    return Atoms(np.asarray(species, dtype=str), np.asarray(frac, float).reshape(-1, 3))


def strict(emitted: Atoms, truth: Atoms, matching: str = "in-order") -> Match:
    """Sites matched by an atom of their own element."""
    return _score(
        _match(emitted, truth, emitted.species[:, None] == truth.species, matching), emitted, truth
    )


def species_free(emitted: Atoms, truth: Atoms, matching: str = "in-order") -> Match:
    """Sites matched by any atom."""
    return _score(_match(emitted, truth, np.array(True), matching), emitted, truth)


def relabelled(emitted: Atoms, truth: Atoms, matching: str = "in-order") -> Match:
    """Sites matched after the emitted names are exchanged for the true ones in the best way.

    Each emitted name becomes at most one true element and the other way round.
    """
    from scipy.optimize import linear_sum_assignment

    theirs, ours = np.unique(emitted.species), np.unique(truth.species)
    distances = [
        [
            _match(
                emitted,
                truth,
                np.outer(emitted.species == name, truth.species == element),
                matching,
            )
            for element in ours
        ]
        for name in theirs
    ]
    gains = np.array([[len(pair) for pair in row] for row in distances])
    chosen = [
        distances[i][j] for i, j in zip(*linear_sum_assignment(gains, maximize=True), strict=True)
    ]
    return _score(np.concatenate(chosen), emitted, truth)


MATCHINGS = ("in-order", "best")
#: Scores by name.
SCORES = {"strict": strict, "species-free": species_free, "relabelled": relabelled}


def null_pairs(n: int, repeats: int, seed: int = 0) -> list[np.ndarray]:
    """For each repeat the structure whose list every structure is scored with: never its own."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(repeats if n > 1 else 0):
        order = rng.permutation(n)
        shifted = np.empty(n, int)
        shifted[order] = np.roll(order, 1)
        pairs.append(shifted)
    return pairs


def score_all(
    emitted: Mapping[str, Atoms], truth: Mapping[str, Atoms], repeats: int = REPEATS, seed: int = 0
) -> pd.DataFrame:
    """All scores and their nulls over the structures of which something was emitted.

    Parameters
    ----------
    emitted, truth
        Atoms by structure id; an empty list is left out and counted.
    repeats
        How often the lists are dealt to other structures for the null.

    Returns
    -------
    DataFrame
        One row per score, matching and kind of list (own, or the null's): medians and means over
        the structures, and how many have no match; of the null over the structures of all
        repeats, with the standard deviations of the single repeats' values (``sd_...``).
    """
    ids = [id_ for id_, atoms in emitted.items() if len(atoms.species)]
    own = [[(id_, id_) for id_ in ids]]
    dealt = [
        [(ids[other], id_) for id_, other in zip(ids, pairs, strict=True)]
        for pairs in null_pairs(len(ids), repeats, seed)
    ]
    records = []
    for matching in MATCHINGS:
        for name, score in SCORES.items():
            for lists, rounds in (("own", own), ("of other structures", dealt)):
                each = [
                    [score(emitted[theirs], truth[id_], matching) for theirs, id_ in pairs]
                    for pairs in rounds
                ]
                what: dict[str, Any] = {"score": name, "matching": matching, "lists": lists}
                what["repeats"] = len(rounds)
                records.append(what | _summary(list(chain.from_iterable(each))) | _spread(each))
    columns = (
        "score",
        "matching",
        "lists",
        "repeats",
        "scored",
        *(name for told in SPREAD for name in (told, f"sd_{told}")),
        "median_distance",
    )
    return frame_of(records, columns, ("repeats", "scored", "zero_match"))


def emission(emitted: Mapping[str, Atoms], truth: Mapping[str, Atoms]) -> pd.DataFrame:
    """How much was emitted, and of which elements, before any matching."""
    pairs = [(atoms, truth[id_]) for id_, atoms in emitted.items() if len(atoms.species)]
    counts = np.array([len(atoms.species) for atoms, _ in pairs])
    ratios = [len(atoms.species) / len(true.species) for atoms, true in pairs]
    names = [(set(atoms.species), set(true.species)) for atoms, true in pairs]
    records = [
        {"quantity": "structures with atoms emitted", "count": len(pairs), "n": len(emitted)},
        {
            "quantity": "same set of elements",
            "count": sum(a == b for a, b in names),
            "n": len(pairs),
        },
        {
            "quantity": "no element in common",
            "count": sum(a.isdisjoint(b) for a, b in names),
            "n": len(pairs),
        },
    ]
    if pairs:
        records += [
            {"quantity": "emitted atoms, median", "value": float(np.median(counts))},
            {"quantity": "emitted atoms, mean", "value": float(counts.mean())},
            {"quantity": "emitted atoms, fewest", "value": float(counts.min())},
            {"quantity": "emitted atoms, most", "value": float(counts.max())},
            {"quantity": "emitted over true atoms, median", "value": float(np.median(ratios))},
        ]
    return frame_of(records, ("quantity", "count", "n", "value"), ("count", "n"))


def _match(emitted: Atoms, truth: Atoms, allowed: np.ndarray, matching: str) -> np.ndarray:
    """Distances of the matches; `allowed` (emitted, sites) says which may pair at all."""
    difference = emitted.frac[:, None, :] - truth.frac
    distances = np.linalg.norm(difference - np.round(difference), axis=2)
    distances[~(allowed & (distances <= TOLERANCE))] = np.inf
    if matching == "best":
        from scipy.optimize import linear_sum_assignment

        # one missed match costs more than all distances together
        costs = np.where(np.isfinite(distances), distances, 1 + TOLERANCE * min(distances.shape))
        paired = distances[linear_sum_assignment(costs)]
        return paired[np.isfinite(paired)]
    matched = []
    for row in distances:
        site = int(row.argmin())
        if np.isfinite(row[site]):
            matched.append(row[site])
            distances[:, site] = np.inf
    return np.array(matched, float)


def _score(distances: np.ndarray, emitted: Atoms, truth: Atoms) -> Match:
    n = len(distances)
    return Match(
        n,
        n / len(truth.species),
        n / len(emitted.species),
        float(np.median(distances)) if n else float("nan"),
    )


def _spread(rounds: list[list[Match]]) -> dict:
    """Standard deviations of the summaries of several rounds; nothing where there is one."""
    if len(rounds) < 2:
        return {}
    summaries = [_summary(matches) for matches in rounds]
    return {f"sd_{name}": np.std([one[name] for one in summaries], ddof=1) for name in SPREAD}


def _summary(matches: list[Match]) -> dict:
    if not matches:
        return {"scored": 0}
    recall, precision, distance = (
        np.array([getattr(m, name) for m in matches])
        for name in ("recall", "precision", "distance")
    )
    return {
        "scored": len(matches),
        "median_recall": np.median(recall),
        "mean_recall": recall.mean(),
        "median_precision": np.median(precision),
        "zero_match": int((recall == 0).sum()),
        "median_distance": np.nanmedian(distance) if np.isfinite(distance).any() else np.nan,
    }
