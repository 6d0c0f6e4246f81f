"""Files of a package: what the manifest says of them, and what pictures are."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.package import IMAGES, MANIFEST, SETS, read_manifest
from rc_hpc.core.errors import RcError

#: What every package has besides.
NEEDED = ("README.md", "LICENSE", MANIFEST, *SETS.values())
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: Chunks of a PNG that hold words.
_WORDS = {b"tEXt", b"zTXt", b"iTXt", b"eXIf"}


def check_files(root: Path, pixels: int) -> Iterator[Finding]:
    """Files against the manifest, and each picture as a file.

    Parameters
    ----------
    pixels
        Width and height of every picture.
    """
    there = {
        path.relative_to(root).as_posix(): path
        for path in sorted(root.rglob("*"))
        if path.is_file() or path.is_symlink()
    }
    for name in NEEDED:
        if name not in there:
            yield Finding("file-missing", name, "is not there; every package has one")
    if MANIFEST in there:
        yield from _manifest(root, there)
    for name, path in there.items():
        if name.startswith(f"{IMAGES}/") and path.is_file():
            for rule, what in picture_faults(path.read_bytes(), pixels):
                yield Finding(rule, name, what)


def _manifest(root: Path, there: dict[str, Path]) -> Iterator[Finding]:
    try:
        told = read_manifest(root)
    except RcError as error:
        yield Finding("manifest", MANIFEST, str(error))
        return
    for name, (digest, size) in sorted(told.items()):
        pure = PurePosixPath(name)
        if name == MANIFEST:
            yield Finding("manifest-itself", name, "the manifest lists itself")
        elif pure.is_absolute() or ".." in pure.parts or "\\" in name:
            yield Finding("manifest-path", name, "leads out of the package")
        elif name not in there:
            yield Finding("file-missing", name, "is in the manifest and not there")
        elif not (content := _bytes(there[name])):
            yield Finding("file-unreadable", name, "is empty or cannot be read")
        elif len(content) != size:
            yield Finding("size", name, f"has {len(content)} bytes, {size} in the manifest")
        elif hashlib.sha256(content).hexdigest() != digest:
            yield Finding("sha256", name, "is not what the manifest has the hash of")
    for name in sorted(there.keys() - told.keys() - {MANIFEST}):
        yield Finding("not-in-manifest", name, "is there and not in the manifest")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def picture_faults(content: bytes, pixels: int) -> Iterator[tuple[str, str]]:
    """Rules that a picture breaks, and how."""
    if not content.startswith(_SIGNATURE):
        yield "picture", "is no PNG"
        return
    seen = []
    place = len(_SIGNATURE)
    while place + 12 <= len(content):
        length, kind = struct.unpack_from(">I4s", content, place)
        body = content[place + 4 : place + 8 + length]
        ending = content[place + 8 + length : place + 12 + length]
        if len(ending) < 4 or zlib.crc32(body) != int.from_bytes(ending, "big"):
            yield "picture", "is damaged or cut short"
            return
        seen.append(kind)
        if kind == b"IHDR":
            size = struct.unpack_from(">II", content, place + 8)
            if size != (pixels, pixels):
                yield "picture-size", f"has {size[0]} x {size[1]} px, not {pixels} x {pixels}"
        place += 12 + length
    if not seen or seen[0] != b"IHDR" or seen[-1] != b"IEND":
        yield "picture", "is damaged or cut short"
    if words := sorted({kind.decode() for kind in seen if kind in _WORDS}):
        yield "picture-words", f"holds words that a model might be shown ({', '.join(words)})"


def unused_pictures(root: Path, shown: Iterable[str]) -> Iterator[Finding]:
    """Pictures that no question shows."""
    used = set(shown)
    for path in sorted((root / IMAGES).rglob("*")):
        name = path.relative_to(root / IMAGES).as_posix()
        if path.is_file() and name not in used:
            yield Finding("picture-unused", f"{IMAGES}/{name}", "no question shows it")
