"""One arm of one model: what it was shown, and its prediction for every structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rc_hpc.answers.task import SEVEN_SYSTEMS, Task
from rc_hpc.answers.votes import Losses
from rc_hpc.core.errors import RcError

#: What the released files call their arms, as (arm, cell that its text or picture shows).
RELEASED_ARMS = {
    "zero-shot": ("pixels", "conventional"),
    "frontier zero-shot": ("pixels", "conventional"),
    "render_convention_sweep render convention": ("pixels", "conventional"),
    "R3 coordinates-as-text": ("coordinates", "stored"),
    "no-image control (TEXT)": ("question-only", "none"),
    "perception_transplant A3 strong-extracts-weak-reasons": ("answer-from-text", "none"),
}
#: Cells that an arm can show.
CELLS = ("stored", "conventional", "none")
#: The arm in which a model lists atoms; it is scored as lists, never by votes.
EXTRACTION = "extraction"
#: Arms whose files may hold no votes.
VOTELESS = (EXTRACTION, "answer-from-text")


#: Convention that files leave out: that of the released study.
FROZEN = "C1"


def released_name(convention: str) -> str:
    """A convention as files name it: not at all where it is the frozen one."""
    return "" if convention == FROZEN else convention


@dataclass(frozen=True, slots=True)
class Prediction:
    """One structure of one arm.

    Attributes
    ----------
    material_id, truth
    pred
        None where no sample could be read, or where a tie is a miss.
    votes
        Label to count, in the order in which labels were first seen; None where the file has none.
    n_atoms_emitted
        Atoms of an extraction leg; None elsewhere.
    n_failed
        Samples whose call failed; 0 also where the file does not say.
    """

    material_id: str
    truth: str
    pred: str | None
    votes: Mapping[str, int] | None = None
    n_atoms_emitted: int | None = None
    n_failed: int = 0

    @property
    def correct(self) -> bool:
        """Whether the prediction is the truth; no answer is wrong."""
        return self.pred == self.truth

    @property
    def answered(self) -> bool:
        """Whether any sample could be read."""
        return self.pred is not None if self.votes is None else bool(self.votes)

    @property
    def counts(self) -> Mapping[str, int]:
        """The votes; none where the file tells none."""
        return self.votes or {}


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
    task
        What was asked.
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
    task: Task = SEVEN_SYSTEMS

    @property
    def kind(self) -> str:
        """One of the task's arms."""
        return RELEASED_ARMS.get(self.arm, (self.arm,))[0]

    @property
    def cell(self) -> str:
        """The cell that the model was shown: one of `CELLS`."""
        return RELEASED_ARMS[self.arm][1] if self.arm in RELEASED_ARMS else self.details["cell"]

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Model, kind, cell and convention: two files that share them are two runs of one thing."""
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
        unanswered = sum(not p.answered for p in self.predictions)
        read = sum(
            self.k * p.answered if p.votes is None else sum(p.votes.values())
            for p in self.predictions
        )
        return Losses(n, self.k, self.api_errors, n * self.k - read, unanswered)

    def why_unscored(self, samples: bool = False) -> str:
        """Why the row is reported but not scored; empty for a scored one.

        Parameters
        ----------
        samples
            Also gate lost samples.
        """
        reasons = self.losses.failed_gates(self.task.gates, samples)
        if self.scored is False and not reasons:
            return "its file says so"
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
            raise RcError(
                f"{self.source}: {len(missing)} of {len(ids)} structures are missing: "
                f"{some(missing)}; give files over the same structures"
            )
        return [by_id[id_] for id_ in ids]


def some(names: Sequence[str]) -> str:
    """The first names of many, for messages."""
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
