"""Answers as other programs write them, as prediction files: inspect_ai, lm-eval, VLMEvalKit.

Whatever else answers writes rows of an id and an answer, as lines of JSON or a table.

Replies are read again by our parser, whatever the program made of them. A reply without a letter
is wrong; a question without a reply is missing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rc_hpc.answers.arms import PredictionFile, some
from rc_hpc.answers.predictions import parse_predictions
from rc_hpc.answers.scoring import Arm, Row, Sample, stored_predictions
from rc_hpc.benchmark.letters import ARMS, FOUR_LETTERS
from rc_hpc.benchmark.package import Package, read_rows
from rc_hpc.core.errors import RcError, fault_of
from rc_hpc.core.vocabulary import Outcome

#: Endings of files that hold answers.
ENDINGS = (".h5", ".hdf5", ".json", ".jsonl", ".eval", ".tsv", ".csv", ".xlsx")
#: What VLMEvalKit writes where the endpoint gave no answer.
_NO_ANSWER = "failed to obtain answer via api"
#: Replies by question: outcome and text of each sample.
Replies = dict[str, list[tuple[Outcome, str]]]


def read_answer_files(paths: Iterable[Path], package: Package) -> list[PredictionFile]:
    """Every arm of these files, and of the files in these folders.

    Raises
    ------
    RcError
        A file cannot be read, or holds no answers to the package; names it and the cure.
    """
    return [file for path in _found(paths) for file in _read(path, package)]


def _found(paths: Iterable[Path]) -> list[Path]:
    found: dict[Path, None] = {}
    for path in paths:
        inside = [path]
        if path.is_dir():
            inside = sorted(one for one in path.iterdir() if _holds_answers(one))
        if not inside:
            raise RcError(
                f"{path}: holds no answers ({', '.join(ENDINGS)}); name the files themselves"
            )
        found.update(dict.fromkeys(inside))
    return list(found)


def _holds_answers(path: Path) -> bool:
    """Whether a file of a folder is one of answers, and not of what else stands beside it."""
    aside = path.name.startswith("results_") or path.name.endswith(".journal.jsonl")
    return path.suffix in ENDINGS and not aside


def _read(path: Path, package: Package) -> list[PredictionFile]:
    if path.suffix in (".h5", ".hdf5"):
        return stored_predictions(path, task=FOUR_LETTERS)
    if path.suffix == ".eval":
        return [_of_inspect(path, _eval_log(path), package)]
    if path.suffix == ".jsonl":
        rows = dict(read_rows(path))
        read = _plain if _is_plain(rows.values()) else _of_lm_eval
        return [read(path, rows, package)]
    if path.suffix in (".tsv", ".csv", ".xlsx"):
        return [_of_vlmevalkit(path, package)]
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise fault_of(path)(f"{path}: cannot be read ({error}); check the path") from error
    except ValueError as error:
        raise RcError(f"{path}: not JSON ({error}); it may be cut short: fetch it again") from error
    if isinstance(content, dict) and "eval" in content:
        return [_of_inspect(path, content, package)]
    return [parse_predictions(content, str(path), FOUR_LETTERS)]


def _eval_log(path: Path) -> dict[str, Any]:
    """A log of inspect_ai in its own archive, as JSON."""
    cure = f"pip install inspect_ai, or convert it: inspect log convert {path} --to json"
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise RcError(f"{path}: inspect_ai is needed to open its archives; {cure}") from error
    if not path.is_file():
        raise fault_of(path)(f"{path}: is no file; check the path")
    try:
        log = read_eval_log(str(path))
    except Exception as error:
        raise RcError(f"{path}: inspect_ai cannot read it ({error})") from error
    content: dict[str, Any] = json.loads(log.model_dump_json(exclude_none=True))
    return content


def _of_inspect(path: Path, log: Mapping[str, Any], package: Package) -> PredictionFile:
    replies: Replies = {}
    arms = set()
    samples = log.get("samples") or []
    for sample in sorted(samples, key=lambda one: one.get("epoch", 1)):
        arms.add((sample.get("metadata") or {}).get("arm"))
        replies.setdefault(str(sample.get("id")), []).append(_inspected(sample))
    model = str(log.get("eval", {}).get("model", ""))
    return _predictions(path, model, _one_arm(path, arms), replies, package, "inspect_ai")


def _inspected(sample: Mapping[str, Any]) -> tuple[Outcome, str]:
    """Outcome and text of a sample of inspect_ai; one that failed is missing."""
    choices = (sample.get("output") or {}).get("choices") or []
    if sample.get("error") or not choices:
        return Outcome.gave_up, ""
    content = choices[0].get("message", {}).get("content") or ""
    if isinstance(content, list):  # reasoning stands beside the text
        texts = (part.get("text", "") for part in content if part.get("type") == "text")
        content = "\n".join(texts)
    if choices[0].get("stop_reason") == "content_filter":
        return Outcome.refused, str(content)
    return Outcome.answered, str(content)


def _of_lm_eval(
    path: Path, rows: Mapping[int, Mapping[str, Any]], package: Package
) -> PredictionFile:
    """Samples, by the number of their line."""
    replies: Replies = {}
    arms = set()
    for number, row in rows.items():
        doc, resps = row.get("doc"), row.get("resps")
        if not isinstance(doc, dict) or "id" not in doc or not isinstance(resps, list):
            raise RcError(
                f"{path}, line {number}: neither an id and an answer nor a sample of lm-eval on an "
                "exported package (run it with --log_samples)"
            )
        arms.add(doc.get("arm"))
        flat = [text for one in resps for text in (one if isinstance(one, list) else [one])]
        # every filter writes the same replies once more
        replies.setdefault(str(doc["id"]), [(Outcome.answered, str(text)) for text in flat])
    model = path.parent.name.replace("__", "/")
    return _predictions(path, model, _one_arm(path, arms), replies, package, "lm-eval")


def _is_plain(rows: Collection[Mapping[str, Any]]) -> bool:
    """Whether these are rows of an id and an answer."""
    return bool(rows) and all("id" in row and "answer" in row for row in rows)


def _plain(
    path: Path, numbered: Mapping[int, Mapping[str, Any]], package: Package
) -> PredictionFile:
    """Rows of ``id``, ``answer`` and, unless it is the arm of pictures, ``arm``."""
    rows = numbered.values()
    if any("options" in row for row in rows):
        raise RcError(f"{path}: these are the questions; an answer is an id and an answer a row")
    replies: Replies = {}
    for row in rows:
        text = row["answer"]
        lost = text is None or (isinstance(text, float) and math.isnan(text))
        said = (Outcome.gave_up, "") if lost else (Outcome.answered, str(text))
        replies.setdefault(str(row["id"]), []).append(said)
    arm = _one_arm(path, {row.get("arm", ARMS[0]) for row in rows})
    return _predictions(path, path.stem, arm, replies, package, "rows of answers")


def _of_vlmevalkit(path: Path, package: Package) -> PredictionFile:
    frame = _table(path)
    if {"id", "answer"} <= set(frame) and "prediction" not in frame:
        return _plain(path, dict(enumerate(frame.to_dict("records"))), package)
    if lacking := {"id", "arm", "prediction"} - set(frame):
        raise RcError(
            f"{path}: has no column {', '.join(sorted(lacking))}: give a table of id and answer, "
            "or a result of VLMEvalKit on an exported package"
        )
    replies: Replies = {}
    for id_, text in zip(frame["id"], frame["prediction"], strict=True):
        blank = isinstance(text, float) and math.isnan(text)
        said = "" if blank else str(text)
        lost = _NO_ANSWER in said.lower()
        outcome = Outcome.gave_up if lost else Outcome.answered
        replies.setdefault(str(id_), []).append((outcome, "" if lost else said))
    arm = _one_arm(path, set(frame["arm"]))
    model = path.stem.partition("_MV-CrystalBench")[0]
    return _predictions(path, model, arm, replies, package, "VLMEvalKit")


def _table(path: Path):
    """A table of VLMEvalKit, texts as they are."""
    import pandas as pd

    try:
        if path.suffix == ".xlsx":
            return pd.read_excel(path, dtype={"id": str, "arm": str})
        separator = "\t" if path.suffix == ".tsv" else ","
        return pd.read_csv(path, sep=separator, dtype=str)
    except ImportError as error:
        raise RcError(
            f"{path}: openpyxl is needed to open it: pip install openpyxl, or save it as .tsv"
        ) from error
    except (OSError, ValueError) as error:
        raise fault_of(path)(f"{path}: cannot be read ({error}); check it") from error


def _one_arm(path: Path, arms: set) -> str:
    if len(arms) != 1 or (arm := arms.pop()) not in ARMS:
        raise RcError(
            f"{path}: its samples do not name one arm of {', '.join(ARMS)}: run what "
            "python -m rc_hpc.benchmark export wrote"
        )
    return str(arm)


def _predictions(
    path: Path, model: str, arm: str, replies: Replies, package: Package, program: str
) -> PredictionFile:
    """Replies read by our parser."""
    if not replies:
        raise RcError(f"{path}: holds no samples; run it again")
    if strange := sorted(replies.keys() - package.by_id.keys()):
        raise RcError(
            f"{path}: {len(strange)} of {len(replies)} ids are none of {package.root}: "
            f"{some(strange)}; give the package that was exported"
        )
    k = max(map(len, replies.values()))
    rows = []
    for question in package.questions:
        given = replies.get(question.id)
        if given is None:
            continue
        given = given + [(Outcome.gave_up, "")] * (k - len(given))
        choices = tuple(question.options.values())
        samples = tuple(
            Sample.read(FOUR_LETTERS, outcome, text, choices=choices) for outcome, text in given
        )
        rows.append(Row(question.id, question.answer, samples))
    made = Arm(arm, "none", model, k, tuple(rows), task=FOUR_LETTERS)
    file = made.predictions(FOUR_LETTERS.parser, {"program": program})
    return replace(file, source=str(path))
