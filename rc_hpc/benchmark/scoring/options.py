"""What scores are made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rc_hpc.benchmark.package import SETS
from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, at_least, opt
from rc_hpc.report.tables import ALL, ENDINGS, names_asked

#: Tables in the order in which they are printed, each with a line.
TABLES = {
    "files": "every file of answers: asked, answered, invalid, missing; scored or why not",
    "accuracy": "every model and arm by stratum, with intervals over base structures",
    "models": "models side by side, a column a stratum",
    "differences": "image minus text and the like, on the same questions of the same model",
    "contrasts": "two models on the same questions in the same arm",
    "ceilings": "what the pictures determine by stratum, for every way of reading them",
    "ladder": "determined, text, image by stratum; lost in reasoning and in looking",
    "undetermined": "accuracy where the pictures determine the answer, and where they do not",
    "traps": "Q3 by whether the first picture shows the wrong order",
}
#: What a person reads first; the others by name, or as files.
SUMMARY = ("models", "ceilings")
_LINES = "\n".join(f"  {name:<14}{line}" for name, line in TABLES.items())
#: For the help.
EXAMPLES = f"""\
  python -m rc_hpc.benchmark score m.h5 other.h5 --benchmark bench
  python -m rc_hpc.benchmark score answers/ --benchmark bench --table differences --format markdown
  python -m rc_hpc.benchmark score log.eval --benchmark bench       a log of inspect_ai

tables:
{_LINES}

Where answers are missing there is no formal score, and the exit code is 3."""
#: Seed of the released benchmark.
SEED = 20261021


@dataclass(frozen=True)
class ScoreOptions(Options):
    """Which answers are scored, and what is made of the scores.

    Attributes
    ----------
    answers
        Files of answers, and folders of them.
    benchmark
        Folder of the package.
    set_name
        ``full`` or ``mini``; None: the smallest that holds all ids of the answers.
    determined
        What the pictures determine.
    allow_partial
        Score what there is where answers are missing.
    resamples, seed
        Of the bootstrap.
    table, format, output, figures
        What is made, and where it goes.
    """

    answers: tuple[Path, ...] = opt(
        (),
        "files of answers (jobs/query_vlm.py), prediction files, folders of them, results of "
        "inspect_ai (.eval, .json), lm-eval (samples_*.jsonl) and VLMEvalKit (.tsv, .xlsx), or "
        "your own: rows of id, answer (a reply or its letter) and, if not image, arm (.jsonl, "
        ".csv)",
        parse=Path,
        metavar="ANSWERS",
        positional=True,
        many=True,
        required=True,
    )
    benchmark: Path = opt(None, "folder of the package", parse=Path, metavar="DIR", required=True)
    set_name: str | None = opt(
        None,
        "which questions were to be answered",
        name="set",
        choices=tuple(SETS),
        told="mini where all answers are to questions of it, else full",
    )
    determined: Path | None = opt(
        None,
        "what the pictures determine (python -m rc_hpc.benchmark determine)",
        parse=Path,
        metavar="FILE",
    )
    allow_partial: bool = opt(
        False, "score what there is where answers are missing, with the coverage beside it"
    )
    resamples: int = opt(
        10_000, "draws of the bootstrap over base structures", metavar="N", check=at_least(100)
    )
    seed: int = opt(SEED, "of the draws", metavar="N", check=at_least(0))
    table: str | None = opt(
        None,
        "only this one, or all",
        choices=(*TABLES, ALL),
        told=f"{' and '.join(SUMMARY)} on the terminal, all that can be made into files",
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
        return names_asked(self.table, TABLES, SUMMARY, into_files)
