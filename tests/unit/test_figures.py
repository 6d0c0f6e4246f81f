"""The figures command on made-up files: what is written, and when published values are marked."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from model_cases import SAMPLES, TRUTHS, made_file, write
from pandas.testing import assert_frame_equal
from tables_cases import options_of, random_batch, with_options, write_census

from rc_hpc.core.errors import Exit, Status
from rc_hpc.engine.results import tables_of
from rc_hpc.figures import main
from rc_hpc.kinds.census import figures as census_plots
from rc_hpc.kinds.registry import KINDS
from rc_hpc.ladder import figures as ladder_plots
from rc_hpc.ladder.__main__ import main as ladder
from rc_hpc.report import recorded, style
from rc_hpc.report.plot import Given, NothingToDraw

pytestmark = pytest.mark.long

OPTIONS = options_of()
#: Samples without a loss: a model of which all rows are scored.
ANSWERED = (
    ("cubic",) * 3,
    ("cubic", "cubic", "hexagonal"),
    ("trigonal",) * 3,
    ("trigonal",) * 3,
    ("cubic",) * 3,
    ("monoclinic",) * 3,
)
PARITY = with_options(OPTIONS, enumeration="anchor", merge="first", delta=0.15)


def computed(options, n=12):
    """Rows of which all are computed and none is quarantined."""
    batch = random_batch(options, n)
    (
        batch["structures/status"][:],
        batch["structures/quarantine"][:],
        batch["structures/message"][:],
    ) = Status.ok, 0, ""
    batch["cells/n_recovered"][:] = np.maximum(
        batch["cells/n_recovered"], batch["structures/n_atoms"][:, None]
    )
    return batch


@pytest.fixture(scope="module")
def census(tmp_path_factory):
    return write_census(
        tmp_path_factory.mktemp("figures") / "census.h5", OPTIONS, random_batch(OPTIONS, 60)
    )


def check_files(folder, plots, tables):
    """Every figure has its three files, and the data are the table's frame."""
    assert {path.name for path in folder.iterdir()} == {
        f"{plot.name}.{ending}" for plot in plots for ending in ("pdf", "png", "csv")
    }
    for plot in plots:
        assert (folder / f"{plot.name}.pdf").read_bytes().startswith(b"%PDF-")
        assert (folder / f"{plot.name}.png").read_bytes().startswith(b"\x89PNG")
        data = (folder / f"{plot.name}.csv").read_text()
        head = [line for line in data.splitlines() if line.startswith("#")]
        assert {f"# figure: {plot.name}", f"# caption: {tables[plot.table].caption}"} <= set(
            head
        ) and data.startswith(head[0])
        wanted = tables[plot.table].frame
        found = pd.read_csv(
            folder / f"{plot.name}.csv", comment="#", keep_default_na=False, na_values=[""]
        )
        assert_frame_equal(found, wanted.replace("", np.nan), check_dtype=False, check_exact=True)


def test_all_figures_of_a_census(census, tmp_path, capsys):
    folder = tmp_path / "new" / "figures"
    assert main([str(census), "-o", str(folder)]) == Exit.CLEAN
    out, err = capsys.readouterr()
    counts, found = tables_of(census, tuple(KINDS["census"].table_lines))
    check_files(folder, census_plots.PLOTS, {table.name: table for table in found})
    assert not err and all(str(path) in out for path in folder.iterdir())
    head = (folder / "view-curve.csv").read_text()
    assert (
        "# source: census.h5\n" in head
        and f"# content_hash: {counts.attrs['content_hash']}\n" in head
    )
    assert (
        json.loads(head.split("# options: ")[1].splitlines()[0]) == counts.options
        and "# recorded:" not in head
    )


def test_one_figure_and_equal_files_again(census, tmp_path):
    for folder in ("a", "b"):
        assert (
            main([str(census), "--figure", "granularity", "-q", "-o", str(tmp_path / folder)])
            == Exit.CLEAN
        )
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["granularity.csv", "granularity.pdf", "granularity.png"]
    assert all(
        (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        for name in names
    )


@pytest.mark.parametrize(("subsets", "n"), [("full", 5), ("all", 0)])
def test_few_subsets_and_no_structures(tmp_path, subsets, n, capsys, monkeypatch):
    monkeypatch.setattr("rc_hpc.report.plot.FORMATS", ("pdf",))
    options = options_of(subsets)
    path = write_census(tmp_path / "census.h5", options, computed(options, n))
    assert main([str(path), "-o", str(tmp_path / "figures")]) == Exit.CLEAN
    err = capsys.readouterr().err
    for plot in census_plots.PLOTS:
        assert (tmp_path / "figures" / f"{plot.name}.pdf").exists() != (
            f"figure {plot.name} left out" in err
        )


def recorded_in(folder):
    return {path.stem for path in folder.glob("*.csv") if "# recorded:" in path.read_text()}


def test_published_values_only_where_they_apply(tmp_path, monkeypatch):
    batch = computed(PARITY)
    entries = [
        {
            "figure": e["figure"],
            "record": e["record"],
            "values": e["values"],
            "where": e["where"] | {"sample": recorded.sample_of(batch["structures/id"])},
        }
        for e in recorded._entries()
    ]
    monkeypatch.setattr(recorded, "_entries", lambda: tuple(entries))
    monkeypatch.setattr(
        "rc_hpc.report.plot.FORMATS", ()
    )  # drawn, but saved as data alone: that is what takes the time
    other_cameras = PARITY.protocol | {"rotations": PARITY.protocol["rotations"][::-1]}
    one_bad = computed(PARITY)
    one_bad["structures/status"][3] = Status.label_failed
    for name, options, rows, wanted in (
        ("parity", PARITY, batch, {"view-curve", "subsets", "granularity", "phantom-deltas"}),
        ("default", OPTIONS, batch, {"phantom-deltas"}),
        ("cameras", with_options(PARITY, protocol=other_cameras), batch, set()),
        ("incomplete", PARITY, one_bad, set()),
    ):
        path = write_census(tmp_path / f"{name}.h5", options, rows)
        assert main([str(path), "-q", "-o", str(tmp_path / name)]) == Exit.CLEAN
        assert recorded_in(tmp_path / name) == wanted


def test_published_values_are_those_of_the_records(shared, eval_ids):
    geometry, models = (
        json.loads((shared / "expected" / f"{name}.json").read_text())
        for name in ("geometry", "models")
    )
    base = {
        "sample": recorded.sample_of(eval_ids),
        "protocol": "frozen",
        "tiling": [1, 1, 1],
        "tau": 0.01,
        "truth": "stored",
        "enumeration": "anchor",
        "merge": "first",
        "delta": 0.15,
    }
    (subsets,) = recorded.find("subsets", base)
    assert dict(zip(subsets["subset"], subsets["R1_count"], strict=True)) == {
        name.replace("|", "+"): count
        for name, count in geometry["view_subsets"]["correct_counts"]["e3|0.15"].items()
    }
    for delta in (0.15, 0.01):
        (curve,) = recorded.find("view-curve", base | {"delta": delta})
        assert curve["R1"] == [
            round(mean, 4)
            for mean in geometry["view_subsets"]["mean_by_size"][f"e3|{delta}"].values()
        ]
    for name, more in (
        ("frozen", {}),
        ("offaxis", {"protocol": "off-axis"}),
        ("tiled", {"tiling": [2, 2, 2]}),
    ):
        (frontier,) = recorded.find("frontier", base | more)
        assert (
            frontier["delta_angstrom"] == geometry["frontier"]["delta_axis"]
            and frontier["R1_count"] == geometry["frontier"]["recorded_e3"][name]
        )
    noise = base | {"seeds": 10, "protocols": frozenset({"frozen", "frozen@2x2x2"})}
    assert {entry["protocol"] for entry in recorded.find("noise", noise)} == noise["protocols"]
    for entry in recorded.find("noise", noise | {"protocols": frozenset({"off-axis"})}):
        assert entry["R1"] == [
            geometry["noise"]["recorded"][f"offaxis_sig{sigma}"]["mean_acc"]
            for sigma in entry["sigma_angstrom"]
        ]
    (occlusion,) = recorded.find("occlusion", base | {"tiling": [2, 2, 2], "radii_factor": 0.5})
    assert occlusion["R1_count"] == [
        geometry["occlusion"]["recorded"][f"original_5v_{name}"]["k"]
        for name in occlusion["condition"]
    ]
    (rungs,) = recorded.find("ladder", base)
    for number, rung in ((4, "R4_count"), (3, "R3_count")):
        assert dict(zip(rungs["model"], rungs[rung], strict=True)) == {
            row["model"]: row[f"R{number}_k"] for row in models["ladder"]["models"]
        }
    assert not recorded.find("subsets", base | {"merge": "dominance"}) and not recorded.find(
        "ladder", {"sample": "another"}
    )


def test_figures_of_the_ladder(tmp_path, capsys):
    source = tmp_path / "predictions"
    source.mkdir()
    for model, samples in (("maker/one", SAMPLES), ("maker/two", ANSWERED)):
        name = model[-3:]
        write(source / f"{name}-pixels.json", made_file(model=model, samples=samples))
        write(
            source / f"{name}-text.json",
            made_file(
                "R3 coordinates-as-text", model, samples=tuple((truth,) * 3 for truth in TRUTHS)
            ),
        )
        write(
            source / f"{name}-question.json",
            made_file("no-image control (TEXT)", model, samples=(("cubic",) * 3,) * 6),
        )
    from test_ladder_command import census as ladder_census

    args = [str(source), "--census", str(ladder_census(tmp_path / "census.h5"))]
    assert (
        ladder(
            [
                *args,
                "--figures",
                str(tmp_path / "figures"),
                "--format",
                "csv",
                "-o",
                str(tmp_path / "tables"),
            ]
        )
        == Exit.CLEAN
    )
    out = capsys.readouterr().out
    from rc_hpc.ladder.evidence import Evidence
    from rc_hpc.ladder.options import LadderOptions
    from rc_hpc.ladder.run import make_tables

    options = LadderOptions.of(predictions=(source,), census=(tmp_path / "census.h5",))
    found, _ = make_tables(Evidence(options), [plot.table for plot in ladder_plots.PLOTS])
    check_files(tmp_path / "figures", ladder_plots.PLOTS, {table.name: table for table in found})
    assert str(tmp_path / "figures" / "ladder.pdf") in out and not recorded_in(tmp_path / "figures")
    assert (
        ladder([*args, "--figures", str(tmp_path / "few"), "--table", "leaderboard", "-q"])
        == Exit.CLEAN
    )
    assert {path.stem for path in (tmp_path / "few").iterdir()} == {"leaderboard"}


def test_a_kind_without_figures_is_a_usage_error(tmp_path, capsys):
    from test_store_read import PACKED
    from test_store_read import write as write_packed

    path = write_packed(tmp_path, PACKED)
    assert main([str(path)]) == Exit.USAGE
    err = capsys.readouterr().err
    assert (
        err.startswith(
            f"rc_hpc: error: {path}: there are no figures of a packed file, only of census"
        )
        and err.count("\n") == 1
    )


def test_other_mistakes_are_told_in_one_line(census, tmp_path, capsys):
    (tmp_path / "text").write_text("hello")
    (tmp_path / "taken").write_text("")
    for args, code, words in (
        (
            (census, "--figure", "frontier"),
            Exit.USAGE,
            "is a census file, whose figures are view-curve, subsets",
        ),
        ((tmp_path / "text",), Exit.FATAL, "seems to be text"),
        (
            (census, "--figure", "systems", "-o", tmp_path / "taken"),
            Exit.USAGE,
            "is a file: name a folder",
        ),
    ):
        assert main([str(arg) for arg in args]) == code
        err = capsys.readouterr().err
        assert words in err and err.count("\n") == 1


def test_too_many_subsets_for_a_line_each():
    frame = pd.DataFrame({"subset": [f"a+b{row}" for row in range(census_plots.MOST_SUBSETS + 1)]})
    with pytest.raises(NothingToDraw, match="65 are too many"):
        census_plots.subsets(Given(frame))


def test_series_differ_without_colour():
    looks = [style.series(number) for number in range(7)]
    assert (
        len({look["marker"] for look in looks})
        == len({str(look["linestyle"]) for look in looks})
        == 7
    )


def test_short_names_stay_apart():
    assert style.short_names(["a/x", "b/y"]) == ["x", "y"] and style.short_names(
        ["a/x", "b/x"]
    ) == ["a/x", "b/x"]


def test_help_loads_nothing_heavy():
    code = (
        "import sys, rc_hpc.figures as t\ntry:\n t.main(['--help'])\nexcept SystemExit as "
        "e:\n assert e.code == 0\nprint([m for m in ('matplotlib', 'pandas', 'numpy', "
        "'h5py') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert out.rstrip().endswith("[]") and all(
        f" {plot.name} " in out for plot in census_plots.PLOTS
    )
