"""The noise sweep as a command: equal content, whatever ranks, shards and kills."""

import os
import signal

import h5py
import numpy as np
import pytest
from census_cases import (
    call,
    column,
    content,
    finish,
    fork,
    run,
    small_crystals,
    wait_for,
    write_json,
)
from ranks import needs_mpi

from rc_hpc.core.errors import Exit
from rc_hpc.core.vocabulary import System
from rc_hpc.kinds.noise.counts import count_noise
from rc_hpc.stats.crossing import crossing, paired
from rc_hpc.symmetry.labels import code_table
from rc_hpc.tables import main as tables

CAMERAS = """\
name = "three"
[[camera]]
rotation = "0x,0y,0z"
[[camera]]
direction = [1.0, 0.2, 0.1]
[[camera]]
direction = [0.1, 1.0, 0.3]
"""
OPTIONS = (
    "--protocols",
    "frozen,three.toml@2x1x1",
    "--sigmas",
    "0,0.05,0.3",
    "--seeds",
    "2",
    "--rules",
    "all",
    "--displace",
    "0.4",
)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """Folder with packed.h5, the record's order of its ids, and base.h5, one process's sweep."""
    folder = tmp_path_factory.mktemp("noise")
    write_json(folder / "source.json", small_crystals(8))
    (folder / "three.toml").write_text(CAMERAS)
    assert call("pack", folder / "source.json", "-o", folder / "packed.h5", "-q") == Exit.CLEAN
    (folder / "order").write_text(
        "\n".join(sorted(column(folder / "packed.h5", "structures/n_atoms"), reverse=True))
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert sweep(folder, "base.h5") == Exit.CLEAN
    return folder


def arguments(base, output, *more):
    options = [option.replace("three.toml", str(base / "three.toml")) for option in OPTIONS]
    return [
        "noise",
        base / "packed.h5",
        *options,
        "--order",
        base / "order",
        "-o",
        output,
        "-q",
        *more,
    ]


def sweep(base, output, *more, rows=2):
    return call("sweep", *arguments(base, output, *more), rows=rows)


def test_file_is_valid_and_readable_by_others(base):
    import xarray

    assert call("sweep", "validate", base / "base.h5") == Exit.CLEAN
    for group in ("noise", "protocols", "pairs", "axes"):
        with xarray.open_dataset(base / "base.h5", group=group, engine="h5netcdf") as data:
            assert all(
                variable.attrs["units"] and variable.attrs["description"]
                for variable in data.variables.values()
            )
    with h5py.File(base / "base.h5") as h5:
        assert h5["noise/correct_bravais"].shape == (8, 2, 3, 3, 2)
        assert h5["axes/rule"].asstr()[()].tolist() == ["common", "paper", "record"]
        assert h5["axes/estimator"].asstr()[()].tolist() == [
            "all-views",
            "all-views",
            "anchor-pair",
        ]
        assert h5["protocols/name"].asstr()[()].tolist() == ["frozen", "three@2x1x1"]
        assert h5["protocols/view"].asstr()[1].tolist() == ["view0", "view1", "view2", "", ""]
        assert h5["pairs/protocol"][()].tolist() == [0] * 10 + [1] * 3
        assert h5["axes/delta"][0, :, 1] == pytest.approx(
            [0.4, 0.2, 4 * 2**0.5 * 2.7321 * 0.05], rel=5e-5
        )


def test_perfect_pictures_return_the_ceiling_and_every_seed_alike(base):
    with h5py.File(base / "base.h5") as h5:
        perfect, atoms = h5["noise/correct_space_group"][:, :, :, 0], h5["structures/n_atoms"][()]
        assert perfect.all()
        recovered = h5["noise/n_recovered"][:, :, :, 0]
        assert (recovered == (atoms[:, None] * [1, 2])[:, :, None, None]).all()
        assert h5["noise/largest_error"][:, :, :, 0].max() < 0.01
        assert not h5["noise/correct_space_group"][:, :, :, 2].all()


def test_sweep_is_what_the_library_reads(base):
    from naive_noise import read_cells

    from rc_hpc.geometry.protocol import load_protocol
    from rc_hpc.kinds.packed.reader import PackedReader
    from rc_hpc.oracle.cell import PackedCell
    from rc_hpc.oracle.noise import RECORD

    with PackedReader(base / "packed.h5") as reader:
        rows, children = reader.rows(0, len(reader), ("atoms",))
    atoms, cells = children["atoms"], {}
    for k, id in enumerate(rows["structures/id"]):
        own = atoms["structure"] == k
        cells[id] = PackedCell(
            id,
            rows["structures/lattice"][k],
            atoms["position"][own],
            atoms["number"][own],
            1,
            1,
            0.0,
        )
    order = (base / "order").read_text().split()
    found = read_cells(
        [cells[id] for id in order], load_protocol("frozen"), [0.0, 0.05, 0.3], range(2), RECORD
    )
    stored = column(base / "base.h5", "noise/space_group")
    assert np.array_equal(
        found["space_group"], np.stack([stored[id][0, 2] for id in order], axis=-1)
    )
    mine = tuple(column(base / "base.h5", "noise/largest_error")[id][0, 2] for id in order)
    assert np.stack(mine, axis=-1) == pytest.approx(
        found["error"], rel=1e-6, abs=1e-12, nan_ok=True
    )


def test_errors_of_each_structure_do_not_depend_on_the_others(base, tmp_path):
    options = ("--protocols", "off-axis", "--sigmas", "0.05", "--seeds", "2", "-q")
    for name, source in (("all", base / "packed.h5"), ("some", base / "some.json")):
        if name == "some":
            write_json(source, dict(list(small_crystals(8).items())[5:7]))
        assert call("sweep", "noise", source, "-o", tmp_path / f"{name}.h5", *options) == Exit.CLEAN
    every, some = (
        column(tmp_path / f"{name}.h5", "noise/largest_error") for name in ("all", "some")
    )
    assert len(some) == 2 and all(np.array_equal(every[id], some[id]) for id in some)


def test_shards_and_merge(base, tmp_path):
    for shard in ("1/2", "0/2"):
        assert call("sweep", "merge", tmp_path / "x.h5") == Exit.FATAL
        assert sweep(base, tmp_path / "x.h5", "--shard", shard, rows=3) == Exit.CLEAN
    assert call("sweep", "merge", tmp_path / "x.h5") == Exit.CLEAN
    assert content(tmp_path / "x.h5") == content(base / "base.h5")


@pytest.mark.parametrize("ranks", [pytest.param(2, marks=needs_mpi)])
def test_two_ranks(base, tmp_path, ranks):
    code, out, err = run(tmp_path, arguments(base, "x.h5")[:-1], ranks, command="sweep", rows=1)
    assert code == 0, err
    assert content(tmp_path / "x.h5") == content(base / "base.h5")
    assert "Centroid noise" in out and "falls below 0.95" in out


def slow_down():
    """Make every structure take time, so that a signal finds work under way."""
    import time

    from rc_hpc.kinds.noise.oracle import NoiseSweep

    real = NoiseSweep.run
    NoiseSweep.run = lambda *args: (time.sleep(0.2), real(*args))[1]


def test_killed_run_goes_on_and_only_with_the_same_options(base, tmp_path, capfd):
    output = tmp_path / "x.h5"
    job = fork(tmp_path, "sweep", arguments(base, output), slow_down, rows=1)
    assert wait_for(lambda: any((tmp_path / "x.h5.parts").glob("*.part")), job)
    os.kill(job.pid, signal.SIGKILL)
    assert finish(job)[0] == -signal.SIGKILL and not output.exists()
    assert sweep(base, output) == Exit.USAGE
    (tmp_path / "other").write_text("\n".join(reversed((base / "order").read_text().split())))
    assert sweep(base, output, "--resume", "--order", tmp_path / "other") == Exit.FATAL
    assert "order" in capfd.readouterr().err
    assert sweep(base, output, "--resume", rows=3) == Exit.CLEAN
    assert content(output) == content(base / "base.h5")


def test_tables_count_what_the_file_says(base, tmp_path, capfd):
    import pandas as pd

    assert (
        tables([str(base / "base.h5"), "--format", "csv", "-o", str(tmp_path), "-q"]) == Exit.CLEAN
    )
    found = {path.stem: pd.read_csv(path) for path in tmp_path.glob("*.csv")}
    assert set(found) == {
        "noise",
        "crossings",
        "systems",
        "near-symmetric",
        "never-right",
        "displaced",
        "paired",
        "kappa",
        "conditioning",
        "budgets",
        "aligned",
        "status",
    }
    kept = np.array(list(column(base / "base.h5", "structures/quarantine").values())) == 0
    assert 0 < kept.sum() < len(kept)
    with h5py.File(base / "base.h5") as h5:
        noise = {name: h5[f"noise/{name}"][()][kept] for name in h5["noise"]}
        about = {
            name: h5[f"structures/{name}"][()][kept]
            for name in ("n_atoms", "crystal_system", "lattice_system", "flipped")
        }
        about["id"] = h5["structures/id"].asstr()[()][kept]
    atoms, system_of = about["n_atoms"], code_table()[:, 0]
    names, rules, sigmas = (
        ["frozen", "three@2x1x1"],
        ["common", "paper", "record"],
        [0.0, 0.05, 0.3],
    )
    right = noise["correct_crystal_system"]
    own = found["noise"][found["noise"]["structures"] == "without quarantined"]
    assert len(own) == 2 * 3 * 3
    for _, row in own.iterrows():
        p, r, d = (
            names.index(row["protocol"]),
            rules.index(row["rule"]),
            sigmas.index(row["sigma_angstrom"]),
        )
        seeds = right[:, p, r, d].mean(axis=0)
        assert (row["n"], row["R1"], row["R1_min"], row["R1_max"]) == pytest.approx(
            (kept.sum(), seeds.mean(), seeds.min(), seeds.max())
        )
        assert row["R1_low95"] <= row["R1"] <= row["R1_high95"]
        assert row["R1_lowboot95"] <= row["R1"] <= row["R1_highboot95"]
        lowest = noise["lowest_system"][:, p, r, d]
        doubtful = (lowest > 0) & (lowest < system_of[noise["space_group"][:, p, r, d]])
        shares = [
            (right[:, p, r, d] & ~doubtful).mean(),
            doubtful.mean(),
            (~right[:, p, r, d] & ~doubtful).mean(),
        ]
        assert row[["right", "undecided", "wrong"]].tolist() == pytest.approx(shares)
        assert row["R1_bravais"] == pytest.approx(noise["correct_bravais"][:, p, r, d].mean())
        assert (
            row["more"] == (noise["n_recovered"][:, p, r, d] > (atoms * [1, 2][p])[:, None]).sum()
        )
        assert row["unlabelled"] == (noise["space_group"][:, p, r, d] == 0).sum()
        assert row["median_error_angstrom"] == pytest.approx(
            np.nanmean(noise["median_error"][:, p, r, d])
        )
        assert row["largest_error_angstrom"] == pytest.approx(
            np.nanmax(noise["largest_error"][:, p, r, d])
        )
    own = found["crossings"][found["crossings"]["structures"] == "without quarantined"]
    for _, row in own.iterrows():
        p, r = names.index(row["protocol"]), rules.index(row["rule"])
        assert row["crossing_angstrom"] == pytest.approx(
            crossing(sigmas, right[:, p, r].mean(axis=(0, 2)))
        )
        low, high = row["crossing_lowboot95"], row["crossing_highboot95"]
        assert not low > row["crossing_angstrom"] and not high < row["crossing_angstrom"]
    own = found["systems"][found["systems"]["structures"] == "without quarantined"]
    for _, row in own[(own["protocol"] == "frozen") & (own["rule"] == "common")].iterrows():
        codes = [*about["crystal_system"]]
        mine = np.array([row["system"] in ("all", System(code).name) for code in codes])
        alone = about["lattice_system"][mine] == about["crystal_system"][mine]
        assert (row["n"], row["lattice_alone_count"]) == (mine.sum(), alone.sum())
        assert row["R1 at 0.05 Å"] == pytest.approx(right[mine, 0, 0, 1].mean())
    own = found["near-symmetric"]
    own = own[(own["structures"] == "without quarantined") & (own["protocol"] == "frozen")]
    for _, row in own[own["rule"] == "common"].iterrows():
        near = about["flipped"] == (row["crystals"] == "near-symmetric")
        d = sigmas.index(row["sigma_angstrom"])
        assert (row["n"], row["R1"]) == pytest.approx((near.sum(), right[near, 0, 0, d].mean()))
    own = found["never-right"]
    for _, row in own[own["structures"] == "without quarantined"].iterrows():
        p, r = names.index(row["protocol"]), rules.index(row["rule"])
        d = sigmas.index(row["sigma_angstrom"])
        lost = ~right[:, p, r, d].any(axis=1)
        assert row["never_right_count"] == lost.sum()
        assert row["ids"].split(", ") == sorted(about["id"][lost])
    own = found["displaced"][found["displaced"]["structures"] == "without quarantined"]
    assert len(own)
    for _, row in own.iterrows():
        p, r = names.index(row["protocol"]), rules.index(row["rule"])
        d, code = sigmas.index(row["sigma_angstrom"]), System[row["system"]]
        mine = (about["crystal_system"] == code) & (atoms > 1)
        same = system_of[noise["displaced_space_group"][mine, p, r, d]] == code
        assert (row["n"], row["read_as_before"]) == pytest.approx((mine.sum(), same.mean()))
    # without errors displaced cells are not what they were
    assert (own[own["sigma_angstrom"] == 0]["read_as_before"] == 0).all()
    own = found["paired"][found["paired"]["structures"] == "without quarantined"]
    assert len(own) == 3 * (3 + 2 * 3)
    for _, row in own.iterrows():
        (p, r), (q, s) = (
            (names.index(a), rules.index(b))
            for a, b, _ in (row[arm].split(", ") for arm in ("first", "second"))
        )
        d = sigmas.index(row["sigma_angstrom"])
        assert (row["only_first"], row["only_second"], row["p"]) == pytest.approx(
            paired(right[:, p, r, d].T, right[:, q, s, d].T)
        )
    own = found["aligned"][found["aligned"]["structures"] == "without quarantined"]
    for _, row in own.iterrows():
        p = names.index(row["protocol"])
        v = (
            ["axis_a", "axis_b", "axis_c", "body_diagonal", "oblique2"].index(row["view"])
            if p == 0
            else int(row["view"][-1])
        )
        assert row["aligned_count"] == noise["aligned"][:, p, v].any(axis=1).sum()
        assert row["coincident_count"] == (noise["n_images"][:, p, v] < atoms * [1, 2][p]).sum()
        assert row["places"] == noise["n_images"][:, p, v].sum()
    assert found["kappa"]["measured_over_kappa"].between(0.9, 1 + 1e-9).all()
    assert tables([str(base / "base.h5"), "--table", "steps"]) == Exit.USAGE
    assert "whose tables are noise, crossings" in capfd.readouterr().err


def test_small_blocks_give_the_same_counts(base):
    whole, small = count_noise(base / "base.h5"), count_noise(base / "base.h5", block_bytes=1)
    for name, tally in whole.sets().items():
        other = vars(small.sets()[name])
        assert tally.ids.tolist() == other["ids"].tolist()
        for field, value in vars(tally).items():
            if field == "ids":
                continue
            for one, two in (
                ((value[k], other[field][k]) for k in value)
                if field == "budgets"
                else [(value, other[field])]
            ):
                np.testing.assert_allclose(one, two, rtol=1e-12)


@pytest.mark.parametrize(
    "args, message",
    [
        (("--sigmas", "-0.1"), "none negative"),
        (("--sigmas=-0.1,0.2",), "none negative"),
        (("--sigmas", "nan"), "--sigmas"),
        (("--sigmas", "0.1,x"), "--sigmas"),
        (("--seeds", "0"), "--seeds"),
        (("--displace", "-1"), "--displace"),
        (("--rules", "loose"), "'loose'"),
        (("--estimators", "mean"), "'mean'"),
        (("--labeller", "truth"), "--labeller"),
        (("--protocols", "frozen,frozen"), "its own name"),
        (("--protocols", "frozen@0"), "tiling"),
        (("--protocols", "frozen@99"), "4096"),
        (("--protocols", "cone"), "no protocol 'cone'"),
        (("--order", "order"), "--rules record"),
        (("--rules", "record", "--order", "nowhere"), "cannot be read"),
        (("--rules", "record", "--order", "short"), "does not name"),
        (("--rules", "record", "--order", "strange"), "'unknown'"),
    ],
)
def test_wrong_requests_say_what_is_wrong(base, args, message, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(base)
    (base / "short").write_text("crystal-000")
    (base / "strange").write_text("unknown")
    assert call("sweep", "noise", base / "packed.h5", *args, "-o", tmp_path / "x.h5") == Exit.USAGE
    assert message in capfd.readouterr().err
    assert not list(tmp_path.glob("*"))
