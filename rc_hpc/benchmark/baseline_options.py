"""Readers that need no model, and what they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rc_hpc.benchmark.package import SETS
from rc_hpc.core.options import Options, opt

#: For the help.
EXAMPLES = """\
  python -m rc_hpc.benchmark baselines bench -o baselines
  python -m rc_hpc.benchmark baselines bench --determined determined.h5 -o baselines
  python -m rc_hpc.benchmark score baselines m.h5 --benchmark bench --determined determined.h5

  A reader who leaves several options open votes for each of them: a tie, which is a miss in the
  accuracy, and worth one over their number wherever scores are compared."""


@dataclass(frozen=True)
class BaselineOptions(Options):
    """Of which package readers' answers are written.

    Attributes
    ----------
    benchmark
        Folder of the package.
    output
        Folder for the prediction files.
    set_name
        Of the package.
    scenes
        File of displayed scenes, for the readers who need coordinates.
    determined
        What the pictures determine, for the oracle readers.
    """

    benchmark: Path = opt(
        None, "folder of the package", parse=Path, metavar="DIR", positional=True, required=True
    )
    output: Path = opt(
        None,
        "folder for the prediction files",
        parse=Path,
        short="-o",
        metavar="DIR",
        required=True,
    )
    set_name: str = opt("full", "which questions", name="set", choices=tuple(SETS))
    scenes: Path | None = opt(
        None,
        "file of the displayed scenes",
        parse=Path,
        metavar="FILE",
        told="DIR/scenes.h5 where it is there; else what the texts tell",
    )
    determined: Path | None = opt(
        None,
        "what the pictures determine (python -m rc_hpc.benchmark determine), for oracle readers",
        parse=Path,
        metavar="FILE",
    )
