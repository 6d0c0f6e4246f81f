"""The sweep command: equal work gives equal content, and what people see of it."""

import h5py
import numpy as np
import pytest
from census_cases import (
    call,
    column,
    content,
    run,
    small_crystals,
    write_json,
)
from ranks import needs_mpi

from rc_hpc.core.errors import Exit
from rc_hpc.engine import entry
from rc_hpc.kinds import frontier
from rc_hpc.kinds.frontier.counts import count_frontier
from rc_hpc.kinds.frontier.options import FrontierOptions
from rc_hpc.tables import main as tables

OPTIONS = ("--deltas", "0.01,0.1,0.3", "--rules", "dominance,first", "--subsets", "all")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """Folder with packed.h5 and base.h5, the frontier that one process made of it."""
    folder = tmp_path_factory.mktemp("sweep")
    write_json(folder / "source.json", small_crystals(12))
    assert call("pack", folder / "source.json", "-o", folder / "packed.h5", "-q") == Exit.CLEAN
    assert sweep(folder / "packed.h5", folder / "base.h5") == Exit.CLEAN
    return folder


def sweep(packed, output, *more):
    return call("sweep", "frontier", packed, "-o", output, *OPTIONS, "-q", *more)


def test_file_is_valid_and_readable_by_others(base):
    import xarray

    assert call("sweep", "validate", base / "base.h5") == Exit.CLEAN
    for group in ("frontier", "profile", "axes", "subsets"):
        with xarray.open_dataset(base / "base.h5", group=group, engine="h5netcdf") as data:
            assert all(
                variable.attrs["units"] and variable.attrs["description"]
                for variable in data.variables.values()
            )
    with h5py.File(base / "base.h5") as h5:
        assert h5["axes/delta"][()].tolist() == [0.01, 0.1, 0.3]
        assert h5["axes/merge"].asstr()[()].tolist() == ["dominance", "first"]
        assert h5["frontier/correct_bravais"].shape == (12, 2, 3, 1, 26)


def test_shards_and_merge(base, tmp_path):
    for shard in ("1/2", "0/2"):
        assert call("sweep", "merge", tmp_path / "x.h5") == Exit.FATAL
        assert sweep(base / "packed.h5", tmp_path / "x.h5", "--shard", shard) == Exit.CLEAN
    assert call("sweep", "merge", tmp_path / "x.h5") == Exit.CLEAN
    assert content(tmp_path / "x.h5") == content(base / "base.h5")


def test_resume_goes_on_and_only_with_the_same_options(base, tmp_path, capfd):
    output = tmp_path / "x.h5"
    assert sweep(base / "packed.h5", output, "--shard", "0/2") == Exit.CLEAN
    assert sweep(base / "packed.h5", output) == Exit.USAGE
    assert (
        call("sweep", "frontier", base / "packed.h5", "-o", output, "--deltas", "0.01", "--resume")
        == Exit.FATAL
    )
    assert "deltas" in capfd.readouterr().err
    assert sweep(base / "packed.h5", output, "--resume") == Exit.CLEAN
    assert content(output) == content(base / "base.h5")


@pytest.mark.parametrize("ranks", [pytest.param(3, marks=needs_mpi)])
def test_ranks_and_packing_on_the_way(base, tmp_path, ranks):
    code, out, err = run(
        tmp_path, ["frontier", base / "source.json", "-o", "x.h5", *OPTIONS], ranks, command="sweep"
    )
    assert code == 0, err
    assert content(tmp_path / "x.h5") == content(base / "base.h5")
    assert "Tolerance frontier" in out and "Certified by delta" in out


def test_a_census_is_no_sweep(base, tmp_path, capfd):
    assert (
        call("census", base / "packed.h5", "-o", tmp_path / "c.h5", "--shard", "0/2", "-q")
        == Exit.CLEAN
    )
    assert call("sweep", "merge", tmp_path / "c.h5") == Exit.USAGE
    assert "kind 'census': python -m rc_hpc.census merge joins them" in capfd.readouterr().err


def test_tables_count_what_the_file_says(base, tmp_path, capfd):
    import pandas as pd

    assert (
        tables([str(base / "base.h5"), "--format", "csv", "-o", str(tmp_path), "-q"]) == Exit.CLEAN
    )
    frontier, certified, steps = (
        pd.read_csv(tmp_path / f"{name}.csv") for name in ("frontier", "certified", "steps")
    )
    kept = np.array(list(column(base / "base.h5", "structures/quarantine").values())) == 0
    with h5py.File(base / "base.h5") as h5:
        right, size = h5["frontier/correct_crystal_system"][()][kept], h5["subsets/size"][()]
        recovered, atoms = h5["frontier/n_recovered"][()][kept], h5["structures/n_atoms"][()][kept]
        safe, error = h5["frontier/certified"][()][kept], h5["frontier/point_error"][()][kept]
        profile = {name: h5[f"profile/{name}"][()] for name in h5["profile"] if name != "row"}
        separation = h5["structures/separation"][()]
    own = frontier[frontier["structures"] == "without quarantined"]
    assert len(own) == 2 * 4 * 3
    for _, row in own.iterrows():
        r, d, chosen = (
            ["dominance", "first"].index(row["merge"]),
            [0.01, 0.1, 0.3].index(row["delta_angstrom"]),
            size == row["views"],
        )
        assert (row["R1_count"], row["n"]) == (
            right[:, r, d, 0, chosen].sum(),
            kept.sum() * chosen.sum(),
        )
        assert row["more"] == (recovered[:, r, d][:, chosen] > atoms[:, None]).sum()
        assert row["point_error_angstrom"] == error[:, r, d][:, chosen].max()
    own = certified[certified["structures"] == "without quarantined"]
    for _, row in own.iterrows():
        d, chosen = [0.01, 0.1, 0.3].index(row["delta_angstrom"]), size == row["views"]
        assert row["certified_count"] == safe[:, d][:, chosen].sum()
        inside = (profile["delta_from"] <= row["delta_angstrom"]) & (
            row["delta_angstrom"] < profile["delta_to"]
        )
        inside &= kept[profile["structure"]] & chosen[profile["subset"]]
        assert row["with_phantoms"] == (inside & (profile["kind"] == 0)).sum()
        assert row["with_meeting_phantoms"] == (inside & (profile["kind"] == 1)).sum()
        assert row["close"] == (separation[kept] <= 2 * row["delta_angstrom"]).sum()
    for name, group in steps.groupby("structures"):
        full = certified[(certified["structures"] == name) & (certified["views"] == 5)]
        for (
            _,
            row,
        ) in full.iterrows():  # the exact curve goes through the certificates at the deltas asked
            assert (
                group[group["delta_angstrom"] <= row["delta_angstrom"]]["certified_count"].iloc[-1]
                == row["certified_count"]
            )
    assert tables([str(base / "base.h5"), "--table", "views"]) == Exit.USAGE
    assert "whose tables are frontier, certified, steps, status" in capfd.readouterr().err


def test_small_blocks_give_the_same_counts(base):
    whole, small = count_frontier(base / "base.h5"), count_frontier(base / "base.h5", block_bytes=1)
    for name, tally in whole.sets().items():
        for field, value in vars(tally).items():
            np.testing.assert_array_equal(value, getattr(small.sets()[name], field))
        for one, other in zip(whole.curves[name], small.curves[name], strict=True):
            np.testing.assert_array_equal(one, other)


def test_config_file_belongs_to_the_sweep(tmp_path):
    config = tmp_path / "sweep.toml"
    config.write_text('deltas = [0.1, 0.02]\nrules = "all"\n')
    arguments = ["packed.h5", "--config", str(config), "--rules", "first,mean"]
    options = entry.parser(frontier.KIND).read(arguments).make(FrontierOptions)
    assert options.deltas == (0.02, 0.1) and options.rules == ("mean", "first")
    assert options.enumerations == ("all-pairs",)


@pytest.mark.parametrize(
    "args, message",
    [
        ((), "name one of frontier, occlusion, design, noise, unique first"),
        (("cone",), "'cone'"),
        (("frontier", "--rules", "best"), "'best'"),
        (("frontier", "--deltas", "0.1,x"), "--deltas"),
        (("-q", "frontier"), "name one of frontier"),
    ],
)
def test_wrong_requests_say_what_is_wrong(args, message, capfd):
    assert call("sweep", *args) == Exit.USAGE
    assert message in capfd.readouterr().err
