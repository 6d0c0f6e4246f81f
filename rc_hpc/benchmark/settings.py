"""How scenes are displayed and drawn: every choice that the card leaves open, by name."""

from __future__ import annotations

from dataclasses import dataclass

from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, at_least, opt, positive

#: Width of bonds, points.
BOND_POINTS = 2.2


def _share(flag: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise UsageError(f"{flag} must be between 0 and 1, not {value}")


def _tilt(flag: str, value: float) -> None:
    if not 0 <= value < 45:
        raise UsageError(f"{flag} must be at least 0 and below 45 degrees, not {value}")


def _size(flag: str, value: int) -> None:
    if not 128 <= value <= 4096:
        raise UsageError(f"{flag} must be between 128 and 4096 px, not {value}")


@dataclass(frozen=True)
class DisplaySettings(Options):
    """What is displayed of a structure, from where, and how it is drawn.

    Attributes
    ----------
    seed
        Of random directions, scene ids and all later draws.
    max_displayed
        Atoms of a supercell at most.
    supercells
        Supercells of a structure at most.
    stretch
        By how much one axis of a changed cell grows, relative.
    tilt
        Of the three crystal directions, about the screen's x axis, degrees.
    random_views
        Views along random directions, whose coefficients of the lattice vectors are uniform
        in (-1, 1).
    view_angle
        No random direction is closer than this to another view, degrees.
    radii
        Radius of a disc in units of ASE's covalent radius.
    bond_factor
        Atoms are bonded up to this factor times the shortest distance of their pair.
    electronegativity
        Pairs of elements that differ by more are bonded by default; where there is none, all are.
    size, strip
        Width and height of a picture, and height of the legend's strip within it, px.
    margin
        Least white space around a drawing, px.
    fog
        How much of white the farthest atom's colour has.
    least_fill
        Coloured part of the smallest disc at least, px across: scenes with smaller ones are left
        out. Of 3 px the colour is seen in the picture; of 1.5 px hardly more than the outline is.
    """

    seed: int = opt(
        20261021,
        "seed of directions, ids and all draws",
        name="draw_seed",
        metavar="N",
        check=at_least(0),
        caption="seed {}",
    )
    max_displayed: int = opt(60, "atoms of a supercell at most", metavar="N", check=at_least(1))
    supercells: int = opt(6, "supercells of a structure at most", metavar="N", check=at_least(0))
    stretch: float = opt(
        0.08, "by how much one axis of a changed cell grows", metavar="SHARE", check=_share
    )
    tilt: float = opt(8.0, "tilt of the three crystal directions", metavar="deg", check=_tilt)
    random_views: int = opt(5, "views along random directions", metavar="N", check=at_least(0))
    view_angle: float = opt(
        10.0, "least angle of a random direction to another view", metavar="deg", check=_tilt
    )
    radii: float = opt(0.4, "disc radius in covalent radii", metavar="F", check=positive)
    bond_factor: float = opt(
        1.10,
        "bonds reach up to this factor times the pair's shortest distance",
        metavar="F",
        check=at_least(1),
    )
    electronegativity: float = opt(
        0.5, "elements that differ by more are bonded", metavar="D", check=at_least(0)
    )
    size: int = opt(512, "width and height of a picture", metavar="PX", check=_size)
    strip: int = opt(40, "height of the legend within it", metavar="PX", check=at_least(16))
    margin: int = opt(12, "least white space around a drawing", metavar="PX", check=at_least(0))
    fog: float = opt(0.55, "white in the farthest atom's colour", metavar="F", check=_share)
    least_fill: float = opt(
        3.0, "coloured part of the smallest disc at least", metavar="PX", check=at_least(0)
    )

    @property
    def room(self) -> tuple[int, int]:
        """Width and height of the drawing above the legend, px."""
        return self.size, self.size - self.strip
