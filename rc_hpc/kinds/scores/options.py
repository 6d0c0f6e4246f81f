"""Options of scoring readings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rc_hpc.core.lazy import resolve
from rc_hpc.core.options import Options, derived, opt, positive

if TYPE_CHECKING:
    from rc_hpc.kinds.common.source import Source


@dataclass(frozen=True)
class ScoredSource(Options):
    """What is scored, and against what.

    Attributes
    ----------
    readings
        File of readings.
    renders
        Manifest of the pictures that were read: the truth.
    """

    readings: Path = opt(
        help="file of readings", parse=Path, positional=True, metavar="READINGS.h5", recorded=False
    )
    renders: Path = opt(
        help="manifest of the pictures that were read, which holds the truth",
        parse=Path,
        positional=True,
        metavar="RENDERS.h5",
        recorded=False,
    )

    @property
    def source(self) -> tuple[str, ...]:
        """What is read, as paths."""
        return str(self.readings), str(self.renders)

    def open(self) -> Source:
        """All readings with the truth.

        Raises
        ------
        RcError
            One of the files cannot be read.
        """
        found: Source = resolve("rc_hpc.kinds.scores.source:open_scored")(
            self.readings, self.renders
        )
        return found


@dataclass(frozen=True)
class ScoreOptions(Options):
    """How readings are scored.

    Attributes
    ----------
    same
        Distance within which a site read is an atom of the truth, Å.
    readings
        Options of the readings.
    """

    same: float = opt(
        0.1,
        "distance within which a site read is an atom of the truth",
        metavar="Å",
        check=positive,
        caption="sites within {} Å",
    )
    readings: dict[str, Any] = derived(None)
