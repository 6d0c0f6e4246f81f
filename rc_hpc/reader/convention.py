"""How pictures are drawn, as rules: all that it takes to draw a crystal as they were drawn."""

from __future__ import annotations

import dataclasses
import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import UsageError
from rc_hpc.core.text import parse_toml
from rc_hpc.images import build, conventions
from rc_hpc.images.scene import DPI, LINE_WIDTH, Scene
from rc_hpc.images.view import PADDING, View, bounds, project

EXAMPLE = """\
name = "mine"
tiling = [2, 2, 2]     # cells drawn along the three vectors
radii_factor = 0.5     # of disc radii, in ASE's covalent radii
line_pt = 1.0          # width of outlines and dashes; 100 pixels an inch
dash_A = 0.3           # an edge has floor(length / dash_A) dashes, two at least
box = true             # edges of the drawn block are dashed, and fitted in with the discs
margin = 1.05          # picture over what is fitted in
[palette]              # where it differs from Jmol's: red, green, blue, 0 to 255
Fe = [224, 102, 51]
[radii_A]              # where they differ: disc radii, angstrom
Fe = 0.66
"""
#: The painter's order that is drawn: `rc_hpc.images.view.paint_order`.
ORDER = "depth"


@dataclass(frozen=True, eq=False)
class Convention:
    """Rules of drawing; what they do not name is as in `rc_hpc.images`.

    Attributes
    ----------
    name
    palette : (119, 3) float64
        Red, green and blue of each atomic number, 0 to 1.
    radii_A : (119,) float64
        Disc radius of each atomic number, to the middle of the outline, Å.
    tiling
        Repetitions of the cell along its vectors.
    line_pt
        Width of outlines and dashes, points.
    dash_A
        Length of a dash and the gap after it, about, Å.
    box
        Whether the edges of the drawn block are dashed.
    margin
        Room of a picture over what is fitted in, as a factor.
    order
        Painter's order: by depth, at one depth by index.
    """

    name: str
    palette: np.ndarray
    radii_A: np.ndarray
    tiling: tuple[int, int, int] = (2, 2, 2)
    line_pt: float = LINE_WIDTH
    dash_A: float = build.DASH_PERIOD
    box: bool = True
    margin: float = PADDING
    order: str = ORDER

    @property
    def line_px(self) -> float:
        """Width of outlines and dashes, px."""
        return self.line_pt * DPI / 72

    @property
    def fills(self) -> np.ndarray:
        """Palette as the pixels of pictures have it, (119, 3) uint8."""
        return np.asarray(np.round(self.palette * 255), np.uint8)

    def identity(self) -> dict[str, Any]:
        """All that pictures depend on, as plain JSON values; colours and radii as their hash."""
        values = np.concatenate((self.palette.ravel(), self.radii_A))
        rules = ("name", "line_pt", "dash_A", "box", "margin", "order")
        return {
            **{rule: getattr(self, rule) for rule in rules},
            "tiling": list(self.tiling),
            "colours_and_radii": hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest(),
        }

    def fill(self, number: int) -> tuple[int, int, int]:
        """Red, green and blue of an atomic number, 0 to 255."""
        red, green, blue = map(int, np.round(self.palette[number] * 255))
        return red, green, blue

    def scene(self, lattice_A, species, positions_A) -> Scene:
        """What is drawn of a crystal.

        Parameters
        ----------
        lattice_A : (3, 3) array_like
            Vectors of the cell that is tiled, rows.
        species : (k,) array_like
            Atomic numbers.
        positions_A : (k, 3) array_like
        """
        made = build.crystal_scene(lattice_A, species, positions_A, self.tiling)
        numbers = made.discs.numbers
        discs = dataclasses.replace(
            made.discs,
            radii=self.radii_A[numbers],
            colours=self.palette[numbers],
            edge_widths=np.full(len(numbers), self.line_pt),
        )
        if not self.box:
            return Scene(discs)
        assert made.cell is not None
        edges = build.dashed_edges(made.cell, discs, self.dash_A)
        edges = dataclasses.replace(edges, widths=np.full(len(edges.widths), self.line_pt))
        return Scene(discs, edges, cell=made.cell)

    def view(self, scene: Scene, rotation, size_px: int) -> View:
        """A scene on the screen of a camera, fitted into a square picture."""
        if self.margin == PADDING:
            return project(scene, rotation, size_px)
        low, high = bounds(scene, np.asarray(rotation, float))
        middle, half = (low + high)[:2] / 2, self.margin * (high - low)[:2] / 2
        return project(scene, rotation, size_px, np.concatenate((middle - half, middle + half)))


def named(
    name: str, tiling: tuple[int, int, int] | None = None, radii_factor: float | None = None
) -> Convention:
    """One of the published conventions, or what it is with another tiling or other radii."""
    from ase.data import covalent_radii
    from ase.data.colors import jmol_colors

    known = conventions.CONVENTIONS.get(name)
    numbers = np.arange(len(covalent_radii)).clip(max=len(jmol_colors) - 1)
    factor = radii_factor if radii_factor is not None else known.radii_factor if known else 0.5
    return Convention(
        name,
        np.asarray(jmol_colors[numbers], float),
        covalent_radii * factor,
        tiling or (known.tiling if known else (2, 2, 2)),
    )


def load_convention(name_or_file: str | Path) -> Convention:
    """A published convention, or the one that a TOML file tells; see `EXAMPLE`.

    Raises
    ------
    UsageError
        Unknown name, unreadable file or impossible values; the message says what to write.
    """
    if str(name_or_file) in conventions.CONVENTIONS:
        return named(str(name_or_file))
    path = Path(name_or_file)
    try:
        data = parse_toml(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"convention file {path}: not valid TOML ({error})") from error
    except OSError as error:
        raise UsageError(
            f"no convention {str(name_or_file)!r} ({error.strerror}): named are "
            f"{', '.join(conventions.CONVENTIONS)}; or give a TOML file, for example\n{EXAMPLE}"
        ) from error
    try:
        return _from_toml(data, path.stem)
    except (TypeError, ValueError, KeyError) as error:
        told = error.args[0] if error.args else error
        raise UsageError(f"convention file {path}: {told}; write it as in\n{EXAMPLE}") from error


def _from_toml(data: Mapping[str, Any], stem: str) -> Convention:
    from ase.data import atomic_numbers

    known = ("name", "tiling", "radii_factor", "line_pt", "dash_A", "box", "margin", "order")
    if strange := sorted(data.keys() - {*known, "palette", "radii_A"}):
        raise ValueError(f"unknown key {strange[0]!r}")
    tiling = tuple(data.get("tiling", (2, 2, 2)))
    if len(tiling) != 3 or any(type(n) is not int or not 1 <= n <= 9 for n in tiling):
        raise ValueError(f"tiling {list(tiling)}: three whole numbers, 1 to 9")
    if data.get("order", ORDER) != ORDER:
        raise ValueError(f"order {data['order']!r}: only {ORDER!r} is drawn")
    if type(data.get("box", True)) is not bool:
        raise ValueError("box: true or false")

    def number(key: str, value: Any, least: float, most: float) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{key} {value!r}: a number")
        if not least < value <= most:
            raise ValueError(f"{key} {value!r}: more than {least:g}, at most {most:g}")
        return float(value)

    factor = number("radii_factor", data.get("radii_factor", 0.5), 0, 10)
    made = named(str(data.get("name", stem)), (tiling[0], tiling[1], tiling[2]), factor)
    palette, radii = made.palette.copy(), made.radii_A.copy()
    for symbol, colour in data.get("palette", {}).items():
        if len(colour) != 3 or any(type(c) is not int or not 0 <= c <= 255 for c in colour):
            raise ValueError(f"palette {symbol}: three whole numbers, 0 to 255")
        palette[atomic_numbers[symbol]] = np.array(colour) / 255
    for symbol, radius in data.get("radii_A", {}).items():
        radii[atomic_numbers[symbol]] = number(f"radii_A {symbol}", radius, 0, 10)
    return dataclasses.replace(
        made,
        palette=palette,
        radii_A=radii,
        line_pt=number("line_pt", data.get("line_pt", LINE_WIDTH), 0, 20),
        dash_A=number("dash_A", data.get("dash_A", build.DASH_PERIOD), 0, 100),
        box=data.get("box", True),
        margin=number("margin", data.get("margin", PADDING), 0.999, 10),
    )
