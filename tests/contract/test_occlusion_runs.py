"""The occlusion sweep as a command.

Equal work gives equal content, and its tables count what the file says.
"""

import h5py
import numpy as np
import pytest
from census_cases import call, column, content, run, small_crystals, write_json
from ranks import needs_mpi

from rc_hpc.core.errors import Exit
from rc_hpc.engine import entry
from rc_hpc.kinds import occlusion
from rc_hpc.kinds.occlusion.counts import count_occlusion
from rc_hpc.kinds.occlusion.options import OcclusionOptions
from rc_hpc.tables import main as tables

OPTIONS = (
    "--verify",
    "covered,excused,3-of-V",
    "--rules",
    "all",
    "--subsets",
    "axis_a+axis_b,axis_a+axis_b+axis_c+oblique2,axis_a+axis_b+axis_c+body_diagonal+oblique2",
)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """Folder with packed.h5 and base.h5, the occlusion sweep that one process made of it."""
    folder = tmp_path_factory.mktemp("occlusion")
    write_json(folder / "source.json", small_crystals(12))
    assert call("pack", folder / "source.json", "-o", folder / "packed.h5", "-q") == Exit.CLEAN
    assert (
        call("sweep", "occlusion", folder / "packed.h5", "-o", folder / "base.h5", *OPTIONS, "-q")
        == Exit.CLEAN
    )
    return folder


def test_file_is_valid_and_readable_by_others(base):
    import xarray

    assert call("sweep", "validate", base / "base.h5") == Exit.CLEAN
    for group in ("visibility", "sites", "occlusion", "axes", "subsets"):
        with xarray.open_dataset(base / "base.h5", group=group, engine="h5netcdf") as data:
            assert all(
                variable.attrs["units"] and variable.attrs["description"]
                for variable in data.variables.values()
            )
    with h5py.File(base / "base.h5") as h5:
        readings = zip(
            *(h5[f"axes/{name}"].asstr()[()] for name in ("verification", "enumeration", "merge")),
            strict=True,
        )
        assert list(readings) == [
            (*one, "dominance") if one[0] != "first" else one
            for one in (("covered", "all-pairs"), ("excused", "all-pairs"))
        ] + [("excused", "all-pairs", "first"), ("3-of-V", "all-pairs", "dominance")]
        assert h5["protocol/tiling"][()].tolist() == [2, 2, 2]
        assert (h5["structures/n_drawn"][()] == 8 * h5["structures/n_atoms"][()]).all()


def test_shards_and_merge(base, tmp_path):
    for shard in ("1/2", "0/2"):
        assert (
            call(
                "sweep",
                "occlusion",
                base / "packed.h5",
                "-o",
                tmp_path / "x.h5",
                *OPTIONS,
                "-q",
                "--shard",
                shard,
            )
            == Exit.CLEAN
        )
    assert call("sweep", "merge", tmp_path / "x.h5") == Exit.CLEAN
    assert content(tmp_path / "x.h5") == content(base / "base.h5")


@pytest.mark.parametrize("ranks", [pytest.param(2, marks=needs_mpi)])
def test_ranks_and_packing_on_the_way(base, tmp_path, ranks):
    code, out, err = run(
        tmp_path,
        ["occlusion", base / "source.json", "-o", "x.h5", *OPTIONS],
        ranks,
        command="sweep",
    )
    assert code == 0, err
    assert content(tmp_path / "x.h5") == content(base / "base.h5")
    assert "Occlusion, crystal system" in out and "Share of the drawn atoms" in out


def test_tables_count_what_the_file_says(base, tmp_path, capfd):
    import pandas as pd

    assert (
        tables([str(base / "base.h5"), "--format", "csv", "-o", str(tmp_path), "-q"]) == Exit.CLEAN
    )
    occlusion, visibility, sites = (
        pd.read_csv(tmp_path / f"{name}.csv") for name in ("occlusion", "visibility", "sites")
    )
    kept = np.array(list(column(base / "base.h5", "structures/quarantine").values())) == 0
    with h5py.File(base / "base.h5") as h5:
        found = {
            name: h5[name][()][kept]
            for name in (
                "occlusion/correct_crystal_system",
                "occlusion/n_recovered",
                "occlusion/point_error",
                "structures/n_atoms",
                "structures/n_drawn",
                "visibility/n_occluded",
                "visibility/n_redundant",
                "visibility/n_hidden",
                "sites/n_clear",
                "sites/n_lost",
                "sites/n_gone",
            )
        }
        readings = list(
            zip(h5["axes/verification"].asstr()[()], h5["axes/merge"].asstr()[()], strict=True)
        )
    own = occlusion[occlusion["structures"] == "without quarantined"]
    assert len(own) == 4 * 3 * 4
    for _, row in own.iterrows():
        where = (
            readings.index((row["verification"], row["merge"])),
            int(row["condition"][1]),
            [2, 4, 5].index(row["views"]),
        )
        right, recovered, error = (
            found[f"occlusion/{name}"][:, *where]
            for name in ("correct_crystal_system", "n_recovered", "point_error")
        )
        assert (row["R1_count"], row["n"]) == (right.sum(), kept.sum())
        assert [row[name] for name in ("exact", "more", "fewer")] == [
            (np.sign(recovered - found["structures/n_atoms"]) == sign).sum() for sign in (0, 1, -1)
        ]
        assert row["point_error_angstrom"] == error[np.isfinite(error)].max()
        ignorant = [k for k, reading in enumerate(readings) if reading[0] != "excused"]
        others = found["occlusion/correct_crystal_system"][:, ignorant, *where[1:]].any(axis=1)
        unplaced = found["sites/n_lost"][:, *where[1:]] > 0
        losses = [
            (~right & unplaced).sum(),
            (~right & ~unplaced & ~others).sum(),
            (~right & ~unplaced & others).sum(),
        ]
        assert [
            row[f"lost_by_{name}"] for name in ("pictures", "every_rule", "this_rule")
        ] == losses and sum(losses) == kept.sum() - right.sum()
    own = visibility[visibility["structures"] == "without quarantined"]
    for name in ("occluded", "redundant"):
        np.testing.assert_allclose(
            own[name],
            (found[f"visibility/n_{name}"] / found["structures/n_drawn"][:, None]).mean(axis=0),
        )
    assert (own["occluded"] > 0).any()
    for _, row in sites[sites["structures"] == "without quarantined"].iterrows():
        where = int(row["condition"][1]), [2, 4, 5].index(row["views"])
        assert row["hidden"] == found["visibility/n_hidden"][:, where[0]].sum()
        assert [row[f"{name}_count"] for name in ("clear", "fewer_than_two", "none")] == [
            found[f"sites/n_{name}"][:, *where].sum() for name in ("clear", "lost", "gone")
        ]
        assert row["n"] == found["structures/n_atoms"].sum()
    assert tables([str(base / "base.h5"), "--table", "views"]) == Exit.USAGE
    assert "whose tables are occlusion, visibility, sites, status" in capfd.readouterr().err


def test_small_blocks_give_the_same_counts(base):
    whole, small = (
        count_occlusion(base / "base.h5"),
        count_occlusion(base / "base.h5", block_bytes=1),
    )
    for name, tally in whole.sets().items():
        for field, value in vars(tally).items():
            np.testing.assert_allclose(value, getattr(small.sets()[name], field), rtol=1e-12)


def test_config_file_belongs_to_the_sweep(tmp_path):
    config = tmp_path / "sweep.toml"
    config.write_text('verify = ["strict", "4-of-V"]\nconditions = "O2,O1"\n')
    asked = entry.parser(occlusion.KIND).read(["packed.h5", "--config", str(config)])
    options = asked.make(OcclusionOptions)
    assert options.verifications == ("strict", "4-of-V")
    assert options.conditions == ("O1", "O2") and options.rules == ("dominance",)


@pytest.mark.parametrize(
    "args, message",
    [
        (("--verify", "covert"), "--verify 'covert'"),
        (
            ("--rules", "first", "--verify", "covered"),
            "--rules first reads strict and excused only",
        ),
        (("--conditions", "O7"), "'O7'"),
        (("--radii", "0"), "--radii"),
    ],
)
def test_wrong_requests_say_what_is_wrong(base, args, message, capfd):
    assert (
        call("sweep", "occlusion", base / "packed.h5", "-o", base / "never.h5", *args) == Exit.USAGE
    )
    assert message in capfd.readouterr().err
