"""Pictures as files: bytes and names that tell nothing but the picture."""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import UsageError

#: Pictures of a folder that are ours to replace.
PICTURE_NAME = re.compile(r"[0-9a-f]{32}\.png")
HDF5 = (".h5", ".hdf5")
#: Largest file that is read as a picture, bytes.
LARGEST_FILE = 64 << 20


def encode_png(pixels: np.ndarray) -> bytes:
    """A picture (height, width, 3) uint8 as PNG: RGB, no text, no time, nothing but the picture.

    Rows are stored unfiltered: on flat colours that is smaller than with the filters that
    imaging libraries try on every row, and more than twice as fast.
    """
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = pixels.reshape(height, 3 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB, not interlaced
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.data, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def picture_name(seed: str, id_: str, view: str) -> str:
    """File name of a structure's view: a keyed hash, whose letters and order tell nothing of it."""
    key = hashlib.blake2b(seed.encode(), digest_size=32).digest()
    text = f"{len(view)} {view} {id_}".encode(errors="surrogatepass")
    return hashlib.blake2b(text, key=key, digest_size=16).hexdigest() + ".png"


def picture_folder(manifest: str | Path) -> Path:
    """Folder of a manifest's pictures: beside it, named like it without the ending.

    Raises
    ------
    UsageError
        The manifest's name has no ending, so that the folder would have the same name.
    """
    manifest = Path(manifest)
    if manifest.suffix not in HDF5:
        raise UsageError(
            f"-o {manifest}: its name must end in {' or '.join(HDF5)}; "
            "the pictures go into a folder named like it without that"
        )
    return manifest.with_suffix("")


def drawing_versions() -> dict[str, str]:
    """Versions of what pixels and PNG bytes depend on, beside the packages of every result."""
    import matplotlib

    return {"matplotlib": matplotlib.__version__, "zlib": zlib.ZLIB_RUNTIME_VERSION}
