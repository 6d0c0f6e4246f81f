"""A question and its scenes to the options that remain, for every sight and number of views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rc_hpc.benchmark.questions.texts import CENTRE
from rc_hpc.benchmark.reading import answers
from rc_hpc.benchmark.reading.cells import Cell, read_cells
from rc_hpc.benchmark.reading.meanings import meanings
from rc_hpc.benchmark.reading.points import Points, least_cover, reconstruct
from rc_hpc.benchmark.reading.sights import Pictures, Sight
from rc_hpc.benchmark.records import LETTERS, DisplayedScene, Question
from rc_hpc.benchmark.settings import DisplaySettings

#: Numbers of views that are asked about.
COUNTS = (1, 2, 3, 8)
#: What an exact coordinate may be off by, Å.
ROUNDING = 1e-8


@dataclass(frozen=True)
class Reach:
    """Tolerances of a reader.

    Attributes
    ----------
    delta
        Within which rays meet, where centres are exact, Å.
    delta_pixels
        The same where they are read to the pixel, px.
    symprec
        Of spglib, Å; where centres are read to the pixel, at least twice their delta.
    max_candidates
        Beyond which nothing is reconstructed.
    """

    delta: float = 0.01
    delta_pixels: float = 2.0
    symprec: float = 0.01
    max_candidates: int = 1_000_000

    def delta_of(self, pictures: Pictures) -> float:
        """Within which rays meet, Å."""
        if pictures.sight.pixels:
            return self.delta_pixels / pictures.scene.px_per_angstrom
        return self.delta


class Asked(NamedTuple):
    """A question with what it shows.

    Attributes
    ----------
    question
    scenes
        One, or two.
    views
        For each of them the views in the order in which pictures are added: those shown first.
    shown
        Pictures of a scene that the question shows.
    complete
        Whether the scenes are those of the package; otherwise they come from texts, without
        bonds, visibility, scale and further views.
    display
        How its scenes are drawn: of the package, where it tells.
    """

    question: Question
    scenes: tuple[DisplayedScene, ...]
    views: tuple[tuple[int, ...], ...]
    shown: int
    complete: bool = True
    display: DisplaySettings = DisplaySettings()


@dataclass
class Outcome:
    """What one sight makes of one number of views.

    Attributes
    ----------
    known
        Whether there is a result: the views exist, and so does what the sight needs.
    remain
        Options that agree; none where what was read contradicts all of them.
    by_distance
        Of Q2, those that agree with the distances; the bonds drawn are not looked at.
    atoms, phantoms, missed
        Points reconstructed, those among them that are no atom, and atoms that no point is at.
    """

    known: bool = False
    remain: tuple[bool, ...] = (False,) * 4
    by_distance: tuple[bool, ...] | None = None
    atoms: int = 0
    phantoms: int = 0
    missed: int = 0


def read_question(
    asked: Asked, sights: Sequence[Sight], reach: Reach, counts: Sequence[int] = COUNTS
) -> dict[tuple[str, int], Outcome]:
    """Outcome of every sight and number of views of each scene.

    Raises
    ------
    RcError
        It cannot be told what an option means.
    """
    meaning = meanings(asked.question)
    found = {(sight.name, n): Outcome() for sight in sights for n in counts}
    for sight in sights if asked.scenes else ():
        if not asked.complete and (sight.pixels or sight.least):
            continue
        pictures = [
            Pictures(scene, views, sight)
            for scene, views in zip(asked.scenes, asked.views, strict=True)
        ]
        if asked.question.qtype == "Q6":
            if 1 in counts:
                found[sight.name, 1] = _direction(pictures[0], meaning)
            continue
        there = [n for n in counts if n <= min(map(len, asked.views))]
        readings = [_Reading(one, there, reach, asked.display) for one in pictures]
        for n in there:
            found[sight.name, n] = _outcome(asked, readings, n, meaning, reach)
    return found


class _Reading:
    """One scene under one sight: what its first views give, each made once."""

    def __init__(
        self, pictures: Pictures, counts: Sequence[int], reach: Reach, display: DisplaySettings
    ):
        self.pictures, self.counts, self.reach = pictures, counts, reach
        self.display = display
        self.delta = reach.delta_of(pictures)
        #: Points nearer than this are one, Å.
        self.same = 2 * self.delta
        # What is symmetric to within the errors is taken to be symmetric.
        self.symprec = max(reach.symprec, self.same if pictures.sight.pixels else 0.0)

    @cached_property
    def radii(self) -> np.ndarray | None:
        """Of all discs, Å; None where every centre is read."""
        from ase.data import covalent_radii

        if not self.pictures.sight.least:
            return None
        return np.asarray(covalent_radii[self.pictures.scene.numbers] * self.display.radii)

    @cached_property
    def points(self) -> dict[int, Points | None]:
        """Points by number of views, two or more."""
        return reconstruct(
            self.pictures,
            self.counts,
            self.delta,
            radii=self.radii,
            max_candidates=self.reach.max_candidates,
        )

    @cached_property
    def cells(self) -> dict[int, list[Cell]]:
        """Cells by number of views, two or more."""
        return read_cells(self.pictures, self.counts, self.delta)

    def flat(self, atoms: np.ndarray | None = None) -> int:
        """Centres that the first view shows."""
        return int(self.pictures.image_points(atoms).starts[0, -1])

    def bonded(self, centre: int) -> np.ndarray:
        """Atoms to which bonds of a centre are drawn."""
        bonds = self.pictures.scene.bonds
        return np.sort(
            np.concatenate((bonds[bonds[:, 0] == centre, 1], bonds[bonds[:, 1] == centre, 0]))
        )

    def ends(self, centre: int) -> dict[int, Points | None]:
        """Points at the far ends of the bonds of a centre."""
        images = self.pictures.image_points(self.bonded(centre))
        return reconstruct(
            self.pictures,
            self.counts,
            self.delta,
            images=images,
            radii=self.radii,
            max_candidates=self.reach.max_candidates,
        )

    def place(self, atom: int, n: int) -> np.ndarray | None:
        """Where a marked atom is, from the views that show it; None where they do not tell."""
        shows = np.flatnonzero(self.pictures.read[:n, atom])
        screen = self.pictures.seen_at(self.pictures.scene.positions[[atom]])[shows, 0]
        return answers.triangulated(screen, self.pictures.rotations[shows])

    def sites(self, n: int) -> list[answers.Sites] | None:
        """All that the cell may hold."""
        points = self.points[n]
        if points is None:
            return None
        return answers.possible_sites(points, self.cells[n], self.same)


def _outcome(
    asked: Asked, readings: Sequence[_Reading], n: int, meaning: Sequence[Any], reach: Reach
) -> Outcome:
    qtype, first = asked.question.qtype, readings[0]
    outcome = Outcome(known=True, remain=tuple(answers.ALL))
    if n > 1:
        for one in readings:
            _compare(one, n, outcome)
    if qtype == "Q1a":
        remain = _displayed(first, n, meaning)
    elif qtype == "Q1b":
        remain = _content(first, n, meaning)
    elif qtype == "Q2":
        outcome.known = asked.complete
        remain = _neighbours(first, n, meaning)
        outcome.by_distance = tuple(_neighbours_by_distance(first, n, meaning))
    elif qtype == "Q3":
        remain = _distances(first, n, meaning)
    elif qtype == "Q4":
        remain = _systems(first, n, meaning)
    else:
        sites = [one.sites(n) if n > 1 else None for one in readings]
        same = max(one.same for one in readings)
        remain = answers.changes_that_agree(meaning, sites[0], sites[-1], same)
    outcome.remain = tuple(remain)
    return outcome


def _compare(reading: _Reading, n: int, outcome: Outcome) -> None:
    """Points beside the atoms: for the record alone."""
    points, scene = reading.points[n], reading.pictures.scene
    if points is None:
        outcome.missed += len(scene.numbers)
        return
    apart = np.linalg.norm(points.positions[:, None] - scene.positions[None], axis=-1)
    apart[points.numbers[:, None] != scene.numbers[None]] = np.inf
    outcome.atoms += len(points.numbers)
    outcome.phantoms += int((apart.min(axis=1, initial=np.inf) > reading.same).sum())
    outcome.missed += int((apart.min(axis=0, initial=np.inf) > reading.same).sum())


def _displayed(reading: _Reading, n: int, meaning: Sequence[int]) -> list[bool]:
    points = reading.points[n] if n > 1 else None
    if points is None:
        return answers.counts_that_agree(meaning, reading.flat(), np.inf)
    return answers.counts_that_agree(meaning, *answers.displayed_range(points))


def _content(reading: _Reading, n: int, meaning: Sequence[Mapping[int, int]]) -> list[bool]:
    points = reading.points[n] if n > 1 else None
    if points is None or not reading.cells[n]:
        return list(answers.ALL)
    ranges = [answers.content_range(points, cell, reading.same) for cell in reading.cells[n]]
    return answers.contents_that_agree(meaning, ranges)


def centre_of(scene: DisplayedScene) -> int:
    """The highlighted atom."""
    return int(scene.marks.get(CENTRE, next(iter(scene.marks.values()), scene.centre)))


def _neighbours(reading: _Reading, n: int, meaning: Sequence[int]) -> list[bool]:
    """By the bonds drawn at the centre."""
    centre = centre_of(reading.pictures.scene)
    ends = reading.ends(centre)[n] if n > 1 else None
    if ends is None:
        return answers.counts_that_agree(meaning, reading.flat(reading.bonded(centre)), np.inf)
    least, most = ends.extra()
    low = least_cover(ends.covers) + least
    return answers.counts_that_agree(meaning, low, len(ends.numbers) + most)


def _neighbours_by_distance(reading: _Reading, n: int, meaning: Sequence[int]) -> list[bool]:
    scene = reading.pictures.scene
    centre = centre_of(scene)
    points = reading.points[n] if n > 1 else None
    place = reading.place(centre, n) if n > 1 else None
    if points is None or place is None or points.rays.any():
        return list(answers.ALL)
    pairs = {(min(pair), max(pair)) for pair in scene.numbers[scene.bonds].reshape(-1, 2).tolist()}
    number, factor = int(scene.numbers[centre]), reading.display.bond_factor
    low, high = answers.neighbour_range(points, place, number, sorted(pairs), factor, reading.same)
    return answers.counts_that_agree(meaning, low, high)


def _distances(reading: _Reading, n: int, meaning: Sequence[answers.Ratio]) -> list[bool]:
    marks = reading.pictures.scene.marks
    atoms = [marks[letter] for letter in LETTERS[:3]]
    places = [reading.place(atom, n) for atom in atoms]
    if any(place is None for place in places):
        return answers.ratios_that_agree(meaning, 0.0, np.inf)
    fixed = [place for place in places if place is not None]
    # Where centres are read to the pixel, all are read in all views.
    off = reading.pictures.pixel + ROUNDING
    found = answers.ratio_range(fixed, reading.pictures.rotations[:n], off)
    return answers.ratios_that_agree(meaning, *found)


def _systems(reading: _Reading, n: int, meaning: Sequence[str]) -> list[bool]:
    if n == 1 or not reading.cells[n]:
        return list(answers.ALL)
    sites = reading.sites(n)
    if sites is not None:
        found = answers.systems_of(sites, reading.symprec)
    else:
        found = {name for cell in reading.cells[n] for name in answers.metric_systems(cell.lattice)}
    return [value in found for value in meaning]


def _direction(pictures: Pictures, meaning: Sequence[tuple[int, int, int]]) -> Outcome:
    """Of the one strict picture."""
    scene = pictures.scene
    ends = pictures.seen_at(np.concatenate((np.zeros((1, 3)), scene.lattice)))[0]
    remain = answers.directions_that_agree(
        meaning, ends[1:] - ends[0], scene.label_edges, 2 * pictures.pixel
    )
    return Outcome(known=True, remain=tuple(remain))
