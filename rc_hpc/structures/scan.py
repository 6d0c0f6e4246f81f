"""Where in a file each structure lies, found without reading any of them.

All functions give byte spans (start, end), so that a listing needs no more
memory than one span, and a structure can be read again later on its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
#: At the top level entries are told apart by commas and colons as well.
TOP = re.compile(STRING + rb'|["\[\]{},:]', re.DOTALL)
#: Deeper down only brackets count; strings are matched to pass over theirs.
DEEP = re.compile(STRING + rb'|["\[\]{}]', re.DOTALL)
#: Starts a data block; a mark of the text's encoding may stand before it.
HEADER = re.compile(rb"(\xef\xbb\xbf)?\s*data_", re.IGNORECASE)
#: Names of a cell or of sites, in any spelling and with any line ends.
CRYSTAL = re.compile(rb"(?:^|[\r\n]|loop_)\s*_(cell[._]length|atom_site)[._]", re.IGNORECASE)
NOT_SPACE = re.compile(rb"[^ \t\r\n]")


#: Brackets within one another at most: no structure is written deeper.
DEEPEST = 64
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))


def json_of(text: bytes) -> Any:
    """A JSON value, once it is known not to be nested so deep that no parser holds it.

    Raises
    ------
    ValueError
        It is, or it is no JSON.
    """
    if text.count(b"[") + text.count(b"{") > DEEPEST:
        brackets = re.sub(STRING, b"", text, flags=re.DOTALL).translate(None, _NO_BRACKETS)
        steps = np.where(np.isin(np.frombuffer(brackets, np.uint8), list(b"[{")), 1, -1)
        if len(steps) and (depth := int(np.cumsum(steps).max())) > DEEPEST:
            raise ValueError(f"the JSON is nested {depth} deep, more than {DEEPEST}")
    return json.loads(text)


def json_spans(
    buffer, begin: int = 0, stop: int | None = None
) -> Iterator[tuple[str | None, int, int]]:
    """Entries of the one JSON object or list in `buffer` (bytes or mmap), in file order.

    Parameters
    ----------
    begin, stop
        Where in the buffer it lies; the whole buffer by default.

    Yields
    ------
    key, start, end
        The entry's key (None in a list) and the span of its value.

    Raises
    ------
    ValueError
        Where the text ends too early or is no JSON object or list.
    """
    stop = len(buffer) if stop is None else stop
    first = NOT_SPACE.search(buffer, begin, stop)
    if first is None or first.group() not in (b"{", b"["):
        raise ValueError("it is neither a JSON object nor a JSON list")
    keyed = first.group() == b"{"
    depth, pos, start, key = 1, first.end(), first.end(), None
    while depth:
        token = (TOP if depth == 1 else DEEP).search(buffer, pos, stop)
        if token is None or token.group() == b'"':
            where = f"in entry {key!r}" if key else f"after byte {start}"
            raise ValueError(f"the JSON ends too early, {where}")
        pos, mark = token.end(), token.group()[:1]
        if mark in b"{[":
            depth += 1
        elif mark in b"}]":
            depth -= 1
        if depth == 1 and keyed and key is None and mark == b'"':
            key = json.loads(token.group())
        elif depth == 1 and keyed and mark == b":":
            start = pos
        elif depth == 0 or (depth == 1 and mark == b","):
            found = NOT_SPACE.search(buffer, start, token.start())
            if found:
                if keyed and key is None:
                    raise ValueError(f"the JSON holds a value without a key after byte {start}")
                yield key, found.start(), _end(buffer, token.start())
            start, key = pos, None
    if NOT_SPACE.search(buffer, pos, stop):
        raise ValueError(
            f"text follows the JSON, at byte {pos}; JSON lines belong in a .jsonl file"
        )


def _end(buffer, end: int) -> int:
    """`end`, moved before the white space there: an entry's bytes depend on no neighbour."""
    while buffer[end - 1 : end] in (b" ", b"\t", b"\r", b"\n"):
        end -= 1
    return end


def line_spans(file: BinaryIO) -> Iterator[tuple[int, bytes, int, int]]:
    """(line number from 1, line, start, end) of lines that are not blank, without their ends."""
    start = 0
    for number, line in enumerate(file, 1):
        if line.strip():
            yield number, line, start, start + len(line.rstrip(b"\r\n"))
        start += len(line)


def xyz_spans(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """Spans of the frames of an (extended) XYZ file.

    Raises
    ------
    ValueError
        Where a frame does not start with its number of atoms, or ends too early.
    """
    start, line = 0, file.readline()
    while line.strip():
        try:
            count = int(line)
        except ValueError:
            raise ValueError(
                f"{line[:40].decode(errors='replace').strip()!r} at byte {start} "
                "is not the number of atoms of a frame"
            ) from None
        end = start + len(line)
        for _ in range(count + 1):  # the comment line, then one line an atom
            line = file.readline()
            if not line:
                raise ValueError(f"the frame at byte {start} ends before its {count} atoms")
            end += len(line)
        last, line = line, file.readline()
        while line.lstrip().startswith(b"VEC"):  # cell vectors of the ADF dialect
            end += len(line)
            last, line = line, file.readline()
        yield start, end - len(last) + len(last.rstrip(b"\r\n"))
        start = end


def cif_blocks(data: bytes) -> list[tuple[int, int]]:
    """Spans of the data blocks that describe a crystal (a cell or atom sites).

    Blocks of bibliography or powder patterns are no structures and are left out.
    """
    starts, pos, in_text = [], 0, False
    for line in data.splitlines(keepends=True):
        if line.startswith(b";"):
            in_text = not in_text
        elif not in_text and HEADER.match(line):
            starts.append(pos)
        pos += len(line)
    spans = zip(starts, [*starts[1:], len(data)], strict=False)  # none, or one end each
    return [(a, a + len(data[a:b].rstrip())) for a, b in spans if CRYSTAL.search(data[a:b])]
