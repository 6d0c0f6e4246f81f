"""Fingerprints of code: of what it does, not of how it is written down.

Over the syntax trees, without docstrings: a comment, a caption in another module or another
layout of the lines change nothing; a constant does.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import rc_hpc
from rc_hpc.core.errors import RcError

#: Fields that say nothing of what the code does, or that not every version of Python has.
_SKIPPED = frozenset({"ctx", "kind", "type_comment", "type_ignores", "type_params"})
_PACKAGE = Path(rc_hpc.__file__).parent


class Remembered:
    """Digests by the hash of a file's bytes: of the same bytes no tree is made again.

    Attributes
    ----------
    path
        A file of them, which later processes read; None: this process alone remembers.
    """

    #: What is done to a tree is in this module: its own bytes belong to the key.
    OWN = Path(__file__).read_bytes()
    #: More than these are of versions long gone.
    MOST = 2_000

    def __init__(self) -> None:
        self.path: Path | None = None
        self.found: dict[str, str] = {}
        self._new = False

    def read(self, path: Path) -> None:
        """Remember what a file holds, and `keep` there; one that cannot be read holds nothing."""
        self.path = path
        with contextlib.suppress(OSError, ValueError, AttributeError):
            held = json.loads(path.read_text(encoding="utf-8"))
            held = {key: digest for key, digest in held.items() if isinstance(digest, str)}
            self.found = held | self.found if len(held) <= self.MOST else self.found

    def of(self, source: bytes, name: str) -> str:
        """Digest of a module's bytes."""
        key = hashlib.sha256(self.OWN + b"\0" + source).hexdigest()
        if key not in self.found:
            words: list[str] = []
            _tell(ast.parse(source, name), words)
            self.found[key] = hashlib.sha256("\0".join(words).encode()).hexdigest()
            self._new = True
        return self.found[key]

    def keep(self) -> None:
        """Write what is new for later processes; where that cannot be done, nothing is lost."""
        if self.path is None or not self._new:
            return
        with contextlib.suppress(OSError):
            fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}")
            fresh.write_text(json.dumps(self.found), encoding="utf-8")
            fresh.replace(self.path)
            self._new = False


#: Of all modules that are looked at.
REMEMBERED = Remembered()


@cache
def tree_digest(path: Path) -> str:
    """SHA-256 of a module's syntax tree without docstrings; alike in all versions of Python."""
    return REMEMBERED.of(path.read_bytes(), path.name)


def _tell(value: Any, words: list[str]) -> None:
    """Add what a node, a list of them or a constant says, so that no two read alike."""
    if isinstance(value, ast.AST):
        words.append(type(value).__name__)
        for name in value._fields:
            field = getattr(value, name, None)
            if field is None or field == [] or name in _SKIPPED:
                continue
            words.append(name)
            _tell(field[1:] if name == "body" and _has_docstring(field) else field, words)
        words.append(")")
    elif isinstance(value, list):
        words.append("[")
        for item in value:
            _tell(item, words)
        words.append("]")
    else:
        words.append(repr(value))


def _has_docstring(body: Any) -> bool:
    first = body[0] if isinstance(body, list) else None
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )


def modules(places: Iterable[str]) -> list[Path]:
    """Files of modules and whole packages, given as paths below ``rc_hpc``."""
    found: set[Path] = set()
    for place in places:
        path = _PACKAGE / place
        files = path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]
        found.update(files)
    return sorted(found)


def code_of(places: Iterable[str]) -> dict[str, str]:
    """Digest of each module, shortened, by its path below ``rc_hpc``."""
    try:
        found = {
            path.relative_to(_PACKAGE).as_posix(): tree_digest(path)[:12]
            for path in modules(places)
        }
        REMEMBERED.keep()
        return found
    except (OSError, SyntaxError) as error:
        raise RcError(
            f"the sources of rc_hpc cannot be read ({error}): install it again"
        ) from error


def fingerprint(code: dict[str, str]) -> str:
    """One short text for the digests of many modules."""
    return hashlib.sha256(json.dumps(code, sort_keys=True).encode()).hexdigest()[:16]
