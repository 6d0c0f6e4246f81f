"""From the journal to the file of answers and the prediction files, and from stored answers to other readings of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.answers.arms import PredictionFile
from rc_hpc.answers.file import columns, reading_column, write_answers
from rc_hpc.answers.predictions import to_json
from rc_hpc.answers.scoring import Arm, Row, Sample, emitted, stored_predictions
from rc_hpc.answers.task import SEVEN_SYSTEMS, Task
from rc_hpc.answers.votes import score
from rc_hpc.core.errors import Exit, RcError
from rc_hpc.core.files import write_whole
from rc_hpc.core.vocabulary import Outcome
from rc_hpc.vlm.inputs import WITH_PICTURES, Inputs
from rc_hpc.vlm.journal import Records
from rc_hpc.vlm.questions import Question, request_key
from rc_hpc.vlm.spend import Price, cost, reasoning_tokens, tokens_in, tokens_out


@dataclass(frozen=True)
class Output:
    """The files of one run, named after the file of answers."""

    path: Path

    @property
    def journal(self) -> Path:
        """Every reply as it came."""
        return self.path.with_name(f"{self.path.stem}.journal.jsonl")

    @property
    def emitted(self) -> Path:
        """Atoms of the extraction arm."""
        return self.path.with_name(f"{self.path.stem}.emitted.json")

    def prediction(self, arm: str) -> Path:
        """Prediction file of an arm."""
        return self.path.with_name(f"{self.path.stem}.predictions") / f"{arm}.json"


def write_results(
    output: Output,
    inputs: Inputs,
    questions: Sequence[Question],
    arms: Sequence[str],
    k: int,
    parameters: dict,
    identity: dict,
    parser: str,
    price: Price | None,
    task: Task = SEVEN_SYSTEMS,
) -> list[tuple[Arm, PredictionFile | None]]:
    """Write all files of a finished run.

    Returns
    -------
    list
        Each arm and its predictions; None for the extraction arm.

    Raises
    ------
    RcError
        The journal lacks a request, or a file cannot be written.
    """
    by_key = {(question.id, question.arm): question for question in questions}
    records, tables, found = (
        Records(output.journal),
        {table: {column.path: [] for column in its} for table, its in columns(task).items()},
        [],
    )
    for row, subject in enumerate(inputs.subjects):
        _add(
            tables["structures"],
            id=subject.id,
            truth=task.code(subject.truth),
            formula=inputs.formula(subject.id),
        )
        for arm in arms:
            question = by_key[subject.id, arm]
            pictures = " ".join(picture.sha256 for picture in question.pictures)
            _add(
                tables["questions"],
                structure=row,
                arm=task.arms.index(arm),
                prompt=question.prompt or "",
                prompt_version=question.prompt_version,
                pictures=pictures,
            )
    for arm in arms:
        rows = []
        for row, subject in enumerate(inputs.subjects):
            question = by_key[subject.id, arm]
            keys = (
                [""] * k
                if question.prompt is None
                else [request_key(question, sample, parameters) for sample in range(k)]
            )
            samples = []
            for number, record in enumerate(records.read(keys)):
                if record is None and question.prompt is not None:
                    raise RcError(
                        f"{output.journal}: sample {number} of {subject.id} in arm {arm} is missing: go on with --resume"
                    )
                samples.append(_sample(tables["samples"], row, arm, number, record, price, task))
            rows.append(Row(subject.id, subject.truth, tuple(samples)))
        drawn = (
            arm in WITH_PICTURES
            and inputs.manifest is not None
            and inputs.manifest.convention != "C1"
        )
        found.append(
            Arm(
                arm,
                _cell(arm, inputs.cell),
                parameters["model"],
                k,
                tuple(rows),
                inputs.manifest.convention if drawn else "",
                task,
            )
        )
    details = {
        "prompts": sorted({question.prompt_version for question in questions}),
        "parameters": parameters,
        "provider": identity["provider"],
    }
    written = [
        (arm, None if arm.name == "extraction" else arm.predictions(parser, details))
        for arm in found
    ]
    for arm, file in written:
        _count(tables, arm, file)
    attributes = {
        "model": parameters["model"],
        "parser": parser,
        "ties": task.ties[0],
        "currency": price.currency if price else "USD",
        "options": json.dumps(identity, sort_keys=True),
        "left_out": inputs.left_out,
        "requests_lost_in_flight": len(records.contents.lost),
    }
    write_answers(output.path, tables, {}, attributes, task)
    _write_files(output, written)
    return written


def _write_files(output: Output, written: Sequence[tuple[Arm, PredictionFile | None]]) -> None:
    for arm, file in written:
        if file is None:
            write_whole(output.emitted, (json.dumps(emitted(arm.rows)) + "\n").encode())
        else:
            path = output.prediction(arm.name)
            path.parent.mkdir(exist_ok=True)
            write_whole(path, to_json(file).encode())


def parse_again(args) -> int:
    """Run the action that reads stored answers by another parser."""
    files = stored_predictions(args.answers, args.parser)
    args.output.mkdir(parents=True, exist_ok=True)
    for file in files:
        path = args.output / f"{file.arm}.json"
        write_whole(path, to_json(file).encode())
        alike, answered = file.details["parsers_agree"]
        print(
            f"{path}: {file.arm} read by {args.parser}, {file.n_correct}/{len(file.predictions)} right; the parsers agree on {alike}/{answered}"
        )
    return Exit.CLEAN


def _cell(arm: str, chosen: str) -> str:
    return (
        chosen
        if arm == "coordinates"
        else "none"
        if arm in ("question-only", "formula-only")
        else "conventional"
    )


def _sample(
    table: dict,
    row: int,
    arm: str,
    number: int,
    record: dict | None,
    price: Price | None,
    task: Task,
) -> Sample:
    """Enter one sample into the table."""
    if record is None:
        record = {
            "key": "",
            "outcome": Outcome.not_asked.name,
            "text": "",
            "usage": None,
            "attempts": [],
            "message": "no atoms were emitted for this structure",
        }
    sample = Sample.read(
        task, Outcome[record["outcome"]], record["text"], record.get("message") or ""
    )
    usage = record["usage"]
    numbers = {
        "tokens_in": tokens_in(usage),
        "tokens_out": tokens_out(usage),
        "tokens_reasoning": reasoning_tokens(usage),
        "cost": cost(usage, price),
        "seconds": record.get("seconds"),
    }
    texts = {
        name: record.get(name) or ""
        for name in (
            "key",
            "text",
            "finish_reason",
            "model",
            "provider",
            "reply_id",
            "started",
            "ended",
            "message",
            "reasoning",
        )
    }
    _add(
        table,
        structure=row,
        arm=task.arms.index(arm),
        sample=number,
        outcome=sample.outcome,
        **{reading_column(name): task.code(label) for name, label in sample.readings.items()},
        n_attempts=len(record["attempts"]),
        attempts=json.dumps(record["attempts"]),
        **texts,
        **{name: np.nan if value is None else value for name, value in numbers.items()},
    )
    return sample


def _count(tables: dict, arm: Arm, file: PredictionFile | None) -> None:
    """Enter an arm's predictions and counts into the tables."""
    task = arm.task
    n, code = len(arm.rows), task.arms.index(arm.name)
    failed = arm.count(Outcome.request_error, Outcome.gave_up)
    alike, answered = arm.agreement()
    counts = {
        "arm": code,
        "cell": arm.cell,
        "convention": arm.convention,
        "k": arm.k,
        "n": n,
        "n_failed": failed,
        "n_refused": arm.count(Outcome.refused),
        "n_empty_by_length": arm.count(Outcome.empty_by_length),
        "failed_rate": failed / (n * arm.k),
        "n_parsers_agree": alike,
        "n_answered": answered,
    }
    if file is None:
        told = {
            "n_correct": 0,
            "expected_correct": np.nan,
            "n_tied": 0,
            "n_unparsed": 0,
            "lost_rate": np.nan,
            "unanswered_rate": np.nan,
            "scored": False,
            "why_unscored": "extraction",
        }
    else:
        told = {
            "n_correct": file.n_correct,
            "expected_correct": file.details["expected_correct"],
            "n_tied": file.details["tied_structures"],
            "n_unparsed": file.details["unparsed_samples"],
            "lost_rate": file.losses.lost_sample_rate,
            "unanswered_rate": file.losses.unanswered_rate,
            "scored": file.scored,
            "why_unscored": file.details["why_unscored"],
        }
        for row, p in enumerate(file.predictions):
            votes = [p.votes.get(label, 0) for label in task.labels]
            _add(
                tables["predictions"],
                structure=row,
                arm=code,
                prediction=task.code(p.pred),
                votes=votes,
                correct=p.correct,
                expected=score(p.votes, p.truth, "expected"),
            )
    _add(tables["arms"], **counts, **told)


def _add(table: dict, **values) -> None:
    for name, column in table.items():
        column.append(values[name])
