"""Options of reading stored replies again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rc_hpc.answers.parsers import PARSERS
from rc_hpc.benchmark.letters import FOUR_LETTERS
from rc_hpc.core.options import Options, opt


@dataclass(frozen=True)
class ParseOptions(Options):
    """Which stored replies are read again, and how.

    Attributes
    ----------
    answers
        File that the asking command wrote.
    parser
        One of the task's; None: its own.
    output
        Folder for the prediction files, one an arm.
    """

    answers: Path = opt(
        None,
        "file that this command wrote",
        parse=Path,
        metavar="FILE",
        positional=True,
        required=True,
        recorded=False,
    )
    parser: str | None = opt(
        None,
        "how the replies are read",
        choices=(*PARSERS, *FOUR_LETTERS.parsers),
        told=f"{PARSERS[0]}; of a package {FOUR_LETTERS.parser}",
        recorded=False,
    )
    output: Path = opt(
        None,
        "folder for the prediction files, one an arm",
        parse=Path,
        short="-o",
        metavar="DIR",
        required=True,
        recorded=False,
    )
