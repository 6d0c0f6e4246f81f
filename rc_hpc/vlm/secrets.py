"""What must not be written: the key, passwords in addresses, secrets of the environment."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote, urlsplit

MASK = "***"
#: Variables of the environment that hold secrets, by name.
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_PROXY = re.compile(r"_proxy$", re.IGNORECASE)
#: Name and password in an address.
_LOGIN = re.compile(r"(?<=://)[^\s/@:'\"]{0,200}:[^\s/@'\"]{1,200}(?=@)")
#: Fewer characters make no secret: "none", "EMPTY" and other keys of local servers.
_SHORTEST = 8
#: So many characters of a longer secret, one after another, are told of nowhere either.
_PIECE = 12


class Mask:
    """Takes secrets out of all that is written.

    Parameters
    ----------
    key
        Longer pieces of it are taken out as well.
    others
        Are taken out where they stand whole.
    """

    def __init__(self, key: str | None, others: Iterable[str] = ()):
        forms = _forms(key) if key else set()
        self._pieces = {
            form[start : start + _PIECE]
            for form in forms
            for start in range(max(1, len(form) - _PIECE + 1))
        }
        self._pieces |= {form for other in others for form in _forms(other)}

    def text(self, text: str) -> str:
        """A text without them."""
        spans = [
            (start, start + len(piece))
            for piece in self._pieces
            if piece in text
            for start in _places(piece, text)
        ]
        kept: list[str] = []
        end = 0
        for first, last in sorted(spans):
            if first > end or not kept:
                kept += [text[end:first], MASK]
            end = max(end, last)
        return _LOGIN.sub(MASK, "".join([*kept, text[end:]]))

    def value(self, value: Any) -> Any:
        """A JSON value without them, names of fields included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self.value(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.value(inner) for inner in value]
        return value


def mask_of(key: str | None) -> Mask:
    """The mask of a key, and of what the environment holds."""
    others = [value for name, value in os.environ.items() if _SECRET.search(name)]
    others = [value for value in others if not value.startswith(("/", "~"))]  # files of secrets
    for name, value in os.environ.items():
        if _PROXY.search(name) and (password := _password(value)):
            others += [password, unquote(password)]
    return Mask(key, others)


def is_secret(key: str | None) -> bool:
    """Whether a key is one, and not the "none" that local servers are content with."""
    return key is not None and len(key) >= _SHORTEST


def _forms(secret: str) -> set[str]:
    """A secret as it may be written: as it is, in an address, and in base64."""
    if not is_secret(secret):
        return set()
    packed = base64.b64encode(secret.encode()).decode().rstrip("=")
    return {secret, quote(secret, safe=""), packed}


def _password(url: str) -> str | None:
    try:
        return urlsplit(url if "://" in url else f"http://{url}").password
    except ValueError:
        return None


def _places(piece: str, text: str) -> Iterable[int]:
    place = text.find(piece)
    while place >= 0:
        yield place
        place = text.find(piece, place + 1)
