"""Random errors of centroids, the same in every run, rank and order."""

from __future__ import annotations

import hashlib

import numpy as np

from rc_hpc.symmetry.conventional import canonical_order


def counter_draws(id: str, seed: int, positions, numbers, n_views: int) -> np.ndarray:
    """Standard normal errors of a structure's centroids.

    Each view has its own counter-based stream, keyed by a hash of (id, seed, view); atoms
    draw from it in `canonical_order`.

    Returns
    -------
    (n_views, n, 2) float64
        In the order of the atoms given.
    """
    draws = np.empty((n_views, len(numbers), 2))
    order = canonical_order(np.asarray(positions, float), np.asarray(numbers))
    for view in range(n_views):
        key = hashlib.blake2b(f"{seed}\n{view}\n{id}".encode(), digest_size=16).digest()
        stream = np.random.Generator(np.random.Philox(key=np.frombuffer(key, np.uint64)))
        draws[view, order] = stream.standard_normal((len(numbers), 2))
    return draws


class SharedStream:
    """The record's errors, one generator per seed through all structures, from any one on.

    Parameters
    ----------
    sizes : dict of str to int
        Drawn atoms by id, in the order in which the structures draw.
    seeds : int
        Their number.
    n_views : int
    """

    def __init__(self, sizes: dict[str, int], seeds: int, n_views: int):
        self.n_views = n_views
        self.generators = [np.random.default_rng(seed) for seed in range(seeds)]
        # How many numbers a normal takes varies, so every place is found by drawing up to it.
        self.places: dict[str, list[int]] = {id: [] for id in sizes}
        for generator in self.generators:
            for id, n in sizes.items():
                self.places[id].append(generator.bit_generator.state["state"]["state"])
                generator.standard_normal(2 * n_views * n)

    def draws(self, id: str, n: int) -> list[np.ndarray]:
        """Standard normal errors of a structure of `n` drawn atoms, (V, n, 2) for each seed."""
        draws = []
        for generator, place in zip(self.generators, self.places[id], strict=True):
            state = dict(generator.bit_generator.state)
            generator.bit_generator.state = state | {"state": state["state"] | {"state": place}}
            draws.append(generator.standard_normal((self.n_views, n, 2)))
        return draws
