"""Options of pictures."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, derived, opt
from rc_hpc.core.vocabulary import Renderer
from rc_hpc.images.conventions import CONVENTIONS, name_of
from rc_hpc.kinds.common import options as common
from rc_hpc.kinds.packed.options import PackOptions


def _size(flag: str, value: int) -> None:
    if not 16 <= value <= 8192:
        raise UsageError(f"{flag} must be between 16 and 8192 px, not {value}")


@dataclass(frozen=True)
class RenderOptions(Options):
    """What one rendering draws.

    Attributes
    ----------
    protocol
        `Protocol.identity()` and its name; its tiling is that of the pictures.
    convention
        Name of the drawing convention with these values.
    radii_factor
        Disc radius in units of the covalent radius.
    size
        Width and height of a picture, px.
    renderer
        What draws.
    compare
        Draw every picture with both renderers and count the pixels that differ.
    name_seed
        Text from which, with the id and the view, the file names follow.
    pack
        Options of the packed input.
    """

    protocol: dict[str, Any] = opt(
        help="cameras: frozen, off-axis, or a TOML file",
        metavar="NAME|FILE",
        told="the convention's",
        hashed=False,
    )
    convention: str = opt(
        asked="C1",
        help="C1: 2x2x2 cells, radii 0.5, frozen cameras; C2: one cell; C3: radii 0.22; "
        "C4: off-axis cameras; C5: one cell, radii 0.22",
        metavar="{" + ",".join(CONVENTIONS) + "}",
    )
    radii_factor: float = opt(
        0.5,
        "disc radius in covalent radii",
        name="radii",
        asked=None,
        parse=float,
        metavar="F",
        told="the convention's",
        check=common.factor,
    )
    size: int = opt(768, "width and height of a picture", metavar="PX", check=_size)
    renderer: str = opt(
        Renderer.fast.name,
        "fast, or ase for ASE's own plotting, some twenty times slower",
        choices=tuple(Renderer.__members__),
    )
    compare: bool = opt(False, "draw every picture with both and count the pixels that differ")
    name_seed: str = opt("", "makes other file names", metavar="TEXT", told="none")
    tiling: str | None = opt(
        None,
        "repeat the conventional cell",
        metavar="N|N,N,N",
        told="the protocol file's if it repeats the cell, else the convention's",
        recorded=False,
    )
    pack: PackOptions = PackOptions()
    quarantine: str = derived("keep", recorded=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.compare and self.renderer != Renderer.fast.name:
            raise UsageError("--compare compares --renderer fast with ase: leave --renderer out")

    @classmethod
    def settle(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Cameras, tiling and radii from the convention, where they were not asked for."""
        if values["convention"] not in CONVENTIONS:
            raise UsageError(
                f"--convention {values['convention']!r}: one of {', '.join(CONVENTIONS)}"
            )
        convention = CONVENTIONS[values["convention"]]
        cameras = common.load(values["protocol"] or convention.protocol, values["tiling"])
        cameras.require_orthographic("pictures")
        # A protocol file may repeat the cell; the built-in ones leave that to the convention.
        if values["tiling"] is None and cameras.tiling == (1, 1, 1):
            cameras = dataclasses.replace(cameras, tiling=convention.tiling)
        radii = values["radii_factor"]
        radii = convention.radii_factor if radii is None else radii
        return values | {
            "protocol": common.identity_of(cameras),
            "convention": name_of(cameras.name, cameras.tiling, radii),
            "radii_factor": radii,
        }
