"""Before any picture is read: cameras, rules of drawing, and what the level of knowledge opens."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from rc_hpc.core.vocabulary import RELEASED
from rc_hpc.kinds.common.options import identity_of
from rc_hpc.kinds.readings.options import ReadingsOptions
from rc_hpc.kinds.readings.source import Pictures
from rc_hpc.reader.convention import Convention
from rc_hpc.reader.records import Knowledge
from rc_hpc.reader.released import Told


@dataclass(frozen=True)
class Known:
    """What readers know of all crystals of a run.

    Attributes
    ----------
    level, rotations, size_px, convention
        See `Knowledge`; the level may be one of `RELEASED` too.
    more : dict
        Further fields by id: of `Knowledge` from level K1 on, or of `Told`.
    """

    level: str
    rotations: np.ndarray
    size_px: int
    convention: Convention
    more: dict[str, dict[str, Any]]

    def of(self, id_: str) -> Knowledge | Told:
        """What the reader of one crystal knows."""
        if self.level in RELEASED:
            told = self.level == RELEASED[1]
            more = self.more[id_]
            return Told(self.rotations, self.convention, **more, oracle_species=told)
        return Knowledge(
            self.level, self.rotations, self.size_px, self.convention, **self.more.get(id_, {})
        )


def plan(source: Pictures, options: ReadingsOptions) -> tuple[ReadingsOptions, Known]:
    """Options with cameras and convention, and what is known.

    Raises
    ------
    UsageError
        The source does not hold what the level needs.
    """
    protocol = dataclasses.replace(source.protocol, tiling=source.drawn.tiling)
    settled = dataclasses.replace(
        options,
        protocol=identity_of(protocol),
        convention=source.drawn.identity(),
        size=source.size_px,
    )
    known = Known(
        options.knowledge,
        protocol.rotations,
        source.size_px,
        source.drawn,
        source.more(options.knowledge),
    )
    return settled, known
