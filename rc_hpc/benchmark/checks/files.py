"""Files of a package: what there is, and what the manifest says of it."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.checks.pictures import Picture, looked_at
from rc_hpc.benchmark.package import IMAGES, MANIFEST, SETS, read_manifest
from rc_hpc.core.errors import RcError
from rc_hpc.images.files import LARGEST_FILE

#: What every package has.
NEEDED = ("README.md", "LICENSE", MANIFEST, *SETS.values())
_BLOCK = 1 << 20


class Files(NamedTuple):
    """What lies in a package.

    Attributes
    ----------
    digests
        SHA-256 of each file, by its path below the package.
    sizes
        Bytes.
    pictures
        By their paths below the folder of pictures.
    """

    digests: dict[str, str]
    sizes: dict[str, int]
    pictures: dict[str, Picture]

    @property
    def of_pictures(self) -> dict[str, str]:
        """SHA-256 of the files of pictures, by their paths below their folder."""
        return {name: self.digests[f"{IMAGES}/{name}"] for name in self.pictures}


def check_files(root: Path, pixels: int, ours: bool) -> tuple[Files, list[Finding]]:
    """Read each file once: against the manifest, and pictures as pictures.

    Parameters
    ----------
    pixels
        Width and height of every picture.
    ours
        Whether pictures are held to what our renderer writes.
    """
    found = Files({}, {}, {})
    findings: list[Finding] = []
    for name, path in _regular(root, findings):
        try:
            if name.startswith(f"{IMAGES}/") and path.stat().st_size <= LARGEST_FILE:
                content = path.read_bytes()
                found.pictures[name.removeprefix(f"{IMAGES}/")] = looked_at(content, pixels, ours)
                digest, size = hashlib.sha256(content).hexdigest(), len(content)
            else:
                digest, size = _hashed(path)
        except OSError as error:
            told = f"cannot be read ({error.strerror})"
            findings.append(Finding("file-unreadable", name, told))
            continue
        found.digests[name], found.sizes[name] = digest, size
    for name in NEEDED:
        if name not in found.digests:
            findings.append(Finding("file-missing", name, "is not there; every package has one"))
    if MANIFEST in found.digests:
        findings += _manifest(root, found)
    for name, one in found.pictures.items():
        findings += [Finding(rule, f"{IMAGES}/{name}", what) for rule, what in one.faults]
    return found, findings


def _regular(root: Path, findings: list[Finding]) -> Iterator[tuple[str, Path]]:
    """Files by their paths below a folder; links and what is no file are findings."""
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted([*names, *folders]):
            path = Path(folder, name)
            below = path.relative_to(root).as_posix()
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                told = "is a link, perhaps out of the package: copies of it would lack what it is"
                findings.append(Finding("link", below, told))
            elif stat.S_ISREG(mode):
                yield below, path
            elif not stat.S_ISDIR(mode):
                findings.append(Finding("link", below, "is neither a file nor a folder"))


def _hashed(path: Path) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return digest.hexdigest(), size


def _manifest(root: Path, found: Files) -> Iterator[Finding]:
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
        elif name not in found.digests:
            yield Finding("file-missing", name, "is in the manifest and not there")
        elif not found.sizes[name]:
            yield Finding("file-unreadable", name, "is empty")
        elif found.sizes[name] != size:
            yield Finding("size", name, f"has {found.sizes[name]} bytes, {size} in the manifest")
        elif found.digests[name] != digest:
            yield Finding("sha256", name, "is not what the manifest has the hash of")
    for name in sorted(found.digests.keys() - told.keys() - {MANIFEST}):
        yield Finding("not-in-manifest", name, "is there and not in the manifest")


def unused_pictures(pictures: Mapping[str, object], shown: Iterable[str]) -> Iterator[Finding]:
    """Pictures, by their paths below their folder, that no question shows."""
    for name in sorted(pictures.keys() - set(shown)):
        yield Finding("picture-unused", f"{IMAGES}/{name}", "no question shows it")
