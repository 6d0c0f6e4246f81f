"""The text of one CIF data block: its tokens, names without regard to case, loops that are whole.

pymatgen's own scanner knows one spelling of keywords and names, drops what is not ASCII (a minus
sign of another kind with it) and takes a name for a value. So the block is read here, strictly
where it tells the structure, and written out plainly for pymatgen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

#: Characters that are written for a minus sign: hyphens, dashes, U+2212 and the wide ones.
MINUS = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"), "-")
#: Values that say nothing.
UNKNOWN = ("", ".", "?")
#: Names that tell the structure begin so; their faults are not passed over.
TELLING = ("_cell_", "_atom_site_", "_atom_type_", "_symmetry_", "_space_group_", "_chemical_form")
TOKEN = re.compile(
    r"""^;(?P<text>.*?)^;
      | \#[^\n]*
      | '(?P<single>(?:[^'\n]|'(?=\S))*)'(?=\s|\Z)
      | "(?P<double>(?:[^"\n]|"(?=\S))*)"(?=\s|\Z)
      | (?P<bare>\S+)""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
#: A CIF number and, in brackets, its uncertainty.
NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:\([\d.]*\))?", re.ASCII)
NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
Values = dict[str, list[str]]


def number(text: str) -> str:
    """A CIF number without its uncertainty; a ValueError for anything else."""
    plain = text.translate(MINUS)
    if NOT_FINITE.fullmatch(plain):
        return plain
    found = NUMBER.fullmatch(plain)
    if not found:
        raise ValueError(f"{text!r} is not a number")
    return found[1]


def told(name: str, text: str) -> str:
    """The same of the value of `name`, which a message names."""
    try:
        return number(text)
    except ValueError as error:
        raise ValueError(f"{name} {error}; correct it") from None


def tokens(text: str) -> Iterator[tuple[str, str]]:
    """Kind (keyword, name, value) and content of each token; comments are left out."""
    for found in TOKEN.finditer(text):
        kind = found.lastgroup
        if kind is None:
            continue
        content = found[kind]
        if kind == "text":
            yield "value", " ".join(line.strip() for line in content.split("\n")).strip()
        elif kind != "bare":
            yield "value", content
        elif content.startswith(";") and text[: found.start()][-1:] in ("", "\n"):
            raise ValueError(f"the text field {content[:20]!r} is never closed; it is cut short")
        elif content.startswith("_"):
            yield "name", content
        elif re.match(r"(loop_|global_|stop_)$|(data_|save_)", content, re.IGNORECASE):
            yield "keyword", content.lower()
        else:
            yield "value", content


def parse_block(text: str) -> Values:
    """Values of each name of one data block.

    Names are in small letters with the dots of the newer dictionaries as underscores.

    Raises
    ------
    ValueError
        A loop is not filled, or a name that tells the structure has no value, two or is told twice.
    """
    values: Values = {}
    row: list[str] = []  # names of the loop, or the one name, that values belong to
    in_loop = open_loop = False
    for kind, content in [*tokens(text), ("keyword", "")]:
        if kind == "value":
            if row:
                open_loop = False
                _add(values, row, content, in_loop)
            continue
        if kind == "name" and open_loop:
            row.append(_started(values, content))
            continue
        _check_filled(values, row, in_loop)
        in_loop = open_loop = content == "loop_"
        row = [_started(values, content)] if kind == "name" else []
        if content.startswith("save_"):
            raise ValueError("it holds save frames, as dictionaries do; give a structure's CIF")
    return values


def _started(values: Values, content: str) -> str:
    name = content.lower().replace(".", "_").rstrip("_")
    if name in values and name.startswith(TELLING):
        raise ValueError(f"{content} is told twice; remove one of them")
    values[name] = []
    return name


def _add(values: Values, row: Sequence[str], content: str, in_loop: bool) -> None:
    if in_loop:
        shortest = min(row, key=lambda name: len(values[name]))  # the first of those that lack one
        values[shortest].append(content)
    elif not values[row[0]]:
        values[row[0]].append(content)
    elif row[0].startswith(TELLING):
        raise ValueError(
            f"{row[0]} has two values, {values[row[0]][0]!r} and {content!r}; "
            "quote what belongs together"
        )


def _check_filled(values: Values, row: Sequence[str], in_loop: bool) -> None:
    counts = [len(values[name]) for name in row]
    if not row or (len(set(counts)) == 1 and counts[0]):
        return
    if in_loop:
        raise ValueError(
            f"the loop of {row[0]} has {len(row)} columns, and {sum(counts)} values do not fill "
            "its rows; complete the last one, and quote values with spaces"
        )
    if row[0].startswith(TELLING):
        raise ValueError(f"{row[0]} has no value; complete it, or write ?")


def written(single: Mapping[str, str], loops: Sequence[Mapping[str, Sequence[str]]]) -> str:
    """A data block that pymatgen's scanner reads as meant."""
    lines = ["data_x", *(f"{name} {_quoted(value)}" for name, value in single.items())]
    for loop in loops:
        lines += ["loop_", *loop]
        rows = zip(*loop.values(), strict=True)
        lines += [" ".join(map(_quoted, values)) for values in rows]
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    value = re.sub(r"\s+#", "_#", value)  # what follows would be taken for a comment
    value = re.sub(r"\s+", " ", value)
    return '"' + value.replace('"', "'") + '"' if "'" in value else f"'{value}'"
