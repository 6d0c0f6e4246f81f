"""Options of a uniqueness sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rc_hpc.core import constants
from rc_hpc.core.options import at_least, opt
from rc_hpc.core.vocabulary import Known
from rc_hpc.kinds.common import options as common
from rc_hpc.kinds.packed.options import PackOptions

#: Names of the policies, loose ones first.
POLICIES = tuple(Known.__members__)


@dataclass(frozen=True)
class UniqueOptions(common.Molecular):
    """What one uniqueness sweep computes.

    Attributes
    ----------
    protocol, subsets, truth, quarantine, max_candidates, pack
        See `CensusOptions`.
    policies
        Of POLICIES: what a reader knows beside the pictures.
    delta
        Up to which a point is on another, Å: numerical zero for exact pictures.
    limit, conflicts
        Budget of one policy: explanations that are labelled, and conflicts of one call of the
        solver.
    draw_seed
        Of the random explanation and of the solver's choices.
    """

    protocol: dict[str, Any] = common.protocol()
    subsets: tuple[tuple[int, ...], ...] = common.subsets("all")
    policies: tuple[str, ...] = common.several(
        POLICIES,
        "what a reader knows beside the pictures: any (nothing), counts (atoms of each species), "
        "physical (counts, and atoms apart and within the cell), fewest (as few atoms of each "
        "species as the pictures allow)",
        POLICIES,
        name="policy",
        told="all",
    )
    delta: float = opt(
        constants.CENSUS_ZERO,
        "up to which a point is on another; the default is exact pictures",
        metavar="Å",
        check=common.between(constants.NUMERICAL_ZERO, 0.05),
        caption="delta {} Å",
    )
    limit: int = opt(
        64, "explanations that are labelled for one policy at most", metavar="N", check=at_least(2)
    )
    conflicts: int = opt(
        20_000, "conflicts of one call of the solver at most", metavar="N", check=at_least(1)
    )
    draw_seed: int = opt(0, "seed of the random explanation and of the solver", metavar="N")
    truth: str = common.truth()
    quarantine: str = common.quarantine()
    max_candidates: int = common.max_candidates()
    tiling: str | None = common.tiling()
    pack: PackOptions = PackOptions()

    @classmethod
    def settle(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Cameras from their names."""
        cameras = common.load(values["protocol"], values["tiling"])
        cameras.require_orthographic("uniqueness sweeps")
        return common.settle_cameras(values, cameras)

    @property
    def known(self) -> tuple[Known, ...]:
        """The policies."""
        return tuple(Known[name] for name in self.policies)
