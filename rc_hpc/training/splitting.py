"""Building a split from packed structures, and auditing one, whoever built it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.door import Talk, setup_logging
from rc_hpc.core.errors import Exit, RcError, Status, UsageError
from rc_hpc.core.ids import read_entries
from rc_hpc.core.text import parse_json
from rc_hpc.engine.options import HDF5
from rc_hpc.report.tables import Table, show
from rc_hpc.store.reader import open_ours, read_table
from rc_hpc.training import splits
from rc_hpc.training.options import AuditOptions, BuildOptions
from rc_hpc.training.split_files import EVAL, META, TRAIN, Part, read_split, write_split
from rc_hpc.training.splits import Candidate, Leakage

_COLUMNS = ("id", "status", "quarantine", "formula", "crystal_system", "n_atoms", "duplicate")


def build(options: BuildOptions) -> tuple[list[Table], Leakage]:
    """Build a split, write it, and audit what was written."""
    folder, packed = options.output, options.packed
    if (folder / META).exists() and not options.overwrite:
        raise UsageError(
            f"{folder} holds a split: --overwrite replaces it, -o names another folder"
        )
    candidates = _candidates(packed, options.max_atoms, options.quarantined)
    asked = options.reserve
    reserved: Sequence[str] = (
        splits.draw_reserved(candidates, asked, options.seed) if isinstance(asked, int) else asked
    )
    known = {c.id: c.formula for c in candidates}
    prior_ids, prior_formulas = read_prior(options.prior, known)
    train, evaluation = splits.build(
        candidates, reserved, options.seed, options.caps, prior_ids, prior_formulas
    )
    if not train or not evaluation:
        raise RcError(
            f"{packed}: {len(train)} structures to train on and {len(evaluation)} to evaluate "
            f"with {', '.join(reserved)} reserved: reserve other elements, or give more structures"
        )
    leakage = splits.audit(train, evaluation, reserved, prior_ids, prior_formulas)
    used_before = sum(c.id in prior_ids or c.formula in prior_formulas for c in candidates)
    counted = ("train_inter_eval", "train_inter_prior", "eval_inter_prior")
    meta = {
        "split_type": "composition-exclusion",
        "reserved_elements": list(reserved),
        "seed": options.seed,
        "n_train": len(train),
        "n_eval": len(evaluation),
        "caps": asdict(options.caps),
        "max_atoms": options.max_atoms,
        "quarantined": options.quarantined,
        "label": "crystal system of the cell as read",
        "packed_content_hash": read_hash(packed),
        "prior_used_excluded": used_before,
        "leakage": {name: len(getattr(leakage, name)) for name in counted},
        "eval_all_have_unseen_element": not leakage.eval_unreserved,
    }
    write_split(
        folder, [_line(c, "train") for c in train], [_line(c, "eval") for c in evaluation], meta
    )
    return audit(AuditOptions(split=folder, prior=options.prior), known)


def audit(
    options: AuditOptions, known: dict[str, str] | None = None
) -> tuple[list[Table], Leakage]:
    """Tables of a split's leakage and sizes, and the leakage itself.

    Parameters
    ----------
    known
        Formulas by id, where they are at hand.
    """
    folder = options.split
    split = read_split(folder)
    known = known or (read_formulas(options.structures) if options.structures else {})
    reserved = options.reserve or split.reserved
    prior_ids, prior_formulas = read_prior(options.prior, known)
    train, evaluation = _of_part(split.train, known), _of_part(split.evaluation, known)
    leakage = splits.audit(train, evaluation, reserved, prior_ids, prior_formulas)
    said = f"reserved: {', '.join(reserved)}" if reserved else "no elements are reserved"
    before = (
        f"{len(prior_ids)} structures used before" if options.prior else "no earlier use was named"
    )
    tables = [
        Table("leakage", f"Leakage of {folder}; {said}; {before}", splits.leakage_frame(leakage)),
        _sizes(train, evaluation),
    ]
    return tables, leakage


def build_and_tell(options: BuildOptions, talk: Talk) -> int:
    """Build a split and show its tables."""
    setup_logging(talk)
    tables, _ = build(options)
    _tell(tables, talk)
    return Exit.CLEAN


def audit_and_tell(options: AuditOptions, talk: Talk) -> int:
    """Audit a split and show its tables; the exit code says whether anything leaks."""
    setup_logging(talk)
    tables, leakage = audit(options)
    _tell(tables, talk)
    return Exit.CLEAN if leakage.clean else Exit.FAILURES


def _tell(tables: list[Table], talk: Talk) -> None:
    if not talk.quiet:
        show(tables, "terminal")


def read_formulas(path: Path) -> dict[str, str]:
    """Formula by id: of a packed file, or of a JSON object of id to an object with ``formula``."""
    if path.suffix in HDF5:
        table = read_table(path, [f"structures/{name}" for name in ("id", "formula")])
        return {
            id_: formula
            for id_, formula in zip(
                table["structures/id"], table["structures/formula"], strict=True
            )
            if formula
        }
    try:
        entries = parse_json(path.read_text(encoding="utf-8-sig"))
        return {id_: entry["formula"] for id_, entry in entries.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RcError(
            f"{path}: holds no formulas ({type(error).__name__}: {error}); give a packed file, "
            "or a JSON object of id to an object with formula"
        ) from error


def read_prior(
    paths: Sequence[Path], known: dict[str, str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Ids and reduced formulas of structures used before.

    Parameters
    ----------
    paths
        Files of ids, perhaps with formulas.
    known
        Formulas by id, for ids without.
    """
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
    with open_ours(packed, "packed") as h5:
        return str(h5.attrs["content_hash"])


def _candidates(packed: Path, max_atoms: int, quarantined: bool) -> list[Candidate]:
    table = read_table(packed, [f"structures/{name}" for name in _COLUMNS])
    ids, status, quarantine, formulas, systems, n_atoms, duplicate = (
        table[f"structures/{name}"] for name in _COLUMNS
    )
    usable = (status == Status.ok) & (quarantine == 0)
    if quarantined:
        usable = (status == Status.ok) | (status == Status.quarantined)
    taken = (duplicate == 0) & (systems > 0) & usable
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
                f"{part.path}: {id_} has no formula: give --structures, a packed file with it or "
                "a JSON object of id to formula"
            )
        candidate = _candidate(id_, system, formula)
        if elements is not None and set(elements) != set(candidate.elements):
            raise RcError(
                f"{part.path}: {id_} holds {', '.join(elements)}, but its formula is {formula}: "
                "they are not of one structure"
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
