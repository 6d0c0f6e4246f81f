"""One reading against the truth."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status, StructureError
from rc_hpc.core.vocabulary import ReadStatus
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.scores.options import ScoreOptions
from rc_hpc.kinds.scores.source import Atoms, Scored, Scoring
from rc_hpc.symmetry.labels import crystal_system

#: The two frames are one where the vectors of the one are whole combinations of the other's
#: within this, as a share.
WHOLE = 0.2


def plan(source: Scoring, options: ScoreOptions) -> tuple[ScoreOptions, None]:
    """Options with those of the readings."""
    return dataclasses.replace(options, readings=source.options), None


def oracle(options: ScoreOptions, given: Given) -> Compute:
    """What scores one reading."""

    def compute(scored: Scored | None) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        if scored is None:
            raise StructureError(Status.empty, "it has no pictures: nothing was to be read")
        return _fields(scored, options.same), {}

    return compute


def _fields(scored: Scored, same: float) -> dict[str, Any]:
    system = crystal_system(scored.group)
    groups = [*scored.groups.tolist(), scored.by_pictures]
    right = [bool(number) and crystal_system(number) == system for number in groups]
    exact = [number == scored.group for number in groups]
    fields = {
        "score/space_group": scored.group,
        "score/n_atoms": len(scored.truth.numbers),
        "score/certified": scored.certified,
        "score/reading": scored.status,
        "score/system_right": np.array(right[:-1]),
        "score/space_group_right": np.array(exact[:-1]),
        "score/system_right_by_pictures": right[-1],
        "score/space_group_right_by_pictures": exact[-1],
    }
    if scored.read is None:
        return fields | {
            "score/n_missing": len(scored.truth.numbers),
            "score/cause": "" if right[0] else scored.status.name,
        }
    found = compare(scored.read, scored.truth, same)
    return fields | {
        "score/n_missing": found.missing,
        "score/n_extra": found.extra,
        "score/sites_exact": not found.missing and not found.extra,
        "score/largest_error": found.largest,
        "score/frame_error": found.frame,
        "score/cause": _cause(found, right[0], scored.status),
    }


@dataclasses.dataclass(frozen=True)
class Compared:
    """How far a crystal read is from the truth.

    Attributes
    ----------
    missing, extra
        Atoms of the truth without a site, and sites without an atom.
    largest
        Largest distance of a site from its atom, the common shift taken out, Å; NaN: none.
    frame
        Largest distance between the ends of a vector read and of the true one, Å; infinite where
        the cells differ.
    """

    missing: int
    extra: int
    largest: float
    frame: float


def compare(read: Atoms, truth: Atoms, same: float) -> Compared:
    """A crystal read against the truth.

    The frames may name the vectors in another order, or from another corner; the origin is
    fitted.

    Parameters
    ----------
    same
        Distance within which a site is an atom, Å.
    """
    combined = read.lattice @ np.linalg.inv(truth.lattice)
    whole = np.rint(combined)
    if abs(abs(np.linalg.det(whole)) - 1) > 1e-6 or np.abs(combined - whole).max() > WHOLE:
        return Compared(len(truth.numbers), len(read.numbers), np.nan, np.inf)
    frame = float(np.linalg.norm(read.lattice - whole @ truth.lattice, axis=1).max())
    sites = read.fractional @ whole
    kinds, counts = np.unique(read.numbers, return_counts=True)
    common = [z for z in kinds[np.argsort(counts)] if z in truth.numbers]
    best = Compared(len(truth.numbers), len(read.numbers), np.nan, frame)
    if not common:
        return best
    for first in np.flatnonzero(read.numbers == common[0])[:2]:
        for atom in np.flatnonzero(truth.numbers == common[0]):
            shift = truth.fractional[atom] - sites[first]
            found = _matched(sites + shift, read.numbers, truth, same, frame)
            if (found.missing + found.extra, found.largest) < (
                best.missing + best.extra,
                np.inf if np.isnan(best.largest) else best.largest,
            ):
                best = found
    return best


def _matched(
    sites: np.ndarray, numbers: np.ndarray, truth: Atoms, same: float, frame: float
) -> Compared:
    """Sites and atoms that are each other's nearest of their element."""
    gap = truth.fractional[None] - sites[:, None]
    gap = (gap - np.rint(gap)) @ truth.lattice
    far = np.linalg.norm(gap, axis=2)
    far[numbers[:, None] != truth.numbers] = np.inf
    nearest, back = far.argmin(1), far.argmin(0)
    at = np.arange(len(sites))
    pairs = (back[nearest] == at) & (far[at, nearest] < same)
    if not pairs.any():
        return Compared(len(truth.numbers), len(sites), np.nan, frame)
    off = gap[at, nearest][pairs]
    largest = float(np.linalg.norm(off - off.mean(0), axis=1).max())
    matched = int(pairs.sum())
    return Compared(len(truth.numbers) - matched, len(sites) - matched, largest, frame)


def _cause(found: Compared, right: bool, status: ReadStatus) -> str:
    """What went wrong first; empty where the system is right and every site is there once."""
    if np.isinf(found.frame):
        return "another cell" if not right else "another cell, right all the same"
    lacks = [f"{n} {what}" for n, what in ((found.missing, "missing"), (found.extra, "extra")) if n]
    if lacks:
        return ", ".join(lacks) + (", right all the same" if right else "")
    if right:
        return ""
    return f"all sites, off by {max(found.frame, found.largest):.4f} Å"
