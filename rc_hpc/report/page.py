"""One self-contained HTML page of results: sentences, tables, figures, single structures."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import numpy as np

from rc_hpc.report.tables import Table, cells_of, in_lines, told_once

#: Of the structures of a file; 9 costs four times as much for a hundredth less.
_GZIP = 6
#: Rows above which a table has a bar of its own to scroll.
_LONG = 60
#: Failing structures that the overview names.
NAMED = 10
#: By which a page is known for one of ours.
GENERATOR = b'<meta name="generator" content="rc_hpc report">'
_TYPES = {"uint8": "u1", "uint16": "u2", "int32": "i4", "uint32": "u4", "float32": "f4"}
_MAX = {one: int(np.iinfo(one).max) for one in (np.uint8, np.uint16, np.uint32)}


@dataclass(frozen=True)
class Picture:
    """A figure of the page.

    Attributes
    ----------
    name, caption
    svg
        The figure itself.
    """

    name: str
    caption: str
    svg: bytes


@dataclass(frozen=True)
class Structures:
    """The structures of a file as the page's program takes them.

    Attributes
    ----------
    plain
        JSON values: lists of texts, a value each structure, and what belongs to the file.
    arrays
        float32 or whole numbers, by name; these take as many bytes as their largest needs.
    """

    plain: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Section:
    """What the page says of one file.

    Attributes
    ----------
    title
        Its name.
    verdict
        A sentence or two; empty where there is none.
    failing, failures
        Ids of what is refused, wrong, or without a certificate, the worst first, and a sentence
        on them that ends with a stop.
    tables, pictures
    facts
        Options, versions, hashes: texts by name.
    structures
        None where single structures cannot be shown.
    """

    title: str
    verdict: str
    tables: Sequence[Table]
    pictures: Sequence[Picture]
    facts: Mapping[str, str]
    failing: Sequence[str] = ()
    failures: str = ""
    structures: Structures | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)


def assemble(title: str, sections: Sequence[Section]) -> str:
    """The page: it loads nothing from anywhere, and allows nothing else to run."""
    style, script = _asset("page.css"), "".join(map(_asset, ("page.js", "panel.js")))
    parts = {
        "TITLE": escape(title),
        "STYLE": style,
        "STYLE_HASH": _hash(style),
        "SCRIPT": script,
        "SCRIPT_HASH": _hash(script),
        "VERDICTS": "\n".join(
            _verdict(one, place) for one, place in _placed(sections) if one.verdict or one.failing
        ),
        "SECTIONS": "\n".join(_section(one) for one in sections),
        "PAYLOADS": "\n".join(_payload(one) for one in sections if one.structures),
    }
    pieces = _asset("page.html").split("@")
    # Names stand at the odd places: what is put in is not searched for further ones.
    return "".join(parts[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def _asset(name: str) -> str:
    return files("rc_hpc.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _placed(sections: Sequence[Section]) -> Iterator[tuple[Section, int]]:
    """Sections, each with its place among those that list structures."""
    place = 0
    for section in sections:
        yield section, place
        place += section.structures is not None


def _verdict(section: Section, place: int) -> str:
    said = ": ".join(filter(None, [f"<b>{escape(section.title)}</b>", escape(section.verdict)]))
    return f'<p class="verdict">{said}</p>\n{_failing(section, place)}'


def _failing(section: Section, place: int) -> str:
    """What fails by name, up to `NAMED`, each leading to its place in the list of its file."""
    n = len(section.failing)
    if not n:
        return ""
    named = [escape(id_) for id_ in section.failing[:NAMED]]
    if section.structures:
        its = zip(section.failing, named, strict=False)
        named = [
            f'<a href="#{quote(id_, safe="")}" data-place="{place}">{text}</a>' for id_, text in its
        ]
    more = f" and {n - NAMED} more" if n > NAMED else ""
    said = escape(section.failures)
    return f'<p class="failing">{said} By name: {", ".join(named)}{more}.</p>'


def _section(section: Section) -> str:
    parts = [f"<section>\n<h2>{escape(section.title)}</h2>"]
    if told := told_once(section.tables):
        parts.append(f'<p class="caption">Conditions: {escape("; ".join(told))}.</p>')
    parts += [_figure(one) for one in section.pictures]
    parts += [f"<p>No figure {escape(n)}: {escape(why)}</p>" for n, why in section.left_out.items()]
    parts += [_table(one) for one in section.tables]
    facts = "".join(f"<dt>{escape(n)}</dt><dd>{escape(v)}</dd>" for n, v in section.facts.items())
    parts.append(f'<h3>How it was made</h3>\n<dl class="facts">{facts}</dl>\n</section>')
    return "\n".join(parts)


def _figure(picture: Picture) -> str:
    data = base64.b64encode(picture.svg).decode()
    return (
        f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{escape(picture.name)}">'
        f"<figcaption><b>{escape(picture.name)}</b>. {escape(in_lines(picture.caption)[0])}"
        "</figcaption>"
        "</figure>"
    )


def _table(table: Table) -> str:
    cells, numeric = cells_of(table.frame)
    marks = [' class="number"' if one else "" for one in numeric]
    head = "".join(f"<th{m}>{escape(n)}</th>" for n, m in zip(cells, marks, strict=True))
    rows = "".join(
        f"<tr>{''.join(f'<td{m}>{escape(t)}</td>' for t, m in zip(row, marks, strict=True))}</tr>\n"
        for row in zip(*cells.values(), strict=True)
    )
    caption = table.brief if table.conditions else table.caption
    caption, legend = in_lines(caption)
    its = "\n".join(filter(None, [legend, table.note]))
    long = " long" if len(table.frame) > _LONG else ""
    note = f'<p class="note">{escape(its)}</p>\n' if its else ""
    return (
        f"<h3>{escape(table.name)}</h3>\n"
        f'<div class="table{long}"><table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody>'
        f'</table></div>\n<p class="caption">{escape(caption)}</p>\n{note}'
    )


def narrowed(flat: np.ndarray) -> np.ndarray:
    """Whole numbers in the smallest type that holds them all."""
    if flat.dtype.kind == "f":
        return flat.astype(np.float32)
    low, high = int(flat.min(initial=0)), int(flat.max(initial=0))
    if low < 0:
        return flat.astype(np.int32)
    return flat.astype(next(one for one in (np.uint8, np.uint16, np.uint32) if high <= _MAX[one]))


def _payload(section: Section) -> str:
    """The structures as one compressed block: a head in JSON, then the arrays, 4-byte aligned.

    Of numbers of several bytes all first bytes come first, then all second ones, and so on: so
    they compress better.
    """
    assert section.structures is not None
    arrays, blocks, start = {}, [], 0
    for name, array in section.structures.arrays.items():
        flat = narrowed(np.ascontiguousarray(array).reshape(-1))
        planes = flat.astype(flat.dtype.newbyteorder("<")).view(np.uint8)
        block = planes.reshape(len(flat), -1).T.tobytes()
        block += bytes(-len(block) % 4)
        arrays[name] = [_TYPES[flat.dtype.name], start, flat.size]
        blocks.append(block)
        start += len(block)
    head = {"plain": dict(section.structures.plain), "arrays": arrays}
    text = json.dumps(head).encode()
    offset = 4 + len(text)
    padding = -offset % 4
    text += b" " * padding  # JSON may end in blanks
    packed = gzip.compress(
        len(text).to_bytes(4, "little") + text + b"".join(blocks), _GZIP, mtime=0
    )
    data = base64.b64encode(packed).decode()
    return f'<script type="text/plain" data-file="{escape(section.title)}">{data}</script>'
