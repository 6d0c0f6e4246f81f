"""Colours of elements that can be told apart in one picture, under fog too."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np

#: What colours are chosen from: far apart from one another, from white, black and the highlight.
CHOICES = (
    *((0.84, 0.15, 0.16), (0.12, 0.38, 0.82), (0.98, 0.82, 0.10), (0.10, 0.58, 0.24)),
    *((0.45, 0.24, 0.12), (0.20, 0.80, 0.85), (0.98, 0.52, 0.08), (0.45, 0.20, 0.60)),
    *((0.62, 0.86, 0.30), (0.42, 0.44, 0.46), (0.97, 0.70, 0.72), (0.05, 0.36, 0.40)),
)
#: Of rings around what is asked about.
HIGHLIGHT = (1.0, 0.0, 0.78)
#: Distance of two colours (CIE 1976) from which on they are easily told apart.
FAR = 25.0


@lru_cache(maxsize=1024)
def palette(elements: tuple[int, ...], fog: float) -> dict[int, tuple[float, float, float]]:
    """A colour of its own for each element, like its usual one (Jmol's) where that is possible.

    Of all sets of colours that lie `FAR` apart in whatever fog (or, where there is none, of those
    that lie farthest apart), the one that is nearest to the usual colours in sum.

    Parameters
    ----------
    elements
        Atomic numbers, ascending; where they are more than the colours there are, colours repeat.
    fog
        White in the farthest colour, 0 to 1.
    """
    from ase.data.colors import jmol_colors
    from scipy.optimize import linear_sum_assignment

    apart = _distances(fog)
    numbers = np.array(elements[: len(CHOICES)], np.int64)
    usual = _lab(jmol_colors[numbers.clip(max=len(jmol_colors) - 1)])
    unlike = np.linalg.norm(usual[:, None] - _lab(np.array(CHOICES))[None], axis=-1)
    best: tuple[float, float, list[int]] = (np.inf, np.inf, [])
    for chosen in itertools.combinations(range(len(CHOICES)), len(numbers)):
        pairs = itertools.combinations(chosen, 2)
        least = min((float(apart[pair]) for pair in pairs), default=FAR)
        if -min(least, FAR) > best[0]:
            continue
        rows, columns = linear_sum_assignment(unlike[:, chosen])
        cost = float(unlike[:, chosen][rows, columns].sum())
        best = min(best, (-min(least, FAR), cost, [chosen[column] for column in columns]))
    return {number: CHOICES[best[2][k % len(CHOICES)]] for k, number in enumerate(elements)}


def fogged(colours: np.ndarray, white: np.ndarray | float) -> np.ndarray:
    """Colours (n, 3) with a share (n,) of white in them."""
    share = np.broadcast_to(np.asarray(white, float), (len(colours),))[:, None]
    return colours + (1.0 - colours) * share


def least_distance(elements: tuple[int, ...], fog: float) -> float:
    """Smallest distance between the colours of two elements, both in any fog, CIE 1976."""
    of = palette(elements, fog)
    chosen = [CHOICES.index(of[number]) for number in elements]
    apart = _distances(fog)
    return min((float(apart[a, b]) for a, b in itertools.combinations(chosen, 2)), default=np.inf)


def alike(elements: tuple[int, ...], fog: float) -> str:
    """Why the elements of one scene cannot be told apart by colour, in words; empty if they can."""
    from ase.data import chemical_symbols

    least = least_distance(elements, fog)
    if least >= FAR:
        return ""
    named = ", ".join(chemical_symbols[number] for number in elements)
    return (
        f"the colours of its {len(elements)} elements ({named}) cannot be told apart: under a fog "
        f"of {fog:g} two of them are {least:.1f} apart (CIE 1976), and {FAR:g} are needed"
    )


@lru_cache(maxsize=8)
def _distances(fog: float) -> np.ndarray:
    """Smallest distance of two choices, (k, k), each in any fog up to `fog`."""
    steps = np.linspace(0.0, fog, 6)
    seen = np.stack([_lab(fogged(np.array(CHOICES), white)) for white in steps])
    flat = seen[:, None, :, None] - seen[None, :, None, :]
    apart: np.ndarray = np.linalg.norm(flat, axis=-1).min((0, 1))
    return apart


def _lab(colours: np.ndarray) -> np.ndarray:
    """CIE L*a*b* (D65) of sRGB colours (n, 3) from 0 to 1."""
    linear = np.where(colours > 0.04045, ((colours + 0.055) / 1.055) ** 2.4, colours / 12.92)
    to_xyz = np.array(
        (
            (0.4124564, 0.3575761, 0.1804375),
            (0.2126729, 0.7151522, 0.0721750),
            (0.0193339, 0.1191920, 0.9503041),
        )
    )
    white = to_xyz.sum(1)
    relative = linear @ to_xyz.T / white
    f = np.where(
        relative > (6 / 29) ** 3, np.cbrt(relative), relative / (3 * (6 / 29) ** 2) + 4 / 29
    )
    return np.column_stack(
        (116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2]))
    )
