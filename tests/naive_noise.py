"""Noisy readings of whole lists of cells in memory, as the released experiment made them."""

import numpy as np

from rc_hpc.oracle.noise import NoiseReading, NoisyOracle

DEFAULT = NoiseReading()


def shared_draws(sizes, seed, n_views):
    """The record's errors: one generator per seed, shared by all structures in their order.

    `sizes` are the atoms of each drawn structure; returns a list of (n_views, n, 2).
    """
    stream = np.random.default_rng(seed)
    return [np.stack([stream.standard_normal((n, 2)) for _ in range(n_views)]) for n in sizes]


def read_cells(cells, protocol, sigmas, seeds, reading=DEFAULT):
    """What `NoisyOracle.run` gives for M cells at every sigma and seed, (D, N, M) arrays.

    In the rule `record` the errors come from one generator per seed through all cells.
    """
    oracle = NoisyOracle(protocol, reading)
    draws = [None] * len(cells)
    if reading.rule == "record":
        sizes = [len(cell.numbers) * int(np.prod(protocol.tiling)) for cell in cells]
        by_seed = (shared_draws(sizes, seed, len(protocol.views)) for seed in seeds)
        draws = list(zip(*by_seed, strict=True))
    read = [oracle.run(cell, sigmas, seeds, draw) for cell, draw in zip(cells, draws, strict=True)]
    return {name: np.stack([one[name] for one in read], axis=-1) for name in read[0]}
