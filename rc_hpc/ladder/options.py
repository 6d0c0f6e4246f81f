"""What the ladder can be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, at_least, opt
from rc_hpc.report.tables import ALL, ENDINGS, names_asked

#: Tables in the order in which they are printed, each with a line.
TABLES = {
    "files": "every prediction file, recounted, with its error rates and gates",
    "leaderboard": "R4 of every model with its interval",
    "cells": "the headline where R3 listed a cell as large as the drawn one, elsewhere, by system",
    "rungs": "R1, R2 (--scores), R3 and R4 in one list: right, and right and certified",
    "ladder": "R4, R3, P, S and share of every model with their intervals, McNemar",
    "models": "medians, intervals, dominance, rank correlations over the scored models",
    "sensitivity": "the same headline under other tie rules and per sample",
    "length": "R3 against the atoms listed",
    "length-split": "R3 up to and above the median of the atoms listed",
    "size": "atoms by crystal system",
    "question-only": "the arm without pictures, against that with",
    "control": "the same in sum",
    "exchangeability": "whether votes depend on the structure",
    "conventions": "render conventions against the frozen one",
    "contrasts": "pairs of models (--contrast) within cue strata",
    "family": "tests corrected together (--family; with the released files those of the study)",
    "baselines": "majority, metric rule, forests (--train)",
    "strata": "what the metric of the cell tells",
    "cues": "models where the cell's metric tells the system, and where not",
    "floor": "models against the baselines",
    "granularity": "forests by granularity of the label",
    "forest-readings": "the forest under twelve readings of the study (--train; by name only)",
    "certification": "exact lower bounds of the labels' certification",
    "density": "phantoms against the atoms of the cell",
    "overlap": "discs that overlap others of their element (a packed --structures)",
    "resampling": "a forest on other splits (--resamples)",
    "transplant": "emitted atoms (--emitted) against the true cell",
    "emission": "what was emitted",
}
#: What a person reads first; the others by name, or as files.
SUMMARY = ("leaderboard", "rungs", "models")


@dataclass(frozen=True)
class LadderOptions(Options):
    """What the ladder is read from, and what is made of it.

    Attributes
    ----------
    predictions
        Prediction files, folders of them, and HDF5 files of answers.
    census
        Census files, one per ceiling.
    scores
        Scored readings of the pictures, one file per level of knowledge.
    labels
        File of true labels to check the predictions against.
    structures
        Packed or census file with the cells; by default the first census.
    train
        File of training ids, in the order of training.
    emitted
        File of emitted atoms.
    contrast
        Pairs of models that are compared within strata.
    convention
        Convention of the pictures whose ladder is made.
    family
        File of the tests that are corrected together.
    gate_samples
        Also leave rows unscored that lost too many of their samples.
    resamples
        Trials per resampling regime of the shape-free baseline.
    table, format, output, figures
        What is made, and where it goes.
    """

    predictions: tuple[Path, ...] = opt(
        (),
        "prediction files, folders of them, or HDF5 files of answers (jobs/query_vlm.py)",
        parse=Path,
        metavar="PREDICTIONS",
        positional=True,
        many=True,
        required=True,
    )
    census: tuple[Path, ...] = opt(
        (),
        "census that says which structures are determined; may be given once per delta; "
        "without one all are taken to be",
        parse=Path,
        metavar="FILE",
        many=True,
    )
    scores: tuple[Path, ...] = opt(
        (),
        "scored readings of the pictures (python -m rc_hpc.score): R2 as a ceiling beside R1; may "
        "be given once per level of knowledge",
        parse=Path,
        metavar="FILE",
        many=True,
    )
    labels: Path | None = opt(
        None,
        "true crystal systems to check the predictions against: JSON lines or a JSON object",
        parse=Path,
        metavar="FILE",
    )
    structures: Path | None = opt(
        None,
        "packed or census file with the cells",
        parse=Path,
        metavar="FILE",
        told="the first census",
    )
    train: Path | None = opt(
        None,
        "training structures of the forests, in order: ids one a line, or JSON lines; "
        "they must be in --structures",
        parse=Path,
        metavar="FILE",
    )
    emitted: Path | None = opt(
        None,
        "atoms that an extraction arm emitted, JSON; needs a packed --structures",
        parse=Path,
        metavar="FILE",
    )
    contrast: tuple[tuple[str, str], ...] = opt(
        (),
        "compare two models within strata; may be repeated",
        metavar=("MODEL", "MODEL"),
        words=2,
        many=True,
    )
    convention: str | None = opt(
        None,
        "pictures whose ladder is made, where files show several conventions",
        metavar="NAME",
        told="C1, or the only one",
    )
    family: Path | None = opt(
        None,
        "TOML file of the tests to be corrected together, in the form of ladder/data/family.toml",
        parse=Path,
        metavar="FILE",
        told="with the released files those of the released study, else none",
    )
    gate_samples: bool = opt(
        False, "also leave rows unscored that lost more than 5 % of their samples"
    )
    resamples: int = opt(
        0,
        "trials per resampling regime of the shape-free forest",
        metavar="N",
        told="none",
        check=at_least(0),
    )
    table: str | None = opt(
        None,
        "only this one, or all",
        choices=(*TABLES, ALL),
        told=f"{', '.join(SUMMARY)} on the terminal, all that can be made into files",
    )
    format: str = opt("terminal", "of the tables; parquet needs pyarrow", choices=tuple(ENDINGS))
    output: Path | None = opt(
        None,
        "write one file per table into this folder",
        parse=Path,
        short="-o",
        metavar="DIR",
        told="print them",
    )
    figures: Path | None = opt(
        None, "also draw the figures of these tables into this folder", parse=Path, metavar="DIR"
    )

    def __post_init__(self):
        super().__post_init__()
        if self.format == "parquet" and self.output is None:
            raise UsageError("--format parquet is not for a terminal: name a folder with --output")

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables that are made; figures need them all."""
        into_files = self.output is not None or self.figures is not None
        return names_asked(self.table, TABLES, self.first, into_files)

    @property
    def first(self) -> tuple[str, ...]:
        """What a person reads first: the summary, and the tables of options that were given."""
        given = {
            "contrasts": self.contrast,
            "baselines": self.train,
            "resampling": self.resamples,
            "transplant": self.emitted,
            "emission": self.emitted,
        }
        return SUMMARY + tuple(name for name, asked in given.items() if asked)
