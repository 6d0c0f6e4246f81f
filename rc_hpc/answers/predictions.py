"""Prediction files in the schema of the released records: read, checked, written.

A file holds one arm of one model: ``arm, K, n, micro, predictions``, optionally ``model,
unparseable, api_errors, scored, convention``; a prediction holds ``material_id, truth, pred`` and
``votes`` (label to count, in the order in which labels were first seen) or ``n_atoms_emitted``.
Files of ours add an object ``rc_hpc`` that says how they came about (cell, parser, run).
A key that is not known is an error: a misspelt one would switch a gate off without a word.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from rc_hpc.answers.votes import Losses, leaders
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import RcError

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
#: What the released files call their arms, as (arm, cell that its text or picture shows).
_RELEASED = {
    "zero-shot": ("pixels", "conventional"),
    "frontier zero-shot": ("pixels", "conventional"),
    "render_convention_sweep render convention": ("pixels", "conventional"),
    "R3 coordinates-as-text": ("coordinates", "stored"),
    "no-image control (TEXT)": ("question-only", "none"),
    "perception_transplant A3 strong-extracts-weak-reasons": ("answer-from-text", "none"),
}
#: Arms by the names that files of ours use; the first four must hold votes.
ARMS = ("pixels", "coordinates", "question-only", "formula-only", "extraction", "answer-from-text")
CELLS = ("stored", "conventional", "none")


@dataclass(frozen=True, slots=True)
class Prediction:
    """One structure of one arm.

    Attributes
    ----------
    material_id, truth
    pred
        None where no sample could be read.
    votes
        Label to count, in the order in which labels were first seen; None where the file has none.
    n_atoms_emitted
        Atoms of an extraction leg; None elsewhere.
    """

    material_id: str
    truth: str
    pred: str | None
    votes: Mapping[str, int] | None = None
    n_atoms_emitted: int | None = None

    @property
    def correct(self) -> bool:
        """Whether the prediction is the truth; no answer is wrong."""
        return self.pred == self.truth


@dataclass(frozen=True)
class PredictionFile:
    """One arm of one model over n structures.

    Attributes
    ----------
    source
        Its path, as shown in messages.
    model
        As its provider calls it; empty where the file names none.
    arm
        As the file says it.
    k
        Samples asked of each structure.
    predictions
        In file order.
    unparseable, api_errors, scored
        As the file says; None where it does not.
    convention
        Render convention of a convention sweep, else empty.
    details
        What our own files say under ``rc_hpc``.
    """

    source: str
    model: str
    arm: str
    k: int
    predictions: tuple[Prediction, ...]
    unparseable: int | None = None
    api_errors: int | None = None
    scored: bool | None = None
    convention: str = ""
    details: dict = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """One of `ARMS`."""
        return _RELEASED.get(self.arm, (self.arm,))[0]

    @property
    def cell(self) -> str:
        """The cell that the model was shown: one of `CELLS`."""
        return _RELEASED[self.arm][1] if self.arm in _RELEASED else self.details["cell"]

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Model, kind, cell and convention: two files that agree in them are two runs of one thing."""
        return self.model, self.kind, self.cell, self.convention

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Ids in file order."""
        return tuple(p.material_id for p in self.predictions)

    @property
    def n_correct(self) -> int:
        """Structures predicted rightly."""
        return sum(p.correct for p in self.predictions)

    @property
    def losses(self) -> Losses:
        """What was lost; from the votes where there are any, else from the missing predictions."""
        n = len(self.predictions)
        unanswered = sum(p.pred is None for p in self.predictions)
        read = sum(
            self.k * (p.pred is not None) if p.votes is None else sum(p.votes.values())
            for p in self.predictions
        )
        return Losses(n, self.k, self.api_errors, n * self.k - read, unanswered)

    def why_unscored(self, samples: bool = False) -> str:
        """Why the row is reported but not scored; empty for a scored one. `samples` as in `Losses`."""
        reasons = [f"{name} above 5 %" for name in self.losses.failed_gates(samples)]
        if self.scored is False and not reasons:
            reasons.append("its file says so")
        return ", ".join(reasons)

    def rows(self, ids: Sequence[str]) -> list[Prediction]:
        """The predictions of these structures, in this order.

        Raises
        ------
        RcError
            Some are missing; names the file and the first of them.
        """
        by_id = {p.material_id: p for p in self.predictions}
        missing = [id_ for id_ in ids if id_ not in by_id]
        if missing:
            raise _broken(
                self.source,
                f"{len(missing)} of {len(ids)} structures are missing: {_some(missing)}; give files over the same structures",
            )
        return [by_id[id_] for id_ in ids]


def read_predictions(path: str | Path) -> PredictionFile:
    """Read one file and check that its counts follow from its rows.

    Raises
    ------
    RcError
        Unreadable, of another schema, with a repeated id, or with a count that is not that of its
        rows; the message names the file and what to do.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _broken(path, f"cannot be read ({error}); check the path") from error
    try:
        return parse_predictions(json.loads(text, object_pairs_hook=_unique_keys), str(path))
    except ValueError as error:
        raise _broken(
            path, f"not valid JSON ({error}); it may be cut short: fetch it again"
        ) from error


def parse_predictions(content, source: str) -> PredictionFile:
    """The same from parsed JSON; `source` is shown in messages."""
    if not isinstance(content, dict):
        raise _broken(
            source,
            f"a JSON {type(content).__name__}, not a prediction file; give one object with {', '.join(_REQUIRED)}",
        )
    _check_keys(source, "the file", content, _REQUIRED, _OPTIONAL)
    rows = tuple(
        _row(source, number, row, content["K"])
        for number, row in enumerate(content["predictions"], 1)
    )
    found = PredictionFile(
        source,
        content.get("model", ""),
        content["arm"],
        content["K"],
        rows,
        content.get("unparseable"),
        content.get("api_errors"),
        content.get("scored"),
        content.get("convention", ""),
        content.get("rc_hpc", {}),
    )
    _check_arm(found)
    _check_counts(found, content)
    return found


def find_files(paths: Iterable[str | Path]) -> list[Path]:
    """Files, and the ``*.json`` files of folders, sorted within each; a path given twice counts once."""
    files: dict[Path, None] = {}
    for path in map(Path, paths):
        inside = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise _broken(
                path, "the folder holds no .json files; name the folder of the prediction files"
            )
        files.update(dict.fromkeys(inside))
    return list(files)


def read_all(paths: Iterable[str | Path]) -> list[PredictionFile]:
    """Read several files or folders; raises as `read_predictions` and `check_together`."""
    files = [read_predictions(path) for path in find_files(paths)]
    check_together(files)
    return files


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
                f"{what} is already in {seen[file.identity]}; two runs are never mixed: name one of them",
            )
        seen[file.identity] = file.source
        for p in file.predictions:
            truth, source = truths.setdefault(p.material_id, (p.truth, file.source))
            if truth != p.truth:
                raise _broken(
                    file.source,
                    f"{p.material_id} is {p.truth} here and {truth} in {source}; they are not of one benchmark",
                )


def to_json(file: PredictionFile) -> str:
    """The file's text in the released schema, with a final newline."""
    optional = {
        "model": file.model or None,
        "convention": file.convention or None,
        "unparseable": file.unparseable,
        "api_errors": file.api_errors,
        "scored": file.scored,
        "rc_hpc": file.details or None,
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
    parse_predictions(
        json.loads(json.dumps(content)), file.source
    )  # never write what we would refuse
    return json.dumps(content, ensure_ascii=False) + "\n"


def _row_out(p: Prediction) -> dict:
    row = {"material_id": p.material_id, "truth": p.truth, "pred": p.pred}
    if p.votes is not None:
        row["votes"] = dict(p.votes)
    if p.n_atoms_emitted is not None:
        row["n_atoms_emitted"] = p.n_atoms_emitted
    return row


def _row(source: str, number: int, row, k: int) -> Prediction:
    where = f"prediction {number}"
    if not isinstance(row, dict):
        raise _broken(source, f"{where} is a JSON {type(row).__name__}; write an object")
    if isinstance(row.get("material_id"), str):
        where += f" ({row['material_id']})"
    _check_keys(
        source, where, row, _ROW, {"pred": (str, type(None)), "votes": dict, "n_atoms_emitted": int}
    )
    if "pred" not in row or ("votes" not in row and "n_atoms_emitted" not in row):
        raise _broken(
            source, f"{where} lacks {'votes' if 'pred' in row else 'pred'}; write the file again"
        )
    votes, pred = row.get("votes"), row["pred"]
    for label in (row["truth"], *([] if pred is None else [pred]), *(votes or ())):
        if label not in CRYSTAL_SYSTEMS:
            raise _broken(source, f"{where}: {label!r} is none of {', '.join(CRYSTAL_SYSTEMS)}")
    if votes is not None:
        if (
            any(type(count) is not int or count < 1 for count in votes.values())
            or sum(votes.values()) > k
        ):
            raise _broken(
                source,
                f"{where}: votes {votes} are not whole numbers above 0 that add up to K = {k} at most",
            )
        if pred not in (leaders(votes) or (None,)):
            raise _broken(
                source, f"{where}: pred {pred!r} does not follow from its votes {votes}; vote again"
            )
    return Prediction(row["material_id"], row["truth"], pred, votes, row.get("n_atoms_emitted"))


def _check_keys(source, where: str, found: dict, required: dict, optional: dict) -> None:
    if missing := required.keys() - found.keys():
        raise _broken(
            source, f"{where} lacks {', '.join(sorted(missing))}; is it a prediction file?"
        )
    if unknown := found.keys() - required.keys() - optional.keys():
        raise _broken(
            source,
            f"{where} has unknown keys {', '.join(sorted(unknown))}; known are {', '.join((*required, *optional))}",
        )
    for key, types in (required | optional).items():
        value = found.get(key)
        if key in found and (
            not isinstance(value, types) or (isinstance(value, bool) and types is not bool)
        ):
            raise _broken(
                source,
                f"{where}: {key} is {value!r}, a {type(value).__name__}; write the file again",
            )


def _check_arm(file: PredictionFile) -> None:
    if file.arm not in (*ARMS, *_RELEASED):
        raise _broken(
            file.source, f"unknown arm {file.arm!r}; known are {', '.join((*ARMS, *_RELEASED))}"
        )
    if file.arm in ARMS and file.details.get("cell") not in CELLS:
        raise _broken(
            file.source,
            f"does not say which cell was shown; set rc_hpc.cell to one of {', '.join(CELLS)}",
        )
    if file.kind in ARMS[:4]:
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
            file.source, f"repeated ids: {_some(repeated)}; keep one prediction per structure"
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
                f"{key} is {content[key]}, its predictions give {value}; it was changed or cut: fetch it again",
            )
    if file.api_errors is not None and not 0 <= file.api_errors <= n * file.k:
        raise _broken(
            file.source,
            f"api_errors is {file.api_errors} of {n * file.k} calls; write the file again",
        )


def _unique_keys(pairs: list[tuple]) -> dict:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def _broken(source, reason: str) -> RcError:
    return RcError(f"{source}: {reason}")
