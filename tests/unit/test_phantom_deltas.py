"""Smallest phantom deltas: the counts of a census file against the definition."""

import numpy as np
from tables_cases import options_of, random_batch, write_census

from rc_hpc.core.errors import Status
from rc_hpc.geometry.protocol import load_protocol, parse_subsets
from rc_hpc.kinds.census.counts import count_census
from rc_hpc.kinds.census.phantom_deltas import DELTAS, tally_deltas
from rc_hpc.kinds.census.tables import tables
from rc_hpc.oracle.geometry import GeometricOracle


def test_table_counts_structures_and_subsets(tmp_path):
    options = options_of(delta_max=0.25)
    batch = random_batch(options, 80)
    counts = count_census(
        write_census(tmp_path / "census.h5", options, batch), block_bytes=26 * 8 * 7
    )
    frame = tables(counts, ("phantom-deltas",))[0].frame
    sizes = np.array([len(subset) for subset in options.subsets])
    ok = batch["structures/status"] == Status.ok
    for name, chosen in (
        ("without quarantined", ok & (batch["structures/quarantine"] == 0)),
        ("with quarantined", ok),
    ):
        rows = frame[frame["structures"] == name]
        assert rows["delta_angstrom"].tolist() == DELTAS[DELTAS <= 0.25].tolist() and set(
            rows["n"]
        ) == {chosen.sum()}
        for size in (2, 3, 4, 5):
            smallest = batch["cells/phantom_delta"][chosen][:, sizes == size]
            wanted = [int((smallest <= delta).sum()) for delta in rows["delta_angstrom"]]
            assert rows[f"count_{size}_views"].tolist() == wanted and 0 < wanted[0] < wanted[-1]
            np.testing.assert_allclose(
                rows[f"share_{size}_views"], np.array(wanted) / smallest.size
            )


def test_phantoms_are_not_monotone_in_delta():
    """Two atoms, two cameras: a phantom comes where its gap is accepted, and goes where delta
    reaches to the nearest atom: then it is that atom, seen badly.

    The rays of one atom along x and of the other along y pass 0.05 Å apart; halfway between, the
    nearest atom of the two is sqrt(0.1^2 + 0.025^2) = 0.1031 Å away.
    """
    frozen = load_protocol("frozen")
    positions, numbers = np.array([[1.0, 1.0, 1.0], [1.1, 1.15, 1.05]]), np.array([6, 6])
    oracle = GeometricOracle(frozen, parse_subsets("axis_a+axis_b", frozen.views))
    counts, accepted = [], []
    for delta in (0.01, 0.049, 0.051, 0.1, 0.104, 0.2):
        found = oracle.run(positions, numbers, delta)
        counts.append(int(found.n_phantoms[0]))
        # twin: both mixed pairs of rays, by hand
        mixed = [(1.1, 1.0, 1.025), (1.0, 1.15, 1.025)]
        near = [np.linalg.norm(positions - point, axis=1).min() for point in mixed]
        accepted.append(sum(0.05 <= delta < distance for distance in near))
    assert counts == accepted == [0, 0, 2, 2, 0, 0]


def test_at_delta_itself_counts_and_none_does_not():
    found = tally_deltas(np.array([[DELTAS[3], np.inf, np.nan, 0.0]]))
    assert found[:, 0].tolist() == [0, 0, 0] + [1] * (len(DELTAS) - 3)
    assert not found[:, 1:3].any() and found[:, 3].all()


def test_deltas_ascend():
    assert (np.diff(DELTAS) > 0).all() and {0.01, 0.125, 0.2, 0.5} <= set(DELTAS)
