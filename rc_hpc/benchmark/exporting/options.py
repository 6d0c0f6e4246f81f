"""What is exported, and for which program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rc_hpc.benchmark.letters import ARMS
from rc_hpc.benchmark.package import SETS
from rc_hpc.core.options import Options, once_each, opt, some_of

#: Programs that a package can be written for.
PROGRAMS = ("inspect", "lm-eval", "vlmevalkit")
#: For the help.
EXAMPLES = """\
  python -m rc_hpc.benchmark export bench --to inspect -o for-inspect
  inspect eval for-inspect/mv_crystalbench.py@image --model MODEL
  python -m rc_hpc.benchmark export bench --to lm-eval --arms text,no-image -o for-lm-eval
  python -m rc_hpc.benchmark score logs/ --benchmark bench"""


@dataclass(frozen=True)
class ExportOptions(Options):
    """A package for another program.

    Attributes
    ----------
    benchmark
        Folder of the package.
    program
        One of `PROGRAMS`.
    output
        Folder to write.
    arms, set_name
        What is asked.
    """

    benchmark: Path = opt(
        None, "folder of the package", parse=Path, metavar="DIR", positional=True, required=True
    )
    program: str = opt(None, "the program", name="to", choices=PROGRAMS, required=True)
    output: Path = opt(
        None, "folder to write, empty or new", parse=Path, short="-o", metavar="DIR", required=True
    )
    arms: tuple[str, ...] = opt(
        ARMS,
        "what a model is shown",
        parse=some_of(ARMS),
        choices=ARMS,
        metavar="ARM,ARM",
        check=once_each,
    )
    set_name: str = opt("full", "which questions", name="set", choices=tuple(SETS))
