"""Options of a census."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rc_hpc.core import constants
from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import derived, opt, tolerance
from rc_hpc.core.vocabulary import (
    CENSUS_MERGES,
    CHOOSING_RULES,
    ENUMERATIONS,
    LABELLED,
    MERGE_RULES,
)
from rc_hpc.kinds.common import options as common
from rc_hpc.kinds.packed.options import PackOptions

#: What `--label` names, in words.
_WORDS = {"3+": "three and more views", "full": "all cameras"}


def least_views(label: str, n_views: int) -> int:
    """Views of the smallest subsets that are labelled.

    Parameters
    ----------
    label
        Of LABELLED.
    n_views
        Of the protocol.
    """
    return {"all": 0, "3+": 3, "full": n_views}[label]


@dataclass(frozen=True)
class CensusOptions(common.Molecular):
    """What one census computes.

    Attributes
    ----------
    protocol
        `Protocol.identity()` and its name.
    subsets
        View subsets as tuples of camera indices.
    delta
        Acceptance and merge tolerance, Å.
    delta_max
        Largest delta up to which the phantom profile is followed, Å; at least `delta`.
    enumeration, merge
        See ENUMERATIONS and CENSUS_MERGES.
    tie
        See `rc_hpc.oracle.geometry.GeometricOracle`, Å.
    truth
        Cell whose label counts as true: the stored or the conventional one.
    for_pictures
        Pictures whose cameras and tiling are taken.
    label
        Which view subsets are labelled: see LABELLED.
    label_every
        Label every reconstruction, not the distinct ones only; the result is the same.
    quarantine
        What happens to structures with an unstable label: mark, keep or drop.
    max_candidates
        Candidates beyond which a structure is refused.
    pack
        Options of the packed input; its tau is that of the reconstructions' labels.
    packed_tau
        symprec of the true labels and of the quarantine where it is another one, Å.
    """

    protocol: dict[str, Any] = common.protocol()
    subsets: tuple[tuple[int, ...], ...] = common.subsets("all")
    delta: float = opt(
        constants.DELTA,
        "acceptance and merge tolerance",
        metavar="Å",
        check=tolerance,
        caption="delta {} Å",
    )
    delta_max: float = opt(
        constants.DELTA_MAX,
        "follow phantoms up to this delta",
        asked=None,
        parse=float,
        metavar="Å",
        told=f"{constants.DELTA_MAX}, or --delta if that is larger",
    )
    enumeration: str = opt(
        ENUMERATIONS[0],
        "camera pairs that are triangulated: all of a subset (the definition) or its first two "
        "cameras (the released program)",
        choices=ENUMERATIONS,
        caption="enumeration {}",
    )
    merge: str = opt(
        CENSUS_MERGES[0],
        "which accepted candidates become atoms; 'first' is the released program's rule; "
        "'symmetric': of all crystals that have the exact pictures the most symmetric, "
        "'parsimonious': that of those with the fewest atoms of each species (both need "
        "rc_hpc[unique])",
        choices=CENSUS_MERGES,
        caption="merge {}",
    )
    tie: float = common.tie()
    truth: str = common.truth()
    label: str = opt(
        LABELLED[0],
        "view subsets whose reconstructions are labelled: all, those of three and more views, or "
        "that of all cameras; the others have counts and certificates only",
        choices=LABELLED,
        caption=lambda label: "" if label == LABELLED[0] else f"labelled on {_WORDS[label]} only",
    )
    label_every: bool = opt(
        False, "label every reconstruction, not the distinct ones only: slower, same result"
    )
    quarantine: str = common.quarantine()
    max_candidates: int = common.max_candidates()
    tiling: str | None = common.tiling()
    for_pictures: Path | None = opt(
        None,
        "take cameras and tiling from these pictures, a file of rc_hpc.render",
        parse=Path,
        metavar="RENDERS.h5",
        recorded=False,
    )
    pack: PackOptions = PackOptions()
    packed_tau: float | None = derived(None)

    #: Options of packing that may differ from those of the packed file.
    anew: ClassVar[tuple[str, ...]] = ("tau",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.molecules and self.merge in CHOOSING_RULES:
            raise UsageError(
                f"--merge {self.merge} chooses by the space groups of crystals: molecules take "
                f"{', '.join(MERGE_RULES)}"
            )
        common.horizon(self.delta_max, (self.delta,), constants.DELTA_MAX)
        if self.subsets and not any(self.labelled()):
            raise UsageError(
                f"--label {self.label}: no view subset is of {_WORDS[self.label]}: "
                "take more of them (--subsets)"
            )

    def labelled(self) -> list[bool]:
        """Which view subsets are labelled."""
        least = least_views(self.label, len(self.protocol["views"]))
        return [len(subset) >= least for subset in self.subsets]

    def _phrases(self) -> Iterator[str]:
        yield from super()._phrases()
        if self.packed_tau is not None:
            yield f"true labels and quarantine at the packed tau {self.packed_tau} Å"

    @classmethod
    def settle(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Cameras from their names; the horizon from delta."""
        delta = values["delta"]
        if values["for_pictures"] is not None:
            values = common.of_pictures(values)
        reach = common.horizon(values["delta_max"], (delta,), constants.DELTA_MAX)
        return common.settle_cameras(values) | {"delta_max": reach}
