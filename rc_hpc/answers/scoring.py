"""From stored replies to verdicts: samples read by every parser, votes, gates, prediction files.

No endpoint is needed: replies can be read again, by another parser, at any time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from rc_hpc.answers.arms import EXTRACTION, Prediction, PredictionFile
from rc_hpc.answers.extractions import atom_lines
from rc_hpc.answers.file import read_answers
from rc_hpc.answers.task import SEVEN_SYSTEMS, Task
from rc_hpc.answers.votes import count_votes, leaders, score, winner
from rc_hpc.core.vocabulary import Outcome

#: Outcomes of samples whose call failed.
FAILED = (Outcome.request_error, Outcome.gave_up)


@dataclass(frozen=True)
class Sample:
    """One reply to one question.

    Attributes
    ----------
    outcome, text
    message
        Why there is no answer.
    readings
        The label that each parser of the task reads, None where it reads none.
    """

    outcome: Outcome
    text: str
    message: str = ""
    readings: Mapping[str, str | None] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        task: Task,
        outcome: Outcome,
        text: str,
        message: str = "",
        choices: Sequence[str] = (),
    ) -> Sample:
        """A sample, read by every parser of the task; `choices` as in `Task.read`."""
        answered = outcome is Outcome.answered
        readings = task.readings(text, choices) if answered else dict.fromkeys(task.parsers)
        return cls(outcome, text, message, readings)


@dataclass(frozen=True)
class Row:
    """One structure of one arm: its truth and its samples, in order."""

    id: str
    truth: str
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class Arm:
    """One arm of one run.

    Attributes
    ----------
    name, cell, convention
        Arm, cell shown, and drawing convention (empty: the frozen one, or no pictures).
    model
        As asked for.
    k
        Samples of each structure.
    rows
        In the order of the input.
    task
        What was asked.
    """

    name: str
    cell: str
    model: str
    k: int
    rows: tuple[Row, ...]
    convention: str = ""
    task: Task = SEVEN_SYSTEMS

    def count(self, *outcomes: Outcome) -> int:
        """Samples with one of these outcomes."""
        return sum(sample.outcome in outcomes for row in self.rows for sample in row.samples)

    def commonest_failure(self) -> str:
        """What most of the samples without a reply died of; empty where all have one."""
        messages = Counter(
            sample.message
            for row in self.rows
            for sample in row.samples
            if sample.outcome in FAILED
        )
        return messages.most_common(1)[0][0] if messages else ""

    def agreement(self) -> tuple[int, int]:
        """Answered samples that all parsers read alike, and answered samples."""
        answered = [
            sample.readings
            for row in self.rows
            for sample in row.samples
            if sample.outcome is Outcome.answered
        ]
        return sum(len(set(readings.values())) == 1 for readings in answered), len(answered)

    def predictions(self, parser: str, details: Mapping | None = None) -> PredictionFile:
        """The arm in the schema of the prediction files, marked unscored where its gates fail."""
        predictions, counted = [], []
        for row in self.rows:
            votes = count_votes([sample.readings[parser] for sample in row.samples])
            counted.append(votes)
            lost = sum(sample.outcome in FAILED for sample in row.samples)
            pred = winner(votes, self.task.ties[0])
            predictions.append(Prediction(row.id, row.truth, pred, votes, n_failed=lost))
        file = PredictionFile(
            f"{self.name} of {self.model}",
            self.model,
            self.name,
            self.k,
            tuple(predictions),
            unparseable=sum(not p.answered for p in predictions),
            api_errors=self.count(*FAILED),
            convention=self.convention,
            task=self.task,
        )
        reason = file.why_unscored()
        alike, answered = self.agreement()
        told = {
            "cell": self.cell,
            "parser": parser,
            "ties": self.task.ties[0],
            "outcomes": {outcome.name: self.count(outcome) for outcome in Outcome},
            "unparsed_samples": answered - sum(sum(votes.values()) for votes in counted),
            "lost_samples": file.losses.lost_samples,
            "tied_structures": sum(len(leaders(votes)) > 1 for votes in counted),
            "expected_correct": sum(
                score(votes, p.truth, "expected")
                for votes, p in zip(counted, predictions, strict=True)
            ),
            "parsers_agree": [alike, answered],
            "why_unscored": reason,
        }
        return replace(file, scored=not reason, details=told | dict(details or {}))


def pictures_of(options: Mapping, arm: str) -> dict:
    """What an arm's predictions record of their pictures, from what its run recorded."""
    drawing = options.get("drawing") if arm == "pixels" else None
    if drawing is None:
        return {}
    return {"pictures": json.loads(json.dumps(drawing, sort_keys=True))}  # one order of keys


def emitted(rows: Sequence[Row]) -> list[dict]:
    """Atoms of the extraction arm, as `rc_hpc.answers.extractions.read_extractions` reads them.

    Of several samples the first that holds atoms counts; a structure without any keeps an empty
    list.
    """
    lists = []
    for row in rows:
        replies = [
            atom_lines(sample.text) if sample.outcome is Outcome.answered else []
            for sample in row.samples
        ]
        atoms = next(filter(None, replies), [])
        lists.append(
            {
                "material_id": row.id,
                "truth": row.truth,
                "n_atoms_emitted": len(atoms),
                "emitted": [list(atom) for atom in atoms],
            }
        )
    return lists


def stored_predictions(
    path: Path, parser: str | None = None, task: Task = SEVEN_SYSTEMS
) -> list[PredictionFile]:
    """The arms of a file of answers but extraction, as prediction files.

    Parameters
    ----------
    parser
        How to read the replies; by default as they were read when the file was written.

    Raises
    ------
    RcError
        Not a file of answers to the task.
    """
    tables, attributes = read_answers(path, task)
    parser = parser or str(attributes["parser"])
    options = json.loads(attributes["options"])
    arms, questions = tables["arms"], tables["questions"]
    files = []
    for number, code in enumerate(arms["arm"].tolist()):
        name = task.arms[code]
        if name == EXTRACTION:
            continue
        arm = Arm(
            name,
            arms["cell"][number],
            str(attributes["model"]),
            int(arms["k"][number]),
            _rows(tables, code, int(arms["k"][number]), task),
            arms["convention"][number],
            task,
        )
        details = {
            "prompts": sorted(set(questions["prompt_version"][questions["arm"] == code])),
            "parameters": options["parameters"],
            "provider": options["provider"],
            **pictures_of(options, name),
        }
        files.append(replace(arm.predictions(parser, details), source=f"{path} ({name})"))
    return files


def _rows(tables: dict[str, dict[str, np.ndarray]], arm: int, k: int, task: Task) -> tuple:
    """Rows of one arm, its replies read again."""
    structures, samples = tables["structures"], tables["samples"]
    texts = structures.get("choices", [""] * len(structures["id"]))
    choices = [json.loads(text) if text else () for text in texts]
    read: dict[tuple[int, int], Sample] = {}
    for at in np.flatnonzero(samples["arm"] == arm):
        row = int(samples["structure"][at])
        read[row, int(samples["sample"][at])] = Sample.read(
            task,
            Outcome(int(samples["outcome"][at])),
            samples["text"][at],
            choices=choices[row],
        )
    return tuple(
        Row(id_, task.labels[truth - 1], tuple(read[row, sample] for sample in range(k)))
        for row, (id_, truth) in enumerate(
            zip(structures["id"], structures["truth"].tolist(), strict=True)
        )
        if (row, 0) in read  # an arm need not ask about every structure
    )
