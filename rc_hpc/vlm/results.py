"""From the journal to the file of answers and the prediction files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rc_hpc.answers.arms import EXTRACTION, PredictionFile
from rc_hpc.answers.file import columns, reading_column, write_answers
from rc_hpc.answers.predictions import to_json
from rc_hpc.answers.scoring import FAILED, Arm, Row, Sample, emitted, pictures_of
from rc_hpc.answers.task import Task
from rc_hpc.answers.votes import score
from rc_hpc.core.errors import RcError
from rc_hpc.core.files import write_whole
from rc_hpc.core.vocabulary import Outcome
from rc_hpc.vlm.journal import Records
from rc_hpc.vlm.options import QuestionOptions
from rc_hpc.vlm.outputs import Outputs
from rc_hpc.vlm.prices import Price, cost, reasoning_tokens, tokens_in, tokens_out
from rc_hpc.vlm.questions import Question, Questionnaire, request_key
from rc_hpc.vlm.records import Subject

#: What is kept of a sample that was not asked.
NOT_ASKED: dict[str, Any] = {
    "key": "",
    "outcome": Outcome.not_asked.name,
    "text": "",
    "usage": None,
    "attempts": [],
    "message": "no atoms were emitted for this structure",
}
#: Fields of a record that go into the table as they are.
_TEXTS = (
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


@dataclass(frozen=True)
class Conditions:
    """Under which questions were asked, and how their replies are read.

    Attributes
    ----------
    task
    questions
        Arms, and samples of each.
    parameters
        Fields of every request.
    options
        What the file of answers records.
    parser
        Of the predictions.
    price
        None where it is not known.
    """

    task: Task
    questions: QuestionOptions
    parameters: dict
    options: dict
    parser: str
    price: Price | None

    @property
    def provider(self) -> str:
        """Dialect of the endpoint."""
        return self.options["provider"]


def write_results(
    outputs: Outputs,
    questionnaire: Questionnaire,
    questions: Sequence[Question],
    conditions: Conditions,
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
    task, parser = conditions.task, conditions.parser
    writer = _Writer(Records(outputs.journal), outputs, questionnaire, questions, conditions)
    details = {
        "prompts": sorted({question.prompt_version for question in questions}),
        "parameters": conditions.parameters,
        "provider": conditions.provider,
    }
    results = []
    for name in conditions.questions.arms:
        arm = writer.arm(name)
        told = details | pictures_of(conditions.options, name)
        file = None if name == EXTRACTION else arm.predictions(parser, told)
        writer.count(arm, file)
        results.append((arm, file))
    attributes = {
        "model": conditions.parameters["model"],
        "parser": parser,
        "ties": task.ties[0],
        "currency": conditions.price.currency if conditions.price else "USD",
        "options": json.dumps(conditions.options, sort_keys=True),
        "left_out": questionnaire.left_out,
        "requests_lost_in_flight": len(writer.records.contents.lost),
    }
    write_answers(outputs.path, writer.tables, {}, attributes, task)
    _write_files(outputs, results)
    return results


def _write_files(outputs: Outputs, results: Sequence[tuple[Arm, PredictionFile | None]]) -> None:
    for arm, file in results:
        if file is None:
            write_whole(outputs.emitted, (json.dumps(emitted(arm.rows)) + "\n").encode())
        else:
            path = outputs.prediction(arm.name)
            path.parent.mkdir(exist_ok=True)
            write_whole(path, to_json(file).encode())


class _Writer:
    """Fills the tables of a file of answers."""

    def __init__(
        self,
        records: Records,
        outputs: Outputs,
        questionnaire: Questionnaire,
        questions: Sequence[Question],
        conditions: Conditions,
    ):
        self.records, self.outputs, self.conditions = records, outputs, conditions
        self.questionnaire, self.task = questionnaire, conditions.task
        self.questions = {(question.id, question.arm): question for question in questions}
        self.tables: dict[str, dict[str, list]] = {
            table: {column.path: [] for column in its_columns}
            for table, its_columns in columns(self.task).items()
        }
        self.rows = {subject.id: row for row, subject in enumerate(questionnaire.subjects)}
        for subject in questionnaire.subjects:
            self._add_subject(self.rows[subject.id], subject)

    def _add(self, table: str, **values) -> None:
        for name, column in self.tables[table].items():
            column.append(values[name])

    def _add_subject(self, row: int, subject: Subject) -> None:
        self._add(
            "structures",
            id=subject.id,
            truth=self.task.code(subject.truth),
            formula=self.questionnaire.formula(subject.id),
            choices=json.dumps(subject.choices) if subject.choices else "",
        )
        for arm in self.conditions.questions.arms:
            question = self.questions.get((subject.id, arm))
            if question is None:
                continue
            self._add(
                "questions",
                structure=row,
                arm=self.task.arms.index(arm),
                prompt=question.prompt or "",
                prompt_version=question.prompt_version,
                pictures=" ".join(picture.sha256 for picture in question.pictures),
            )

    def arm(self, name: str) -> Arm:
        """One arm, its samples entered; what the arm does not ask is none of its rows."""
        k = self.conditions.questions.samples
        rows = []
        for row, subject in enumerate(self.questionnaire.subjects):
            if (subject.id, name) not in self.questions:
                continue
            records = self._records(self.questions[subject.id, name], k)
            samples = (
                self._sample(row, name, number, record, subject.choices)
                for number, record in enumerate(records)
            )
            rows.append(Row(subject.id, subject.truth, tuple(samples)))
        cell, convention = self.questionnaire.shown(name)
        model = self.conditions.parameters["model"]
        return Arm(name, cell, model, k, tuple(rows), convention, self.task)

    def _records(self, question: Question, k: int) -> list[dict]:
        if question.prompt is None:
            return [NOT_ASKED] * k
        parameters = self.conditions.parameters
        keys = [request_key(question, sample, parameters) for sample in range(k)]
        records = []
        for sample, record in enumerate(self.records.read(keys)):
            if record is None:
                raise RcError(
                    f"{self.outputs.journal}: sample {sample} of {question.id} in arm "
                    f"{question.arm} is missing: go on with --resume"
                )
            records.append(record)
        return records

    def _sample(
        self, row: int, arm: str, number: int, record: dict, choices: Sequence[str]
    ) -> Sample:
        """One sample, entered."""
        message = record.get("message") or ""
        outcome, usage = Outcome[record["outcome"]], record["usage"]
        sample = Sample.read(self.task, outcome, record["text"], message, choices)
        numbers = {
            "tokens_in": tokens_in(usage),
            "tokens_out": tokens_out(usage),
            "tokens_reasoning": reasoning_tokens(usage),
            "cost": cost(usage, self.conditions.price),
            "seconds": record.get("seconds"),
        }
        readings = sample.readings.items()
        self._add(
            "samples",
            structure=row,
            arm=self.task.arms.index(arm),
            sample=number,
            outcome=sample.outcome,
            n_attempts=len(record["attempts"]),
            attempts=json.dumps(record["attempts"]),
            **{reading_column(name): self.task.code(label) for name, label in readings},
            **{name: record.get(name) or "" for name in _TEXTS},
            **{name: np.nan if value is None else value for name, value in numbers.items()},
        )
        return sample

    def count(self, arm: Arm, file: PredictionFile | None) -> None:
        """Enter an arm's predictions and counts."""
        n, code = len(arm.rows), self.task.arms.index(arm.name)
        failed = arm.count(*FAILED)
        alike, answered = arm.agreement()
        self._add(
            "arms",
            arm=code,
            cell=arm.cell,
            convention=arm.convention,
            k=arm.k,
            n=n,
            n_failed=failed,
            n_refused=arm.count(Outcome.refused),
            n_empty_by_length=arm.count(Outcome.empty_by_length),
            failed_rate=failed / (n * arm.k) if n else 0.0,
            n_parsers_agree=alike,
            n_answered=answered,
            **_verdict(file),
        )
        for p in file.predictions if file else ():
            self._add(
                "predictions",
                structure=self.rows[p.material_id],
                arm=code,
                prediction=self.task.code(p.pred),
                votes=[p.counts.get(label, 0) for label in self.task.labels],
                correct=p.correct,
                expected=score(p.counts, p.truth, "expected"),
            )


def _verdict(file: PredictionFile | None) -> dict:
    """Columns of an arm that its predictions decide; extraction has none."""
    if file is None:
        return {
            "n_correct": 0,
            "expected_correct": np.nan,
            "n_tied": 0,
            "n_unparsed": 0,
            "lost_rate": np.nan,
            "unanswered_rate": np.nan,
            "scored": False,
            "why_unscored": EXTRACTION,
        }
    return {
        "n_correct": file.n_correct,
        "expected_correct": file.details["expected_correct"],
        "n_tied": file.details["tied_structures"],
        "n_unparsed": file.details["unparsed_samples"],
        "lost_rate": file.losses.lost_sample_rate,
        "unanswered_rate": file.losses.unanswered_rate,
        "scored": file.scored,
        "why_unscored": file.details["why_unscored"],
    }
