"""Options that several kinds share, and what their settling has in common."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rc_hpc.core import constants
from rc_hpc.core.errors import UsageError
from rc_hpc.core.lazy import resolve
from rc_hpc.core.options import (
    Options,
    at_least,
    once_each,
    opt,
    own,
    some_of,
    text_of,
    tolerance,
)
from rc_hpc.core.vocabulary import QUARANTINE_POLICIES, TRUTHS

if TYPE_CHECKING:
    from rc_hpc.geometry.protocol import Protocol

#: Cameras where none are asked for.
PROTOCOL = "frozen"
#: More subsets than this are asked for by mistake rather than on purpose.
MANY_SUBSETS = 2048
#: Copies of a cell in a tiling at most: more is meant for one axis, or by nobody.
MANY_CELLS = 4096


def _told(identity: Mapping[str, Any]) -> str:
    """A protocol in a caption."""
    pinholes = sum(centre is not None for centre in identity.get("centres") or ())
    views = f"{len(identity['views'])} views"
    views += f" ({pinholes} of pinhole cameras)" if pinholes else ""
    return f"protocol {identity['name']}, {views}, tiling {shown_tiling(identity['tiling'])}"


def protocol() -> Any:
    """Cameras, recorded as `Protocol.identity()` and their name."""
    return opt(
        asked=PROTOCOL,
        help="cameras: frozen, off-axis, or a TOML file",
        metavar="NAME|FILE",
        hashed=False,
        caption=_told,
    )


def protocols(asked: str, name: str, help: str) -> Any:
    """Several sets of cameras, recorded like one."""
    return opt(asked=asked, name=name, help=help, metavar="NAME|FILE[@TILING],...", hashed=False)


def subsets(asked: str) -> Any:
    """View subsets, recorded as tuples of camera indices."""
    return opt(asked=asked, help="view subsets", metavar="all|full|a+b,a+c")


def tiling() -> Any:
    """Repetitions of the cell; a part of the protocol's record."""
    return opt(
        None,
        "repeat the conventional cell",
        metavar="N|N,N,N",
        told="the protocol's",
        recorded=False,
    )


def tie() -> Any:
    """Scale at which ties of image points and of residuals are judged."""
    return opt(
        constants.TIE,
        "image points closer than this are one, and residuals that differ by less are equal",
        metavar="Å",
        check=tolerance,
        caption="ties at {} Å",
        before=constants.NUMERICAL_ZERO,
    )


def truth() -> Any:
    """The cell whose label counts as true: the stored or the conventional one."""
    return opt(
        TRUTHS[0],
        "the cell whose label counts as true",
        choices=TRUTHS,
        caption="true label: {} cell",
    )


def quarantine() -> Any:
    """What happens to structures with an unstable label: mark, keep or drop."""
    return opt(
        QUARANTINE_POLICIES[0],
        "structures with an unstable label: mark (computed, left out of headline numbers), "
        "keep (counted too) or drop (not computed)",
        choices=QUARANTINE_POLICIES,
        caption="quarantine {}",
    )


def several(
    known: tuple[str, ...], help: str, default: tuple[str, ...] | None = None, **more: Any
) -> Any:
    """Some of the known names, each once; by default the first."""
    return opt(
        default or known[:1],
        help,
        parse=some_of(known),
        choices=known,
        metavar="all|NAME,NAME",
        check=once_each,
        **more,
    )


def max_candidates(most: int = 100_000_000) -> Any:
    """Candidates beyond which a structure is refused."""
    return opt(
        most,
        "refuse a structure with more candidates (100 bytes each)",
        metavar="N",
        told=str(most),
        check=at_least(1),
    )


@dataclass(frozen=True)
class Molecular(Options):
    """Options of kinds that know molecules too: what only a crystal has is refused, and not told.

    Derived classes have a group ``pack`` of `rc_hpc.kinds.packed.options.PackOptions`.
    """

    #: Options that ask for something of a cell.
    of_cells: ClassVar[tuple[str, ...]] = ("truth", "quarantine")

    @property
    def molecules(self) -> bool:
        """Whether the structures are molecules."""
        pack: Any = getattr(self, "pack")  # noqa: B009 - of the derived class
        return bool(pack.molecules)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.molecules:
            return
        for declared in own(type(self)):
            if declared.field in self.of_cells and (
                getattr(self, declared.field) != declared.asked
            ):
                raise UsageError(f"{declared.flag} is of crystals: molecules have no cell")
        protocol: Mapping[str, Any] = getattr(self, "protocol")  # noqa: B009
        if math.prod(protocol["tiling"]) != 1:
            raise UsageError(
                f"tiling {shown_tiling(protocol['tiling'])} repeats a cell, and molecules have "
                "none: --tiling 1"
            )

    def _untold(self) -> Collection[str]:
        return self.of_cells if self.molecules else ()

    def _phrases(self) -> Iterator[str]:
        for phrase in super()._phrases():
            yield phrase.removesuffix(", tiling 1x1x1") if self.molecules else phrase


def identity_of(cameras: Protocol) -> dict[str, Any]:
    """A protocol as it is recorded."""
    return {"name": cameras.name, **cameras.identity()}


def protocol_of(identity: Mapping[str, Any]) -> Protocol:
    """The protocol that options hold as `identity_of`."""
    cameras: Protocol = resolve("rc_hpc.geometry.protocol:Protocol").from_identity(
        identity["name"], identity
    )
    return cameras


def load(asked: Any, tiled: Any = None) -> Protocol:
    """The protocol that was asked for: by name, file, or itself; `tiled` overrides its tiling."""
    cells = resolve("rc_hpc.geometry.protocol:parse_tiling")(tiled) if tiled else None
    cameras: Protocol = asked
    if isinstance(asked, str | Path):
        cameras = resolve("rc_hpc.geometry.protocol:load_protocol")(str(asked), cells)
    elif isinstance(asked, Mapping):
        cameras = protocol_of(asked)
    elif not hasattr(asked, "rotations"):
        raise UsageError(f"cameras {asked!r}: give a name, a TOML file or a Protocol")
    return dataclasses.replace(cameras, tiling=cells) if cells else cameras


def tiled_protocol(text: Any, what: str) -> Protocol:
    """Protocol of ``NAME`` or ``FILE``, or of either with ``@N`` or ``@NxNxN`` in its name."""
    if isinstance(text, str) and not Path(text).is_file():
        name, at, cells = text.rpartition("@")
        loaded = load(name, cells.replace("x", ",")) if at else load(text)
    else:
        loaded = load(text)
    loaded.require_orthographic(what)
    check_tiling(loaded)
    if math.prod(loaded.tiling) == 1 or "@" in loaded.name:
        return loaded
    return dataclasses.replace(loaded, name=f"{loaded.name}@{shown_tiling(loaded.tiling)}")


def shown_tiling(cells: Any) -> str:
    """``2x2x1``."""
    return "x".join(map(str, cells))


def check_tiling(cameras: Protocol) -> None:
    """Refuse a tiling of too many cells.

    Raises
    ------
    UsageError
    """
    cells = math.prod(cameras.tiling)
    if cells > MANY_CELLS:
        raise UsageError(
            f"tiling {shown_tiling(cameras.tiling)} repeats each cell {cells} times: "
            f"{MANY_CELLS} is the most"
        )


def settle_cameras(values: dict[str, Any], cameras: Protocol | None = None) -> dict[str, Any]:
    """`values` with protocol and subsets as they are recorded."""
    cameras = cameras or load(values["protocol"], values.get("tiling"))
    check_tiling(cameras)
    chosen = values["subsets"]
    if isinstance(chosen, str):
        chosen = resolve("rc_hpc.geometry.protocol:parse_subsets")(chosen, cameras.views)
    if len(chosen) > MANY_SUBSETS:
        raise UsageError(
            f"{len(chosen)} view subsets of {len(cameras.views)} cameras: "
            "name those you want with --subsets"
        )
    return {**values, "protocol": identity_of(cameras), "subsets": chosen}


def of_pictures(values: dict[str, Any]) -> dict[str, Any]:
    """`values` with the cameras of pictures, their tiling included.

    Raises
    ------
    UsageError
        Cameras or tiling are asked for as well.
    """
    path = values["for_pictures"]
    for flag, usual in (("--protocol", PROTOCOL), ("--tiling", None)):
        if values[flag[2:]] != usual:
            raise UsageError(f"--for-pictures takes cameras and tiling from {path}: drop {flag}")
    if not path.is_file():
        raise UsageError(f"--for-pictures: no file {path}")
    with resolve("rc_hpc.store.reader:open_ours")(path, "renders") as pictures:
        return {**values, "protocol": json.loads(pictures.attrs["options"])["protocol"]}


def horizon(delta_max: float | None, deltas: tuple[float, ...], default: float) -> float:
    """Largest delta up to which phantoms are followed, Å: as asked for, but not below `deltas`."""
    reach = max(*deltas, default) if delta_max is None else delta_max
    if not deltas[-1] <= reach < float("inf"):
        raise UsageError(
            f"--delta-max ({reach} Å) must be finite and not below the largest delta "
            f"({text_of(deltas[-1])} Å)"
        )
    return reach


def different_names(flag: str, identities: tuple[Mapping[str, Any], ...]) -> None:
    """Check of protocols, each under a name of its own."""
    found = [identity["name"] for identity in identities]
    if not found or len(set(found)) != len(found):
        raise UsageError(
            f"{flag} must be different protocols, each under its own name, "
            f"not {', '.join(found) or 'none'}"
        )


def between(least: float, most: float) -> Any:
    """Check of a number within limits."""

    def check(flag: str, value: float) -> None:
        if not least <= value <= most:
            raise UsageError(f"{flag} must be between {least:g} and {most:g}, not {value}")

    return check


def factor(flag: str, value: float) -> None:
    """Check of a positive factor."""
    if not 0 < value < float("inf"):
        raise UsageError(f"{flag} must be a positive factor, not {value}")
