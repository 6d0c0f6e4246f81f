"""Options of a comparison of two results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rc_hpc.core.options import Options, at_least, opt


@dataclass(frozen=True)
class DiffOptions(Options):
    """Two files, what is compared of them, and how.

    Attributes
    ----------
    a, b
        The result before and the one after.
    only, ignore
        Datasets, or groups of them, to compare or to leave out.
    rtol, atol
        Floats are equal that differ by at most ``atol + rtol * larger``; NaN equals NaN, and an
        infinity itself.
    most
        Structures named for each dataset.
    strict
        Whether options, types, sources and messages make results different.
    """

    a: Path = opt(help="the result before", parse=Path, metavar="A", positional=True, required=True)
    b: Path = opt(help="the result after", parse=Path, metavar="B", positional=True, required=True)
    only: tuple[str, ...] = opt(
        (), "compare only this dataset or group; may be repeated", metavar="PATH", many=True
    )
    ignore: tuple[str, ...] = opt(
        (), "leave out this dataset or group; may be repeated", metavar="PATH", many=True
    )
    rtol: float = opt(0.0, "relative tolerance of floats", check=at_least(0), metavar="X")
    atol: float = opt(
        0.0, "absolute tolerance of floats, in each dataset's unit", check=at_least(0), metavar="X"
    )
    most: int = opt(5, "structures named for each dataset", check=at_least(0), metavar="N")
    strict: bool = opt(False, "options, types, sources and messages count, too")
