"""Options of pictures."""

from __future__ import annotations

from dataclasses import dataclass, field

from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, known_name
from rc_hpc.kinds.packed.options import PackOptions

RENDERERS = ("fast", "ase")


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
        See RENDERERS.
    compare
        Draw every picture with both renderers and count the pixels that differ.
    name_seed
        Text from which, with the id and the view, the file names follow.
    pack
        Options of the packed input.
    """

    protocol: dict = field(hash=False)
    convention: str
    radii_factor: float = 0.5
    size: int = 768
    renderer: str = RENDERERS[0]
    compare: bool = False
    name_seed: str = ""
    pack: PackOptions = PackOptions()

    def __post_init__(self):
        known_name("renderer", self.renderer, RENDERERS)
        if not 0 < self.radii_factor < float("inf"):
            raise UsageError(f"--radii must be a positive factor, not {self.radii_factor}")
        if not 16 <= self.size <= 8192:
            raise UsageError(f"--size must be between 16 and 8192 px, not {self.size}")
        if self.compare and self.renderer != "fast":
            raise UsageError("--compare compares --renderer fast with ase: leave --renderer out")
