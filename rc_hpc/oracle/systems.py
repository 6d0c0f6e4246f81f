"""Crystal systems of the explanations of one puzzle, each found once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from rc_hpc.core.vocabulary import System
from rc_hpc.oracle.explanations import Puzzle
from rc_hpc.oracle.symmetries import Symmetries, TooMany


class Systems:
    """Systems of choices of places.

    By the operations that one has where any label must find these, and the truth's give the
    truth's label; else by the label.

    Parameters
    ----------
    puzzle
    symmetries
        Of the same puzzle.
    label
        System of a choice of places, by spglib.
    own
        System of the truth's places.
    """

    def __init__(
        self,
        puzzle: Puzzle,
        symmetries: Symmetries,
        label: Callable[[np.ndarray], System],
        own: System,
    ):
        self.puzzle, self.symmetries = puzzle, symmetries
        self.label, self.own = label, own
        #: What was found, by the crystal's name.
        self.known: dict[bytes, System] = {puzzle.key(puzzle.truth): own}

    def of(self, chosen: np.ndarray) -> System:
        """System of a choice of places, (C,) bool."""
        key = self.puzzle.key(chosen)
        if key not in self.known:
            self.look(chosen[None])
        if key not in self.known:
            self.known[key] = self.label(chosen)
        return self.known[key]

    def look(self, chosen: np.ndarray) -> None:
        """Find the systems of N choices of places, (N, C) bool, as far as operations tell them."""
        keys = [self.puzzle.key(one) for one in chosen]
        new = [n for n, key in enumerate(keys) if key not in self.known]
        if not new or not self._trusted:
            return
        for n, system in zip(new, self.symmetries.systems(chosen[new]), strict=True):
            if system is not None:
                self.known[keys[n]] = system

    @cached_property
    def _trusted(self) -> bool:
        """Whether the truth's operations give its label, or do not tell."""
        try:
            return self.symmetries.systems(self.puzzle.truth[None])[0] in (None, self.own)
        except TooMany:
            return False
