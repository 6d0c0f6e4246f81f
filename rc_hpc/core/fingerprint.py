"""Fingerprints of code: of what it does, not of how it is written down.

Over the syntax trees, without docstrings: a comment, a caption in another module or another
layout of the lines change nothing; a constant does.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import rc_hpc
from rc_hpc.core.errors import RcError

#: Fields that say nothing of what the code does, or that not every version of Python has.
_SKIPPED = frozenset({"ctx", "kind", "type_comment", "type_ignores", "type_params"})
_PACKAGE = Path(rc_hpc.__file__).parent


@cache
def tree_digest(path: Path) -> str:
    """SHA-256 of a module's syntax tree without docstrings; alike in all versions of Python."""
    tree = ast.parse(path.read_bytes(), path.name)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            del body[0]
    return hashlib.sha256(json.dumps(_plain(tree)).encode()).hexdigest()


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _plain(node: Any) -> Any:
    if isinstance(node, ast.AST):
        fields = [(name, value) for name, value in ast.iter_fields(node) if name not in _SKIPPED]
        told = [(name, _plain(value)) for name, value in fields if value not in (None, [])]
        return [type(node).__name__, told]
    if isinstance(node, list):
        return [_plain(item) for item in node]
    return node if isinstance(node, str | int | bool) else [type(node).__name__, repr(node)]


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
        return {
            path.relative_to(_PACKAGE).as_posix(): tree_digest(path)[:12]
            for path in modules(places)
        }
    except (OSError, SyntaxError) as error:
        raise RcError(
            f"the sources of rc_hpc cannot be read ({error}): install it again"
        ) from error


def fingerprint(code: dict[str, str]) -> str:
    """One short text for the digests of many modules."""
    return hashlib.sha256(json.dumps(code, sort_keys=True).encode()).hexdigest()[:16]
