"""Counts of a census over some structures, which add up over blocks of them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from rc_hpc.kinds.common.subsets import CRYSTALS, Labels

#: Codes of a label of any granularity: 0 is none, space-group numbers need the most.
N_CODES = 231


def structure_columns(labels: Labels) -> tuple[str, ...]:
    """Columns that `tally` needs, one value per structure."""
    names = labels.granularities
    return ("n_atoms", *names, *(f"{name}_conventional" for name in names if labels.cells))


def cell_columns(labels: Labels) -> tuple[str, ...]:
    """Columns that `tally` needs, one value per structure and subset."""
    return (*_CELLS, *(f"correct_{name}" for name in labels.granularities))


#: Those of the following that files of version 0.2.0 and before lack, and what stands for them.
LATER_COLUMNS = {"n_phantoms_strict": -1, "near_tie": False, "unique_any": -1}
_CELLS = (
    "n_recovered",
    "n_phantoms",
    "n_phantoms_exact",
    *LATER_COLUMNS,
    "point_error",
    "atom_error",
    "certified",
    "labelled",
)
_LARGEST = ("point_error", "atom_error")
STRUCTURE_COLUMNS, CELL_COLUMNS = structure_columns(CRYSTALS), cell_columns(CRYSTALS)


@dataclass(frozen=True)
class Tally:
    """Counts over some structures and K subsets; the tallies of two disjoint sets add up.

    Attributes
    ----------
    n : () int64
        Structures.
    by_system : (8,) int64
        Structures by the code of their true crystal system; of molecules, here and below, of
        their point group, and one granularity.
    same : (4,) int64
        Structures whose stored and conventional cells have one label, by granularity.
    truths : (4, 231) int64
        Structures by the code of their true label.
    atoms : () int64
        Atoms of the drawn cells.
    correct : (4, K) int64
        Structures whose reconstruction has the true label, by granularity.
    correct_by_system : (8, K) int64
        The same for the crystal system, by the true one.
    certified, labelled, near_tie, recovered, phantoms, phantoms_exact, phantoms_strict : (K,) int64
        Sums of the columns of these names.
    unique : (K,) int64
        Structures of which no other crystal has the pictures; negative where that is not known.
    with_phantoms, with_phantoms_exact, with_phantoms_strict : (K,) int64
        Structures that have any.
    point_error, atom_error : (K,) float64
        Largest values, Å; NaN where there is none.
    """

    n: np.int64
    by_system: np.ndarray
    same: np.ndarray
    truths: np.ndarray
    atoms: np.ndarray
    correct: np.ndarray
    correct_by_system: np.ndarray
    certified: np.ndarray
    labelled: np.ndarray
    near_tie: np.ndarray
    unique: np.ndarray
    recovered: np.ndarray
    phantoms: np.ndarray
    phantoms_exact: np.ndarray
    phantoms_strict: np.ndarray
    with_phantoms: np.ndarray
    with_phantoms_exact: np.ndarray
    with_phantoms_strict: np.ndarray
    point_error: np.ndarray
    atom_error: np.ndarray

    def __add__(self, other: Tally) -> Tally:
        joined = {}
        for field in fields(self):
            ufunc = np.fmax if field.name in _LARGEST else np.add
            joined[field.name] = ufunc(getattr(self, field.name), getattr(other, field.name))
        return Tally(**joined)


def tally(
    rows: dict[str, np.ndarray], truth: str, tiling: int = 1, labels: Labels = CRYSTALS
) -> Tally:
    """Tally of a block of computed structures.

    Parameters
    ----------
    rows
        `STRUCTURE_COLUMNS` (n,) and `CELL_COLUMNS` (n, K), any n from 0 on.
    truth
        `stored` or `conventional`: the cell whose label is true.
    tiling
        Conventional cells in the drawn cell.
    labels
        What the structures are labelled by.
    """
    names = labels.granularities
    suffix = {"stored": "", "conventional": "_conventional"}[truth]
    true = {name: rows[name + suffix].astype(np.int64) for name in names}
    system, right = true[labels.coarsest], rows[f"correct_{labels.coarsest}"]
    n_systems = len(labels.classes) + 1

    def total(name: str) -> np.ndarray:
        return np.asarray(rows[name].sum(axis=0, dtype=np.int64))

    return Tally(
        n=np.int64(len(system)),
        by_system=np.bincount(system, minlength=n_systems),
        same=np.array([_same(rows, name) if labels.cells else 0 for name in names]),
        truths=np.array([np.bincount(codes, minlength=N_CODES) for codes in true.values()]),
        atoms=total("n_atoms") * tiling,
        correct=np.array([total(f"correct_{name}") for name in names]),
        correct_by_system=np.array(
            [right[system == code].sum(axis=0, dtype=np.int64) for code in range(n_systems)]
        ),
        certified=total("certified"),
        labelled=total("labelled"),
        near_tie=total("near_tie"),
        unique=total("unique_any"),
        recovered=total("n_recovered"),
        phantoms=total("n_phantoms"),
        phantoms_exact=total("n_phantoms_exact"),
        phantoms_strict=total("n_phantoms_strict"),
        with_phantoms=np.count_nonzero(rows["n_phantoms"], axis=0),
        with_phantoms_exact=np.count_nonzero(rows["n_phantoms_exact"], axis=0),
        with_phantoms_strict=np.count_nonzero(rows["n_phantoms_strict"] > 0, axis=0),
        **{name: np.fmax.reduce(rows[name], axis=0, initial=np.nan) for name in _LARGEST},
    )


def _same(rows: dict[str, np.ndarray], name: str) -> int:
    """Structures whose stored and conventional cells have one label."""
    known = (rows[name] != 0) & (rows[name] == rows[f"{name}_conventional"])
    return int(np.count_nonzero(known))
