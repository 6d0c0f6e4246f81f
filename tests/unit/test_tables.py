"""The tables command on made-up census files."""

import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from tables_cases import options_of, random_batch, select, with_options, write_census

from rc_hpc.core.errors import Exit, RcError, Status
from rc_hpc.engine.results import summary
from rc_hpc.kinds.census import KIND
from rc_hpc.kinds.census.counts import count_census
from rc_hpc.kinds.census.tables import tables
from rc_hpc.tables import main

OPTIONS = options_of(tiling=(2, 1, 1))


@pytest.fixture(scope="module")
def batch():
    return random_batch(OPTIONS, 60)


@pytest.fixture(scope="module")
def census(tmp_path_factory, batch):
    return write_census(tmp_path_factory.mktemp("tables") / "census.h5", OPTIONS, batch)


def frames(path, **more):
    return {
        table.name: table.frame for table in tables(count_census(path, **more), KIND.table_lines)
    }


def printed(path):
    """Those that are made where none is named."""
    return {name: frame for name, frame in frames(path).items() if name not in KIND.long}


def quantity(frame, name, structures):
    rows = frame[(frame["quantity"] == name) & (frame["structures"] == structures)]
    assert len(rows) == 1
    return rows.iloc[0]


def test_small_blocks_give_the_same_tables(census):
    whole, small = frames(census), frames(census, block_bytes=26 * 8 * 7)
    for name in KIND.table_lines:
        assert_frame_equal(whole[name], small[name])


def test_quarantine_policies(tmp_path, batch):
    ok, flagged = batch["structures/status"] == Status.ok, batch["structures/quarantine"] > 0
    right = batch["cells/correct_crystal_system"][:, -1]
    dropped = int((batch["structures/status"] == Status.quarantined).sum())
    assert (ok & flagged).sum() > 3 and dropped > 1
    expected = {
        "mark": {"without quarantined": ok & ~flagged, "with quarantined": ok},
        "keep": {"all": ok},
        "drop": {"without quarantined": ok & ~flagged},
    }
    for policy, sets in expected.items():
        rows = batch if policy != "drop" else select(batch, ~(ok & flagged))
        path = write_census(
            tmp_path / f"{policy}.h5", with_options(OPTIONS, quarantine=policy), rows
        )
        frame = frames(path)["reference"]
        assert list(dict.fromkeys(frame["structures"])) == list(sets)
        for name, chosen in sets.items():
            row = quantity(frame, "R1, full protocol", name)
            assert (row["count"], row["n"]) == (right[chosen].sum(), chosen.sum())
            row = quantity(frame, "quarantined, of all labelled", name)
            assert row["count"] == dropped + (0 if policy == "drop" else (ok & flagged).sum())


def test_tiling_counts_in_the_excess(census, batch):
    chosen = (batch["structures/status"] == Status.ok) & (batch["structures/quarantine"] == 0)
    excess = (
        batch["cells/n_recovered"][chosen].astype(float)
        - 2 * batch["structures/n_atoms"][chosen][:, None]
    )
    frame = frames(census)["subsets"]
    np.testing.assert_allclose(
        frame[frame["structures"] == "without quarantined"]["mean_excess"], excess.mean(axis=0)
    )
    assert list(frame["subset"][:2]) == ["axis_a+axis_b", "axis_a+axis_c"]


def test_status_table_counts_every_row_and_shows_the_first(census, batch):
    frame = frames(census)["status"].set_index("status")
    assert frame["rows"].sum() == 60
    bad = np.flatnonzero(batch["structures/status"] == Status.read_error)
    assert tuple(frame.loc["read_error"]) == (
        len(bad),
        f"id-{bad[0]:03d}",
        batch["structures/message"][bad[0]],
    )


def test_subsets_that_are_not_there_are_not_shown(tmp_path):
    for subsets, wanted in (
        ("full", "R1, full protocol"),
        ("axis_a+axis_b", "R1, subsets of 2 views"),
    ):
        options = options_of(subsets)
        path = write_census(tmp_path / f"{wanted[:8]}{subsets}.h5", options, random_batch(options))
        found = frames(path)
        assert {q for q in found["reference"]["quantity"] if q.startswith("R1")} == {wanted}
        assert len(set(found["subsets"]["subset"])) == 1


def test_looser_tolerance_names_itself(tmp_path):
    options = options_of("full", delta=0.15)
    path = write_census(tmp_path / "loose.h5", options, random_batch(options))
    found = tables(count_census(path), ("reference",))[0]
    assert (
        "R1^0.15, full protocol" in set(found.frame["quantity"])
        and "; delta 0.15 Å; " in found.caption
        and "; tau 0.01 Å; " in found.caption
    )


def test_empty_census(tmp_path, capsys):
    path = write_census(tmp_path / "empty.h5", OPTIONS, random_batch(OPTIONS, 0))
    assert main([str(path)]) == Exit.CLEAN
    assert "0/0" in capsys.readouterr().out


def test_a_row_without_results_is_refused(tmp_path, batch):
    broken = {path: values.copy() for path, values in batch.items()}
    row = int(np.flatnonzero(broken["structures/status"] == Status.ok)[3])
    broken["cells/n_recovered"][row, 5] = -1
    path = write_census(tmp_path / "broken.h5", OPTIONS, broken)
    with pytest.raises(RcError, match=f"id-{row:03d}.*no result"):
        count_census(path)


def test_summary_is_reference_and_status(census):
    text = summary(census)
    assert (
        text.count("Model-free reference") == 1
        and "Rows by status" in text
        and "View subsets" not in text
    )
    assert "PARTIAL" not in text


def test_partial_file_says_so(tmp_path, batch):
    path = write_census(tmp_path / "partial.h5", OPTIONS, batch, complete_rows=0)
    assert summary(path).count("PARTIAL: 60 of 99 structures are done") == 2


def test_terminal_shows_all_tables_with_captions(census, capsys):
    assert main([str(census)]) == Exit.CLEAN
    out = capsys.readouterr().out
    for words in (
        "Model-free reference",
        "View subsets",
        "granularity of the label",
        "true crystal system",
        "Rows by status",
    ):
        assert words in out
    assert "protocol frozen, 5 views, tiling 2x1x1; delta 0.01 Å; enumeration all-pairs; " in out
    assert "4 decimals" in out


def test_csv_reads_back_unrounded(census, tmp_path, capsys):
    assert (
        main([str(census), "--format", "csv", "--output", str(tmp_path / "new" / "tables")])
        == Exit.CLEAN
    )
    said = capsys.readouterr().out
    for name, frame in printed(census).items():
        path = tmp_path / "new" / "tables" / f"{name}.csv"
        assert str(path) in said
        back = pd.read_csv(path, dtype=str, keep_default_na=False)
        assert list(back) == list(frame)
        for column in frame.select_dtypes("number"):
            found = [float(text or "nan") for text in back[column]]
            np.testing.assert_array_equal(found, frame[column].to_numpy(float, na_value=np.nan))
    assert "length_angstrom" in pd.read_csv(tmp_path / "new" / "tables" / "reference.csv")
    about = json.loads((tmp_path / "new" / "tables" / "tables.json").read_text(encoding="utf-8"))
    assert about["options"] == json.loads(OPTIONS.to_json()) and len(about["content_hash"]) == 64
    assert about["captions"].keys() == printed(census).keys() and about["captions"][
        "subsets"
    ].startswith("View subsets")


def test_csv_on_stdout_is_csv_alone(census, capsys):
    assert main([str(census), "--format", "csv", "--table", "subsets"]) == Exit.CLEAN
    out, err = capsys.readouterr()
    assert len(pd.read_csv(io.StringIO(out))) == 52 and "View subsets" in err


def test_parquet_carries_types_and_conditions(census, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert main([str(census), "--format", "parquet", "-q", "--output", str(tmp_path)]) == Exit.CLEAN
    for name, frame in printed(census).items():
        assert_frame_equal(pd.read_parquet(tmp_path / f"{name}.parquet"), frame)
    found = json.loads(parquet.read_schema(tmp_path / "subsets.parquet").metadata[b"rc_hpc"])
    assert found["options"] == json.loads(OPTIONS.to_json()) and len(found["content_hash"]) == 64
    assert found["caption"].startswith("View subsets")


def test_parquet_without_pyarrow_names_the_cure(census, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main([str(census), "--format", "parquet", "--output", str(tmp_path)]) == Exit.FATAL
    err = capsys.readouterr().err
    assert (
        err.startswith("rc_hpc: error: ")
        and "pip install 'rc_hpc[tables]'" in err
        and err.count("\n") == 1
    )


def test_parquet_needs_a_folder(census, capsys):
    assert main([str(census), "--format", "parquet"]) == Exit.USAGE
    assert "--output" in capsys.readouterr().err


@pytest.mark.parametrize("make", ["packed", "text", "missing"])
def test_other_files_are_refused_in_one_line(tmp_path, capsys, make):
    path = tmp_path / "other"
    if make == "text":
        path.write_text("hello")
    elif make == "packed":
        from test_store_read import PACKED, write

        path = write(tmp_path, PACKED)
    assert main([str(path)]) == (Exit.FATAL if make == "text" else Exit.USAGE)
    err = capsys.readouterr().err
    assert err.startswith(f"rc_hpc: error: {path}") and err.count("\n") == 1
    assert ("python -m rc_hpc.census" in err) == (make == "packed")


def test_output_that_is_a_file(census, tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert main([str(census), "--format", "csv", "--output", str(tmp_path / "taken")]) == Exit.USAGE
    assert "is a file: name a folder" in capsys.readouterr().err


def test_help_loads_nothing_heavy():
    code = (
        "import sys, rc_hpc.tables as t\ntry:\n t.main(['--help'])\nexcept SystemExit as "
        "e:\n assert e.code == 0\nprint([m for m in ('pandas', 'scipy', 'numpy', 'h5py', "
        "'pyarrow', 'numba') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "rc_hpc.tables census.h5 --format csv" in out and out.rstrip().endswith("[]")


def test_the_verdict_says_what_the_table_shows(census, batch):
    (table,) = tables(count_census(census), ["reference"])
    sentence, *glossary = table.note.splitlines()
    frame = table.frame
    full = quantity(frame, "R1, full protocol", "without quarantined")
    proved = quantity(frame, "certified, full protocol", "without quarantined")
    assert f"reads {full['count']} of {full['n']} structures rightly (2 cells drawn" in sentence
    unique = quantity(frame, "unique, full protocol", "without quarantined")
    assert f"; {proved['count']} are certified, {unique['count']} unique" in sentence
    pairs = quantity(frame, "R1, subsets of 2 views", "without quarantined")
    name, k = sentence.partition("Weakest pair: ")[2].removesuffix(".").rsplit(", ", 1)
    assert k == f"{round(pairs['subset_min'] * full['n'])} of {full['n']}"
    kept = (batch["structures/status"] == Status.ok) & (batch["structures/quarantine"] == 0)
    place = [subset_name(cameras) for cameras in OPTIONS.subsets].index(name)
    assert batch["cells/correct_crystal_system"][kept, place].sum() == int(k.split()[0])
    flagged = (batch["structures/status"] == Status.ok) & (batch["structures/quarantine"] > 0)
    assert f"{flagged.sum()} quarantined left out" in sentence
    assert [line.partition(":")[0] for line in glossary] == [
        "R0",
        "R1",
        "certified",
        "unique",
        "quarantined",
    ]


def subset_name(cameras):
    return "+".join(OPTIONS.protocol["views"][camera] for camera in cameras)
