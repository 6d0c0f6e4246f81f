"""Counts of a noise sweep over some structures, which add up over blocks of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.common.subsets import GRANULARITIES
from rc_hpc.stats.crossing import majority
from rc_hpc.symmetry.labels import code_table

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
#: Columns that files of earlier versions lack, and what stands for them.
LATER_COLUMNS = ("lowest_system", "displaced_space_group")
#: Arrays of a tally with a row for each structure.
_BY_STRUCTURE = ("ids", "hits", "near", "system", "lattice")


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
    undecided : (P, R, D) int64
        Readings of which the chi-squares do not exclude a lower system, and of them those that
        are right, `undecided_right`.
    tested : bool
        Whether readings were tested at all.
    kept_system : (P, R, D, 7) int64
        Readings of displaced cells, of more than one atom, as the system before, by that system.
    displaced : (7,) int64
        Such cells, by system; 0 where none were read.
    ids : (n,) object
    hits : (n, P, R, D) int32
        Seeds in which the crystal system is right.
    near : (n,) bool
        Near-symmetric: the label changes over the sweep of tolerances.
    system, lattice : (n,) int64
        True system, and that of the bare lattice, 0 where the file does not tell.
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
    undecided: np.ndarray
    undecided_right: np.ndarray
    tested: np.bool_
    kept_system: np.ndarray
    displaced: np.ndarray
    ids: np.ndarray
    hits: np.ndarray
    near: np.ndarray
    system: np.ndarray
    lattice: np.ndarray

    def __add__(self, other: NoiseTally) -> NoiseTally:
        joined = {
            name: np.add(value, getattr(other, name))
            for name, value in vars(self).items()
            if name not in ("largest_error", "budgets", *_BY_STRUCTURE)
        }
        rows: dict[str, Any] = {
            name: np.concatenate((getattr(self, name), getattr(other, name)))
            for name in _BY_STRUCTURE
        }
        return NoiseTally(
            **joined,
            **rows,
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
        `n_atoms`, `id`, `flipped`, `system` (true) and `lattice_system` (n,), `NOISE_COLUMNS`
        and `LATER_COLUMNS` as in the file, any n from 0 on.
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
    correct, table = rows["correct_crystal_system"], code_table()[:, 0]
    lowest = rows["lowest_system"]
    undecided = (lowest > 0) & (lowest < table[rows["space_group"]])
    again = rows["displaced_space_group"]
    read_again = (again >= 0).all(axis=(1, 2, 3, 4)) & (rows["n_atoms"] > 1)
    system = rows["system"].astype(np.int64)
    kept = (table[np.maximum(again, 0)] == system[:, None, None, None, None]).sum(axis=4)
    of_system = (system[:, None] == np.arange(1, 8)) & read_again[:, None]
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
        undecided=np.count_nonzero(undecided, axis=(0, 4)),
        undecided_right=np.count_nonzero(undecided & correct, axis=(0, 4)),
        tested=np.bool_((lowest > 0).any()),
        kept_system=np.einsum("nprd,ns->prds", kept, of_system.astype(np.int64)),
        displaced=of_system.sum(axis=0),
        ids=rows["id"].astype(object),
        hits=correct.sum(axis=4, dtype=np.int32),
        near=rows["flipped"].astype(bool),
        system=system,
        lattice=rows["lattice_system"].astype(np.int64),
    )
