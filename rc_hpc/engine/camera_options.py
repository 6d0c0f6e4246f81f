"""Options of judging cameras."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rc_hpc.core import constants
from rc_hpc.core.options import Options, ascending, at_least, lengths, opt, tolerance
from rc_hpc.engine.options import SourceOptions
from rc_hpc.kinds.common import options as common
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.report.tables import ENDINGS


@dataclass(frozen=True)
class CameraOptions(Options):
    """Which cameras are judged, and beside which.

    Attributes
    ----------
    protocols
        Names or files.
    on
        Sources of structures; none: the cameras alone are judged.
    """

    protocols: tuple[str, ...] = opt(
        ("frozen",),
        "protocols: frozen, off-axis or TOML files",
        metavar="NAME|FILE",
        positional=True,
        many=True,
    )
    beside: str = opt(
        "frozen,off-axis",
        "protocols to compare with; none: none",
        metavar="NAME|FILE,...",
    )
    delta: float = opt(
        constants.DELTA, "acceptance tolerance of phantoms", metavar="Å", check=tolerance
    )
    sigmas: tuple[float, ...] = opt(
        constants.DESIGN_SIGMAS,
        "standard deviations of each screen coordinate of a disc centre",
        parse=lengths,
        metavar="Å,Å",
        check=ascending(some_positive=True),
    )
    seeds: int = opt(3, "noise seeds 0 to N-1", metavar="N", check=common.between(0, 10_000))
    most: int = opt(
        300,
        "refuse more structures: they are computed in memory, by one process",
        metavar="N",
        check=at_least(1),
    )
    style: str = opt(
        "terminal",
        "form of the tables: terminal, markdown, csv or latex",
        name="table_format",
        choices=tuple(name for name in ENDINGS if name != "parquet"),
        recorded=False,
    )
    output: Path | None = opt(
        None,
        "folder for the drawing, cameras.png and .pdf with their data, and the tables",
        parse=Path,
        short="-o",
        metavar="DIR",
        told="print the tables, draw nothing",
        recorded=False,
    )
    pack: PackOptions = PackOptions()


@dataclass(frozen=True)
class OnOptions(SourceOptions):
    """The structures on which cameras are judged."""

    source: tuple[str, ...] = opt(
        (),
        "judge them on these structures too: a source as of rc_hpc.census; may be repeated",
        name="on",
        metavar="SOURCE",
        many=True,
        recorded=False,
    )

    def structures(self) -> Any:
        """What is asked for; None where nothing is."""
        return self if self.source else None
