"""Options of what pictures determine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rc_hpc.core.errors import UsageError
from rc_hpc.core.lazy import resolve
from rc_hpc.core.options import Options, ascending, at_least, lengths, opt, positive, tolerance
from rc_hpc.kinds.common.options import max_candidates

if TYPE_CHECKING:
    from rc_hpc.kinds.common.source import Source


@dataclass(frozen=True)
class BenchmarkSource(Options):
    """Which questions.

    Attributes
    ----------
    folder
        Of the package.
    set_name
        ``full`` or ``mini``.
    scenes
        File of the displayed scenes.
    """

    folder: Path = opt(
        help="folder of the package",
        parse=Path,
        positional=True,
        metavar="DIR",
        recorded=False,
    )
    set_name: str = opt(
        "full", "which set of its questions", name="set", choices=("full", "mini"), recorded=False
    )
    scenes: Path | None = opt(
        None,
        "file of the displayed scenes",
        parse=Path,
        metavar="FILE",
        told="DIR/scenes.h5 where it is there; else what the texts tell",
        recorded=False,
    )

    @property
    def source(self) -> tuple[str, ...]:
        """What is read, as paths."""
        return (str(self.folder), *([str(self.scenes)] if self.scenes else []))

    def open(self) -> Source:
        """All questions.

        Raises
        ------
        RcError
            The package, or the file of scenes, cannot be read.
        """
        found: Source = resolve("rc_hpc.kinds.determined.source:open_package")(
            self.folder, self.set_name, self.scenes
        )
        return found


def _shares(flag: str, values: tuple[float, ...]) -> None:
    if values:
        ascending()(flag, values)
    if not all(0 < value <= 1 for value in values):
        raise UsageError(f"{flag} must be shares between 0 and 1, not {values}")


@dataclass(frozen=True)
class DeterminedOptions(Options):
    """How the pictures are read.

    Attributes
    ----------
    delta
        Within which rays meet where centres are read exactly, Å.
    delta_pixels
        The same where they are read to the pixel, px.
    thetas
        Least visible shares of discs whose centres are read.
    symprec
        Of spglib where centres are read exactly, Å; to the pixel it is twice the delta.
    max_candidates
        Candidates beyond which a scene is not reconstructed.
    """

    delta: float = opt(
        0.01,
        "within which rays meet, where centres are read exactly",
        metavar="Å",
        check=tolerance,
        caption="delta {} Å",
    )
    delta_pixels: float = opt(
        2.0,
        "the same where centres are read to the pixel",
        metavar="PX",
        check=at_least(0.1),
        caption="to the pixel {} px",
    )
    thetas: tuple[float, ...] = opt(
        (0.5,),
        "least visible shares of discs whose centres are read",
        parse=lengths,
        metavar="SHARE,SHARE",
        check=_shares,
    )
    symprec: float = opt(
        0.01,
        "symprec of crystal systems, where centres are read exactly",
        metavar="Å",
        check=positive,
        caption="symprec {} Å",
    )
    max_candidates: int = max_candidates(1_000_000)
