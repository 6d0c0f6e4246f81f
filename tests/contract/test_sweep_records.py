"""The released frontiers, grid and view curve of the 210, through the commands.

The default reading beside them.
"""

import json

import h5py
import numpy as np
import pytest

from rc_hpc.core.constants import FRONTIER_DELTAS
from rc_hpc.core.errors import Exit
from rc_hpc.kinds.census.monotonicity import adjacent, nested

pytestmark = [pytest.mark.data, pytest.mark.slow]

PARITY = ("--enumerations", "anchor", "--rules", "first")
#: What the released structures and subsets are called in the records.
PROTOCOLS = {"frozen": "frozen", "offaxis": "off-axis"}


@pytest.fixture(scope="module")
def expected(shared):
    found = json.loads((shared / "expected" / "geometry.json").read_text())
    assert found["frontier"]["delta_axis"] == list(FRONTIER_DELTAS)
    return found


@pytest.fixture(scope="module")
def packed(shared, eval_ids, tmp_path_factory):
    """The 210 evaluation structures, packed in the order of the files, as the record has them."""
    from rc_hpc.pack import main

    folder = tmp_path_factory.mktemp("e3")
    (folder / "ids").write_text("\n".join(eval_ids))
    source = shared / "data" / "e3" / "structures.json"
    asked = ["--ids", str(folder / "ids"), "--atom-order", "file"]
    assert main([str(source), *asked, "-o", str(folder / "packed.h5"), "-q"]) == Exit.CLEAN
    return folder / "packed.h5"


@pytest.fixture
def frontier(packed, tmp_path):
    """Function from options of a frontier to its columns, by their names without the group."""

    def run(*options):
        from rc_hpc.sweep import main

        output = tmp_path / "f.h5"
        assert (
            main(
                [
                    "frontier",
                    str(packed),
                    "--atom-order",
                    "file",
                    *options,
                    "-o",
                    str(output),
                    "--overwrite",
                    "-q",
                ]
            )
            == Exit.CLEAN
        )
        with h5py.File(output) as h5:
            columns = {name: h5[f"frontier/{name}"][()] for name in h5["frontier"]}
            return columns | {
                "id": h5["structures/id"].asstr()[()],
                "n_atoms": h5["structures/n_atoms"][()],
            }

    return run


def correct(found, reading=0, symprec=0):
    """Structures with the true crystal system, (n, D), on the only subset."""
    return found["correct_crystal_system"][:, reading, :, symprec, 0]


@pytest.mark.parametrize("record", PROTOCOLS)
def test_released_frontier(frontier, expected, record):
    found, recorded = frontier("--protocol", PROTOCOLS[record], *PARITY), expected["frontier"]
    right = correct(found)
    assert right.sum(axis=0).tolist() == recorded["recorded_e3"][record]
    surplus = found["n_recovered"][:, 0, :, 0] - found["n_atoms"][:, None]
    for d, delta in enumerate(FRONTIER_DELTAS):
        assert set(found["id"][~right[:, d]]) == set(
            recorded["e3_failing_ids"][f"e3|{record}"][f"{delta:g}"]
        )
        over, under = recorded["over_under"][f"e3|{record}"][d]
        assert ((surplus[:, d] > 0).sum(), (surplus[:, d] < 0).sum()) == (over, under)


def test_released_frontier_of_the_tiled_cells(frontier, expected):
    found = frontier("--tiling", "2", *PARITY)
    assert correct(found).sum(axis=0).tolist() == expected["frontier"]["recorded_e3"]["tiled"]


def test_released_grid_of_delta_and_symprec(frontier, expected):
    deltas, symprecs = (0.001, 0.01, 0.05, 0.15), (0.001, 0.01, 0.05, 0.1)
    found = frontier(
        "--deltas", ",".join(map(str, deltas)), "--symprecs", ",".join(map(str, symprecs)), *PARITY
    )
    grid = {
        f"{delta}|{symprec}": int(correct(found, 0, t)[:, d].sum())
        for d, delta in enumerate(deltas)
        for t, symprec in enumerate(symprecs)
    }
    assert grid == expected["frontier"]["delta_symprec_grid"]


def test_clean_room_frontier(frontier, expected):
    """All pairs, cluster means: 210, 210, 208 and 193."""
    found = frontier("--deltas", "0.0001,0.01,0.05,0.15", "--rules", "mean")
    assert correct(found).sum(axis=0).tolist() == [210, 210, 208, 193]
    assert (found["n_recovered"][:, 0, :, 0] > found["n_atoms"][:, None]).sum(axis=0).tolist() == [
        0,
        0,
        4,
        5,
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS.values())
def test_default_reading_loses_nothing_at_any_tolerance(frontier, protocol):
    found = frontier("--protocol", protocol)
    assert correct(found).all()
    assert (found["n_recovered"][:, 0, :, 0] == found["n_atoms"][:, None]).all()
    assert found["point_error"].max() < 1e-13
    if (
        protocol == "frozen"
    ):  # at the certified tolerance all are certified, and not at every smaller one
        certified = dict(
            zip(FRONTIER_DELTAS, found["certified"][..., 0].sum(axis=0).tolist(), strict=True)
        )
        assert (certified[0.005], certified[0.01], certified[0.15]) == (209, 210, 204)


@pytest.mark.parametrize("delta", [0.15, 0.01])
def test_view_curve_and_monotonicity(packed, expected, tmp_path, delta):
    from rc_hpc.census import main
    from rc_hpc.kinds.census.counts import count_census
    from rc_hpc.kinds.census.tables import tables

    def census(*reading):
        output = tmp_path / "c.h5"
        assert (
            main(
                [
                    str(packed),
                    "--atom-order",
                    "file",
                    "--delta",
                    str(delta),
                    *reading,
                    "-o",
                    str(output),
                    "--overwrite",
                    "-q",
                ]
            )
            == Exit.CLEAN
        )
        counts = count_census(output)
        assert nested(counts.masks).sum() == 105 and adjacent(counts.masks).sum() == 55
        return {t.name: t.frame for t in tables(counts, ("views", "violations", "falling"))}

    recorded, key = expected["view_subsets"], f"e3|{delta:g}"
    found = census("--enumeration", "anchor", "--merge", "first")
    views = found["views"].set_index("views")
    by_size = {}
    for name, count in recorded["correct_counts"][key].items():
        by_size.setdefault(len(name.split("|")), []).append(count / 210)
    for size, shares in by_size.items():
        assert views.loc[size, ["R1", "R1_min", "R1_max"]].tolist() == pytest.approx(
            [np.mean(shares), min(shares), max(shares)]
        )
        assert views.loc[size, "R1"] == pytest.approx(recorded["mean_by_size"][key][str(size)])
        assert views.loc[size, "mean_excess"] == pytest.approx(
            recorded["mean_excess_by_size"][key][str(size)]
        )
    for row, record in zip(
        found["violations"].to_dict("records"),
        ("monotonicity_all_105_nested_pairs", "monotonicity_55_adjacent_pairs"),
        strict=True,
    ):
        wanted = recorded[record][key]
        assert row["n_pairs"] == wanted["pairs"] and row["comparisons"] == wanted["comparisons"]
        assert row["losses"] == wanted["structure_violations"]
        assert row["structures_with"] == wanted["structures_with_violation"]
        assert row["aggregate"] == wanted["aggregate_violations"]
    best = "axis_a+body_diagonal+oblique2"
    assert set(found["falling"]["subset"]) == {best} and len(found["falling"]) == 2

    default = (
        census()
    )  # neither a structure nor a mean is worse for more cameras, and delta does not enter
    assert default["falling"].empty
    assert default["violations"][
        ["losses", "structures_with", "aggregate"]
    ].to_numpy().tolist() == [[0, 0, 0], [0, 0, 0]]
    assert default["views"]["mean_excess"].tolist() == pytest.approx(
        [2.9357, 0.2271, 0, 0], abs=1e-4
    )
    assert default["views"]["R1"].tolist()[1:] == [1.0, 1.0, 1.0]
