"""Image points: where atoms are seen, and what a search makes of points from anywhere."""

import numpy as np

from rc_hpc.kernels.compiled import inner, kernel
from rc_hpc.kernels.records import ImagePoints, SortedPoints
from rc_hpc.kernels.search import height2, stable_order


@kernel
def species_ranges(numbers, as_listed):
    """Order of the atoms by species, and the species' ranges in it.

    Parameters
    ----------
    numbers : (n,) int64
        Atomic numbers.
    as_listed : bool
        Species in the order in which `numbers` lists them, not ascending.

    Returns
    -------
    order : (n,) int64
        Stable within a species.
    starts : (S + 1,) int64
    species : (S,) int64
        Atomic number of each species.
    """
    listed = np.empty(numbers.size, np.int64)
    n_species = 0
    for k in range(numbers.size):
        known = False
        for s in range(n_species):
            if listed[s] == numbers[k]:
                known = True
                break
        if not known:
            listed[n_species] = numbers[k]
            n_species += 1
    species = listed[:n_species].copy()
    if not as_listed:
        for k in range(1, n_species):
            item, m = species[k], k
            while m > 0 and species[m - 1] > item:
                species[m] = species[m - 1]
                m -= 1
            species[m] = item
    order = np.empty(numbers.size, np.int64)
    starts = np.zeros(n_species + 1, np.int64)
    filled = 0
    for s in range(n_species):
        for k in range(numbers.size):
            if numbers[k] == species[s]:
                order[filled] = k
                filled += 1
        starts[s + 1] = filled
    return order, starts, species


@kernel
def project(positions, rotations):
    """Screen coordinates (V, n, 2) of positions (n, 3) under rotations (V, 3, 3)."""
    screen = np.empty((rotations.shape[0], positions.shape[0], 2))
    for v in range(rotations.shape[0]):
        for k in range(positions.shape[0]):
            for c in range(2):
                screen[v, k, c] = (
                    positions[k, 0] * rotations[v, 0, c]
                    + positions[k, 1] * rotations[v, 1, c]
                    + positions[k, 2] * rotations[v, 2, c]
                )
    return screen


@kernel
def shown_by_all(screen, starts, species):
    """`ImagePoints` of screen coordinates (V, n, 2) whose species have one range in all views."""
    view_starts = np.empty((screen.shape[0], starts.size), np.int64)
    for v in range(screen.shape[0]):
        for s in range(starts.size):
            view_starts[v, s] = starts[s]
    return ImagePoints(screen, view_starts, species)


@inner
def grouped(points, heights, tie):
    """First member of each point's group: points within `tie`, and what these are within it of.

    Groups are the components of the graph whose edges are no longer than `tie`, so that they
    depend on no order.

    Parameters
    ----------
    points : (n, 2) float64
        Å, ascending along the generic direction.
    heights : (n,) float64
        Along it, Å.
    tie : float
        Å.

    Returns
    -------
    (n,) int64
    """
    first = np.arange(heights.size)
    for k in range(1, heights.size):
        m = k - 1
        while m >= 0 and heights[k] - heights[m] <= tie:
            dx, dy = points[m, 0] - points[k, 0], points[m, 1] - points[k, 1]
            if first[m] != first[k] and dx * dx + dy * dy <= tie * tie:
                low, high = min(first[k], first[m]), max(first[k], first[m])
                for e in range(high, k + 1):
                    if first[e] == high:
                        first[e] = low
            m -= 1
    return first


@kernel
def sort_points(images, once, tie):
    """Image points per view, sorted along the generic direction within each species.

    Parameters
    ----------
    images : ImagePoints
    once : bool
        Count coincident points once, as a picture shows them: those `grouped` at `tie`, where
        the first stands.

    Returns
    -------
    SortedPoints
    """
    screen, image_starts = images.screen, images.starts
    n_views, n = screen.shape[0], screen.shape[1]
    points = np.empty((n_views, n, 2))
    heights = np.empty((n_views, n))
    source_of = np.empty((n_views, n), np.int64)
    view_starts = np.zeros(image_starts.shape, np.int64)
    for v in range(n_views):
        filled = 0
        for s in range(image_starts.shape[1] - 1):
            low = image_starts[v, s]
            size = image_starts[v, s + 1] - low
            local = np.empty(size)
            for k in range(size):
                local[k] = height2(screen[v, low + k, 0], screen[v, low + k, 1])
            ranks = stable_order(local)
            first = np.arange(size)
            if once:
                first = grouped(screen[v][low + ranks], local[ranks], tie)
            place = np.empty(size, np.int64)
            for k in range(size):
                source = low + ranks[k]
                if first[k] < k:
                    twin = place[first[k]]
                    source_of[v, twin] = min(source_of[v, twin], source)
                else:
                    place[k] = filled
                    points[v, filled, 0] = screen[v, source, 0]
                    points[v, filled, 1] = screen[v, source, 1]
                    heights[v, filled] = local[ranks[k]]
                    source_of[v, filled] = source
                    filled += 1
            view_starts[v, s + 1] = filled
    return SortedPoints(points, heights, view_starts, source_of)
