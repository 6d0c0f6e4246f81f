"""Options of a check."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rc_hpc.core.options import Options, at_least, opt

EXAMPLES = """\
  python -m rc_hpc.benchmark check bench            each finding one line
  python -m rc_hpc.benchmark check bench --strict   findings are an error
  python -m rc_hpc.benchmark check bench --floors   and what a reader without pictures would score
"""


@dataclass(frozen=True)
class CheckOptions(Options):
    """What is checked, and what findings mean.

    Attributes
    ----------
    package
        Folder of a package.
    strict
        Whether findings are an error.
    floors
        Whether shares of right options that rules of thumb name are told.
    most
        Findings of one rule that are told, at most; the others are counted.
    """

    package: Path = opt(
        help="folder of a package", parse=Path, metavar="DIR", positional=True, required=True
    )
    strict: bool = opt(False, "findings are an error: exit code 1 instead of 3")
    floors: bool = opt(False, "tell what each rule of thumb knows of each stratum, too")
    most: int = opt(10, "findings told of each rule", metavar="N", check=at_least(1))
