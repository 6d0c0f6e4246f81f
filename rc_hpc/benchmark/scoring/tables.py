"""Tables of the scores: their captions, and what makes their frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rc_hpc.benchmark.scoring import frames
from rc_hpc.benchmark.scoring.evidence import Evidence
from rc_hpc.report.tables import DIGITS, Table

if TYPE_CHECKING:
    import pandas as pd

_PAIRED = "the same questions and the same draws on both sides"
_LADDER = (
    "Determined is the share of questions whose pictures leave one option, expected what a reader "
    "scores who draws evenly among those left; lost in reasoning is expected minus text, in "
    "looking text minus image, both where no text can ask. A text shows atoms that pictures hide, "
    "so a loss may be negative"
)
#: Caption, and what makes the frame.
MAKERS: dict[str, tuple[str, Callable[[Evidence], pd.DataFrame]]] = {
    "files": (
        "Files of answers: a reply without one letter is invalid and wrong, a question without a "
        "reply is missing and never zero",
        frames.files,
    ),
    "accuracy": (
        "Accuracy by stratum; a tie of votes is a miss, and worth one over the tied letters in "
        "expected",
        frames.accuracy,
    ),
    "models": ("Accuracy, models side by side", frames.models),
    "differences": (f"Differences of arms, {_PAIRED}", frames.differences),
    "contrasts": (f"Differences of models, {_PAIRED}", frames.contrasts),
    "ceilings": (
        "What the pictures determine: share of questions with one option left, and expected score "
        "of a reader who draws evenly among those left",
        frames.ceilings,
    ),
    "ladder": (_LADDER, frames.ladder),
    "undetermined": (
        "Accuracy by whether the pictures determine the answer; an honest reader draws evenly "
        "among the options left",
        frames.undetermined,
    ),
    "traps": (
        "Q3 by whether the first picture shows the two distances in the wrong order",
        frames.traps,
    ),
}


def make_tables(evidence: Evidence, names: Iterable[str]) -> tuple[list[Table], dict[str, str]]:
    """The tables of these names, and for those that cannot be made the input that they need."""
    tables, missing = [], {}
    for name in names:
        caption, make = MAKERS[name]
        try:
            frame = make(evidence)
        except frames.Missing as reason:
            missing[name] = str(reason)
        else:
            tables.append(Table(name, f"{caption}. {_conditions(evidence)}.", frame))
    return tables, missing


def _conditions(evidence: Evidence) -> str:
    """Set, bootstrap and digits, in words."""
    options, package = evidence.options, evidence.package
    partial = "; PARTIAL: missing answers are left out" * options.allow_partial
    return (
        f"{len(package.questions)} questions of the set {package.set_name}; 95 % intervals of "
        f"{options.resamples} draws of base structures, seed {options.seed}{partial} ({DIGITS})"
    )
