"""How well pictures are looked at, and what a scene's pictures then show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rc_hpc.benchmark.records import DisplayedScene
from rc_hpc.kernels.points import project, species_ranges
from rc_hpc.kernels.records import ImagePoints

#: Two centres that are nearer than this in a picture are one, Å.
ONE_POINT = 1e-6


@dataclass(frozen=True)
class Sight:
    """How well a reader looks.

    Attributes
    ----------
    name
        ``centres``, ``visible-0.5``, ``pixels``.
    least
        Share of a disc's pixels that a view must show for its centre to be read there; 0: hidden
        centres are read too.
    pixels
        Centres are read to the pixel, exactly otherwise.
    """

    name: str
    least: float = 0.0
    pixels: bool = False


def sights(thetas: tuple[float, ...]) -> tuple[Sight, ...]:
    """All centres; those visible to at least each theta; all to the pixel."""
    return (
        Sight("centres"),
        *(Sight(f"visible-{theta:g}", least=theta) for theta in thetas),
        Sight("pixels", pixels=True),
    )


@dataclass(frozen=True)
class Pictures:
    """What some views of a scene show to a reader who knows the cameras.

    Fog, sizes of discs, and what covers what tell depth too: they are not read here.

    Attributes
    ----------
    scene
    views : tuple of int
        Indices of its cameras, in the order in which pictures are added.
    sight
    """

    scene: DisplayedScene
    views: tuple[int, ...]
    sight: Sight

    @cached_property
    def rotations(self) -> np.ndarray:
        """(V, 3, 3): columns right, up and towards the viewer."""
        chosen = [self.scene.cameras[v].rotation.T for v in self.views]
        return np.ascontiguousarray(np.array(chosen, np.float64).reshape(-1, 3, 3))

    @property
    def pixel(self) -> float:
        """What a coordinate may be off by: half a pixel, Å; 0 where centres are read exactly."""
        return 0.5 / self.scene.px_per_angstrom if self.sight.pixels else 0.0

    def seen_at(self, points) -> np.ndarray:
        """Where points (n, 3) are read in each view, (V, n, 2), Å.

        To the pixel: counted from where the origin of the scene lies.
        """
        points = np.ascontiguousarray(np.asarray(points, np.float64).reshape(-1, 3))
        screen: np.ndarray = project(points, self.rotations)
        if self.sight.pixels:
            scale = self.scene.px_per_angstrom
            screen = np.round(screen * scale) / scale
        return screen

    @cached_property
    def read(self) -> np.ndarray:
        """Which atoms' centres are read in each view, (V, n) bool."""
        if not self.sight.least:
            return np.ones((len(self.views), len(self.scene.numbers)), bool)
        chosen: np.ndarray = np.asarray(self.scene.visible)[list(self.views)]
        return chosen >= self.sight.least

    def image_points(self, atoms: np.ndarray | None = None) -> ImagePoints:
        """Centres that are read, by species, in an order that tells nothing of the atoms.

        Parameters
        ----------
        atoms : (k,) int64
            Only of these; by default of all.
        """
        atoms = np.arange(len(self.scene.numbers)) if atoms is None else np.asarray(atoms, int)
        read = self.read[:, atoms]
        return image_points(
            self.seen_at(self.scene.positions[atoms]), self.scene.numbers[atoms], read
        )


def image_points(screen: np.ndarray, numbers: np.ndarray, read: np.ndarray) -> ImagePoints:
    """Image points of atoms as the kernels take them: sorted, each place once.

    Parameters
    ----------
    screen : (V, n, 2)
        Å.
    numbers : (n,)
        Atomic numbers.
    read : (V, n) bool
        Which of them each view shows.
    """
    order, starts, species = species_ranges(np.asarray(numbers, np.int64), False)
    n_views = len(screen)
    places = np.zeros((n_views, len(order), 2))
    view_starts = np.zeros((n_views, len(species) + 1), np.int64)
    for v in range(n_views):
        filled = 0
        for s in range(len(species)):
            own = order[starts[s] : starts[s + 1]]
            shown = _once(screen[v, own[read[v, own]]])
            places[v, filled : filled + len(shown)] = shown
            filled += len(shown)
            view_starts[v, s + 1] = filled
    return ImagePoints(places, view_starts, species)


def _once(points: np.ndarray) -> np.ndarray:
    """Points (k, 2) sorted, those within `ONE_POINT` of an earlier one left out."""
    points = points[np.lexsort(np.round(points, 6).T)]
    kept: list[np.ndarray] = []
    for point in points:
        if not kept or (np.abs(np.array(kept) - point).max(axis=1) > ONE_POINT).all():
            kept.append(point)
    return np.array(kept).reshape(-1, 2)
