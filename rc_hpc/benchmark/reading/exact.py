"""A reader who is given the coordinates: each answer from the displayed atoms themselves.

It knows nothing of how questions are drawn: what it answers is a second computation of the answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rc_hpc.benchmark.reading import answers
from rc_hpc.benchmark.reading.cells import Cell, drawn_cell
from rc_hpc.benchmark.reading.meanings import meanings
from rc_hpc.benchmark.reading.points import Points
from rc_hpc.benchmark.reading.reader import Asked, centre_of
from rc_hpc.benchmark.records import LETTERS, DisplayedScene

#: Coordinates closer than this are one, Å.
SAME = 1e-3


def named(asked: Asked, symprec: float) -> list[bool]:
    """Options that the coordinates make right: one, where the question is sound.

    Parameters
    ----------
    symprec
        Of spglib, Å.

    Raises
    ------
    RcError
        It cannot be told what an option means.
    """
    meaning = meanings(asked.question)
    scene = asked.scenes[0]
    qtype = asked.question.qtype
    if qtype == "Q1a":
        n = len(scene.numbers)
        return answers.counts_that_agree(meaning, n, n)
    if qtype == "Q1b":
        content = answers.content_range(_points(scene), drawn_cell(scene), SAME)
        return answers.contents_that_agree(meaning, [content])
    if qtype == "Q2":
        return _neighbours(scene, meaning, asked.display.bond_factor)
    if qtype == "Q3":
        a, b, c = (scene.positions[scene.marks[letter]] for letter in LETTERS[:3])
        ratio = float(np.linalg.norm(b - a)) / float(np.linalg.norm(c - a))
        return answers.ratios_that_agree(meaning, ratio, ratio)
    if qtype == "Q6":
        camera = scene.cameras[asked.views[0][0]]
        edges = scene.lattice @ camera.rotation[:2].T
        return answers.directions_that_agree(meaning, edges, True, SAME)
    sites = [_sites(one) for one in asked.scenes]
    if qtype == "Q4":
        systems = answers.systems_of(sites[:1], symprec)
        return [value in systems for value in meaning]
    return answers.changes_that_agree(meaning, sites[:1], sites[-1:], SAME)


def _points(scene: DisplayedScene) -> Points:
    """The atoms, each explaining itself."""
    n = len(scene.numbers)
    return Points(
        scene.numbers,
        scene.positions,
        np.eye(n, dtype=bool),
        scene.numbers,
        np.zeros(n, np.int64),
        scene.positions[:, :2],
        np.zeros(n, bool),
    )


def _sites(scene: DisplayedScene) -> answers.Sites:
    """The cell's content."""
    cell: Cell = drawn_cell(scene)
    sites = answers.possible_sites(_points(scene), [cell], SAME)
    assert sites is not None  # no atom is hidden from this reader
    return sites[0]


def _neighbours(scene: DisplayedScene, meaning: Sequence[int], factor: float) -> list[bool]:
    """By distances, up to `factor` of the shortest of each pair that bonds join."""
    centre = centre_of(scene)
    pairs = {(min(pair), max(pair)) for pair in scene.numbers[scene.bonds].reshape(-1, 2).tolist()}
    low, high = answers.neighbour_range(
        _points(scene),
        scene.positions[centre],
        int(scene.numbers[centre]),
        sorted(pairs),
        factor,
        SAME,
    )
    return answers.counts_that_agree(meaning, low, high)
