"""What is asked about one structure in one arm, and the key under which its answers are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from rc_hpc.core.cells import cell_parameters
from rc_hpc.core.text import formatted
from rc_hpc.vlm.records import Subject

#: Tokens of a picture, roughly: pixels over this (Anthropic's rule; others are near it at 768 px).
PIXELS_PER_TOKEN = 750
#: Characters of a token, roughly.
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A picture to be sent: its file, the SHA-256 and size in bytes of that, its area in pixels."""

    path: Path
    sha256: str
    n_bytes: int
    n_pixels: int


@dataclass(frozen=True, slots=True)
class Question:
    """One structure in one arm.

    Attributes
    ----------
    id, arm
        Structure, and one of `rc_hpc.answers.task.ARMS`.
    prompt
        The whole text; None where there is nothing to ask about: the structure counts as not
        answered.
    prompt_version
        Of the prompts that come with rc_hpc, or `rc_hpc.vlm.prompts.OWN`.
    pictures
        In the order in which they are sent.
    """

    id: str
    arm: str
    prompt: str | None
    prompt_version: str
    pictures: tuple[PictureFile, ...] = ()

    @property
    def n_tokens(self) -> int:
        """Rough number of tokens of the request."""
        return len(self.prompt or "") // CHARACTERS_PER_TOKEN + sum(
            picture.n_pixels // PIXELS_PER_TOKEN for picture in self.pictures
        )

    @property
    def n_bytes(self) -> int:
        """Rough size of the request, bytes: pictures travel as base64."""
        return len(self.prompt or "") + sum(
            -(-picture.n_bytes // 3) * 4 for picture in self.pictures
        )


class Questionnaire(Protocol):
    """What is asked, and what the results tell of it: crystals, or scenes of a benchmark.

    Attributes
    ----------
    subjects
        In the order of the input.
    left_out
        Subjects of the input that cannot be used.
    identity
        What replies of one journal have in common beside endpoint and parameters, as JSON values;
        subjects and arms may be added to it.
    record
        The options that it was made from, for the file of answers, as JSON values.
    """

    @property
    def subjects(self) -> Sequence[Subject]: ...

    @property
    def left_out(self) -> int: ...

    @property
    def identity(self) -> dict: ...

    @property
    def record(self) -> dict: ...

    def questions(self, arms: Sequence[str]) -> list[Question]:
        """Questions of all subjects in all arms; a prefix of them is a fair sample."""

    def formula(self, id_: str) -> str:
        """Chemical formula of a subject; empty where it has none."""

    def shown(self, arm: str) -> tuple[str, str]:
        """Cell that an arm shows, or none, and drawing convention of its pictures, or nothing."""


@dataclass(frozen=True, slots=True)
class Request:
    """One sample of a question, under its key."""

    question: Question
    sample: int
    key: str


def request_key(question: Question, sample: int, parameters: dict) -> str:
    """SHA-256 of everything that makes a reply another one.

    That is structure, arm, sample, prompt, parameters and pictures.
    """
    parts = [
        question.id,
        question.arm,
        sample,
        hashlib.sha256((question.prompt or "").encode()).hexdigest(),
        parameters,
        [picture.sha256 for picture in question.pictures],
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def requests(questions: Iterable[Question], samples: int, parameters: dict) -> Iterator[Request]:
    """All samples of all questions, in order: those of a question stand together."""
    for question in questions:
        if question.prompt is not None:
            for sample in range(samples):
                yield Request(question, sample, request_key(question, sample, parameters))


def scattered(ids: Sequence[str]) -> list[str]:
    """Ids in an order that has nothing to do with their own.

    What a stopped run has done is then a fair sample.
    """
    return sorted(ids, key=lambda id_: hashlib.sha256(id_.encode()).digest())


def geometry_text(
    lattice: np.ndarray, symbols: Sequence[str], frac: np.ndarray | Sequence[Sequence[float]]
) -> str:
    """A cell as text: lengths in Å to 4 decimals, angles in degrees to 3, fractions to 5.

    Parameters
    ----------
    lattice : (3, 3)
        Lattice vectors as rows, Å.
    symbols, frac : (n,), (n, 3)
        Element symbols and fractional coordinates, printed in this order and as they are.
    """
    lengths, angles = cell_parameters(lattice)
    lines = [
        "Lattice parameters: a = {:.4f}, b = {:.4f}, c = {:.4f} angstrom; ".format(*lengths)
        + "alpha = {:.3f}, beta = {:.3f}, gamma = {:.3f} degrees".format(*angles),
        f"Atoms in the cell: {len(symbols)}",
        "Element and fractional coordinates along a, b and c of each atom:",
    ]
    positions = np.asarray(frac, float).reshape(-1, 3).tolist()
    lines += [
        f"{symbol} {' '.join(formatted(x, '.5f') for x in position)}"
        for symbol, position in zip(symbols, positions, strict=True)
    ]
    return "\n".join(lines)


def wrapped(frac: np.ndarray) -> np.ndarray:
    """Fractional coordinates in [0, 1) as printed to 5 decimals."""
    return np.round(frac % 1.0, 5) % 1.0
