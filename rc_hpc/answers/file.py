"""The file of a model's answers: every reply in full, how each parser reads it, and what the votes say."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path

import numpy as np

from rc_hpc.answers.predictions import ARMS
from rc_hpc.core.errors import RcError
from rc_hpc.core.vocabulary import Outcome, System
from rc_hpc.store import layout
from rc_hpc.store.attributes import root_attributes
from rc_hpc.store.content import content_hash
from rc_hpc.store.files import new_h5
from rc_hpc.store.schema import TEXT, Column, Schema

#: Arms as stored.
ArmCode = IntEnum("ArmCode", {name.replace("-", "_"): number for number, name in enumerate(ARMS)})

_WHICH = (
    Column("structure", "i8", "1", "Row of /structures."),
    Column("arm", ArmCode, "1", "What the model was shown."),
)
COLUMNS = {
    "structures": (
        Column("id", TEXT, "1", "Identifier of the structure."),
        Column("truth", System, "1", "True crystal system."),
        Column("formula", TEXT, "1", "Reduced chemical formula; empty where the input gave none."),
    ),
    "arms": (
        Column("arm", ArmCode, "1", "What the model was shown."),
        Column(
            "cell", TEXT, "1", "Cell of the text or the pictures: conventional, stored or none."
        ),
        Column(
            "convention",
            TEXT,
            "1",
            "Drawing convention of the pictures; empty for the frozen one, C1, and where there are none.",
        ),
        Column("k", "i4", "1", "Samples asked of each structure."),
        Column("n", "i4", "1", "Structures: the denominator, whatever was lost."),
        Column(
            "n_correct",
            "i4",
            "1",
            "Structures predicted rightly; a tie goes to the tied label that was seen first.",
        ),
        Column(
            "expected_correct",
            "f8",
            "1",
            "The same with a tie worth one over the number of tied labels where the truth is among them.",
        ),
        Column("n_tied", "i4", "1", "Structures whose votes tie."),
        Column("n_failed", "i4", "1", "Samples without a reply."),
        Column("n_refused", "i4", "1", "Samples refused."),
        Column(
            "n_empty_by_length", "i4", "1", "Samples whose tokens ran out before any visible text."
        ),
        Column("n_unparsed", "i4", "1", "Replies that the parser could not read."),
        Column("failed_rate", "f8", "1", "Failed samples of all samples; gated at 0.05."),
        Column("lost_rate", "f8", "1", "Samples without a readable answer of all samples."),
        Column(
            "unanswered_rate", "f8", "1", "Structures without any readable answer; gated at 0.05."
        ),
        Column(
            "scored", "?", "1", "No gate failed. Extraction is scored elsewhere and never here."
        ),
        Column("why_unscored", TEXT, "1", "The gates that failed."),
        Column("n_parsers_agree", "i4", "1", "Answered samples that both parsers read alike."),
        Column("n_answered", "i4", "1", "Answered samples."),
    ),
    "predictions": (
        *_WHICH,
        Column(
            "prediction",
            System,
            "1",
            "Label with the most votes, of tied ones that seen first; none where no sample could be read.",
        ),
        Column(
            "votes",
            "i4",
            "1",
            "Votes for each crystal system, in the order of /vocabulary/system.",
            ("system",),
        ),
        Column("correct", "?", "1", "The prediction is the truth."),
        Column(
            "expected",
            "f8",
            "1",
            "Credit with a tie worth one over the number of tied labels where the truth is among them.",
        ),
    ),
    "samples": (
        *_WHICH,
        Column("sample", "i4", "1", "Number of the sample, from 0."),
        Column(
            "key",
            TEXT,
            "1",
            "Hash of structure, arm, sample, prompt, parameters and pictures; the journal's key.",
        ),
        Column("outcome", Outcome, "1", "What became of it."),
        Column("text", TEXT, "1", "The reply's visible text."),
        Column("answer_line", System, "1", "Crystal system as the parser answer-line reads it."),
        Column("last_mention", System, "1", "Crystal system as the parser last-mention reads it."),
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
    ),
    "questions": (
        *_WHICH,
        Column(
            "prompt", TEXT, "1", "Text that was sent; empty where there was nothing to ask about."
        ),
        Column(
            "prompt_version",
            TEXT,
            "1",
            "Version of rc_hpc's prompts, or own: the input's question.",
        ),
        Column(
            "pictures",
            TEXT,
            "1",
            "SHA-256 of the pictures that were sent, in order, separated by spaces.",
        ),
    ),
}
_SCHEMA = Schema(
    "answers",
    "A vision-language model's answers about crystal structures: replies in full, readings, votes and gates.",
    (),
    {},
)


def write_answers(
    path: Path, tables: dict[str, dict[str, list]], identity: dict, attributes: dict
) -> None:
    """Write the file, whole or not at all.

    Parameters
    ----------
    tables
        Values of each column of `COLUMNS`, by table and column.
    identity, attributes
        As for `rc_hpc.store.attributes.root_attributes`.
    """
    with new_h5(path) as h5:
        scales = layout.Dimensions(h5)
        for table, columns in COLUMNS.items():
            n = len(next(iter(tables[table].values())))
            for column in columns:
                shape = (n, *(len(System) - 1 for _ in column.dims))
                dataset = layout.create(h5, f"{table}/{column.path}", column, shape)
                values = np.empty(n, object) if column.dtype == TEXT else None
                if values is None:
                    values = np.asarray(tables[table][column.path], column.numpy_dtype).reshape(
                        shape
                    )
                else:
                    values[:] = [_storable(text) for text in tables[table][column.path]]
                layout.write_rows(dataset, 0, values)
                scales.attach(
                    dataset,
                    ("structure" if table == "structures" else f"{table}/row", *column.dims),
                )
        names = Column(
            "vocabulary/system",
            TEXT,
            "1",
            "Names of the crystal systems, in the order of the votes.",
        )
        dataset = layout.create(h5, names.path, names, (len(System) - 1,))
        dataset[...] = [system.name for system in System if system]
        scales.attach(dataset, ("system",))
        for name, value in root_attributes(_SCHEMA, identity, set(), attributes).items():
            h5.attrs[name] = value
        h5.attrs["content_hash"] = content_hash(h5)


def read_answers(path: Path) -> tuple[dict[str, dict[str, np.ndarray]], dict]:
    """Tables and root attributes of such a file; enums as codes.

    Raises
    ------
    RcError
        Not such a file.
    """
    try:
        with layout.open_h5(path) as h5:
            if h5.attrs.get("kind") != _SCHEMA.kind:
                raise RcError(
                    f"{path}: not a file of answers; give one that jobs/query_vlm.py wrote"
                )
            return {
                table: {
                    column.path: layout.read_rows(h5[f"{table}/{column.path}"])
                    for column in columns
                }
                for table, columns in COLUMNS.items()
            }, dict(h5.attrs)
    except (OSError, KeyError) as error:
        raise RcError(
            f"{path}: not a file of answers ({error}); give one that jobs/query_vlm.py wrote"
        ) from error


def _storable(text: str | None) -> str:
    """Text as HDF5 takes it: no NUL, which would end it, and no lone surrogates."""
    return (text or "").replace("\0", "\ufffd").encode(errors="replace").decode()
