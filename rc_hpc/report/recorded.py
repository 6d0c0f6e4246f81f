"""Published values, and where they apply.

Only under the options and on the structures they were read at.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources


@lru_cache(maxsize=1)
def _entries() -> tuple[dict, ...]:
    text = (
        resources.files("rc_hpc.report")
        .joinpath("data", "recorded.toml")
        .read_text(encoding="utf-8")
    )
    data = tomllib.loads(text)
    return tuple(
        entry
        | {
            "where": {
                name: data["samples"][value] if name == "sample" else value
                for name, value in entry["where"].items()
            }
        }
        for entry in data["entry"]
    )


def sample_of(ids: Iterable[str]) -> str:
    """SHA-256 that names a set of structures: their ids, sorted, one a line."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()


def find(figure: str, conditions: dict) -> tuple[dict, ...]:
    """Values of a figure, each a dict of arrays, whose conditions are all met.

    Parameters
    ----------
    conditions
        `sample` from `sample_of`, and what else the entries of ``data/recorded.toml`` name; a set
        holds each of its values.
    """
    return tuple(
        entry["values"] | {"record": entry["record"]}
        for entry in _entries()
        if entry["figure"] == figure
        and all(_holds(conditions.get(name), value) for name, value in entry["where"].items())
    )


def _holds(found, value) -> bool:
    return value in found if isinstance(found, frozenset) else found == value
