"""The tables of the ladder, its statistics and its controls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.answers.arms import FROZEN
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import UsageError
from rc_hpc.ladder import contrasts, family, pictures, shares
from rc_hpc.ladder import rungs as ladder
from rc_hpc.ladder.baselines import cue_sufficient, metric_class
from rc_hpc.ladder.evidence import PER_SAMPLE, SAME_SIZE, Evidence, Missing
from rc_hpc.stats import statistics
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson

if TYPE_CHECKING:
    import pandas as pd

_VOTE = "released vote, first label on ties"


def _files(e: Evidence):
    columns = (
        "file",
        "arm",
        "cell",
        "model",
        "K",
        "correct_count",
        "n",
        "api_error_rate",
        "unanswered_rate",
        "lost_sample_rate",
        "unscored",
    )
    records = []
    for file in e.files:
        what = Path(file.source).name, file.kind, file.cell, file.model, file.k, file.n_correct
        lost = file.losses
        rates = lost.api_error_rate, lost.unanswered_rate, lost.lost_sample_rate
        records.append((*what, lost.n, *rates, e.unscored(file)))
    return (
        "Prediction files, recounted from their rows; "
        f"a rate above {e.task.gates.api_errors:g} leaves a row unscored",
        frame_of(records, columns, ("K", "correct_count", "n")),
    )


def _leaderboard(e: Evidence):
    records = []
    for model, file in e.of("pixels").items():
        low, high = wilson(file.n_correct, file.losses.n)
        records.append(
            {
                "model": model,
                "R4_count": file.n_correct,
                "n": file.losses.n,
                "R4": file.n_correct / file.losses.n,
                "R4_low95": low,
                "R4_high95": high,
                "unscored": e.unscored(file),
            }
        )
    if not records:
        raise Missing("needs pixel files")
    frame = frame_of(records, list(records[0]), ("R4_count", "n"))
    what = f"Every model on pictures; chance is 1/{len(e.task.labels)}; {_VOTE}"
    return what, frame.sort_values("R4_count", ascending=False, kind="stable", ignore_index=True)


def _per_cell(e: Evidence, make: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    if not e.r3_cells():
        raise Missing("needs coordinate files")
    frames = {cell: make(cell) for cell in e.r3_cells()}
    return pd.concat(
        [frame.assign(R3_cell=cell)[["R3_cell", *frame]] for cell, frame in frames.items()],
        ignore_index=True,
    )


def _conditions(e: Evidence) -> str:
    counted = (f"{name} {int(np.sum(determined))}" for name, determined in e.ceilings.items())
    what = [f"ceilings {', '.join(counted)} of {len(e.ids)}"]
    if not e.options.census:
        what[0] += ", taken as all structures without a census"
    readings = (found.told(e.truths) for found in e.readings.values())
    return "; ".join([*what, *readings, *e.told()])


def _ladder(e: Evidence):
    frame = _per_cell(e, lambda cell: ladder.table(e.rungs(cell), e.ceilings))
    if e.readings:
        for name, certified in e.certified.items():
            frame[f"{name}_count"] = int(np.sum(e.ceilings[name]))
            if name in e.readings:
                frame[f"{name}_certified_count"] = int(np.sum(e.ceilings[name] & certified))
    return (
        "Attribution ladder: P = R3 - R4, S = ceiling - R3, share = P / (P + S), none where P or "
        f"S is negative; its interval: bootstrap over structures, {shares.N_RESAMPLES} resamples; "
        f"p exact McNemar; {_conditions(e)}; {_VOTE}",
        frame,
    )


def _models(e: Evidence):
    frame = _per_cell(e, lambda cell: ladder.over_models(e.rungs(cell), e.ceilings))
    return (
        f"Over the scored models; {_conditions(e)}; residual-dominant is P < S; a model with "
        "P < 0 ranks below all shares, with S < 0 above; the median's interval: bootstrap over "
        f"models, {statistics.N_BOOTSTRAP} resamples, seed {statistics.SEED}, from "
        f"{shares.FEWEST_MODELS} models on",
        frame,
    )


def _sensitivity(e: Evidence):
    readings = (*e.task.ties, PER_SAMPLE)
    frame = _per_cell(
        e,
        lambda cell: ladder.sensitivity(
            {reading: e.rungs(cell, reading) for reading in readings}, e.ceilings
        ),
    )
    return (
        "The headline under other readings of the same votes: what a tie is worth, and mean "
        + "; ".join(["accuracy per sample", *e.told()]),
        frame,
    )


def _cells(e: Evidence):
    drawn, ratio = e.crystals.columns["n_atoms"], e.atoms_ratio
    same = ratio == 1
    groups = {
        SAME_SIZE: same,
        "stored cell smaller": ratio > 1,
        "stored cell larger": ratio < 1,
        "all": np.ones(len(drawn), bool),
        f"{SAME_SIZE}, neither hexagonal nor trigonal": same
        & ~np.isin(e.truths, ("hexagonal", "trigonal")),
    }
    groups |= {
        f"conventional over stored atoms {value:g}": ratio == value for value in np.unique(ratio)
    }
    for system in CRYSTAL_SYSTEMS:
        groups[system] = e.truths == system
        groups[f"{system}, {SAME_SIZE}"] = groups[system] & same
        groups[f"{system}, stored cell smaller"] = groups[system] & (ratio > 1)
    first, ceiling = next(iter(e.ceilings.items()))
    frame = _per_cell(e, lambda cell: ladder.by_group(e.rungs(cell), ceiling, groups))
    told = "; ".join([f"ceiling {first}", *e.told()])
    return f"The headline by the cell's setting and by crystal system; {told}", frame


def _lengths(e: Evidence) -> dict[str, np.ndarray]:
    stored, drawn = e.crystals.columns["n_atoms_stored"], e.crystals.columns["n_atoms"]
    return {
        "atoms of the conventional cell": drawn,
        "atoms of the stored cell": stored,
        "conventional over stored atoms": drawn / stored,
    }


def _length(e: Evidence):
    frame = _per_cell(e, lambda cell: ladder.length(e.rungs(cell).only_scored().r3, _lengths(e)))
    return (
        "R3 correctness against the length of the list; "
        f"clustered p: {statistics.N_PERMUTATIONS} permutations of whole structures; "
        "R3_cell says which cell was listed",
        frame,
    )


def _length_split(e: Evidence):
    frame = _per_cell(
        e, lambda cell: ladder.length_split(e.rungs(cell).only_scored().r3, _lengths(e))
    )
    return (
        "R3 correctness on pooled pairs up to and above the median length (rounded down), "
        "Fisher's exact p",
        frame,
    )


def _size(e: Evidence):
    records = [
        {"values": name, **statistics.kruskal_wallis(x, e.truths)._asdict()}
        for name, x in _lengths(e).items()
    ]
    frame = frame_of(records, ("values", "h", "df", "p", "eta2", "eta2_h", "epsilon2"), ("df",))
    return (
        "Size by crystal system: Kruskal-Wallis; "
        "eta2 of a one-way ANOVA, eta2_h and epsilon2 from H",
        frame,
    )


def _question_only_frame(e: Evidence) -> pd.DataFrame:
    text, image = e.of("question-only"), e.of("pixels")
    models = [model for model in image if model in text]
    if not models:
        raise Missing("needs a pixel and a question-only file of one model")
    reasons = [e.unscored(text[model]) or e.unscored(image[model]) for model in models]
    return contrasts.question_only(
        models,
        e.correct(image[m] for m in models),
        e.correct(text[m] for m in models),
        reasons,
        e.task.chance,
    )


def _question_only(e: Evidence):
    return (
        "The question alone against the question with pictures; p exact McNemar, "
        f"above-chance p one-sided against 1/{len(e.task.labels)}",
        _question_only_frame(e),
    )


def _control(e: Evidence):
    return "Question-only control in sum", contrasts.question_only_summary(_question_only_frame(e))


def _exchangeability(e: Evidence):
    files = [
        file for kind in ("question-only", "coordinates", "pixels") for file in e.of(kind).values()
    ]
    if not files:
        raise Missing("needs files with votes")
    votes = [
        np.array([[p.counts.get(label, 0) for label in e.task.labels] for p in file.rows(e.ids)])
        for file in files
    ]
    frame = contrasts.exchangeability([f"{file.kind} {file.model}" for file in files], votes)
    return (
        "Do votes depend on the structure? "
        "Agreeing vote pairs within a structure against votes dealt out at random",
        frame,
    )


def _conventions(e: Evidence):
    drawn = [file for file in e.files if file.kind == "pixels"]
    # the sweep's own frozen pictures go before those of the ladder, which are over more structures
    frozen = {file.model: file for file in drawn if not file.convention}
    frozen |= {f.model: f for f in drawn if f.convention == pictures.FROZEN_OF_SWEEP}
    others = [
        file
        for file in drawn
        if file.convention not in ("", pictures.FROZEN_OF_SWEEP) and file.model in frozen
    ]
    if not others:
        raise Missing(f"needs pixel files of one model under {FROZEN} and another convention")
    right = {
        (f.convention, f.model): np.array([p.correct for p in f.rows(frozen[f.model].ids)])
        for f in others
    }
    wanted = {model for _, model in right}
    base = {
        model: np.array([p.correct for p in file.predictions])
        for model, file in frozen.items()
        if model in wanted
    }
    return (
        f"Render conventions (first) against {FROZEN} (second); p exact McNemar",
        contrasts.conventions(base, right),
    )


def _contrasts(e: Evidence):
    if not e.options.contrast:
        raise Missing("needs pairs of models: --contrast")
    image = e.of("pixels")
    for model in (model for pair in e.options.contrast for model in pair):
        if model not in image:
            raise UsageError(
                f"--contrast: there is no pixel file of {model}; there are {', '.join(image)}"
            )
    pairs = {
        f"{a} against {b}": (e.correct([image[a]])[0], e.correct([image[b]])[0])
        for a, b in e.options.contrast
    }
    sufficient = cue_sufficient(metric_class(e.crystals.cell("conventional")[0]), e.truths)
    strata = {
        "all": np.ones(len(e.ids), bool),
        "cue sufficient": sufficient,
        "cue ambiguous": ~sufficient,
    }
    ceilings = {name: float(np.mean(determined)) for name, determined in e.ceilings.items()}
    what = (
        "Two models on pictures, within strata of the conventional cell's metric; "
        "p exact McNemar; headroom: share of the first one's shortfall from the ceiling "
        "over all structures that the second makes up"
    )
    return what, contrasts.by_stratum(pairs, strata, ceilings)


def _family(e: Evidence):
    if e.options.family is not None:
        content = family.read_family(e.options.family)
    elif family.fingerprint(e.files) == family.released()["files"]:
        content = family.released()
    else:
        raise Missing(
            "needs tests to correct together (--family), or the released pixel and coordinate "
            "files, all of them and unchanged"
        )
    return family.caption(content), family.adjusted(tuple(content["test"]))


#: Tables by name, in the order in which they are printed.
MAKERS: dict[str, Callable[[Evidence], tuple[str, pd.DataFrame]]] = {
    "files": _files,
    "leaderboard": _leaderboard,
    "cells": _cells,
    "ladder": _ladder,
    "models": _models,
    "sensitivity": _sensitivity,
    "length": _length,
    "length-split": _length_split,
    "size": _size,
    "question-only": _question_only,
    "control": _control,
    "exchangeability": _exchangeability,
    "conventions": _conventions,
    "contrasts": _contrasts,
    "family": _family,
}
