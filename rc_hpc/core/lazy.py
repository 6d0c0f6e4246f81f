"""The one way to a module that is heavy or lies above: by its dotted name, on first use."""

from __future__ import annotations

import pkgutil
from typing import Any


def resolve(name: str) -> Any:
    """The object that ``package.module:object`` names; its module is imported now.

    `--help` answers fast because nothing behind such a name is loaded before it is used.
    """
    return pkgutil.resolve_name(name)
