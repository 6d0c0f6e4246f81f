"""The five published ways of drawing the same structure, C1 to C5."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Convention:
    """What a convention fixes; the rest is the same in all of them.

    Attributes
    ----------
    protocol
        Name of the cameras.
    tiling
        Repetitions of the conventional cell along its three axes.
    radii_factor
        Disc radius in units of ASE's covalent radius.
    """

    protocol: str
    tiling: tuple[int, int, int]
    radii_factor: float


CONVENTIONS = {
    "C1": Convention("frozen", (2, 2, 2), 0.5),
    "C2": Convention("frozen", (1, 1, 1), 0.5),
    "C3": Convention("frozen", (2, 2, 2), 0.22),
    "C4": Convention("off-axis", (2, 2, 2), 0.5),
    "C5": Convention("frozen", (1, 1, 1), 0.22),
}
#: Name of whatever is none of them.
CUSTOM = "custom"


def name_of(protocol: str, tiling: tuple[int, int, int], radii_factor: float) -> str:
    """Name of the convention with these values, or `CUSTOM`."""
    wanted = Convention(protocol, tiling, radii_factor)
    return next((name for name, convention in CONVENTIONS.items() if convention == wanted), CUSTOM)
