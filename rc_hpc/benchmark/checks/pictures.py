"""Pictures: what stands in their files, and whether they show what was drawn."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.package import IMAGES
from rc_hpc.benchmark.records import Question

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: Chunks of a PNG that hold words.
_WORDS = {b"tEXt", b"zTXt", b"iTXt", b"eXIf"}
#: Chunks that a picture of ours has.
OURS = {b"IHDR", b"IDAT", b"IEND"}
#: Chunks of colours and resolution that others write, and their sizes, bytes; None: any.
_OF_OTHERS = {b"PLTE": None, b"pHYs": 9, b"gAMA": 4, b"sRGB": 1, b"cHRM": 32}
#: Bytes of a pixel at most (16 bits, four channels).
_DEEPEST = 8


class Picture(NamedTuple):
    """What a file of a picture holds.

    Attributes
    ----------
    faults
        Rules that it breaks, and how.
    pixels
        SHA-256 of its pixels, as `kinds.pictures` records it; empty where they cannot be read.
    blank
        Whether it is all of one colour.
    """

    faults: tuple[tuple[str, str], ...]
    pixels: str = ""
    blank: bool = False


def looked_at(content: bytes, size: int, ours: bool) -> Picture:
    """A picture, by the bytes of its file.

    Parameters
    ----------
    size
        Width and height that it should have, px.
    ours
        Whether it is held to the chunks that our renderer writes; else those of colours and
        resolution may stand there too.
    """
    if not content.startswith(_SIGNATURE):
        return Picture((("picture", "is no PNG"),))
    chunks, rest = _chunks(content)
    kinds = [kind for kind, _ in chunks]
    whole = kinds[:1] == [b"IHDR"] and kinds[-1:] == [b"IEND"] and len(chunks[0][1]) == 13
    if rest is None or not whole:
        return Picture((("picture", "is damaged or cut short"),))
    faults = []
    if rest:
        faults.append(("picture", f"{len(rest)} bytes stand behind its end"))
    if words := sorted({kind.decode() for kind in kinds if kind in _WORDS}):
        told = f"holds words that a model might be shown ({', '.join(words)})"
        faults.append(("picture-words", told))
    if strange := sorted({_named(k) for k, body in chunks if not _usual(k, body, ours)}):
        told = f"holds chunks that no picture of the benchmark needs ({', '.join(strange)})"
        faults.append(("picture-chunks", told))
    found = struct.unpack(">II", chunks[0][1][:8])
    if found != (size, size):
        told = f"has {found[0]} x {found[1]} px, not {size} x {size}"
        return Picture((*faults, ("picture-size", told)))
    pixels, fault = _pixels(content, chunks, size)
    if fault:
        faults.append(("picture", fault))
    if pixels is None:
        return Picture(tuple(faults))
    digest = hashlib.sha256(pixels).hexdigest()
    return Picture(tuple(faults), digest, pixels == pixels[:3] * (size * size))


def _chunks(content: bytes) -> tuple[list[tuple[bytes, bytes]], bytes | None]:
    """Chunks up to the last one, and what stands behind it; None: the file is torn."""
    found: list[tuple[bytes, bytes]] = []
    place = len(_SIGNATURE)
    while place + 12 <= len(content):
        length, kind = struct.unpack_from(">I4s", content, place)
        body = content[place + 8 : place + 8 + length]
        ending = content[place + 8 + length : place + 12 + length]
        if len(ending) < 4 or zlib.crc32(kind + body) != int.from_bytes(ending, "big"):
            return found, None
        found.append((kind, body))
        place += 12 + length
        if kind == b"IEND":
            return found, content[place:]
    return found, None


def _usual(kind: bytes, body: bytes, ours: bool) -> bool:
    if kind in OURS or kind in _WORDS:  # words have a finding of their own
        return kind != b"IEND" or not body
    return not ours and kind in _OF_OTHERS and _OF_OTHERS[kind] in (None, len(body))


def _named(kind: bytes) -> str:
    return kind.decode("ascii", "backslashreplace")


def _pixels(content: bytes, chunks, size: int) -> tuple[bytes | None, str]:
    """Red, green and blue of all pixels, rows from the top; what is wrong with their stream."""
    unpack = zlib.decompressobj()
    most = (size * _DEEPEST + 1) * size + 8 * size  # interlaced ones have more rows
    try:
        rows = unpack.decompress(b"".join(b for kind, b in chunks if kind == b"IDAT"), most)
    except zlib.error as error:
        return None, f"its pixels cannot be read ({error})"
    if not unpack.eof:
        return None, "its pixels are cut short, or more than it has place for"
    fault = f"{len(unpack.unused_data)} bytes stand behind its pixels" if unpack.unused_data else ""
    if chunks[0][1][8:] == b"\x08\x02\0\0\0":  # 8 bits, RGB, not interlaced
        if len(rows) != (1 + 3 * size) * size:
            return None, "has more or fewer pixels than it tells"
        table = np.frombuffer(rows, np.uint8).reshape(size, 1 + 3 * size)
        if not table[:, 0].any():  # unfiltered
            return table[:, 1:].tobytes(), fault
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content)) as image:
            return image.convert("RGB").tobytes(), fault
    except (OSError, SyntaxError, ValueError, zlib.error) as error:
        return None, f"its pixels cannot be read ({error})"


def check_shown(
    questions: Sequence[Question], pictures: Mapping[str, Picture]
) -> Iterator[Finding]:
    """Pictures of one colour, and questions all of whose pictures are one and the same.

    Two pictures may be alike, where what they show is; three directions hardly.

    Parameters
    ----------
    pictures
        By their paths below the folder of pictures.
    """
    for name, one in sorted(pictures.items()):
        if one.blank:
            yield Finding("picture-blank", f"{IMAGES}/{name}", "is all of one colour")
    for q in questions:
        groups = [[pictures[p].pixels for p in g if p in pictures] for g in q.groups]
        if any(len(group) > 1 and len(set(group)) == 1 and group[0] for group in groups):
            yield Finding("picture-twice", q.id, "all its pictures have the very same pixels")
        elif len(groups) == 2 and groups[0] == groups[1] and all(groups[0]):
            yield Finding("picture-twice", q.id, "both groups have the very same pixels")


class Drawn(NamedTuple):
    """What ``scenes.h5`` records of a picture: SHA-256 of its file and of its pixels."""

    sha256: str
    pixels: str


def check_drawn(
    drawn: Mapping[str, Drawn], pictures: Mapping[str, Picture], digests: Mapping[str, str]
) -> Iterator[Finding]:
    """Pictures that are not those that were drawn.

    Parameters
    ----------
    drawn, pictures, digests
        By their paths below the folder of pictures; `digests` are SHA-256 of their files.
    """
    name_of = {one.pixels: name for name, one in sorted(drawn.items())}
    for name, one in sorted(drawn.items()):
        where, found = f"{IMAGES}/{name}", pictures.get(name)
        if found is None:
            yield Finding("picture-missing", where, "scenes.h5 tells of it, and it is not there")
        elif found.pixels != one.pixels:
            other = name_of.get(found.pixels)
            told = f"shows what was drawn as {other}" if other else "is not what was drawn"
            yield Finding("picture-drawn", where, f"{told}, by the pixels that scenes.h5 records")
        elif digests.get(name) != one.sha256:
            told = "has the pixels that were drawn, in other bytes than were written"
            yield Finding("picture-bytes", where, told)
    for name in sorted(pictures.keys() - drawn.keys()):
        yield Finding("picture-drawn", f"{IMAGES}/{name}", "scenes.h5 does not tell of it")
