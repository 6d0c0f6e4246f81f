"""Reading a manifest: which pictures there are, where they lie, and what they show."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import RcError
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.images.files import picture_folder
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.renders.schema import DISCS
from rc_hpc.store import layout
from rc_hpc.store.reader import open_ours

_PICTURES = ("structure", "view", "file", "bytes", "sha256", "size", "convention")
#: Columns of the discs of one picture.
_SHOWN = tuple(one.path for one in DISCS if one.path not in ("structure", "view"))


@dataclass(frozen=True)
class Manifest:
    """The pictures of one rendering run.

    Attributes
    ----------
    path
        The manifest.
    views
        Camera names.
    ids
        All structures, in file order; one without pictures is among them.
    files, digests : (n, v) object
        Names of their pictures in `folder`, and the SHA-256 of each; empty where there is none.
    n_bytes, sizes : (n, v) int64
        Size of each file, and width and height in px; 0 where there is none.
    convention
        Of the pictures; empty where there are none.
    tiling
        Cells shown along each axis.
    attrs
        Root attributes.
    """

    path: Path
    views: tuple[str, ...]
    ids: tuple[str, ...]
    files: np.ndarray
    digests: np.ndarray
    n_bytes: np.ndarray
    sizes: np.ndarray
    convention: str
    tiling: tuple[int, int, int]
    attrs: dict[str, Any]

    @property
    def folder(self) -> Path:
        """Where the pictures lie."""
        return picture_folder(self.path)

    @property
    def content_hash(self) -> str:
        """Hash of the manifest's content."""
        return str(self.attrs["content_hash"])

    @property
    def options(self) -> dict[str, Any]:
        """Options of the rendering, as JSON values."""
        options: dict[str, Any] = json.loads(self.attrs["options"])
        return options

    @property
    def protocol(self) -> Protocol:
        """The cameras; its tiling is that of the pictures."""
        return protocol_of(self.options["protocol"])

    @property
    def drawing(self) -> dict[str, Any]:
        """What predictions record of the pictures that they answer, as JSON values."""
        return {
            **{name: self.options[name] for name in ("convention", "protocol", "radii_factor")},
            "manifest": self.path.name,
        }

    @cached_property
    def outcome(self) -> tuple[np.ndarray, np.ndarray]:
        """Status and message of each structure, (n,) uint8 and object."""
        with open_ours(self.path, "renders") as h5:
            status, message = (
                layout.read_rows(h5[f"structures/{name}"]) for name in ("status", "message")
            )
        return status, message

    @cached_property
    def whole(self) -> np.ndarray:
        """Which structures have a picture of every camera, (n,) bool."""
        return np.asarray(np.all(self.digests != "", axis=1))

    @cached_property
    def row(self) -> dict[str, int]:
        """Row of each id; of an id that occurs twice, the row with pictures, or the first."""
        rows: dict[str, int] = {}
        for row, id_ in enumerate(self.ids):
            if id_ not in rows or (self.whole[row] and not self.whole[rows[id_]]):
                rows[id_] = row
        return rows

    def paths(self, row: int) -> list[Path]:
        """Picture files of a structure, in the order of the cameras.

        Raises
        ------
        RcError
            Their folder is a link: it could lead anywhere.
        """
        if self.folder.is_symlink():
            raise RcError(
                f"{self.folder} is a symbolic link, which is not followed: give the manifest that "
                "lies beside the pictures"
            )
        return [self.folder / name for name in self.files[row] if name]

    @cached_property
    def _first_disc(self) -> np.ndarray:
        with open_ours(self.path, "renders") as h5:
            structure = h5["discs/structure"][()]
        return np.searchsorted(structure, np.arange(len(self.ids) + 1))

    def discs(self, row: int, camera: int) -> dict[str, np.ndarray]:
        """What one picture shows: columns of the table of discs, each (k,), by name.

        They are ``number``, ``site``, ``u``, ``v`` and ``radius`` in px, and ``depth`` in Å.
        """
        mine = slice(*self._first_disc[[row, row + 1]].tolist())
        with open_ours(self.path, "renders") as h5:
            table = h5["discs"]
            shown = table["view"][mine] == camera
            return {name: table[name][mine][shown] for name in _SHOWN}


def read_manifest(path: str | Path) -> Manifest:
    """Read a manifest written by the rendering command.

    Raises
    ------
    RcError
        It is none, or names pictures that cannot be its own.
    """
    path = Path(path)
    with open_ours(path, "renders") as h5:
        ids = layout.read_rows(h5["structures/id"])
        views = tuple(layout.read_rows(h5["protocol/view"]))
        a, b, c = h5["protocol/tiling"][()].tolist()
        columns = {name: layout.read_rows(h5[f"pictures/{name}"]) for name in _PICTURES}
        attrs = dict(h5.attrs)
    for name in columns["file"]:
        check_name(path, name)
    place = columns["structure"].astype(np.int64), columns["view"].astype(np.int64)
    if any(
        np.any((at < 0) | (at >= n)) for at, n in zip(place, (len(ids), len(views)), strict=True)
    ):
        raise RcError(
            f"{path}: holds pictures of structures or cameras that it does not name: "
            "draw them again (python -m rc_hpc.render)"
        )

    def table(name: str, empty: Any) -> np.ndarray:
        values = np.full((len(ids), len(views)), empty)
        values[place] = columns[name]
        return values

    return Manifest(
        path,
        views,
        tuple(ids),
        table("file", np.array("", object)),
        table("sha256", np.array("", object)),
        table("bytes", np.int64(0)),
        table("size", np.int64(0)),
        str(columns["convention"][0]) if len(columns["convention"]) else "",
        (a, b, c),
        attrs,
    )


def check_name(path: Path, name: str) -> None:
    """Refuse the name of a picture that is not a file of its folder: it could be any file.

    Raises
    ------
    RcError
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise RcError(
            f"{path}: names a picture {name!r}, which is no file in the folder beside it: "
            "draw the pictures again (python -m rc_hpc.render)"
        )
