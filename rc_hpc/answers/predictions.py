"""Prediction files in the schema of the released records: read, checked, written.

A file holds one arm of one model: ``arm, K, n, micro, predictions``, optionally ``model,
unparseable, api_errors, scored, convention``; a prediction holds ``material_id, truth, pred`` and
``votes`` (label to count, in the order in which labels were first seen) or ``n_atoms_emitted``, and
``failed`` where calls failed: so many samples have no reply.
Files of ours add an object ``rc_hpc`` that says how they came about (cell, parser, run), and what
was asked (``task``) where that is not what the released study asked.
A key that is not known is an error: a misspelt one would switch a gate off without a word.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rc_hpc.answers.arms import (
    CELLS,
    RELEASED_ARMS,
    VOTELESS,
    Prediction,
    PredictionFile,
    some,
)
from rc_hpc.answers.task import SEVEN_SYSTEMS, Task
from rc_hpc.answers.votes import leaders
from rc_hpc.core.errors import RcError, fault_of
from rc_hpc.core.text import parse_json

_REQUIRED = {"arm": str, "K": int, "n": int, "micro": (int, float), "predictions": list}
_OPTIONAL = {
    "model": str,
    "unparseable": int,
    "api_errors": int,
    "scored": bool,
    "convention": str,
    "rc_hpc": dict,
}
_ROW = {"material_id": str, "truth": str}
_ROW_OPTIONAL = {"pred": (str, type(None)), "votes": dict, "n_atoms_emitted": int, "failed": int}


def read_predictions(path: str | Path, task: Task = SEVEN_SYSTEMS) -> PredictionFile:
    """Read one file and check that its counts follow from its rows.

    Raises
    ------
    RcError
        Unreadable, of another schema or task, with a repeated id, or with a count that is not that
        of its rows; the message names the file and what to do.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise fault_of(path)(f"{path}: cannot be read ({error}); check the path") from error
    try:
        content = parse_json(text, object_pairs_hook=_unique_keys)
    except ValueError as error:
        reason = f"not valid JSON ({error}); it may be cut short: fetch it again"
        raise _broken(path, reason) from error
    return parse_predictions(content, str(path), task)


def parse_predictions(content, source: str, task: Task = SEVEN_SYSTEMS) -> PredictionFile:
    """The same from parsed JSON; `source` is shown in messages."""
    if not isinstance(content, dict):
        raise _broken(
            source,
            f"a JSON {type(content).__name__}, not a prediction file; "
            f"give one object with {', '.join(_REQUIRED)}",
        )
    _check_keys(source, "the file", content, _REQUIRED, _OPTIONAL)
    details = dict(content.get("rc_hpc", {}))
    _check_task(source, details.pop("task", _asked(SEVEN_SYSTEMS)), task)
    rows = tuple(
        _row(source, number, row, content["K"], task)
        for number, row in enumerate(content["predictions"], 1)
    )
    file = PredictionFile(
        source,
        content.get("model", ""),
        content["arm"],
        content["K"],
        rows,
        content.get("unparseable"),
        content.get("api_errors"),
        content.get("scored"),
        content.get("convention", ""),
        details,
        task,
    )
    _check_arm(file)
    _check_counts(file, content)
    return file


def find_files(paths: Iterable[str | Path]) -> list[Path]:
    """Files, and the ``*.json`` files of folders, sorted within each; each path once."""
    files: dict[Path, None] = {}
    for path in map(Path, paths):
        inside = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise _broken(
                path, "the folder holds no .json files; name the folder of the prediction files"
            )
        files.update(dict.fromkeys(inside))
    return list(files)


def check_together(files: Iterable[PredictionFile]) -> None:
    """Refuse files that cannot stand in one ladder.

    Raises
    ------
    RcError
        Two files are one model's same arm, or they disagree about the truth of a structure.
    """
    seen: dict[tuple, str] = {}
    truths: dict[str, tuple[str, str]] = {}
    for file in files:
        if file.identity in seen:
            what = " ".join(part for part in file.identity if part and part != "none")
            raise _broken(
                file.source,
                f"{what} is already in {seen[file.identity]}; two runs are never mixed: "
                "name one of them",
            )
        seen[file.identity] = file.source
        for p in file.predictions:
            truth, source = truths.setdefault(p.material_id, (p.truth, file.source))
            if truth != p.truth:
                raise _broken(
                    file.source,
                    f"{p.material_id} is {p.truth} here and {truth} in {source}; "
                    "they are not of one benchmark",
                )


def to_json(file: PredictionFile) -> str:
    """The file's text in the released schema, with a final newline."""
    details = file.details
    if file.task.name != SEVEN_SYSTEMS.name:
        details = details | {"task": _asked(file.task)}
    optional = {
        "model": file.model or None,
        "convention": file.convention or None,
        "unparseable": file.unparseable,
        "api_errors": file.api_errors,
        "scored": file.scored,
        "rc_hpc": details or None,
    }
    n = len(file.predictions)
    content = {
        "arm": file.arm,
        "K": file.k,
        "n": n,
        "micro": round(file.n_correct / n, 4) if n else 0.0,
        **{key: value for key, value in optional.items() if value is not None},
        "predictions": [_row_out(p) for p in file.predictions],
    }
    # never write what we would refuse
    parse_predictions(json.loads(json.dumps(content)), file.source, file.task)
    return json.dumps(content, ensure_ascii=False) + "\n"


def _asked(task: Task) -> dict:
    return {"name": task.name, "labels": list(task.labels)}


def _check_task(source, said, task: Task) -> None:
    if said != _asked(task):
        name = said.get("name") if isinstance(said, dict) else said
        raise _broken(
            source,
            f"answers the task {name!r} and is read as {task.name!r} ({', '.join(task.labels)}); "
            "give files of one task and version",
        )


def _row_out(p: Prediction) -> dict:
    row: dict[str, Any] = {"material_id": p.material_id, "truth": p.truth, "pred": p.pred}
    if p.votes is not None:
        row["votes"] = dict(p.votes)
    if p.n_atoms_emitted is not None:
        row["n_atoms_emitted"] = p.n_atoms_emitted
    if p.n_failed:
        row["failed"] = p.n_failed
    return row


def _row(source: str, number: int, row, k: int, task: Task) -> Prediction:
    where = f"prediction {number}"
    if not isinstance(row, dict):
        raise _broken(source, f"{where} is a JSON {type(row).__name__}; write an object")
    if isinstance(row.get("material_id"), str):
        where += f" ({row['material_id']})"
    _check_keys(source, where, row, _ROW, _ROW_OPTIONAL)
    if "pred" not in row or ("votes" not in row and "n_atoms_emitted" not in row):
        lacking = "votes" if "pred" in row else "pred"
        raise _broken(source, f"{where} lacks {lacking}; write the file again")
    votes, pred, failed = row.get("votes"), row["pred"], row.get("failed", 0)
    for label in (row["truth"], *([] if pred is None else [pred]), *(votes or ())):
        if label not in task.labels:
            raise _broken(source, f"{where}: {label!r} is none of {', '.join(task.labels)}")
    if votes is not None:
        counted = all(type(count) is int and count > 0 for count in votes.values())
        if not counted or sum(votes.values()) > k:
            raise _broken(
                source,
                f"{where}: votes {votes} are not whole numbers above 0 "
                f"that add up to K = {k} at most",
            )
        tie_is_a_miss = task.ties[0] == "wrong" and len(leaders(votes)) > 1
        if pred not in ((None,) if tie_is_a_miss or not votes else leaders(votes)):
            raise _broken(
                source, f"{where}: pred {pred!r} does not follow from its votes {votes}; vote again"
            )
    if not 0 <= failed <= k - sum((votes or {}).values()):
        raise _broken(
            source, f"{where}: failed is {failed}, beside the votes of K = {k}; write it again"
        )
    emitted = row.get("n_atoms_emitted")
    return Prediction(row["material_id"], row["truth"], pred, votes, emitted, failed)


def _check_keys(source, where: str, found: dict, required: dict, optional: dict) -> None:
    if missing := required.keys() - found.keys():
        raise _broken(
            source, f"{where} lacks {', '.join(sorted(missing))}; is it a prediction file?"
        )
    if unknown := found.keys() - required.keys() - optional.keys():
        raise _broken(
            source,
            f"{where} has unknown keys {', '.join(sorted(unknown))}; "
            f"known are {', '.join((*required, *optional))}",
        )
    for key, types in (required | optional).items():
        value = found.get(key)
        wrong = not isinstance(value, types) or (isinstance(value, bool) and types is not bool)
        if key in found and wrong:
            raise _broken(
                source,
                f"{where}: {key} is {value!r}, a {type(value).__name__}; write the file again",
            )


def _check_arm(file: PredictionFile) -> None:
    known = (*file.task.arms, *(RELEASED_ARMS if file.task.name == SEVEN_SYSTEMS.name else ()))
    if file.arm not in known:
        raise _broken(file.source, f"unknown arm {file.arm!r}; known are {', '.join(known)}")
    if file.arm in file.task.arms and file.details.get("cell") not in CELLS:
        raise _broken(
            file.source,
            f"does not say which cell was shown; set rc_hpc.cell to one of {', '.join(CELLS)}",
        )
    if file.kind not in VOTELESS:
        for p in file.predictions:
            if p.votes is None:
                raise _broken(
                    file.source, f"{p.material_id} has no votes; an arm of {file.kind} needs them"
                )


def _check_counts(file: PredictionFile, content: dict) -> None:
    n, losses = len(file.predictions), file.losses
    ids = file.ids
    if len(set(ids)) < n:
        repeated = sorted({id_ for id_ in ids if ids.count(id_) > 1})
        raise _broken(
            file.source, f"repeated ids: {some(repeated)}; keep one prediction per structure"
        )
    if file.k < 1:
        raise _broken(file.source, f"K is {file.k}; it counts the samples of a structure")
    expected = {
        "n": n,
        "micro": round(file.n_correct / n, 4) if n else 0.0,
        "unparseable": losses.unanswered,
    }
    for key, value in expected.items():
        if key in content and content[key] != value:
            raise _broken(
                file.source,
                f"{key} is {content[key]}, its predictions give {value}; "
                "it was changed or cut: fetch it again",
            )
    if file.api_errors is not None and not 0 <= file.api_errors <= n * file.k:
        raise _broken(
            file.source,
            f"api_errors is {file.api_errors} of {n * file.k} calls; write the file again",
        )


def _unique_keys(pairs: list[tuple]) -> dict:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        raise ValueError("an object has a key twice")
    return unique


def _broken(source, reason: str) -> RcError:
    return RcError(f"{source}: {reason}")
