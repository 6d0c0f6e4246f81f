"""Text that HDF5 can hold, and JSON and TOML that may be of anybody."""

from __future__ import annotations

import decimal
import hashlib
import json
import math
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

# HDF5 text ends at a NUL; lone surrogates (undecodable file names) have no UTF-8.
NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")
#: Bytes that a name made of an id has at most: block names of CIF end at 75, and a file's name
#: takes an ending besides.
LONGEST_STEM = 75


def storable(text: str) -> str:
    """`text` with the characters that HDF5 cannot hold written as backslash escapes."""
    return NOT_STORABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def parse_json(text: str | bytes, **more: Any) -> Any:
    """`json.loads`, of which all that goes wrong is a ValueError."""
    try:
        return json.loads(text, **more)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def parse_toml(text: str) -> dict[str, Any]:
    """`tomllib.loads`, of which all that goes wrong is a TOMLDecodeError, a ValueError."""
    try:
        found = tomllib.loads(text)
        _check_integers(found)
        return found
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deep") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # a date that is none, a number of too many digits
        raise tomllib.TOMLDecodeError(str(error)) from None


def _check_integers(value: Any) -> None:
    """Refuse integers of more than 64 bits, which TOML does not have."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            _check_integers(one)
    elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"the integer {str(value)[:20]}... has more than 64 bits")


def formatted(value: float, form: str) -> str:
    """A number in a format such as ``.4f``, with zero for a negative zero."""
    text = format(value, form)
    return format(0.0, form) if float(text) == 0 else text


def rounded_down(value: float, digits: int = 3) -> str:
    """A bound below which something holds, to so many significant digits: never a larger one."""
    if not math.isfinite(value) or value <= 0:
        return f"{value:g}"
    exact = decimal.Decimal(repr(float(value)))
    unit = decimal.Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return f"{float(exact.quantize(unit, decimal.ROUND_DOWN)):.{digits}g}"


def plain(text: str) -> str:
    """A text with ``_`` for what names of files and of blocks of a CIF do not hold."""
    return re.sub(r"[^\w.+=-]+", "_", text)


def file_stem(id_: str) -> str:
    """Name of a structure's file, without its ending: in its folder, not hidden, not too long.

    An id that is no such name itself ends in a digest of its own, so that no two ids share one.
    """
    stem = plain(id_).lstrip(".") or "_"
    if stem == id_ and len(stem.encode()) <= LONGEST_STEM:
        return stem
    digest = hashlib.sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    kept = stem.encode("utf-8", "replace")[: LONGEST_STEM - 1 - len(digest)]
    return f"{kept.decode(errors='ignore')}-{digest}"


def typed(word: str | Path) -> str:
    """A word of a command as a person can type it; a path that looks like an option has its ./."""
    text = str(word)
    return shlex.quote(f"./{text}" if isinstance(word, Path) and text.startswith("-") else text)
