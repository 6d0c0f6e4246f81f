"""The pictures that are sent: those of a rendering run, or those that a record names."""

from __future__ import annotations

import hashlib
from pathlib import Path

from rc_hpc.core.errors import RcError
from rc_hpc.core.files import read_regular
from rc_hpc.images.files import LARGEST_FILE
from rc_hpc.kinds.renders.manifest import Manifest
from rc_hpc.vlm.questions import PictureFile
from rc_hpc.vlm.records import Subject

#: Area that is taken for a picture whose file does not tell it at once, px.
USUAL_PIXELS = 768 * 768


def drawn_pictures(manifest: Manifest, id_: str) -> tuple[PictureFile, ...]:
    """All pictures of a structure, in the order of the cameras.

    Raises
    ------
    RcError
        Not every camera's picture is there.
    """
    row = manifest.row.get(id_)
    paths = [] if row is None else manifest.paths(row)
    if len(paths) != len(manifest.views):
        raise RcError(
            f"{manifest.path}: {id_} has {len(paths)} of {len(manifest.views)} pictures: draw it "
            "(python -m rc_hpc.render), or leave it out with --ids"
        )
    for path in paths:
        if path.is_symlink() or not path.is_file():
            raise RcError(
                f"{path}: the picture of {id_} is missing, or no regular file: draw the pictures "
                "again (python -m rc_hpc.render --overwrite)"
            )
    columns = (manifest.digests[row], manifest.n_bytes[row], manifest.sizes[row])
    return tuple(
        PictureFile(path, digest, int(n_bytes), int(size) ** 2)
        for path, digest, n_bytes, size in zip(paths, *columns, strict=True)
    )


def own_pictures(subject: Subject, root: Path) -> tuple[PictureFile, ...]:
    """The pictures that a record names, hashed.

    Raises
    ------
    RcError
        It names none, one outside `root`, or one that cannot be read.
    """
    if not subject.images:
        raise RcError(
            f"{subject.id}: its record names no pictures: give a render manifest with --pictures"
        )
    pictures = []
    for name in subject.images:
        path = root / name
        if not path.resolve().is_relative_to(root.resolve()):
            raise RcError(
                f"{subject.id}: its record names the picture {name!r}, which is not below {root}: "
                "nothing outside it is sent; name a folder above both with --image-root"
            )
        try:
            data = read_regular(path.resolve(), LARGEST_FILE)
        except OSError as error:
            raise RcError(
                f"{path}: the picture of {subject.id} cannot be read ({error.strerror}): name its "
                "folder with --image-root, or a manifest with --pictures"
            ) from error
        digest = hashlib.sha256(data).hexdigest()
        pictures.append(PictureFile(path, digest, len(data), _n_pixels(data)))
    return tuple(pictures)


def _n_pixels(data: bytes) -> int:
    if not data.startswith(b"\x89PNG"):
        return USUAL_PIXELS
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    return width * height
