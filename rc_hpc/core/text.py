"""Text that HDF5 can hold."""

from __future__ import annotations

import re

# HDF5 text ends at a NUL; lone surrogates (undecodable file names) have no UTF-8.
NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """`text` with the characters that HDF5 cannot hold written as backslash escapes."""
    return NOT_STORABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
