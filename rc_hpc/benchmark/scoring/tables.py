"""Tables of the scores: their captions, and what makes their frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rc_hpc.benchmark.records import STRATA
from rc_hpc.benchmark.scoring import frames
from rc_hpc.benchmark.scoring.evidence import Evidence
from rc_hpc.report.tables import DIGITS, Table

if TYPE_CHECKING:
    import pandas as pd

_TIES = "of tied letters each is worth one over their number"
_PAIRED = f"the same questions and the same draws on both sides; {_TIES}"
_LADDER = (
    "Determined is the share of questions whose pictures leave one option, expected what a reader "
    "scores who draws evenly among those left; lost in reasoning is expected minus text, in "
    "looking text minus image, both where no text can ask; of tied letters each is worth one over "
    "their number, so that a reader who leaves open what pictures leave open loses nothing. A text "
    "shows atoms that pictures hide, so a loss may be negative"
)
#: Caption, and what makes the frame.
MAKERS: dict[str, tuple[str, Callable[[Evidence], pd.DataFrame]]] = {
    "files": (
        "Files of answers: a reply without one letter is invalid and wrong, a question without a "
        "reply is missing and never zero",
        frames.files,
    ),
    "accuracy": (
        f"Accuracy by stratum, where a tie of votes is a miss; in expected, {_TIES}",
        frames.accuracy,
    ),
    "models": (f"Expected score, models side by side; {_TIES}", frames.models),
    "differences": (f"Differences of arms, {_PAIRED}", frames.differences),
    "contrasts": (f"Differences of models, {_PAIRED}", frames.contrasts),
    "ceilings": (
        "What the pictures determine: share of questions with one option left, and expected score "
        "of a reader who draws evenly among those left",
        frames.ceilings,
    ),
    "ladder": (_LADDER, frames.ladder),
    "undetermined": (
        "Expected score by whether the pictures determine the answer; an honest reader draws "
        f"evenly among the options left; {_TIES}",
        frames.undetermined,
    ),
    "traps": (
        f"Q3 by whether the first picture shows the two distances in the wrong order; {_TIES}",
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
            note = _in_a_sentence(evidence, frame) if name == "models" else ""
            tables.append(
                Table(
                    name,
                    f"{caption}. {_conditions(evidence)}.",
                    frame,
                    note,
                    brief=f"{caption}.",
                    conditions=(_conditions(evidence),),
                )
            )
    return tables, missing


def _in_a_sentence(evidence: Evidence, models: pd.DataFrame) -> str:
    """The best of each arm and its weakest stratum, and what the pictures determine."""
    lines = []
    for arm, frame in models[models["unscored"] == ""].groupby("arm", sort=False):
        best = frame.loc[frame[frames.ALL].idxmax()]
        strata = best[[name for name in STRATA if name in best]].dropna().astype(float)
        among = f"the best of {len(frame)}, " if len(frame) > 1 else ""
        weakest = (
            f"; weakest: {strata.idxmin()}, {strata.min():.4f}"
            if strata.max() > strata.min()
            else ""
        )
        lines.append(
            f"{arm}: {among}{best['model']}, scores {best[frames.ALL]:.4f} of {best['n']} "
            f"questions{weakest}."
        )
    for ceiling in evidence.ceilings:
        if n := int(ceiling.known.sum()):
            settled = int(ceiling.determined[ceiling.known].sum())
            lines.append(
                f"Ceiling ({ceiling.name}): the pictures determine {settled} of {n} answers; "
                f"drawing evenly among what is left scores "
                f"{ceiling.expected[ceiling.known].mean():.4f}."
            )
    return "\n".join(lines)


def _conditions(evidence: Evidence) -> str:
    """Set, bootstrap and digits, in words."""
    options, package = evidence.options, evidence.package
    partial = "; PARTIAL: missing answers are left out" * options.allow_partial
    return (
        f"{len(package.questions)} questions of the set {package.set_name}; 95 % intervals of "
        f"{options.resamples} draws of base structures, seed {options.seed}{partial} ({DIGITS})"
    )
