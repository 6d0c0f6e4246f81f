"""The camera design as a command.

The search sees one side only, equal work gives equal content, figures count held-out rows.
"""

import importlib
import json

import h5py
import numpy as np
import pytest
from census_cases import call, column, content, run, small_crystals, write_json
from ranks import needs_mpi

from rc_hpc.core.errors import Exit
from rc_hpc.core.vocabulary import Side
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.tables import main as tables

OPTIONS = (
    "--starts",
    "2",
    "--shortlist",
    "2",
    "--search-sample",
    "2",
    "--training",
    "4",
    "--sigmas",
    "0,0.1,0.4",
    "--seeds",
    "2",
)


@pytest.fixture(scope="module", autouse=True)
def few_moves():
    """Two rounds of local moves in these tests: the search is no subject of them."""
    import rc_hpc.kinds.design.search

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rc_hpc.kinds.design.search, "ROUNDS", 2)
        yield


@pytest.fixture(scope="module")
def base(few_moves, tmp_path_factory):
    """Folder with packed.h5 and base.h5, the design that one process made of it."""
    folder = tmp_path_factory.mktemp("design")
    write_json(folder / "source.json", small_crystals(12))
    assert call("pack", folder / "source.json", "-o", folder / "packed.h5", "-q") == Exit.CLEAN
    assert design(folder, folder / "base.h5") == Exit.CLEAN
    return folder


def arguments(base, output, *more, packed="packed.h5"):
    return ["design", base / packed, *OPTIONS, "-o", output, "-q", *more]


def design(base, output, *more, rows=2, packed="packed.h5"):
    return call("sweep", *arguments(base, output, *more, packed=packed), rows=rows)


def options(path):
    with h5py.File(path) as h5:
        return json.loads(h5.attrs["options"])


def side(path, *wanted):
    return {id for id, code in column(path, "design/split").items() if code in wanted}


def test_file_is_valid_and_says_what_it_holds(base):
    import xarray

    assert call("sweep", "validate", base / "base.h5") == Exit.CLEAN
    for group in ("design", "protocols", "scores", "axes"):
        with xarray.open_dataset(base / "base.h5", group=group, engine="h5netcdf") as data:
            assert all(
                variable.attrs["units"] and variable.attrs["description"]
                for variable in data.variables.values()
            )
    out, seen, searched = (
        side(base / "base.h5", Side.held_out),
        side(base / "base.h5", Side.training, Side.searched),
        side(base / "base.h5", Side.searched),
    )
    assert out and len(seen) == 4 and len(searched) == 2 and not out & seen
    formulas = column(base / "base.h5", "structures/formula")
    assert not {formulas[id] for id in out} & {formulas[id] for id in seen}
    recovered, perfect = (
        column(base / "base.h5", "design/n_recovered"),
        column(base / "base.h5", "design/correct"),
    )
    for id, atoms in column(base / "base.h5", "structures/n_atoms").items():
        assert (recovered[id] == (atoms if id in out | seen else -1)).all()
        assert id not in out | seen or perfect[id][:, 0].all()  # without noise: the ceiling
    with h5py.File(base / "base.h5") as h5:
        names = h5["protocols/name"].asstr()[()].tolist()
        assert (
            names[-2:] == ["frozen", "off-axis"]
            and h5["protocols/found"][()].tolist() == [True] * (len(names) - 2) + [False] * 2
        )
        assert h5["scores/kappa_max"][-2:] == pytest.approx([2.7321, 8.4258], rel=5e-5)
        cost = h5["scores/cost"][()]
        assert cost[:-2].max() < cost[-2:].min()


def test_protocol_file_is_the_best_set(base):
    found = options(base / "base.h5")
    best = load_protocol(str(base / "base.toml"))
    assert best.name == "base"
    digests = [
        load_protocol(str(base / "base.toml")).identity()
        == {key: protocol[key] for key in best.identity()}
        for protocol in found["protocols"]
    ]
    correct = column(base / "base.h5", "design/correct")
    seen = side(base / "base.h5", Side.training, Side.searched)
    tolerance = np.mean(
        [correct[id][: len(found["cameras"]), 1:].mean(axis=(1, 2)) for id in seen], axis=0
    )
    assert digests.index(True) == int(np.argmax(tolerance)) and sum(digests) == 1
    assert (
        call(
            "sweep",
            "noise",
            base / "packed.h5",
            "--protocols",
            f"frozen,{base / 'base.toml'}",
            "--sigmas",
            "0",
            "--seeds",
            "1",
            "-o",
            base / "noise.h5",
            "-q",
        )
        == Exit.CLEAN
    )


def test_held_out_structures_do_not_move_the_search(base, tmp_path):
    """Other crystals under the held-out ids, and none at all.

    The same sets are found and chosen.
    """
    out = sorted(side(base / "base.h5", Side.held_out))
    (tmp_path / "ids").write_text("\n".join(out))
    sources = json.loads((base / "source.json").read_text())
    others = small_crystals(12, seed=9)
    changed = {id: others[id] for id in out}
    write_json(tmp_path / "others.json", changed)
    for name, replaced in (
        ("same", {}),
        ("changed", json.loads((tmp_path / "others.json").read_text())),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(sources | replaced))
        assert (
            call("pack", tmp_path / f"{name}.json", "-o", tmp_path / f"{name}.packed.h5", "-q")
            == Exit.CLEAN
        )
        assert (
            design(
                tmp_path,
                tmp_path / f"{name}.h5",
                "--held-out",
                tmp_path / "ids",
                packed=f"{name}.packed.h5",
            )
            == Exit.CLEAN
        )
    assert content(tmp_path / "same.h5") != content(tmp_path / "changed.h5")
    wanted = options(tmp_path / "same.h5")
    assert {
        key: value for key, value in options(tmp_path / "changed.h5").items() if key != "sides"
    } == {key: value for key, value in wanted.items() if key != "sides"}
    cameras = [
        (tmp_path / f"{name}.toml").read_text().split("name =", 1)[1].split("\n", 1)[1]
        for name in ("same", "changed")
    ]
    assert cameras[0] == cameras[1]


def test_structures_that_the_search_reads_are_those_it_may(base, monkeypatch, tmp_path):
    driver = importlib.import_module("rc_hpc.kinds.design.plan")

    read, real = [], driver.search
    monkeypatch.setattr(
        driver,
        "search",
        lambda cells, *args: (read.extend(cell.id for cell in cells), real(cells, *args))[1],
    )
    assert design(base, tmp_path / "x.h5", "--starts", "1", "--shortlist", "1") == Exit.CLEAN
    assert set(read) == side(base / "base.h5", Side.searched)


def test_the_best_cameras_never_replace_a_file_that_is_read(base, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    text = """name = "mine"
[[camera]]
name = "a"
direction = [1.0, 0.0, 0.0]
[[camera]]
name = "b"
direction = [0.0, 1.0, 0.2]
"""
    (tmp_path / "x.toml").write_text(text)
    for more in ((), ("--overwrite",)):
        assert design(base, tmp_path / "x.h5", "--beside", "x.toml", *more) == Exit.USAGE
        assert "is read too" in capfd.readouterr().err
    assert (tmp_path / "x.toml").read_text() == text


def test_kept_cameras_stay(base, tmp_path):
    assert (
        design(
            base,
            tmp_path / "x.h5",
            "--keep",
            "axis_a,axis_b,axis_c",
            "--views",
            "4",
            "--beside",
            "frozen",
            "--starts",
            "2",
        )
        == Exit.CLEAN
    )
    best, frozen = load_protocol(str(tmp_path / "x.toml")), load_protocol("frozen")
    assert best.views == ("axis_a", "axis_b", "axis_c", "free1")
    assert np.array_equal(best.rotations[:3], frozen.rotations[:3])
    with h5py.File(tmp_path / "x.h5") as h5:
        assert (h5["design/phantom_subsets"][:, :-1, 3] == -1).all()  # no subset of five among four


def test_shards_merge_and_resume(base, tmp_path):
    for shard in ("1/2", "0/2"):
        assert design(base, tmp_path / "x.h5", "--shard", shard) == Exit.CLEAN
    assert not (tmp_path / "x.toml").exists()
    assert call("sweep", "merge", tmp_path / "x.h5") == Exit.CLEAN
    assert content(tmp_path / "x.h5") == content(base / "base.h5")
    assert (tmp_path / "x.toml").read_text() == (base / "base.toml").read_text().replace(
        '"base"', '"x"'
    )
    assert design(base, tmp_path / "x.h5") == Exit.USAGE
    (tmp_path / "x.toml").unlink()
    assert (
        design(base, tmp_path / "x.h5", "--resume") == Exit.CLEAN and (tmp_path / "x.toml").exists()
    )
    assert design(base, tmp_path / "x.h5", "--resume", "--search-seed", "1") == Exit.FATAL
    assert (
        design(
            base,
            tmp_path / "x.h5",
            "--overwrite",
            "--starts",
            "1",
            "--shortlist",
            "1",
            "--sigmas",
            "0.1",
        )
        == Exit.CLEAN
    )
    (tmp_path / "x.h5").unlink()
    assert design(base, tmp_path / "x.h5") == Exit.USAGE  # its protocol file is still there


@pytest.mark.parametrize("ranks", [pytest.param(2, marks=needs_mpi)])
def test_two_ranks(base, tmp_path, ranks):
    patch = "import rc_hpc.kinds.design.search\nrc_hpc.kinds.design.search.ROUNDS = 2"
    code, out, err = run(
        tmp_path, arguments(base, "x.h5")[:-1], ranks, command="sweep", rows=1, patch=patch
    )
    assert code == 0, err
    assert content(tmp_path / "x.h5") == content(base / "base.h5")
    assert "on held-out structures" in out and "verdict" in out


def test_tables_count_held_out_rows(base, tmp_path, capfd):
    import pandas as pd

    assert (
        tables([str(base / "base.h5"), "--format", "csv", "-o", str(tmp_path), "-q"]) == Exit.CLEAN
    )
    found = {path.stem: pd.read_csv(path) for path in tmp_path.glob("*.csv")}
    assert set(found) == {
        "verdict",
        "candidates",
        "held-out",
        "paired",
        "phantoms",
        "cameras",
        "status",
    }
    made = options(base / "base.h5")
    names = [protocol["name"] for protocol in made["protocols"]]
    out, seen = (
        side(base / "base.h5", Side.held_out),
        side(base / "base.h5", Side.training, Side.searched),
    )
    right = {
        who: np.array([column(base / "base.h5", "design/correct")[id] for id in sorted(ids)])
        for who, ids in (("out", out), ("seen", seen))
    }
    for _, row in found["held-out"].iterrows():
        p, d = names.index(row["protocol"]), made["sigmas"].index(row["sigma_angstrom"])
        assert (row["n"], row["R1"]) == (len(out), pytest.approx(right["out"][:, p, d].mean()))
    for p, row in found["candidates"].iterrows():
        assert row["protocol"] == names[p] and row["cost"] == pytest.approx(
            made["scores"][p]["cost"]
        )
        assert row["training_R1"] == pytest.approx(right["seen"][:, p, 1:].mean()) and row[
            "held_out_R1"
        ] == pytest.approx(right["out"][:, p, 1:].mean())
    assert found["candidates"]["role"].tolist().count("best") == 1
    phantom = column(base / "base.h5", "design/n_phantoms")
    for _, row in found["phantoms"].iterrows():
        assert row["phantoms"] == sum(
            phantom[id][names.index(row["protocol"]), row["views"] - 2] for id in out
        )
    assert len(found["cameras"]) == 5 * len(names)
    assert tables([str(base / "base.h5"), "--table", "crossings"]) == Exit.USAGE
    assert "whose tables are verdict, candidates" in capfd.readouterr().err


@pytest.mark.parametrize(
    "args, message",
    [
        (("--views", "1"), "--views"),
        (("--views", "9"), "--views"),
        (("--keep", "axis_d"), "'axis_d'"),
        (("--keep", "axis_a,axis_a"), "twice"),
        (("--keep", "axis_a,axis_b", "--views", "2"), "nothing is left"),
        (("--starts", "0"), "--starts"),
        (("--training", "0"), "--training"),
        (("--shortlist", "0"), "--shortlist"),
        (("--search-seed", "-1"), "--search-seed"),
        (("--seeds", "0"), "--seeds"),
        (("--sigmas", "0"), "one of them positive"),
        (("--delta", "0.6"), "--delta"),
        (("--held-out", "1"), "between 0 and 1"),
        (("--held-out", "nan"), "between 0 and 1"),
        (("--held-out", "nowhere"), "neither a number nor a file"),
        (("--held-out", "strange"), "'unknown'"),
        (("--held-out", "0.0001"), "left held out"),
        (("--beside", "frozen,frozen"), "its own name"),
        (("--beside", "cone"), "no protocol 'cone'"),
        (("--beside", "x.toml"), "no protocol 'x.toml'"),
        (("-o", "x.toml"), ".toml"),
    ],
)
def test_wrong_requests_say_what_is_wrong(base, args, message, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "strange").write_text("unknown")
    assert call("sweep", *arguments(base, tmp_path / "x.h5"), *args) == Exit.USAGE
    assert message in capfd.readouterr().err
    assert [path.name for path in tmp_path.glob("*")] == ["strange"]
