"""The file of a model's answers: every reply in full, its readings, and what the votes say."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rc_hpc.answers.task import RULES, SEVEN_SYSTEMS, Task
from rc_hpc.core.errors import RcError, fault_of
from rc_hpc.core.text import storable
from rc_hpc.core.vocabulary import Outcome
from rc_hpc.store import layout
from rc_hpc.store.attributes import root_attributes
from rc_hpc.store.content import content_hash
from rc_hpc.store.files import new_h5
from rc_hpc.store.opening import open_h5
from rc_hpc.store.schema import TEXT, Column, Schema

KIND = "answers"
#: What writes such files, for messages.
_WRITER = "give one that jobs/query_vlm.py wrote"
_TIE_SHARED = "a tie worth one over the number of tied labels where the truth is among them."


def columns(task: Task) -> dict[str, tuple[Column, ...]]:
    """Columns of each table, for the vocabulary, the parsers and the arms of a task."""
    which = (
        Column("structure", "i8", "1", "Row of /structures."),
        Column("arm", task.arm_codes, "1", "What the model was shown."),
    )
    return {
        "structures": _structures(task),
        "arms": _arms(task),
        "predictions": (*which, *_predictions(task)),
        "samples": (*which, *_samples(task)),
        "questions": (*which, *_QUESTIONS),
    }


def _structures(task: Task) -> tuple[Column, ...]:
    own = (
        Column("id", TEXT, "1", "Identifier of the structure."),
        Column("truth", task.codes, "1", task.truth),
        Column("formula", TEXT, "1", "Reduced chemical formula; empty where the input gave none."),
    )
    what = f"What each {task.noun} stands for in this question: a JSON list of texts."
    return (*own, Column("choices", TEXT, "1", what)) if task.choices else own


def _arms(task: Task) -> tuple[Column, ...]:
    gates = task.gates
    return (
        Column("arm", task.arm_codes, "1", "What the model was shown."),
        Column(
            "cell", TEXT, "1", "Cell of the text or the pictures: conventional, stored or none."
        ),
        Column(
            "convention",
            TEXT,
            "1",
            "Drawing convention of the pictures; "
            "empty for the frozen one, C1, and where there are none.",
        ),
        Column("k", "i4", "1", "Samples asked of each structure."),
        Column("n", "i4", "1", "Structures: the denominator, whatever was lost."),
        Column("n_correct", "i4", "1", f"Structures predicted rightly; {RULES[task.ties[0]]}."),
        Column("expected_correct", "f8", "1", f"The same with {_TIE_SHARED}"),
        Column("n_tied", "i4", "1", "Structures whose votes tie."),
        Column("n_failed", "i4", "1", "Samples without a reply."),
        Column("n_refused", "i4", "1", "Samples refused."),
        Column(
            "n_empty_by_length", "i4", "1", "Samples whose tokens ran out before any visible text."
        ),
        Column("n_unparsed", "i4", "1", "Replies that the parser could not read."),
        Column(
            "failed_rate", "f8", "1", f"Failed samples of all samples; gated at {gates.api_errors}."
        ),
        Column("lost_rate", "f8", "1", "Samples without a readable answer of all samples."),
        Column(
            "unanswered_rate",
            "f8",
            "1",
            f"Structures without any readable answer; gated at {gates.unanswered}.",
        ),
        Column(
            "scored", "?", "1", "No gate failed. Extraction is scored elsewhere and never here."
        ),
        Column("why_unscored", TEXT, "1", "The gates that failed."),
        Column("n_parsers_agree", "i4", "1", "Answered samples that both parsers read alike."),
        Column("n_answered", "i4", "1", "Answered samples."),
    )


def _predictions(task: Task) -> tuple[Column, ...]:
    return (
        Column(
            "prediction",
            task.codes,
            "1",
            f"Label with the most votes; {RULES[task.ties[0]]}; "
            "none where no sample could be read.",
        ),
        Column(
            "votes",
            "i4",
            "1",
            f"Votes for each {task.noun}, in the order of /vocabulary/{task.axis}.",
            (task.axis,),
        ),
        Column("correct", "?", "1", "The prediction is the truth."),
        Column("expected", "f8", "1", f"Credit with {_TIE_SHARED}"),
    )


def _samples(task: Task) -> tuple[Column, ...]:
    said = f"{task.noun.capitalize()} as the parser"
    return (
        Column("sample", "i4", "1", "Number of the sample, from 0."),
        Column(
            "key",
            TEXT,
            "1",
            "Hash of structure, arm, sample, prompt, parameters and pictures; the journal's key.",
        ),
        Column("outcome", Outcome, "1", "What became of it."),
        Column("text", TEXT, "1", "The reply's visible text."),
        *(
            Column(reading_column(parser), task.codes, "1", f"{said} {parser} reads it.")
            for parser in task.parsers
        ),
        Column("finish_reason", TEXT, "1", "As the endpoint calls it; empty where it gave none."),
        Column(
            "tokens_in", "f8", "1", "Tokens of the request; NaN where the endpoint did not tell."
        ),
        Column(
            "tokens_out",
            "f8",
            "1",
            "Tokens of the reply, reasoning included; NaN where it did not tell.",
        ),
        Column(
            "tokens_reasoning",
            "f8",
            "1",
            "Tokens of the reply spent on reasoning; NaN where it did not tell.",
        ),
        Column(
            "cost",
            "f8",
            "currency",
            "Cost of the reply in the attribute currency of the file; NaN where it is not known.",
        ),
        Column(
            "model", TEXT, "1", "Model that answered, as the reply says; empty where it does not."
        ),
        Column(
            "provider",
            TEXT,
            "1",
            "Provider that answered, as the reply says; empty where it does not.",
        ),
        Column("reply_id", TEXT, "1", "The endpoint's name for the reply."),
        Column("started", TEXT, "1", "Begin of the first attempt, UTC."),
        Column("ended", TEXT, "1", "End of the last attempt, UTC."),
        Column("seconds", "f8", "s", "Duration of the last attempt."),
        Column("n_attempts", "i4", "1", "Attempts made."),
        Column("attempts", TEXT, "1", "Log of the attempts, JSON."),
        Column("message", TEXT, "1", "Why there is no answer; empty where there is one."),
        Column("reasoning", TEXT, "1", "Text of the reasoning, where the endpoint shows it."),
    )


_QUESTIONS = (
    Column("prompt", TEXT, "1", "Text that was sent; empty where there was nothing to ask about."),
    Column(
        "prompt_version", TEXT, "1", "Version of rc_hpc's prompts, or own: the input's question."
    ),
    Column(
        "pictures",
        TEXT,
        "1",
        "SHA-256 of the pictures that were sent, in order, separated by spaces.",
    ),
)
_SCHEMA = Schema(
    KIND,
    "A vision-language model's answers: replies in full, readings, votes and gates.",
    (),
    {},
)


def reading_column(parser: str) -> str:
    """Column of the table ``samples`` that holds what a parser reads."""
    return parser.replace("-", "_")


def write_answers(
    path: Path,
    tables: dict[str, dict[str, list]],
    identity: dict,
    attributes: dict,
    task: Task = SEVEN_SYSTEMS,
) -> None:
    """Write the file, whole or not at all.

    Parameters
    ----------
    tables
        Values of each of the `columns`, by table and column.
    identity, attributes
        As for `rc_hpc.store.attributes.root_attributes`.
    """
    n_labels = len(task.labels)
    with new_h5(path) as h5:
        scales = layout.Dimensions(h5)
        for table, its_columns in columns(task).items():
            n = len(next(iter(tables[table].values())))
            rows = "structure" if table == "structures" else f"{table}/row"
            for column in its_columns:
                shape = (n, *(n_labels for _ in column.dims))
                dataset = layout.create(h5, f"{table}/{column.path}", column, shape)
                layout.write_rows(dataset, 0, _values(column, tables[table][column.path], shape))
                scales.attach(dataset, (rows, *column.dims))
        said = f"Names of the {task.noun}s, in the order of the votes."
        names = Column(_vocabulary(task), TEXT, "1", said)
        dataset = layout.create(h5, names.path, names, (n_labels,))
        dataset[...] = list(task.labels)
        scales.attach(dataset, (task.axis,))
        attributes = {"task": task.name, **attributes}
        for name, value in root_attributes(_SCHEMA, identity, set(), attributes).items():
            h5.attrs[name] = value
        h5.attrs["content_hash"] = content_hash(h5)


def read_answers(
    path: Path, task: Task = SEVEN_SYSTEMS
) -> tuple[dict[str, dict[str, np.ndarray]], dict]:
    """Tables and root attributes of such a file; enums as codes.

    Raises
    ------
    RcError
        Not such a file, or its answers are to another task.
    """
    try:
        with open_h5(path) as h5:
            if h5.attrs.get("kind") != KIND:
                raise RcError(f"{path}: not a file of answers; {_WRITER}")
            # files of 0.1.0 do not name the only task that there was
            name = h5.attrs.get("task", SEVEN_SYSTEMS.name)
            if name != task.name or tuple(h5[_vocabulary(task)].asstr()) != task.labels:
                raise RcError(
                    f"{path}: answers the task {name!r} and is read as {task.name!r} "
                    f"({', '.join(task.labels)}); give files of one task and version"
                )
            tables = {
                table: {
                    column.path: layout.read_rows(h5[f"{table}/{column.path}"])
                    for column in its_columns
                }
                for table, its_columns in columns(task).items()
            }
            return tables, dict(h5.attrs)
    except (OSError, KeyError) as error:
        raise fault_of(path)(f"{path}: not a file of answers ({error}); {_WRITER}") from error


def _vocabulary(task: Task) -> str:
    return f"vocabulary/{task.axis}"


def _values(column: Column, values: list, shape: tuple[int, ...]) -> np.ndarray:
    if column.dtype != TEXT:
        return np.asarray(values, column.numpy_dtype).reshape(shape)
    texts = np.empty(shape, object)
    texts[:] = [storable(text or "") for text in values]
    return texts
