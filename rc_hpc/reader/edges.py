"""Pictures as edge pixels: which fill, where, and along which normal."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rc_hpc.kernels.discs import Outline
from rc_hpc.kernels.edges import edge_distances, edge_pixels, fill_codes, local_circles
from rc_hpc.reader.convention import Convention
from rc_hpc.reader.records import NotReadError

#: Largest difference of a mixed pixel from the mixture, of 255: rounding twice.
MIXED = 4.0
#: Least share of either colour in a mixed pixel.
LEAST_SHARE = 0.03
#: Pixels around an edge pixel, along each axis, that tell the local circle.
AROUND = 7
#: Patches of 3 x 3 pixels that show an element.
PATCHES = 1
WHITE = (255, 255, 255)


@dataclass(frozen=True)
class Edges:
    """Edge pixels of one fill in one picture.

    Attributes
    ----------
    outline
        Their places, shares of the fill and normals.
    offsets : (n,) float64
        Distance of the edge from the pixel's middle along the normal, px.
    radius, residual : (n,) float64
        Of the local circle, px; see `rc_hpc.kernels.edges.local_circles`.
    """

    outline: Outline
    offsets: np.ndarray
    radius: np.ndarray
    residual: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass(frozen=True)
class Fills:
    """Colours of elements as pixels have them.

    Attributes
    ----------
    table : (2 ** 24,) uint8
        Atomic number of each colour; 0: none.
    colours : (256, 3) float64
        By atomic number, 0 to 255.
    white : (k,) int64
        Elements that have the colour of the background.
    """

    table: np.ndarray
    colours: np.ndarray
    white: np.ndarray


@functools.lru_cache(maxsize=4)
def fills_of(convention: Convention, species: tuple[int, ...] | None = None) -> Fills:
    """The colours of a convention; those of some elements, if it is known which there are."""
    from ase.data.colors import jmol_colors

    known = range(1, len(jmol_colors)) if species is None else species
    return _fills(convention.fills, known)


def _fills(palette: np.ndarray, known: Iterable[int]) -> Fills:
    table, colours = np.zeros(1 << 24, np.uint8), np.zeros((256, 3))
    colours[: len(palette)] = palette
    white = []
    for number in sorted(set(known)):
        red, green, blue = map(int, palette[number])
        if (red, green, blue) == WHITE:
            white.append(number)
            continue
        code = red << 16 | green << 8 | blue
        if table[code]:
            raise NotReadError(
                "convention",
                f"atomic numbers {table[code]} and {number} have one colour: "
                "pictures cannot tell them apart",
            )
        table[code] = number
    if len(white) > 1:
        raise NotReadError("convention", f"atomic numbers {white[0]} and {white[1]} are both white")
    if white:
        table[-1] = white[0]
    return Fills(table, colours, np.array(white, np.int64))


def edges_of(pixels: np.ndarray, fills: Fills) -> tuple[dict[int, Edges], dict[int, Edges]]:
    """Edge pixels of each element that a picture shows, by atomic number.

    Returns
    -------
    coloured, white
        The edges of white elements are those of the background too.
    """
    codes, flat = fill_codes(pixels, fills.table)
    coloured = flat >= PATCHES
    coloured[0] = False
    coloured[fills.white] = False
    white = np.zeros(256, bool)
    white[fills.white] = True
    return (
        _by_element(pixels, codes, coloured, fills, local=True),
        _by_element(pixels, codes, white, fills, local=False) if white.any() else {},
    )


def _by_element(
    pixels: np.ndarray, codes: np.ndarray, wanted: np.ndarray, fills: Fills, *, local: bool
) -> dict[int, Edges]:
    places, code, share, normals = edge_pixels(
        pixels, codes, wanted, fills.colours, MIXED, LEAST_SHARE
    )
    radius = residual = np.zeros(len(code))
    if local:
        normals, radius, residual = local_circles(places, code, share, normals, codes.shape, AROUND)
    offsets = edge_distances(share, normals)
    found = {}
    for number in np.flatnonzero(wanted):
        own = code == number
        rows = np.searchsorted(places[own, 1], np.arange(len(codes) + 1))
        outline = Outline(places[own], share[own], normals[own], rows)
        found[int(number)] = Edges(outline, offsets[own], radius[own], residual[own])
    return found
