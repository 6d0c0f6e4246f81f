"""Options of a camera design."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rc_hpc.core import constants
from rc_hpc.core.errors import UsageError
from rc_hpc.core.ids import read_ids
from rc_hpc.core.lazy import resolve
from rc_hpc.core.options import Options, ascending, at_least, derived, lengths, names, opt
from rc_hpc.kinds.common import options as common
from rc_hpc.kinds.packed.options import PackOptions

#: What a search may ask for, and the score of it that it keeps low.
ASKED = {"phantoms": "phantom_rate", "unique": "loose_rate"}
#: Cameras of a set, and of one beside it, at most: every subset of two or more is reconstructed.
MOST_VIEWS = 8


def share_or_file(text: str) -> float | Path:
    """A share, or a file of ids."""
    try:
        return float(text)
    except ValueError:
        return Path(text)


def _whole(flag: str, value: int) -> None:
    if not 0 <= value < 2**63:
        raise UsageError(f"{flag} must not be negative, nor {2**63} or more: {value}")


@dataclass(frozen=True)
class DesignOptions(Options):
    """What one camera design computes; the sets found by its search are part of it.

    Attributes
    ----------
    protocols
        `Protocol.identity()` and name of each: the sets found, then those beside them.
    scores
        Of each protocol on the searched structures, see `rc_hpc.geometry.camera_sets.SCORES`.
    cameras
        Of each set found, as a protocol file has them.
    views, keep, seed, starts, sample, training, held_out
        What was searched, for whom: cameras of a set, names of kept ones, seed of the search and
        of the split, random starts, structures that the search looks at, structures that choose
        between the sets found, and the share that is held out, or `ids`.
    sides
        Hash of the side of every structure.
    ask
        Of ASKED: what the search keeps rare beside bad geometry.
    delta
        Tolerance of the phantom rates, Å.
    sigmas, seeds, truth, quarantine, pack
        See `NoiseOptions`; quarantined structures are dropped or kept.
    beside, shortlist, ids, read
        Not recorded, since what comes of them is: protocols to compare with, sets found at most,
        ids held out, and the files that were read.
    """

    protocols: tuple[dict[str, Any], ...] = derived(())
    scores: tuple[dict[str, Any], ...] = derived(())
    cameras: tuple[tuple[dict[str, Any], ...], ...] = derived(())
    views: int = opt(
        5,
        "cameras of a set",
        metavar="N",
        check=common.between(2, MOST_VIEWS),
        caption="{} cameras",
    )
    keep: tuple[str, ...] = opt(
        (),
        "cameras of the protocol frozen that every set holds, such as axis_a,axis_b,axis_c",
        parse=names,
        metavar="NAME,NAME",
        told="none",
        caption=lambda names: f"kept: {', '.join(names) or 'none'}",
    )
    seed: int = opt(
        0,
        "seed of the split and of the search",
        name="search_seed",
        metavar="N",
        check=_whole,
        caption="search seed {}",
    )
    ask: str = opt(
        "phantoms",
        "what the search avoids: phantoms, or subsets of two and three views whose pictures "
        "another crystal may have (unique)",
        choices=tuple(ASKED),
        caption=lambda asked: "" if asked == "phantoms" else f"asked for: {asked}",
    )
    starts: int = opt(64, "random starts of the search", metavar="N", check=at_least(1))
    sample: int = opt(
        40,
        "training structures, at most, on which the search counts phantoms",
        name="search_sample",
        metavar="N",
        check=at_least(1),
    )
    training: int = opt(
        100,
        "structures, at most, on which the best of the sets found is chosen",
        metavar="N",
        check=at_least(1),
    )
    held_out: str = opt(
        "0.5",
        "structures that the search does not see: a share of the compositions, or a file of ids, "
        "one a line (other structures of their compositions are not searched on either)",
        asked=0.5,
        parse=share_or_file,
        metavar="SHARE|FILE",
    )
    sides: str = derived("")
    delta: float = opt(
        constants.DELTA,
        "acceptance and merge tolerance of the phantom rates",
        metavar="Å",
        check=common.between(constants.NUMERICAL_ZERO, 0.5),
    )
    sigmas: tuple[float, ...] = opt(
        constants.DESIGN_SIGMAS,
        "standard deviations of each screen coordinate of a disc centre",
        parse=lengths,
        metavar="Å,Å",
        check=ascending(some_positive=True),
    )
    seeds: int = opt(
        3,
        "noise seeds 0 to N-1",
        metavar="N",
        check=common.between(1, 10_000),
        caption="{} noise seeds",
    )
    truth: str = common.truth()
    quarantine: str = opt(
        "drop",
        "structures with an unstable label: drop (they take no part) or keep",
        choices=("drop", "keep"),
        caption="quarantine {}",
    )
    pack: PackOptions = PackOptions()
    beside: tuple[dict[str, Any], ...] = opt(
        (),
        "protocols to compare with: frozen, off-axis or TOML files",
        asked="frozen,off-axis",
        metavar="NAME|FILE[@TILING],...",
        recorded=False,
        hashed=False,
    )
    shortlist: int = opt(
        4,
        "sets found, at most, that are read under noise",
        metavar="N",
        check=at_least(1),
        recorded=False,
    )
    ids: frozenset[str] = derived(frozenset(), recorded=False)
    read: tuple[Path, ...] = derived((), recorded=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        known = tuple(resolve("rc_hpc.geometry.protocol:BUILT_IN")["frozen"])
        for name in self.keep:
            if name not in known:
                raise UsageError(f"--keep {name!r}: choose from {', '.join(known)}")
        if len(set(self.keep)) != len(self.keep):
            raise UsageError("--keep names a camera twice")
        if len(self.keep) >= self.views:
            raise UsageError(
                f"--keep holds {len(self.keep)} of {self.views} cameras: nothing is left to design"
            )
        if self.held_out != "ids" and not 0 < float(self.held_out) < 1:
            raise UsageError(
                f"--held-out must be a share between 0 and 1 or a file of ids, not {self.held_out}"
            )
        if self.beside:
            _check_beside(self.beside)

    @classmethod
    def settle(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Protocols from their names; ids held out from their file."""
        asked, held_out = values["beside"], values["held_out"]
        each = asked.split(",") if isinstance(asked, str) else asked
        cameras = [common.tiled_protocol(one, "noise sweeps") for one in each]
        read = [Path(one) for one in each if isinstance(one, str)]
        if isinstance(held_out, Path):
            if not held_out.is_file():
                raise UsageError(f"--held-out {held_out}: neither a number nor a file of ids")
            read.append(held_out)
            values |= {"held_out": "ids", "ids": frozenset(read_ids(held_out, "--held-out"))}
        else:
            values |= {"held_out": f"{float(held_out):g}"}
        identities = tuple(map(common.identity_of, cameras))
        _check_beside(identities)
        return values | {"beside": identities, "read": tuple(read)}


def _check_beside(identities: Iterable[dict[str, Any]]) -> None:
    common.different_names("--beside", tuple(identities))
    for protocol in identities:
        if len(protocol["views"]) > MOST_VIEWS:
            raise UsageError(
                f"protocol {protocol['name']!r} has {len(protocol['views'])} cameras: "
                f"a design compares up to {MOST_VIEWS}"
            )
