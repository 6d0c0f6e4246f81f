"""What a page of samples shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rc_hpc.benchmark.package import SETS
from rc_hpc.core.options import Options, at_least, opt

#: For the help.
EXAMPLES = """\
  python -m rc_hpc.benchmark samples bench -o samples
  python -m rc_hpc.benchmark samples bench --seed 3 -o other-samples"""


@dataclass(frozen=True)
class SampleOptions(Options):
    """Which questions are shown.

    Attributes
    ----------
    benchmark
        Folder of the package.
    output
        Folder for the page.
    set_name
        Of the package.
    seed
        Another one chooses other questions.
    """

    benchmark: Path = opt(
        None, "folder of the package", parse=Path, metavar="DIR", positional=True, required=True
    )
    output: Path = opt(
        None,
        "folder for samples.pdf and samples.png",
        parse=Path,
        short="-o",
        metavar="DIR",
        required=True,
    )
    set_name: str = opt("full", "from which questions", name="set", choices=tuple(SETS))
    seed: int = opt(0, "another one chooses other questions", metavar="N", check=at_least(0))
