"""Writers of frames."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from rc_hpc.core.errors import RcError
from rc_hpc.report.tables import (
    DIGITS,
    DIGITS_P,
    Table,
    csv_of,
    cut,
    in_lines,
    render,
    told_once,
    write,
)

FRAME = pd.DataFrame(
    {
        "status": ["a_b & 50%", "x|y\nz\x1b[31m"],
        "n": pd.array([210, 3], "Int64"),
        "R1_count": pd.array([208, pd.NA], "Int64"),
        "R1": [208 / 210, np.nan],
        "R1_low95": [0.96594, np.nan],
        "R1_high95": [0.99738, np.nan],
        "subset_min": [0.5, np.nan],
        "subset_max": [1.0, np.nan],
        "error_angstrom": [2.00449e-14, np.inf],
        "nothing": [np.nan, np.nan],
    }
)
TABLE = Table("sample", "Sample of 50% in Å.", FRAME)


def lines(style):
    return render(TABLE, style).splitlines()


def test_terminal():
    caption, empty, *header, _, first, second = lines("terminal")
    header = " ".join(" ".join(header).split())
    assert (caption, empty) == (TABLE.caption, "")
    for words in ("R1 k/n", "Wilson", "95 %", "subset", "range", "error (Å)"):
        assert words in header
    assert "nothing" not in header
    for words in ("208/210", "0.9905", "[0.9659, 0.9974]", "0.5000 to 1.0000", "2.004e-14"):
        assert words in first
    assert "inf" in second and "nan" not in second and "<NA>" not in second and "\x1b" not in second


def test_markdown_escapes_pipes():
    row = lines("markdown")[-1]
    assert "x\\|y z" in row
    assert row.replace("\\|", "").count("|") == lines("markdown")[2].count("|")


def test_latex_is_booktabs_and_escaped():
    text = render(TABLE, "latex")
    assert text.startswith("% Sample of 50% in Å.\n\\begin{tabular}")
    for words in ("\\toprule", "\\midrule", "\\bottomrule", "a\\_b \\& 50\\%", "Wilson 95 \\%"):
        assert words in text
    body = text.split("\\midrule\n")[1].split("\\bottomrule")[0].splitlines()
    assert len(body) == 2 and all(line.rstrip().endswith("\\\\") for line in body)


def test_csv_has_every_digit_and_raw_text():
    text = render(TABLE, "csv")
    assert (
        repr(208 / 210) in text
        and "2.00449e-14" in text
        and "error_angstrom" in text.splitlines()[0]
    )
    assert "208,210" not in text and "210,208," in text


def test_long_messages_wrap_in_the_terminal_only():
    table = Table(
        "status", "c", pd.DataFrame({"status": ["ok"], "example_message": ["word " * 50]})
    )
    assert max(len(line) for line in render(table, "terminal").splitlines()) < 80
    assert "word " * 49 in render(table, "markdown")


@pytest.mark.parametrize("style", ["terminal", "markdown", "latex", "csv"])
def test_no_rows(style):
    assert "status" in render(Table("t", "c", FRAME.iloc[:0]), style)


def test_files_have_the_rendered_text(tmp_path):
    path = write(TABLE, tmp_path / "deep" / "er", "markdown", {})
    assert (
        path.name == "sample.md"
        and path.read_text(encoding="utf-8") == render(TABLE, "markdown") + "\n"
    )


def test_unwritable_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RcError, match="file is a file: name a folder"):
        write(TABLE, tmp_path / "file", "csv", {})


@pytest.mark.parametrize(
    "text", ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "-A1:B2", "\t=1", "-1(x)"]
)
def test_no_text_becomes_a_formula(text):
    told = csv_of(pd.DataFrame({"id": [text, "mp-1"], "n": [-1, 2]}))
    rows = list(csv.reader(io.StringIO(told, newline="")))
    assert rows[1] == ["'" + text, "-1"] and rows[2] == ["mp-1", "2"]


@pytest.mark.parametrize("text", ["-3m", "-43m", "-1", "-0.5", "+1e-6", "-", "axis_a+axis_b"])
def test_what_is_no_formula_stays(text):
    rows = list(csv.reader(io.StringIO(csv_of(pd.DataFrame({"label": [text]})))))
    assert rows[1] == [text]


def test_markdown_shows_texts_as_they_are():
    table = Table("t", "c", pd.DataFrame({"id": ["<b>[x](y)`z`</b>"], "n": [1]}))
    assert "&lt;b&gt;\\[x\\](y)\\`z\\`&lt;/b&gt;" in render(table, "markdown")


def test_conditions_of_several_tables_are_told_once():
    frame = pd.DataFrame({"n": [1]})
    tables = [
        Table("a", "a", frame, conditions=("delta 0.01 Å", DIGITS)),
        Table("b", "b", frame, conditions=("delta 0.01 Å", "counts exact")),
    ]
    assert told_once(tables) == ["delta 0.01 Å", DIGITS]
    both = told_once([*tables, Table("c", "c", frame, conditions=("delta 0.01 Å", DIGITS_P))])
    assert both[0] == "delta 0.01 Å" and len(both) == 2
    assert both[1].startswith("counts exact, p-values to 3 significant digits, lengths to 4, ")


def test_a_long_table_is_cut_where_nobody_asked_for_it():
    frame = pd.DataFrame({"number": range(1000)})
    short = cut(Table("long", "All.", frame, "A verdict."))
    assert list(short.frame["number"]) == list(range(40))
    assert short.note == "960 more rows: --table long, or all into files: -o DIR\nA verdict."
    whole = Table("short", "All.", frame.head(79))
    assert cut(whole) is whole
    assert len(cut(Table("long", "All.", frame.head(80))).frame) == 40


def test_a_long_caption_is_told_in_lines():
    caption = f"What (one; two) is{' so' * 60}; first: 1; second: 2 (three; four)."
    head, legend = in_lines(caption)
    assert head == caption.partition("; first")[0] + "."
    assert legend == "first: 1.\nsecond: 2 (three; four)."
    assert in_lines("Short; told: at once.") == ("Short; told: at once.", "")
    told = render(Table("t", caption, pd.DataFrame({"n": [1]}), "A verdict."), "terminal", 80)
    assert told.endswith("first: 1.\nsecond: 2 (three; four).\nA verdict.")
    latex = render(Table("t", caption, pd.DataFrame({"n": [1]})), "latex")
    assert latex.startswith(f"% {caption}\n")


@pytest.mark.parametrize("style", ["terminal", "markdown", "latex"])
def test_no_number_is_a_negative_zero(style):
    frame = pd.DataFrame({"difference": [-2e-6, -0.25], "shift_angstrom": [-0.0, -2e-6]})
    told = render(Table("signs", "Signs.", frame), style).replace("$", "")
    assert "-0.0000" not in told and "-0.2500" in told and "-2e-06" in told.replace("--", "-")
