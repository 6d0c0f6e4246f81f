"""Readings of an occlusion sweep, and what the names of verifications mean."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

#: Verifications beside k-of-V.
NAMED = ("strict", "covered", "painted", "excused")
#: The one that knows what was taken away.
KNOWING = "excused"


def readings(
    verifications: Iterable[str], enumerations: Iterable[str], rules: Iterable[str]
) -> tuple[tuple[str, str, str], ...]:
    """All (verification, enumeration, merge rule), in the order of the file.

    `first` keeps whatever comes first. With a rule that forgives misses where nothing is
    missing it misreads perfect pictures, so it goes with `strict` and `excused` only.
    """
    every = itertools.product(verifications, enumerations, rules)
    return tuple(
        reading for reading in every if reading[2] != "first" or reading[0] in ("strict", "excused")
    )


def shown_needed(verification: str) -> int | None:
    """Views that must show a candidate by the rule k-of-V; None where the name is no such rule."""
    k, of, views = verification.partition("-of-")
    return int(k) if of and views == "V" and k.isdecimal() and int(k) >= 2 else None
