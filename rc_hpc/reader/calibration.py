"""Where the installed renderer puts the inner edge of a circle's outline.

Agg draws polygons: each eighth of a circle is cut into chords, more of them the larger it is, so
that the edge lies up to 0.1 px inside the circle, by the radius and the direction. Single discs are
drawn and measured, once for each radius that is asked for.
"""

from __future__ import annotations

import functools

import numpy as np

from rc_hpc.images.fast import FastRenderer
from rc_hpc.images.scene import BLACK, DPI, Discs, Scene
from rc_hpc.images.view import View
from rc_hpc.kernels.edges import edge_pixels, fill_codes, outline_offsets

#: Directions within an eighth of a turn.
DIRECTIONS = 96
#: Edge pixels measured for a profile.
MEASURED = 3000
#: The same for the shift, which radii share, and the radius of the discs, px.
SHIFTED, SHIFTED_RADIUS = 30_000, 20.0
#: The same for what rounding of colours does.
ROUNDED = 8000
#: Radii that are drawn follow each other by this factor.
STEP = 1.01
#: Profiles of neighbouring radii further apart than this have different chords, px.
SAME_CHORDS = 0.008
#: Colour of the discs, and least share of a mixed pixel.
_FILL = (255, 200, 100)
_LEAST = 0.03
_CODE = 1


def profile(radius_px: float, line_pt: float, fill: tuple[int, int, int]) -> np.ndarray:
    """How far the inner edge of a disc lies outside its place, (DIRECTIONS,) px.

    Its place is `radius_px` less half the line; what rounding colours does to the shares of
    `fill` (0 to 255) is a part of it. By the angle (right, down) within an eighth of a
    turn, at even steps from 0 on; to be interpolated.
    """
    node = np.log(radius_px) / np.log(STEP)
    low = int(np.floor(node))
    below, above = _at_node(low, line_pt), _at_node(low + 1, line_pt)
    if np.abs(above - below).max() > SAME_CHORDS:
        shape = measured_profile(round(float(radius_px), 3), line_pt)
    else:
        shape = below + (node - low) * (above - below)
    return shape + rounded_colours(fill, line_pt)


@functools.lru_cache(maxsize=256)
def rounded_colours(fill: tuple[int, int, int], line_pt: float) -> float:
    """How much further outside the edge of this fill seems to lie than that of the one measured."""
    own, other = (_measured(SHIFTED_RADIUS, line_pt, ROUNDED, one)[1] for one in (fill, _FILL))
    return float(own.mean() - other.mean())


@functools.lru_cache(maxsize=4096)
def _at_node(node: int, line_pt: float) -> np.ndarray:
    return measured_profile(STEP**node, line_pt)


@functools.lru_cache(maxsize=1024)
def measured_profile(radius_px: float, line_pt: float) -> np.ndarray:
    """The same from discs of exactly this radius."""
    away, off = _measured(radius_px, line_pt, MEASURED)
    return _spline(away, off)


@functools.cache
def drawn_shift(line_pt: float) -> np.ndarray:
    """How far right and down of their places circles are drawn, (2,) px: Agg cuts digits off."""
    turn, off = _measured(SHIFTED_RADIUS, line_pt, SHIFTED)
    shape = _spline(turn, off)
    off = off - np.interp((turn % 1.0) * DIRECTIONS, np.arange(DIRECTIONS + 1), [*shape, shape[0]])
    angle = turn * np.pi / 4
    return 2 * np.array((np.mean(off * np.cos(angle)), np.mean(off * np.sin(angle))))


def _measured(
    radius_px: float, line_pt: float, count: int, colour: tuple[int, int, int] = _FILL
) -> tuple[np.ndarray, np.ndarray]:
    """Directions, in eighths of a turn, and how far outside the edge runs there, px."""
    pixels, centres, step = drawn_discs(radius_px, line_pt, count, colour)
    fill = np.zeros((256, 3))
    fill[_CODE] = colour
    wanted = np.arange(256) == _CODE
    codes, _ = fill_codes(pixels, _table(colour))
    places, _, share, normals = edge_pixels(pixels, codes, wanted, fill, 4.0, _LEAST)
    cell = places // step
    mine = cell[:, 0] + cell[:, 1] * (pixels.shape[1] // step)
    turn, off = outline_offsets(
        places, share, normals, centres[mine], radius_px - line_pt * DPI / 144
    )
    near = np.abs(off) < 0.5
    return turn[near], off[near]


def drawn_discs(
    radius_px: float, line_pt: float, count: int, colour: tuple[int, int, int]
) -> tuple[np.ndarray, np.ndarray, int]:
    """A picture of single discs at many fractions of a pixel, with `count` edge pixels or more.

    Returns
    -------
    pixels : (h, w, 3) uint8
    centres : (n, 2) float64
        In rows from the upper left, px.
    step : int
        Side of the square that each has for itself, px.
    """
    line_px = line_pt * DPI / 72
    around = max(4.0, 8 * (radius_px - line_px / 2))
    side = int(np.ceil(np.sqrt(count / around)))
    step = int(np.ceil(2 * radius_px + line_px + 6))
    n, size = side * side, side * step
    number = np.arange(n)
    # Fractions that fill the unit square evenly.
    fractions = np.column_stack((number * 0.7548776662, number * 0.5698402910)) % 1.0
    centres = np.column_stack((number % side, number // side)) * step + step / 2 + fractions - 0.5
    radii = np.full(n, float(radius_px))
    discs = Discs(
        np.zeros((n, 3)),
        radii,
        np.ones(n, np.int64),
        number,
        np.tile(np.array(colour) / 255, (n, 1)),
        np.tile(BLACK, (n, 1)),
        np.full(n, line_pt),
    )
    none = np.empty((0, 2))
    frame = np.array((0.0, 0.0, size, size))
    view = View(
        np.eye(3), (size, size), 1.0, np.zeros(2), frame, float(size), centres, radii, none, none,
        np.zeros(n), number, none,
    )  # fmt: skip
    return FastRenderer().draw(Scene(discs), view), centres, step


@functools.lru_cache(maxsize=1)
def _table(colour: tuple[int, int, int]) -> np.ndarray:
    table = np.zeros(1 << 24, np.uint8)
    table[colour[0] << 16 | colour[1] << 8 | colour[2]] = _CODE
    return table


def _spline(turn: np.ndarray, off: np.ndarray) -> np.ndarray:
    """Least-squares polygon over an eighth of a turn, the little seen smoothed.

    Parameters
    ----------
    turn : (n,) float64
        In eighths of a turn.
    off : (n,) float64
    """
    at = (turn % 1.0) * DIRECTIONS
    first = at.astype(np.int64) % DIRECTIONS
    second, part = (first + 1) % DIRECTIONS, at - np.floor(at)
    matrix = np.zeros((DIRECTIONS, DIRECTIONS))
    np.add.at(matrix, (first, first), (1 - part) ** 2)
    np.add.at(matrix, (second, second), part**2)
    np.add.at(matrix, (first, second), part * (1 - part))
    np.add.at(matrix, (second, first), part * (1 - part))
    right = np.bincount(first, (1 - part) * off, DIRECTIONS)
    right += np.bincount(second, part * off, DIRECTIONS)
    bend = 2 * np.eye(DIRECTIONS) - np.eye(DIRECTIONS, k=1) - np.eye(DIRECTIONS, k=-1)
    bend[0, -1] = bend[-1, 0] = -1.0
    return np.linalg.solve(matrix + 0.1 * bend.T @ bend, right)
