"""The body of an answer, however it is sent: never more of it in memory than is allowed."""

from __future__ import annotations

import time
import zlib
from typing import Any

from rc_hpc.vlm.faults import Fault, Kind

#: Bits of zlib's window, by encoding; for gzip its header counts.
_WINDOW = {"gzip": 31, "x-gzip": 31, "deflate": 15}
#: A piece that is unpacked at once, bytes.
_STEP = 1 << 16


class Unpacker:
    """Unpacks a body piece by piece; raises Fault beyond `most` bytes, and for other encodings."""

    def __init__(self, encoding: str, most: int):
        encoding = encoding.strip().lower()
        self._most, self._encoding, self._n = most, encoding, 0
        self._inflate: Any = None
        if encoding not in ("", "identity", *_WINDOW):
            raise Fault(Kind.REQUEST, f"the answer is packed by {encoding!r}, not asked for")

    def __call__(self, data: bytes) -> bytes:
        """The next piece."""
        if self._encoding not in _WINDOW:
            return self._counted(data)
        unpacked = []
        try:
            while data:
                if self._inflate is None or self._inflate.eof:
                    bits = _WINDOW[self._encoding]
                    if bits == 15 and data[0] & 15 != 8:  # without zlib's header, as many send it
                        bits = -15
                    self._inflate = zlib.decompressobj(bits)
                unpacked.append(self._counted(self._inflate.decompress(data, _STEP)))
                data = self._inflate.unconsumed_tail or self._inflate.unused_data
        except zlib.error as error:
            raise Fault(Kind.RETRY, f"the answer cannot be unpacked ({error})") from None
        return b"".join(unpacked)

    def _counted(self, data: bytes) -> bytes:
        self._n += len(data)
        if self._n > self._most:
            raise Fault(
                Kind.REQUEST,
                f"the answer is larger than {self._most / 1e6:g} MB; --max-answer allows more",
            )
        return data


async def body_of(answer: Any, most: int, silence_s: float) -> bytes:
    """The whole body of an answer of aiohttp that does not unpack by itself.

    Blanks that keep a connection open are silence.

    Raises
    ------
    Fault
        Larger than `most` bytes, or packed in a way that cannot be undone.
    TimeoutError
        No byte but blanks for `silence_s`.
    """
    unpack = Unpacker(answer.headers.get("Content-Encoding", ""), most)
    pieces = []
    heard = time.monotonic()
    async for piece in answer.content.iter_any():
        data = unpack(piece)
        pieces.append(data)
        now = time.monotonic()
        if data and not data.isspace():
            heard = now
        elif now - heard > silence_s:
            raise TimeoutError
    return b"".join(pieces)
