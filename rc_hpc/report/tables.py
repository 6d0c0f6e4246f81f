"""Frames as terminal text, Markdown, CSV, LaTeX and Parquet.

Text formats round for people, and the caption says how; CSV and Parquet carry every digit.
"""

from __future__ import annotations

import io
import json
import math
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rc_hpc.core.errors import RcError
from rc_hpc.core.files import name_a_folder
from rc_hpc.core.text import formatted

if TYPE_CHECKING:
    import pandas as pd

#: Formats and the ending of their files.
ENDINGS = {"terminal": "txt", "markdown": "md", "csv": "csv", "latex": "tex", "parquet": "parquet"}
#: What the text formats do to numbers; for captions.
DIGITS = "counts exact, lengths to 4 significant digits, other numbers to 4 decimals"
#: The same where there are p-values.
DIGITS_P = "counts exact, p-values to 3 significant digits, other numbers to 4 decimals"

_DIGITS_BOTH = (
    "counts exact, p-values to 3 significant digits, lengths to 4, other numbers to 4 decimals"
)
_STYLES = {"terminal": "simple", "markdown": "pipe", "latex": "latex_booktabs"}
#: What means something to Markdown or HTML within a cell.
_OF_MARKDOWN, _ENTITIES = re.compile(r"[\\|`<>\[\]]"), {"<": "&lt;", ">": "&gt;"}
#: What a spreadsheet takes for a formula: begins so, and is neither number nor point group.
_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NO_FORMULA = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?|-[1346](3m|2m|m2|m)?|[+-]?(inf|nan)|-")
#: Stands for every table where one is named.
ALL = "all"
#: Characters of a caption that is told in one piece; what parts longer ones, not in parentheses.
_CAPTION, _CLAUSES = 200, re.compile(r"; (?![^()]*\))")
#: Widths at which texts and titles of numbers are wrapped in a terminal, characters.
_WRAP, _WRAP_TITLE = 60, 14
#: By how much tabulate makes a column wider than its title.
_PADDING = 2
#: Rows that a terminal gets of a table that has twice as many, where nobody asked for it.
_SHOWN_ROWS = 40
#: Width, characters, to which columns are left out where output is no terminal; and that below
#: which a text is not wrapped before spare columns are left out.
_PIPE, _READABLE = 160, 28


@dataclass(frozen=True)
class Table:
    """A frame with the name of its file and one line that says what it is.

    `note` stands below it in terminal and Markdown: what it says in sentences.
    Column names carry their units (``_angstrom``); ``p`` and names in ``_p`` are p-values;
    `frame` holds unrounded numbers. Where several tables stand together, `brief` is their caption
    and `conditions` are told once. A terminal or pipe leaves columns of `spare` out, the first
    first, until the others have room.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    note: str = ""
    brief: str = ""
    conditions: tuple[str, ...] = ()
    spare: tuple[str, ...] = ()


def told_once(tables: Iterable[Table]) -> list[str]:
    """Conditions of all of these tables, each once; what begins another is told by it."""
    told = dict.fromkeys(one for table in tables for one in table.conditions if one)
    if DIGITS in told and DIGITS_P in told:
        told = dict.fromkeys(_DIGITS_BOTH if one == DIGITS else one for one in told)
        del told[DIGITS_P]
    return [one for one in told if not any(other.startswith(f"{one}, ") for other in told)]


def together(tables: Sequence[Table]) -> tuple[list[Table], str]:
    """Tables with their brief captions, and the conditions of all of them; of one, itself."""
    if len(tables) < 2:
        return list(tables), ""
    brief = [replace(table, caption=table.brief or table.caption) for table in tables]
    conditions = "; ".join(told_once(tables))
    return brief, f"Conditions: {conditions}." if conditions else ""


def render(table: Table, style: str, width: int | None = None) -> str:
    """The table as text in one of the formats but `parquet`, without a final newline.

    Parameters
    ----------
    width
        Of a terminal into which texts are wrapped, characters; None: as wide as they are.
    """
    if style == "csv":
        return csv_of(table.frame).rstrip("\n")
    from tabulate import tabulate

    cells, numeric = cells_of(table.frame)
    if style == "markdown":
        cells = {
            _plain(title): [_plain(text) for text in column] for title, column in cells.items()
        }
    layout: dict[str, list[Any]] = {}
    if len(table.frame):  # tabulate does not take these for a table without rows
        layout["colalign"] = ["right" if number else "left" for number in numeric]
        if style == "terminal":
            layout["maxcolwidths"] = _widths(cells, numeric, width)
            layout["maxheadercolwidths"] = [
                _WRAP_TITLE if column is None else column - _PADDING
                for column in layout["maxcolwidths"]
            ]
    rows = list(zip(*cells.values(), strict=True))
    body = tabulate(
        rows, headers=list(cells), tablefmt=_STYLES[style], disable_numparse=True, **layout
    )
    if style == "latex":
        return f"% {table.caption}\n{body}"
    caption, legend = in_lines(table.caption)
    note = "\n".join(filter(None, [legend, table.note]))
    if width:
        caption = textwrap.fill(caption, width)
        note = "\n".join(textwrap.fill(line, width) for line in note.splitlines())
    if style == "markdown":
        note = note.replace("\n", "  \n")  # a line stays one
    return f"{caption}\n\n{body}" + (f"\n\n{note}" if note else "")


def in_lines(caption: str) -> tuple[str, str]:
    """A long caption as its first clause, and the others as lines, which stand below the table."""
    if len(caption) <= _CAPTION:
        return caption, ""
    first, *others = _CLAUSES.split(caption.rstrip("."))
    return f"{first}.", "\n".join(f"{clause}." for clause in others)


def _widths(
    cells: dict[str, list[str]], numeric: list[bool], width: int | None
) -> list[int | None]:
    """Widths at which the columns are wrapped.

    To fit a terminal the widest texts give way, between words.
    """
    taken = _least_widths(cells, numeric, _WRAP)
    texts = [place for place, number in enumerate(numeric) if not number]
    if width is not None:
        room = width - 2 * (len(taken) - 1)
        words = _least_widths(cells, numeric, 0)
        while sum(taken) > room:
            wide = [place for place in texts if taken[place] > words[place]]
            if not wide:
                break
            taken[max(wide, key=lambda place: taken[place])] -= 1
    return [None if number else taken[place] for place, number in enumerate(numeric)]


def fitting(table: Table, width: int | None) -> Table:
    """The table without those of its spare columns for which there is no room.

    Parameters
    ----------
    width
        Of a terminal, characters; None: output is none.
    """
    least, room = (_WRAP, _PIPE) if width is None else (_READABLE, width)
    frame, left_out = table.frame, []
    if {"why", "message"} <= set(frame):  # the first holds the second
        frame = frame.drop(columns="message")
    for name in (one for one in table.spare if one in frame):
        cells, numeric = cells_of(frame)
        taken = _least_widths(cells, numeric, least)
        if sum(taken) + 2 * (len(taken) - 1) <= room:
            break
        if _title(name) in cells:
            left_out.append(_title(name))
        frame = frame.drop(columns=name)
    if not left_out:
        return replace(table, frame=frame)
    told = f"No room for: {', '.join(left_out)} (--format csv, or into files: -o DIR)."
    return replace(table, frame=frame, note="\n".join(filter(None, [told, table.note])))


def _least_widths(cells: dict[str, list[str]], numeric: list[bool], least: int) -> list[int]:
    """Widths that columns need: texts as many characters as `least`, or their longest word."""
    widths = []
    for (title, column), number in zip(cells.items(), numeric, strict=True):
        longest = max(map(len, column), default=0)
        if number:
            head = min(len(title), _WRAP_TITLE)
        else:
            words = [len(word) for text in column for word in text.split()]
            longest = max(*words, min(longest, least), 0, 0)
            head = max(*map(len, title.split()), min(len(title), least - _PADDING), 0)
        widths.append(max(longest, head + _PADDING))
    return widths


def names_asked(
    table: str | None, every: Iterable[str], first: Sequence[str], into_files: bool
) -> tuple[str, ...]:
    """Names of the tables to make: the one named, all into files, those to read first otherwise."""
    if table in (None, ALL):
        return tuple(every) if table == ALL or into_files else tuple(first)
    return (str(table),)


def tell_others(shown: Iterable[str], every: Iterable[str]) -> None:
    """One line on stderr on the tables that there are beside those shown."""
    if others := sorted(set(every) - set(shown)):
        print(
            f"rc_hpc: further tables: {', '.join(others)} (--table NAME; --table {ALL}; all into "
            "files: -o DIR)",
            file=sys.stderr,
        )


def cut(table: Table) -> Table:
    """The first rows of a table that is too long beside others, and how to see the rest."""
    rest = len(table.frame) - _SHOWN_ROWS
    if rest < _SHOWN_ROWS:
        return table
    told = f"{rest} more rows: --table {table.name}, or all into files: -o DIR"
    note = "\n".join(filter(None, [told, table.note]))
    return replace(table, frame=table.frame.head(_SHOWN_ROWS), note=note)


def show(found: list[Table], style: str) -> None:
    """Print tables, an empty line between them.

    Captions of CSV go to stderr, out of the way of programs. On a terminal texts are wrapped to
    its width; in a file or a pipe they are as wide as they are.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    conditions = ""
    if style in ("terminal", "markdown"):
        found, conditions = together(found)
    if style == "terminal":
        found = [fitting(table, width) for table in found]
    for number, table in enumerate(found):
        if number:
            print()
        if style == "csv":
            print(table.caption, file=sys.stderr)
        print(render(table, style, width))
    if conditions:
        print(f"\n{textwrap.fill(conditions, width) if width else conditions}")
    sys.stdout.flush()


def write(table: Table, folder: str | Path, style: str, metadata: dict) -> Path:
    """Write the table to a file named after it in `folder`, which is created; returns the path.

    Parameters
    ----------
    metadata
        JSON values that a Parquet file takes along, beside the caption.

    Raises
    ------
    RcError
        The file cannot be written, or Parquet is asked for without pyarrow.
    """
    name_a_folder(Path(folder))
    path = Path(folder) / f"{table.name}.{ENDINGS[style]}"
    data = (
        _parquet(table, metadata) if style == "parquet" else (render(table, style) + "\n").encode()
    )
    write_bytes(path, data)
    return path


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file into a folder, which is created; raises RcError where that cannot be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise RcError(
            f"{path}: cannot be written ({error.strerror}): choose another --output folder "
            "or free space"
        ) from error


def _parquet(table: Table, metadata: dict) -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise RcError(
            "Parquet needs pyarrow, which is not installed: pip install 'rc_hpc[tables]', or "
            "take --format csv"
        ) from error
    content = pyarrow.Table.from_pandas(table.frame, preserve_index=False)
    ours = json.dumps({"caption": table.caption, **metadata}, sort_keys=True)
    content = content.replace_schema_metadata(
        {**(content.schema.metadata or {}), b"rc_hpc": ours.encode()}
    )
    sink = io.BytesIO()
    parquet.write_table(content, sink)
    return sink.getvalue()


def cells_of(frame: pd.DataFrame) -> tuple[dict[str, list[str]], list[bool]]:
    """Texts by column title, and which columns are numbers.

    Columns without any text are left out.
    """
    from pandas.api.types import is_numeric_dtype

    texts = {name: [_text(name, value) for value in frame[name]] for name in frame}
    numeric = {name: is_numeric_dtype(frame[name]) for name in frame}
    _join(texts, numeric)
    shown = [name for name, column in texts.items() if any(column) or not column]
    return {_title(name): texts[name] for name in shown}, [numeric[name] for name in shown]


def _join(texts: dict[str, list[str]], numeric: dict[str, bool]) -> None:
    """Put what belongs together into one column: k/n, the two limits, the two extremes."""
    counts = [name for name in texts if name.endswith("count")]
    for name in counts:
        texts[name] = [
            f"{count}/{n}" if count else ""
            for count, n in zip(texts[name], texts["n"], strict=True)
        ]
    if counts:
        del texts["n"]
    for first, last, form in (
        ("low95", "high95", "[{}, {}]"),
        ("lowboot95", "highboot95", "[{}, {}]"),
        ("min", "max", "{} to {}"),
    ):
        for name in [name for name in texts if name.endswith(first)]:
            others = texts.pop(name.removesuffix(first) + last)
            texts[name] = [
                form.format(*pair) if all(pair) else ""
                for pair in zip(texts[name], others, strict=True)
            ]
            numeric[name] = True


def _title(name: str) -> str:
    endings = {
        "count": "k/n",
        "low95": "Wilson 95 %",
        "lowboot95": "bootstrap 95 %",
        "min": "range",
        "angstrom": "(Å)",
    }
    *words, last = name.split("_")
    return " ".join((*words, endings.get(last, last)))


def _text(name: str, value) -> str:
    if isinstance(value, str):
        # ids and messages come from other people's files: no control characters to a terminal
        return "".join(character if character.isprintable() else " " for character in value)
    try:
        if math.isnan(value):
            return ""
    except TypeError:
        return ""  # pandas.NA
    if isinstance(value, float):
        if name == "p" or name.endswith("_p"):
            return f"{value:.3g}"
        return formatted(value, ".4g" if name.endswith("_angstrom") else ".4f")
    return str(value)


def _plain(text: str) -> str:
    """Text that Markdown shows as it is: no cell, tag, link or code of its own."""
    return _OF_MARKDOWN.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), text)


def csv_of(frame: pd.DataFrame) -> str:
    """A frame as CSV, whose texts no spreadsheet takes for formulas: an apostrophe is in front."""
    texts = frame.select_dtypes(exclude="number").columns
    safe = frame.assign(**{name: frame[name].map(_no_formula) for name in texts})
    return str(safe.to_csv(index=False))


def _no_formula(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(_STARTS) or _NO_FORMULA.fullmatch(value):
        return value
    return f"'{value}"
