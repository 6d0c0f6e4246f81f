"""Options of a noise sweep."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rc_hpc.core import constants
from rc_hpc.core.errors import UsageError
from rc_hpc.core.ids import read_ids
from rc_hpc.core.options import Options, ascending, derived, lengths, opt
from rc_hpc.core.vocabulary import (
    ESTIMATORS,
    LABELLERS,
    MERGE_RULES,
    NOISE_RULES,
)
from rc_hpc.kinds.common import options as common
from rc_hpc.kinds.noise.readings import readings
from rc_hpc.kinds.packed.options import PackOptions


@dataclass(frozen=True)
class NoiseOptions(Options):
    """What one noise sweep computes.

    Attributes
    ----------
    protocols
        `Protocol.identity()` and name of each.
    sigmas
        Standard deviations of each screen coordinate of a centroid, Å, ascending.
    seeds
        Number of seeds, from 0 on.
    rules, estimators
        Of NOISE_RULES and ESTIMATORS; each of the one goes with each of the other, but `record`,
        which is one experiment.
    merge
        Merge rule of the pair estimators, of MERGE_RULES.
    labeller
        Of LABELLERS.
    displace
        Also read every cell with each atom displaced by this length, Å, in a direction of its
        own: how often is it still read as the system that it no longer has? 0: not.
    order
        Hash of the ids in the order in which the record's errors are drawn; empty is the
        order of the packed file, and where errors are not drawn like that.
    ids
        Those ids; not recorded.
    tie, truth, quarantine, pack
        See `CensusOptions`.
    """

    protocols: tuple[dict[str, Any], ...] = common.protocols(
        "frozen,off-axis",
        "protocols",
        "cameras: frozen, off-axis or TOML files; @2 or @2x2x1 repeats the conventional cell",
    )
    sigmas: tuple[float, ...] = opt(
        constants.NOISE_SIGMAS,
        "standard deviations of each screen coordinate of a disc centre",
        parse=lengths,
        metavar="Å,Å",
        check=ascending(),
    )
    seeds: int = opt(
        10, "seeds 0 to N-1", metavar="N", check=common.between(1, 10_000), caption="{} seeds"
    )
    rules: tuple[str, ...] = common.several(
        NOISE_RULES,
        "tolerance rules: common is delta = max(0.01, 8 sigma) for all protocols, paper is "
        "max(0.15, 4 sigma), record is the released experiment, its estimator, merge rule, "
        "labeller and random numbers included (parity only)",
    )
    estimators: tuple[str, ...] = common.several(
        ESTIMATORS, f"centroids that a position is estimated from, of {', '.join(ESTIMATORS)}"
    )
    merge: str = opt(
        "best-residual",
        "merge rule of the estimators that read pairs",
        choices=MERGE_RULES,
    )
    labeller: str = opt(
        LABELLERS[0],
        "how the noisy cell's symmetry is found: by a test against the errors' covariance, at a "
        "symprec that follows from sigma, or at the record's, which follows from the true errors "
        "(parity only)",
        choices=LABELLERS,
    )
    displace: float = opt(
        0.0,
        "also read each cell with every atom displaced by this much, each in a direction of its "
        "own: the table displaced tells how often the lost symmetry is read all the same",
        metavar="Å",
        told="not done",
        check=common.between(0, 10),
    )
    order: str = opt(
        "",
        "ids, one a line, in the order in which the rule record draws its errors",
        asked=None,
        parse=Path,
        metavar="FILE",
        told="the order of the packed file",
    )
    tie: float = common.tie()
    truth: str = common.truth()
    quarantine: str = common.quarantine()
    pack: PackOptions = PackOptions()
    ids: tuple[str, ...] = derived((), recorded=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        common.different_names("--protocols", self.protocols)

    @classmethod
    def settle(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Cameras from their names; the order from its file."""
        asked, path = values["protocols"], values["order"]
        each = asked.split(",") if isinstance(asked, str) else asked
        cameras = [common.tiled_protocol(one, "noise sweeps") for one in each]
        values |= {"protocols": tuple(map(common.identity_of, cameras)), "order": "", "ids": ()}
        if path is not None:
            if "record" not in values["rules"]:
                raise UsageError(
                    "--order belongs to the rule record, which alone draws all errors from one "
                    "stream: add --rules record"
                )
            ids = read_ids(path, "--order")
            digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
            values |= {"order": digest, "ids": ids}
        return values

    @property
    def readings(self) -> tuple[tuple[str, str, str, str], ...]:
        """All (rule, estimator, merge, labeller), in the order of the file."""
        return readings(self.rules, self.estimators, self.merge, self.labeller)

    @property
    def reads(self) -> int:
        """Sets of pictures that are read of one structure under one protocol."""
        cells = 2 if self.displace else 1
        each = sum(self.seeds if sigma > 0 else 1 for sigma in self.sigmas)
        return cells * len(self.readings) * each

    @property
    def shared(self) -> bool:
        """Whether the errors come from the record's stream, which all structures share."""
        return "record" in self.rules
