"""Building a split from packed structures, and auditing one, whoever built it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import RcError, Status, UsageError
from rc_hpc.core.ids import read_entries
from rc_hpc.report.tables import Table
from rc_hpc.store.reader import read_table
from rc_hpc.training import splits
from rc_hpc.training.split_files import EVAL, META, TRAIN, Part, read_split, write_split
from rc_hpc.training.splits import Candidate, Caps, Leakage

_COLUMNS = ("id", "status", "quarantine", "formula", "crystal_system", "n_atoms", "duplicate")
_HDF5 = (".h5", ".hdf5")


@dataclass(frozen=True)
class Request:
    """What a split is to be.

    Attributes
    ----------
    reserve
        Elements, or how many of them to draw.
    seed, caps
    max_atoms
        Atoms of the conventional cell at most; 0: no limit.
    quarantined
        Take structures with an unstable label too.
    prior
        Files of structures that were used before.
    """

    reserve: tuple[str, ...] | int
    seed: int
    caps: Caps
    max_atoms: int = 0
    quarantined: bool = False
    prior: tuple[Path, ...] = ()


def build(packed: Path, folder: Path, request: Request, overwrite: bool) -> list[Table]:
    """Build a split, write it, and audit what was written."""
    if (folder / META).exists() and not overwrite:
        raise UsageError(
            f"{folder} holds a split: --overwrite replaces it, -o names another folder"
        )
    candidates = _candidates(packed, request.max_atoms, request.quarantined)
    reserved = (
        request.reserve
        if isinstance(request.reserve, tuple)
        else splits.draw_reserved(candidates, request.reserve, request.seed)
    )
    prior_ids, prior_formulas = read_prior(request.prior, {c.id: c.formula for c in candidates})
    train, evaluation = splits.build(
        candidates, reserved, request.seed, request.caps, prior_ids, prior_formulas
    )
    if not train or not evaluation:
        raise RcError(
            f"{packed}: {len(train)} structures to train on and {len(evaluation)} to evaluate with {', '.join(reserved)} reserved: reserve other elements, or give more structures"
        )
    leakage = splits.audit(train, evaluation, reserved, prior_ids, prior_formulas)
    content = read_hash(packed)
    meta = {
        "split_type": "composition-exclusion",
        "reserved_elements": list(reserved),
        "seed": request.seed,
        "n_train": len(train),
        "n_eval": len(evaluation),
        "caps": asdict(request.caps),
        "max_atoms": request.max_atoms,
        "quarantined": request.quarantined,
        "label": "crystal system of the cell as read",
        "packed_content_hash": content,
        "prior_used_excluded": sum(
            c.id in prior_ids or c.formula in prior_formulas for c in candidates
        ),
        "leakage": {
            name: len(getattr(leakage, name))
            for name in ("train_inter_eval", "train_inter_prior", "eval_inter_prior")
        },
        "eval_all_have_unseen_element": not leakage.eval_unreserved,
    }
    write_split(
        folder, [_line(c, "train") for c in train], [_line(c, "eval") for c in evaluation], meta
    )
    return audit(folder, None, (), request.prior, {c.id: c.formula for c in candidates})[0]


def audit(
    folder: Path,
    structures: Path | None,
    reserved: Sequence[str],
    prior: Sequence[Path],
    known: dict[str, str] | None = None,
) -> tuple[list[Table], Leakage]:
    """Tables of a split's leakage and sizes, and the leakage itself.

    Parameters
    ----------
    structures
        Packed file, or JSON object of id to ``formula``, for lines without a formula.
    reserved
        Elements; by default those that the folder names.
    prior
        Files of structures that were used before.
    """
    split = read_split(folder)
    known = known or (read_formulas(structures) if structures else {})
    reserved = tuple(reserved) or split.reserved
    prior_ids, prior_formulas = read_prior(prior, known)
    train, evaluation = _of_part(split.train, known), _of_part(split.evaluation, known)
    leakage = splits.audit(train, evaluation, reserved, prior_ids, prior_formulas)
    said = f"reserved: {', '.join(reserved)}" if reserved else "no elements are reserved"
    prior_said = (
        f"; {len(prior_ids)} structures used before" if prior else "; no earlier use was named"
    )
    tables = [
        Table("leakage", f"Leakage of {folder}; {said}{prior_said}", splits.leakage_frame(leakage)),
        _sizes(train, evaluation),
    ]
    return tables, leakage


def read_formulas(path: Path) -> dict[str, str]:
    """Formula by id: of a packed file, or of a JSON object of id to an object with ``formula``."""
    if path.suffix in _HDF5:
        found = read_table(path, [f"structures/{name}" for name in ("id", "formula")])
        return {
            id_: formula
            for id_, formula in zip(
                found["structures/id"], found["structures/formula"], strict=True
            )
            if formula
        }
    try:
        return {
            id_: entry["formula"]
            for id_, entry in json.loads(path.read_text(encoding="utf-8")).items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RcError(
            f"{path}: holds no formulas ({type(error).__name__}: {error}); give a packed file, or a JSON object of id to an object with formula"
        ) from error


def read_prior(
    paths: Sequence[Path], known: dict[str, str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Ids and reduced formulas of structures used before, from files of ids, perhaps with formulas."""
    ids, formulas = set(), set()
    for path in paths:
        for entry in read_entries(path, "--prior"):
            ids.add(entry["material_id"])
            formula = entry.get("formula") or known.get(entry["material_id"])
            if formula:
                formulas.add(splits.reduced(formula))
    return frozenset(ids), frozenset(formulas)


def read_hash(packed: Path) -> str:
    """Content hash of a packed file."""
    from rc_hpc.store.reader import open_ours

    with open_ours(packed, "packed") as h5:
        return str(h5.attrs["content_hash"])


def _candidates(packed: Path, max_atoms: int, quarantined: bool) -> list[Candidate]:
    found = read_table(packed, [f"structures/{name}" for name in _COLUMNS])
    ids, status, quarantine, formulas, systems, n_atoms, duplicate = (
        found[f"structures/{name}"] for name in _COLUMNS
    )
    taken = (
        (duplicate == 0)
        & (systems > 0)
        & (
            (status == Status.ok) & (quarantine == 0)
            if not quarantined
            else (status == Status.ok) | (status == Status.quarantined)
        )
    )
    if max_atoms:
        taken &= n_atoms <= max_atoms
    return [
        _candidate(id_, CRYSTAL_SYSTEMS[system - 1], formula)
        for id_, system, formula, take in zip(ids, systems, formulas, taken, strict=True)
        if take
    ]


def _candidate(id_: str, system: str, formula: str) -> Candidate:
    formula = splits.reduced(formula)
    return Candidate(id_, system, formula, tuple(sorted(set(re.findall("[A-Z][a-z]?", formula)))))


def _of_part(part: Part, known: dict[str, str]) -> list[Candidate]:
    candidates = []
    for id_, system, elements, formula in zip(
        part.ids, part.systems, part.elements, part.formulas, strict=True
    ):
        formula = formula or known.get(id_)
        if formula is None:
            raise UsageError(
                f"{part.path}: {id_} has no formula: give --structures, a packed file with it or a JSON object of id to formula"
            )
        candidate = _candidate(id_, system, formula)
        if elements is not None and set(elements) != set(candidate.elements):
            raise RcError(
                f"{part.path}: {id_} holds {', '.join(elements)}, but its formula is {formula}: they are not of one structure"
            )
        candidates.append(candidate)
    return candidates


def _line(candidate: Candidate, side: str) -> dict:
    return {
        "material_id": candidate.id,
        "split": side,
        "crystal_system": candidate.system,
        "formula": candidate.formula,
        "elements": list(candidate.elements),
    }


def _sizes(train: Sequence[Candidate], evaluation: Sequence[Candidate]) -> Table:
    import pandas as pd

    counts = [Counter(c.system for c in side) for side in (train, evaluation)]
    rows = [
        {"crystal system": system, "train": counts[0][system], "eval": counts[1][system]}
        for system in CRYSTAL_SYSTEMS
    ]
    formulas = [len({c.formula for c in side}) for side in (train, evaluation)]
    rows += [
        {"crystal system": "all", "train": len(train), "eval": len(evaluation)},
        {"crystal system": "distinct formulas", "train": formulas[0], "eval": formulas[1]},
    ]
    return Table("split", f"Structures of {TRAIN} and {EVAL}", pd.DataFrame(rows))
