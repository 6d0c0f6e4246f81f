"""Readings of a noise sweep."""

from __future__ import annotations

from collections.abc import Iterable

from rc_hpc.core.vocabulary import RECORDED_READING


def readings(
    rules: Iterable[str], estimators: Iterable[str], merge: str, labeller: str
) -> tuple[tuple[str, str, str, str], ...]:
    """All (rule, estimator, merge, labeller), in the order of the file; `record` is one of them."""
    every: list[tuple[str, str, str, str]] = []
    for rule in rules:
        if rule == "record":
            every.append(RECORDED_READING)
        else:
            every += [(rule, name, merge, labeller) for name in estimators]
    return tuple(every)
