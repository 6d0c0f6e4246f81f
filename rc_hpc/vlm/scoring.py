"""From stored replies to verdicts: samples read by every parser, votes, gates, prediction files. No endpoint is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rc_hpc.answers.extractions import atom_lines
from rc_hpc.answers.parsers import PARSERS
from rc_hpc.answers.predictions import Prediction, PredictionFile
from rc_hpc.answers.votes import TIE_RULES, count_votes, leaders, score, winner
from rc_hpc.core.vocabulary import Outcome


@dataclass(frozen=True)
class Sample:
    """One reply to one question.

    Attributes
    ----------
    outcome, text
    message
        Why there is no answer.
    readings
        The crystal system that each of `PARSERS` reads, None where it reads none.
    """

    outcome: Outcome
    text: str
    message: str = ""

    @property
    def readings(self) -> dict[str, str | None]:
        """The crystal system by parser."""
        answered = self.outcome is Outcome.answered
        return {name: parse(self.text) if answered else None for name, parse in PARSERS.items()}


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
    """

    name: str
    cell: str
    model: str
    k: int
    rows: tuple[Row, ...]
    convention: str = ""

    def count(self, *outcomes: Outcome) -> int:
        """Samples with one of these outcomes."""
        return sum(sample.outcome in outcomes for row in self.rows for sample in row.samples)

    def commonest_failure(self) -> str:
        """What most of the samples without a reply died of; empty where all have one."""
        lost = (Outcome.request_error, Outcome.gave_up)
        messages = Counter(
            sample.message for row in self.rows for sample in row.samples if sample.outcome in lost
        )
        return messages.most_common(1)[0][0] if messages else ""

    def agreement(self) -> tuple[int, int]:
        """Answered samples that both parsers read alike, and answered samples."""
        answered = [
            sample.readings
            for row in self.rows
            for sample in row.samples
            if sample.outcome is Outcome.answered
        ]
        return sum(len(set(readings.values())) == 1 for readings in answered), len(answered)

    def predictions(self, parser: str, details: Mapping | None = None) -> PredictionFile:
        """The arm in the schema of the released prediction files; a row whose gates fail is marked unscored."""
        found = []
        for row in self.rows:
            votes = count_votes([sample.readings[parser] for sample in row.samples])
            found.append(Prediction(row.id, row.truth, winner(votes), votes))
        file = PredictionFile(
            f"{self.name} of {self.model}",
            self.model,
            self.name,
            self.k,
            tuple(found),
            unparseable=sum(p.pred is None for p in found),
            api_errors=self.count(Outcome.request_error, Outcome.gave_up),
            convention=self.convention,
        )
        reason = file.why_unscored()
        alike, answered = self.agreement()
        told = {
            "cell": self.cell,
            "parser": parser,
            "ties": TIE_RULES[0],
            "outcomes": {outcome.name: self.count(outcome) for outcome in Outcome},
            "unparsed_samples": answered - sum(sum(p.votes.values()) for p in found),
            "lost_samples": file.losses.lost_samples,
            "tied_structures": sum(len(leaders(p.votes)) > 1 for p in found),
            "expected_correct": sum(score(p.votes, p.truth, "expected") for p in found),
            "parsers_agree": [alike, answered],
            "why_unscored": reason,
        }
        return replace(file, scored=not reason, details=told | dict(details or {}))


def emitted(rows: Sequence[Row]) -> list[dict]:
    """Atoms that the extraction arm emitted, as `rc_hpc.answers.extractions.read_extractions` reads them.

    Of several samples the first that holds atoms counts; a structure without any keeps an empty list.
    """
    found = []
    for row in rows:
        lists = [
            atom_lines(sample.text) if sample.outcome is Outcome.answered else []
            for sample in row.samples
        ]
        atoms = next(filter(None, lists), [])
        found.append(
            {
                "material_id": row.id,
                "truth": row.truth,
                "n_atoms_emitted": len(atoms),
                "emitted": [list(atom) for atom in atoms],
            }
        )
    return found
