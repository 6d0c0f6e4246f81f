"""A finding: which rule, where, and what is wrong."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing that is wrong with a package.

    Attributes
    ----------
    rule
        Its name, stable.
    where
        File, question or stratum.
    what
        What is wrong, in one line.
    """

    rule: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what} [{self.rule}]"
