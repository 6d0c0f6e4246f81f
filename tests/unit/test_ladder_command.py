"""The ladder command on made-up files."""

import io
import json
import subprocess
import sys
import tomllib

import numpy as np
import pandas as pd
import pytest
from model_cases import IDS, SAMPLES, TRUTHS, made_file, write
from tables_cases import LABELS, options_of, random_batch, with_options, write_census

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import Exit, Status
from rc_hpc.ladder.__main__ import main, parser
from rc_hpc.ladder.options import TABLES, LadderOptions
from rc_hpc.ladder.run import MAKERS

pytestmark = pytest.mark.long

OPTIONS = options_of("full")
RIGHT = tuple((truth,) * 3 for truth in TRUTHS)
#: First space group of each crystal system.
NUMBERS = {
    "triclinic": 1,
    "monoclinic": 3,
    "orthorhombic": 16,
    "tetragonal": 75,
    "trigonal": 143,
    "hexagonal": 168,
    "cubic": 195,
}
TRAIN_IDS = tuple(f"train-{k:02d}" for k in range(14))
TRAIN_TRUTHS = CRYSTAL_SYSTEMS * 2


def census(path, options=OPTIONS, correct=(True,) * 6, truths=TRUTHS, **changes):
    """A census of the made-up structures and training ones, in another order."""
    ids, systems = (*TRAIN_IDS, *IDS[::-1]), (*TRAIN_TRUTHS, *truths[::-1])
    batch = random_batch(options, len(ids))
    codes = np.array([CRYSTAL_SYSTEMS.index(name) + 1 for name in systems])
    batch["structures/id"][:] = ids
    batch["structures/status"][:] = Status.ok
    batch["structures/message"][:] = ""
    batch["structures/quarantine"][:] = 0
    batch["structures/duplicate"][:] = 0
    for suffix in ("", "_conventional"):
        batch[f"structures/crystal_system{suffix}"][:] = codes
        batch[f"structures/space_group{suffix}"][:] = [NUMBERS[name] for name in systems]
    batch["structures/formula"][:] = [
        f"{pair[0]}{k}{pair[1]}" for k in range(1, 8) for pair in (("Na", "Cl"), ("Fe", "O3"))
    ] + ["KBr", "TiO2"] * 3
    batch["structures/n_atoms"][:] = np.arange(len(ids)) + 2
    batch["structures/n_atoms_stored"][:] = np.where(
        np.arange(len(ids)) % 2, batch["structures/n_atoms"], 1
    )
    batch["structures/lattice"][:] = np.diag([3.0, 4.0, 5.0])
    batch["structures/lattice_stored"][:] = np.diag([3.0, 3.0, 3.0])
    for name in LABELS:
        batch[f"cells/correct_{name}"][:] = np.array([True] * len(TRAIN_IDS) + list(correct[::-1]))[
            :, None
        ]
    for name, values in changes.items():
        batch[name][:] = values
    return write_census(path, options, batch)


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "predictions"
    found.mkdir()
    write(found / "pixels.json", made_file(samples=(*SAMPLES[:5], ("cubic", None, None))))
    write(found / "text.json", made_file("R3 coordinates-as-text", samples=RIGHT))
    write(
        found / "question.json", made_file("no-image control (TEXT)", samples=(("cubic",) * 3,) * 6)
    )
    return found


def run(capsys, *args):
    code = main([str(arg) for arg in args])
    return code, *capsys.readouterr()


def csv(capsys, *args, table):
    code, out, err = run(capsys, *args, "--format", "csv", "--table", table)
    assert code == Exit.CLEAN, err
    return pd.read_csv(io.StringIO(out), keep_default_na=False, na_values=[""])


def test_the_help_lists_all_tables_and_loads_nothing_heavy():
    assert tuple(MAKERS) == tuple(TABLES)
    code = (
        "import sys, rc_hpc.ladder.__main__ as t\ntry:\n t.main(['--help'])\n"
        "except SystemExit as e:\n assert e.code == 0\n"
        "heavy = ('pandas', 'scipy', 'numpy', 'h5py', 'sklearn', 'pymatgen')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert out.rstrip().endswith("[]") and all(f" {name}" in out for name in TABLES)


def test_the_terminal_gets_what_is_read_first(folder, tmp_path, capsys):
    code, out, err = run(capsys, folder)
    assert code == Exit.CLEAN and "Every model on pictures" in out and "Over the scored" in out
    assert "Attribution ladder" not in out
    (line,) = [line for line in err.splitlines() if "further tables" in line]
    assert "baselines, cells" in line and "leaderboard" not in line and "--table NAME" in line
    assert "left out" not in err
    _, out, err = run(capsys, folder, "--table", "all")
    assert "Attribution ladder" in out and "further tables" not in err and "left out" in err
    run(capsys, folder, "-o", tmp_path / "written")
    assert (tmp_path / "written" / "ladder.txt").is_file()


def test_ladder_without_a_census_says_so(folder, capsys):
    row = csv(capsys, folder, table="ladder").iloc[0]
    assert (
        row["R4_count"],
        row["R3_count"],
        row["n"],
        row["P"],
        row["S_all"],
        row["share_all"],
    ) == (3, 6, 6, 3, 0, 1)
    _, out, _ = run(capsys, folder, "--table", "ladder")
    assert "taken as all structures without a census" in out and "3/6" in out


def test_both_ceilings(folder, tmp_path, capsys):
    loose = census(
        tmp_path / "loose.h5",
        with_options(OPTIONS, delta=0.15),
        (True, False, True, True, True, True),
    )
    args = (folder, "--census", census(tmp_path / "census.h5"), "--census", loose)
    row = csv(capsys, *args, table="ladder").iloc[0]
    assert (row["S_R1"], row["S_R1^0.15"]) == (0, -1)
    models = csv(capsys, *args, table="models")
    assert models[models["quantity"] == "R1"]["count"].tolist() == [6, 5]
    code, _, err = run(
        capsys, folder, "--census", tmp_path / "census.h5", "--census", tmp_path / "census.h5"
    )
    assert code == Exit.USAGE and "second census of R1" in err


def test_cells_follow_the_census_by_id(folder, tmp_path, capsys):
    frame = csv(
        capsys, folder, "--census", census(tmp_path / "census.h5"), table="cells"
    ).set_index("group")
    assert frame.loc["cubic", "structures"] == 2 and "tetragonal" not in frame.index
    # the census lists the structures backwards, every other one with a stored cell of one atom
    assert (
        frame.loc["cubic, stored cell smaller", "structures"]
        == frame.loc["cubic, stored cell of conventional size", "structures"]
        == 1
    )


def test_training_adds_forests_and_must_not_overlap(folder, tmp_path, capsys):
    args = (folder, "--census", census(tmp_path / "census.h5"))
    assert not csv(capsys, *args, table="baselines")["baseline"].str.startswith("forest").any()
    train = tmp_path / "train.txt"
    train.write_text("\n".join(TRAIN_IDS))
    frame = csv(capsys, *args, "--train", train, table="baselines")
    assert frame["baseline"].str.startswith("forest").sum() == 4 and (frame["n"] == 6).all()
    trials = csv(capsys, *args, "--train", train, "--resamples", 2, table="resampling")
    assert (
        len(trials) == 6 and (trials["trials"] == 2).all() and trials["highest"].between(0, 1).all()
    )
    train.write_text(IDS[0])
    code, _, err = run(capsys, *args, "--train", train, "--table", "baselines")
    assert code == Exit.FATAL and f"{IDS[0]} is an evaluation structure" in err


def test_every_table_that_can_be_made_is_printed(folder, tmp_path, capsys):
    code, out, err = run(
        capsys,
        folder,
        "--census",
        census(tmp_path / "census.h5"),
        "--table",
        "all",
        "--contrast",
        "maker/model",
        "maker/model",
    )
    assert code == Exit.CLEAN and out.count(" p-values to 3 significant digits") == len(
        TABLES
    ) - err.count("left out")
    differ, *lines = err.splitlines()
    assert differ.startswith("rc_hpc: R3 lists the stored cell, the pictures show the conventional")
    assert {line.split()[2] for line in lines} == {
        "conventions",
        "family",
        "forest-readings",
        "granularity",
        "overlap",
        "resampling",
        "transplant",
        "emission",
    }
    assert out.index("The headline by the cell's setting") < out.index("Attribution ladder")


def test_a_convention_sweep_alone(tmp_path, capsys):
    sweep = "render_convention_sweep render convention"
    write(tmp_path / "frozen.json", made_file(sweep, convention="C1_frozen", samples=RIGHT))
    write(tmp_path / "tiled.json", made_file(sweep, convention="C9_tiled"))
    code, out, err = run(capsys, tmp_path)
    assert (
        code == Exit.CLEAN
        and "C9_tiled" in out
        and "table ladder left out: it needs coordinate files" in err
    )
    row = csv(capsys, tmp_path, table="conventions").iloc[0]
    assert row[["first", "second", "only_first", "only_second", "p"]].tolist() == [3, 6, 0, 3, 0.25]


def test_files_per_table(folder, tmp_path, capsys):
    code, out, _ = run(capsys, folder, "--format", "markdown", "--output", tmp_path / "out")
    assert code == Exit.CLEAN and (tmp_path / "out" / "ladder.md").read_text().startswith(
        "Attribution ladder"
    )
    assert str(tmp_path / "out" / "models.md") in out


def test_r3_on_two_cells_are_two_ladders(folder, capsys):
    write(
        folder / "drawn.json",
        made_file(
            "coordinates", samples=(*SAMPLES[:5], ("cubic",) * 3), details={"cell": "conventional"}
        ),
    )
    frame = csv(capsys, folder, table="ladder").set_index("R3_cell")
    assert frame["R3_count"].to_dict() == {"conventional": 3, "stored": 6}


FROZEN_TWICE = OPTIONS.protocol | {"tiling": [2, 2, 2]}


def pictures(protocol, convention="C1"):
    """Details of a prediction file that records its pictures."""
    drawn = {"convention": convention, "protocol": protocol, "manifest": "renders.h5"}
    return {"cell": "conventional", "pictures": drawn}


def test_a_census_of_other_pictures_is_refused_with_the_command(folder, tmp_path, capsys):
    made = census(tmp_path / "census.h5", with_options(OPTIONS, delta=0.15))
    args = (folder, "--census", made, "--table", "ladder")
    own = made_file("pixels", model="b", samples=RIGHT, details=pictures(OPTIONS.protocol))
    write(folder / "own.json", own)
    code, out, err = run(capsys, *args)
    assert code == Exit.CLEAN
    assert "pictures C1: protocol frozen, 5 views, tiling 1x1x1" in out
    assert "1 pixel files do not record their pictures.\nthe census is of protocol frozen" in out
    write(folder / "own.json", made_file("pixels", model="b", details=pictures(FROZEN_TWICE)))
    code, out, err = run(capsys, *args)
    assert (code, out) == (Exit.USAGE, "") and "tiling 1x1x1, the pictures are of" in err
    assert (
        "python -m rc_hpc.census PACKED.h5 --for-pictures renders.h5 --delta 0.15 -o CENSUS.h5"
        in err
    )
    write(
        folder / "another.json",
        made_file("pixels", model="c", details=pictures(OPTIONS.protocol)),
    )
    code, _, err = run(capsys, folder, "--table", "ladder")
    assert code == Exit.USAGE and "give files of one drawing" in err


def test_a_ladder_of_any_convention(tmp_path, capsys):
    details = pictures(FROZEN_TWICE, "C4")
    text = {"cell": "conventional"}
    write(tmp_path / "c4.json", made_file("pixels", convention="C4", details=details))
    write(tmp_path / "text.json", made_file("coordinates", samples=RIGHT, details=text))
    row = csv(capsys, tmp_path, table="ladder").iloc[0]
    assert (row["R4_count"], row["R3_count"], row["R3_cell"]) == (3, 6, "conventional")
    write(
        tmp_path / "c2.json",
        made_file("pixels", convention="C2", samples=RIGHT, details=pictures(FROZEN_TWICE, "C2")),
    )
    code, _, err = run(capsys, tmp_path, "--table", "ladder")
    assert code == Exit.USAGE and "choose pictures with --convention: C2, C4" in err
    assert csv(capsys, tmp_path, "--convention", "C2", table="ladder")["R4_count"].item() == 6
    code, _, err = run(capsys, tmp_path, "--convention", "C5")
    assert code == Exit.USAGE and "conventions of the files: C2, C4" in err


def test_shares_have_a_meaning_or_are_not_there(folder, tmp_path, capsys):
    row = csv(capsys, folder, table="ladder").iloc[0]
    assert 0 < row["share_all_lowboot95"] <= row["share_all_highboot95"] == 1
    models = csv(capsys, folder, table="models").set_index("quantity")
    assert models.loc["share of the one model", "value"] == 1
    assert not models.index.str.startswith("median share").any()
    assert np.isnan(models.loc["share of the one model", "low"])
    # coordinates worse than pictures: nothing is lost in looking
    write(folder / "pixels.json", made_file(samples=RIGHT))
    write(folder / "text.json", made_file("R3 coordinates-as-text"))
    row = csv(capsys, folder, table="ladder").iloc[0]
    assert row["P"] == -3 and row.filter(like="share_all").isna().all()


def test_a_family_from_a_file(folder, tmp_path, capsys):
    path = tmp_path / "family.toml"
    path.write_text(
        'title = "Mine, {n}"\n'
        '[[test]]\nname = "a"\ntest = "sign"\ncounts = [9, 1]\n'
        '[[test]]\nname = "b"\ntest = "fisher"\ncounts = [[9, 10], [1, 10]]\n'
    )
    code, out, _ = run(capsys, folder, "--family", path, "--table", "family")
    assert code == Exit.CLEAN and out.startswith("Mine, 2, Benjamini-Hochberg over all of them")
    path.write_text('[[test]]\nname = "a"\ntest = "sign"\n')
    code, _, err = run(capsys, folder, "--family", path, "--table", "family")
    assert code == Exit.USAGE and "test 1 cannot be computed" in err


def test_sample_gate_is_an_option(folder, capsys):
    assert pd.isna(csv(capsys, folder, table="ladder")["unscored"].iloc[0])
    assert (
        csv(capsys, folder, "--gate-samples", table="ladder")["unscored"].iloc[0]
        == "lost samples above 5 %"
    )


@pytest.mark.parametrize("format", ["json", "jsonl"])
def test_labels_are_checked(folder, tmp_path, capsys, format):
    path = tmp_path / "labels"
    good = dict(zip(IDS, TRUTHS, strict=True))
    for labels, code in ((good, Exit.CLEAN), (good | {"id-3": "cubic"}, Exit.FATAL)):
        if format == "json":
            path.write_text(
                json.dumps({id_: {"crystal_system": system} for id_, system in labels.items()})
            )
        else:
            path.write_text(
                "\n".join(
                    json.dumps({"material_id": id_, "crystal_system": system})
                    for id_, system in labels.items()
                )
            )
        found, _, err = run(capsys, folder, "--labels", path, "--table", "files")
        assert found == code and (code == Exit.CLEAN or "id-3 is trigonal there and cubic" in err)


def spoiled(name, tmp_path, folder):
    """Arguments of a request that must be refused, and what the message says."""
    whole = (folder, "--table", "ladder", "--census")
    match name:
        case "no full protocol":
            options = options_of("axis_a+axis_b")
            return (
                (*whole, census(tmp_path / "c.h5", options)),
                Exit.FATAL,
                "full protocol is not among",
            )
        case "another truth":
            return (
                (*whole, census(tmp_path / "c.h5", truths=("trigonal", *TRUTHS[1:]))),
                Exit.FATAL,
                "id-0 is trigonal there and cubic",
            )
        case "not computed":
            return (
                (*whole, census(tmp_path / "c.h5", **{"structures/status": Status.quarantined})),
                Exit.FATAL,
                "id-0 has status quarantined",
            )
        case "not in the census":
            write(folder / "more.json", made_file(model="b", ids=[f"mp-{k}" for k in range(6)]))
            (
                (folder / "pixels.json").unlink(),
                (folder / "text.json").unlink(),
                (folder / "question.json").unlink(),
            )
            write(
                folder / "text.json",
                made_file("R3 coordinates-as-text", model="b", ids=[f"mp-{k}" for k in range(6)]),
            )
            return (
                (*whole, census(tmp_path / "c.h5")),
                Exit.FATAL,
                "6 of 6 structures are not in it: mp-0",
            )
        case "fewer structures":
            write(
                folder / "short.json",
                made_file(model="b", samples=RIGHT[:4], ids=IDS[:4], truths=TRUTHS[:4]),
            )
            return (folder,), Exit.FATAL, "short.json: 2 of 6 structures are missing: id-4, id-5"
        case "more structures":
            write(
                folder / "wide.json",
                made_file(
                    model="b",
                    samples=(*RIGHT, ("cubic",)),
                    ids=(*IDS, "id-6"),
                    truths=(*TRUTHS, "cubic"),
                ),
            )
            return (folder,), Exit.FATAL, "wide.json: is over 7 structures"
        case "no such model":
            return (
                (folder, "--contrast", "a", "b", "--census", census(tmp_path / "c.h5")),
                Exit.USAGE,
                "no pixel file of a",
            )
        case "table without its input":
            return (folder, "--table", "granularity"), Exit.USAGE, "--table granularity needs"
        case "emitted atoms without a packed file":
            (tmp_path / "emitted.json").write_text(
                json.dumps([{"material_id": "id-0", "emitted": [["Na", 0, 0, 0]]}])
            )
            return (
                (
                    folder,
                    "--structures",
                    census(tmp_path / "c.h5"),
                    "--emitted",
                    tmp_path / "emitted.json",
                    "--table",
                    "transplant",
                ),
                Exit.FATAL,
                "it is a census file",
            )
        case "parquet on a terminal":
            return (folder, "--format", "parquet"), Exit.USAGE, "--output"
        case "no training ids":
            (tmp_path / "train.txt").write_text("")
            return (
                (
                    folder,
                    "--census",
                    census(tmp_path / "c.h5"),
                    "--train",
                    tmp_path / "train.txt",
                    "--table",
                    "baselines",
                ),
                Exit.USAGE,
                "holds no ids",
            )
        case "an id twice":
            train = tmp_path / "train.txt"
            train.write_text("a\nb\na\n")
            args = (folder, "--census", census(tmp_path / "c.h5"), "--train", train)
            return (*args, "--table", "baselines"), Exit.USAGE, "is there twice"
        case "negative trials":
            return (folder, "--resamples", "-1"), Exit.USAGE, "--resamples must be at least 0"
        case "a lone model":
            return (folder, "--contrast", "a"), Exit.USAGE, "--contrast"
    raise AssertionError(name)


@pytest.mark.parametrize(
    "name",
    [
        "no full protocol",
        "another truth",
        "not computed",
        "not in the census",
        "fewer structures",
        "more structures",
        "no such model",
        "table without its input",
        "emitted atoms without a packed file",
        "parquet on a terminal",
        "no training ids",
        "an id twice",
        "negative trials",
        "a lone model",
    ],
)
def test_refusals_are_one_line(folder, tmp_path, capsys, name):
    args, code, message = spoiled(name, tmp_path, folder)
    found, out, err = run(capsys, *args)
    assert (
        (found, out) == (code, "")
        and err.startswith("rc_hpc: error: ")
        and err.count("\n") == 1
        and message in err
    )


def test_options_are_written_and_read_back(folder, tmp_path, capsys):
    again = tmp_path / "again.toml"
    args = [str(folder), "--contrast", "a", "b", "--contrast", "c", "d e", "--gate-samples"]
    first = parser().read([*args, "--resamples", "3", "--write-config", str(again)])
    assert tomllib.loads(again.read_text())["contrast"] == [["a", "b"], ["c", "d e"]]
    second = parser().read(["--config", str(again)])
    assert second.make(LadderOptions) == first.make(LadderOptions)
    assert second.make(LadderOptions).contrast == (("a", "b"), ("c", "d e"))
    again.write_text('contrast = [["a"]]')
    code, _, err = run(capsys, folder, "--config", again)
    assert code == Exit.USAGE and "contrast: give lists of 2" in err
