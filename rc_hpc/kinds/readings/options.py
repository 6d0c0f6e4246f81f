"""Options of reading pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rc_hpc.core import constants
from rc_hpc.core.lazy import resolve
from rc_hpc.core.options import Options, at_least, derived, opt, positive
from rc_hpc.core.vocabulary import COLOURS, LEVELS, RELEASED
from rc_hpc.kinds.common.selection import Selection

if TYPE_CHECKING:
    from rc_hpc.kinds.common.source import Source


@dataclass(frozen=True)
class PicturesSource(Options):
    """Which pictures.

    Attributes
    ----------
    pictures
        Manifest of a rendering run, or folder of PNGs.
    chosen
        Which crystals of them.
    cameras, convention
        Of a folder; a manifest tells its own.
    """

    pictures: Path = opt(
        help="manifest of rendered pictures, or a folder with a folder of PNGs for each crystal, "
        "named by camera",
        parse=Path,
        positional=True,
        metavar="RENDERS.h5|DIR",
        recorded=False,
    )
    chosen: Selection = Selection()
    cameras: str | None = opt(
        None,
        "cameras of a folder: frozen, off-axis, or a TOML file",
        metavar="NAME|FILE",
        told="frozen; of a manifest: its own",
        recorded=False,
    )
    convention: str | None = opt(
        None,
        "how the pictures of a folder are drawn: C1 to C5, or a TOML file; its radii are the "
        "measure of all lengths",
        metavar="NAME|FILE",
        told="C1; of a manifest: its own",
        recorded=False,
    )

    @property
    def source(self) -> tuple[str, ...]:
        """What is read, as paths."""
        return (str(self.pictures),)

    def open(self) -> Source:
        """All crystals with their pictures.

        Raises
        ------
        RcError
            The manifest, the folder, or a file of cameras or convention cannot be read.
        """
        found: Source = resolve("rc_hpc.kinds.readings.source:open_pictures")(
            self.pictures, self.chosen, self.cameras, self.convention
        )
        return found


def known(knowledge: str) -> str:
    """What captions say of what was known."""
    if knowledge in RELEASED:
        return f"{knowledge}: as the released study read, told the truth, never certified"
    return f"known {knowledge}"


@dataclass(frozen=True)
class ReadingsOptions(Options):
    """How pictures are read.

    Attributes
    ----------
    knowledge
        What is known beside them, see `rc_hpc.reader.records.Knowledge`; or the released study's
        reading, see `rc_hpc.reader.released`.
    colours
        Fills of elements; see `rc_hpc.reader.nearest`.
    max_tries, tau, max_pixels
        See `rc_hpc.reader.records.Limits`.
    protocol, convention, size
        Of the pictures: cameras as `Protocol.identity()` and their name, rules of drawing as
        `Convention.identity()`, and px.
    """

    knowledge: str = opt(
        "K0",
        "known beside the pictures: K0 cameras and convention; K1 lattice, scales and origins too; "
        "K2 the elements of all atoms too; released and released-oracle-species repeat the study's "
        "own reading, which is told the truth (parity only, never certified)",
        choices=(*LEVELS, *RELEASED),
        caption=known,
    )
    colours: str = opt(
        COLOURS[0],
        "fills of elements: exact; nearest also reads pictures that were compressed or made noisy "
        "after they were drawn, and never certifies them",
        choices=COLOURS,
        caption="{} colours",
    )
    max_tries: int = opt(4, "searches, each with wider tolerances", metavar="N", check=at_least(1))
    tau: float = opt(
        constants.TAU,
        "tolerance of the label that a certificate covers",
        metavar="Å",
        check=positive,
        caption="certified for symprec {} Å",
    )
    max_pixels: int = opt(
        100,
        "pixels of all pictures of a crystal that may differ in a certified reading",
        metavar="N",
        check=at_least(0),
        caption="at most {} pixels off",
    )
    protocol: dict[str, Any] = derived(None)
    convention: dict[str, Any] = derived(None)
    size: int = derived(0)
