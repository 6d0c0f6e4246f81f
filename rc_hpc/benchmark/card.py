"""The numbers that the benchmark's card states, as data: ``data/card.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class CardSet:
    """What the card states of one of its sets.

    Attributes
    ----------
    rows, with_text
        Questions, and those of them that a text can ask.
    strata
        Questions by stratum.
    per_letter
        Correct answers of each letter; None where the card leaves that open.
    """

    rows: int
    with_text: int
    strata: Mapping[str, int]
    per_letter: int | None = None


@dataclass(frozen=True)
class Card:
    """What the card states of the benchmark.

    Attributes
    ----------
    full, mini
        Its two sets.
    images, pixels
        Different pictures of the full set, and their width and height, px.
    view_count, views
        Pictures of a question, and those of the types that have another number.
    per_structure, per_difficulty
        Questions of one type, and of one difficulty of Q2, of a base structure at most.
    coordination
        Base structures that Q2 may use.
    positive_pairs, depth_traps, per_system
        Of Q5, of Q3, and of each crystal system in Q4, in the full set.
    without_text
        Types that no text can ask.
    structures
        Base structures by crystal system.
    """

    full: CardSet
    mini: CardSet
    images: int
    pixels: int
    view_count: int
    views: Mapping[str, int]
    per_structure: int
    per_difficulty: int
    coordination: int
    positive_pairs: int
    depth_traps: int
    per_system: int
    without_text: tuple[str, ...]
    structures: Mapping[str, int]

    def n_views(self, qtype: str) -> int:
        """Pictures of a question of this type."""
        return self.views.get(qtype, self.view_count)


@cache
def card() -> Card:
    """The card."""
    text = resources.files("rc_hpc.benchmark").joinpath("data/card.toml").read_text("utf-8")
    stated = tomllib.loads(text)
    full, mini = (CardSet(**stated.pop(name)) for name in ("full", "mini"))
    without_text = tuple(stated.pop("without_text"))
    return Card(full, mini, without_text=without_text, **stated)
