"""Pictures of crystals, one row a crystal: of a rendering run, or of a folder of PNGs.

A manifest holds the truth too. What is opened of it here are the names, hashes and sizes of the
pictures, the cameras and the rules of drawing; `Pictures.more` opens what a level allows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rc_hpc.core.errors import Status, UsageError, fault_of
from rc_hpc.core.files import read_regular
from rc_hpc.core.text import storable
from rc_hpc.core.vocabulary import RELEASED
from rc_hpc.geometry.protocol import Protocol, load_protocol
from rc_hpc.images.files import HDF5, LARGEST_FILE
from rc_hpc.images.pixels import rgb_of
from rc_hpc.kinds.common.source import Listed
from rc_hpc.kinds.readings.told import centres, geometry
from rc_hpc.kinds.renders.manifest import read_manifest
from rc_hpc.reader.convention import Convention, load_convention, named
from rc_hpc.store.batch import Batch

if TYPE_CHECKING:
    from rc_hpc.kinds.common.selection import Selection

#: Outcome of a crystal that has all its pictures.
FINE = (Status.ok, "")


@dataclass(frozen=True)
class Pictured:
    """The pictures of one crystal.

    Attributes
    ----------
    id
    paths
        In the order of the cameras.
    digests
        SHA-256 that each must have; empty where any will do.
    """

    id: str
    paths: tuple[Path, ...]
    digests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pictures(Listed):
    """Crystals with pictures, and how all of these are drawn.

    Attributes
    ----------
    protocol
        The cameras.
    drawn
        Rules of drawing.
    size_px
        Width and height; 0 where no picture could be opened.
    manifest
        Of a rendering run; None: a folder.
    """

    protocol: Protocol
    drawn: Convention
    size_px: int
    manifest: Path | None = None

    def more(self, level: str) -> dict[str, dict[str, Any]]:
        """What is known of each crystal at a level, by id: fields of a `Knowledge`, or of `Told`.

        Raises
        ------
        UsageError
            The pictures of a folder come with nothing more.
        """
        if level == "K0":
            return {}
        if self.manifest is None:
            raise UsageError(
                f"--knowledge {level}: a folder of pictures tells no lattice; take K0, or the "
                "manifest of a rendering run"
            )
        if level in RELEASED:
            return centres(self.manifest, set(self.ids))
        return geometry(self.manifest, set(self.ids), level)


def open_pictures(
    path: Path, chosen: Selection, cameras: str | None, convention: str | None
) -> Pictures:
    """The pictures that were asked for; see `rc_hpc.kinds.readings.options.PicturesSource`.

    Raises
    ------
    RcError
        They cannot be opened; the message says why.
    """
    if path.suffix in HDF5:
        if cameras or convention:
            raise UsageError(
                f"--cameras and --convention are of a folder of pictures; {path} tells its own"
            )
        return _of_manifest(path, chosen)
    if not path.is_dir():
        raise UsageError(f"no manifest (.h5) and no folder {path}")
    protocol = load_protocol(cameras or "frozen")
    protocol.require_orthographic("readings")
    return _of_folder(path, chosen, protocol, load_convention(convention or "C1"))


def _of_manifest(path: Path, chosen: Selection) -> Pictures:
    if not path.is_file():
        raise UsageError(f"no file {path}")
    manifest = read_manifest(path)
    ids = list(dict.fromkeys(manifest.ids))
    ids = _only(ids, chosen, path)
    items, lacking = [], []
    statuses, messages = manifest.outcome
    for id_ in ids:
        row = manifest.row[id_]
        whole = bool(manifest.whole[row])
        if whole:
            lacking.append(FINE)
        elif statuses[row] != Status.ok:  # why nothing was drawn of it
            lacking.append((Status(int(statuses[row])), str(messages[row])))
        else:
            told = f"{path} has no picture of it for every camera"
            lacking.append((Status.read_error, told))
        paths = tuple(manifest.paths(row)) if whole else ()
        items.append(Pictured(id_, paths, tuple(manifest.digests[row]) if whole else ()))
    options = manifest.options
    drawn = named(options["convention"], manifest.tiling, float(options["radii_factor"]))
    protocol = manifest.protocol
    content = [manifest.content_hash, *ids]
    return Pictures(
        _columns(items, str(path), lacking), items, _digest(content), protocol, drawn,
        int(options["size"]), path,
    )  # fmt: skip


def _of_folder(path: Path, chosen: Selection, protocol: Protocol, drawn: Convention) -> Pictures:
    try:
        folders = sorted(one for one in path.iterdir() if one.is_dir())
        if any(one.suffix.lower() == ".png" for one in path.iterdir()):
            folders = [path]
    except OSError as error:
        raise fault_of(path)(f"{path}: cannot be listed ({error.strerror})") from error
    by_id = {(one.resolve() if one == path else one).name: one for one in folders}
    ids = _only(list(by_id), chosen, path)
    items, lacking, content = [], [], [json.dumps([protocol.identity(), drawn.identity()])]
    sizes = []
    for id_ in ids:
        paths = tuple(by_id[id_] / f"{view}.png" for view in protocol.views)
        missing = [one.name for one in paths if not one.is_file()]
        told = f"{by_id[id_]} lacks {', '.join(missing)}: a PNG is named by its camera"
        lacking.append((Status.read_error, told) if missing else FINE)
        digests = ["" if missing else _sha256(one) for one in paths]
        sizes += [] if missing else [_size(paths[0])]
        content += [id_, *digests]
        items.append(Pictured(id_, () if missing else paths, tuple(digests)))
    if not items:
        raise UsageError(f"{path}: holds no PNG, and no folder of PNGs")
    sizes = [size for size in sizes if size]
    size = max(set(sizes), key=sizes.count) if sizes else 0
    return Pictures(
        _columns(items, str(path), lacking), items, _digest(content), protocol, drawn, size
    )


def _only(ids: list[str], chosen: Selection, where: Path) -> list[str]:
    return [ids[place] for place in chosen.places(ids, str(where))] if chosen.given else ids


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(read_regular(path, LARGEST_FILE)).hexdigest()
    except OSError:
        return ""  # told when it is opened to be read


def _size(path: Path) -> int:
    """Width and height of a picture; 0 where it is none."""
    try:
        return int(rgb_of(read_regular(path, LARGEST_FILE), str(path)).shape[0])
    except Exception:  # noqa: BLE001 - told when it is opened to be read
        return 0


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()


def _columns(items: Sequence[Pictured], where: str, lacking: Sequence[tuple[Status, str]]) -> Batch:
    """What is known of the crystals before their pictures are read."""

    def texts(values: Iterable[str]) -> np.ndarray:
        return np.array([storable(value) for value in values], object)

    return {
        "structures/id": texts(item.id for item in items),
        "structures/duplicate": np.zeros(len(items), np.int32),
        "structures/source": texts(where for _ in items),
        "structures/sha256": texts(_digest(item.digests) for item in items),
        "structures/status": np.array([status for status, _ in lacking], np.uint8),
        "structures/message": texts(message for _, message in lacking),
    }
