"""Which pictures the models saw, and whether a ceiling speaks of the same ones.

A file of predictions that records its pictures does so under ``rc_hpc``: convention, protocol
(cameras and tiling), factor of the radii, and the name of the manifest. Released files do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rc_hpc.answers.arms import FROZEN, PredictionFile, released_name
from rc_hpc.core.constants import DELTA
from rc_hpc.core.errors import UsageError
from rc_hpc.kinds.common.options import shown_tiling

#: The frozen convention as the released sweep calls it.
FROZEN_OF_SWEEP = "C1_frozen"


def chosen_convention(files: Iterable[PredictionFile], asked: str | None) -> str:
    """Convention of the pictures whose ladder is made, as the files tell it.

    The one that was asked for, else the frozen one where any file shows it, else the only one;
    of several others none: the ladder has no pixel files then.

    Raises
    ------
    UsageError
        There are no pixel files of what was asked for.
    """
    there = list(dict.fromkeys(f.convention for f in files if f.kind == "pixels"))
    if asked is None:
        return there[0] if len(there) == 1 else ""
    wanted = released_name(asked)
    if wanted not in there:
        names = ", ".join(name or FROZEN for name in there) or "none"
        raise UsageError(
            f"--convention {asked}: no pixel file shows it; conventions of the files: {names}"
        )
    return wanted


def drawing_of(files: Sequence[PredictionFile]) -> tuple[dict[str, Any] | None, int]:
    """What the files record of their pictures, None where none does, and how many record nothing.

    Raises
    ------
    UsageError
        Two of them saw pictures of other cameras or tilings.
    """
    recorded = [file for file in files if "pictures" in file.details]
    for file in recorded[1:]:
        if not same_cameras(_protocol(file), _protocol(recorded[0])):
            raise UsageError(
                f"{file.source}: its model saw pictures of {told(_protocol(file))}, that of "
                f"{recorded[0].source} of {told(_protocol(recorded[0]))}: give files of one "
                "drawing, or choose with --convention"
            )
    drawing = recorded[0].details["pictures"] if recorded else None
    return drawing, len(files) - len(recorded)


def check_ceiling(path: Any, options: Mapping[str, Any], drawing: Mapping[str, Any] | None) -> None:
    """Refuse a census of other cameras or another tiling than the pictures have.

    Parameters
    ----------
    path
        The census.
    options
        Its options, as recorded.
    drawing
        Of `drawing_of`.

    Raises
    ------
    UsageError
        With the command that makes the right census.
    """
    if drawing is None or same_cameras(options["protocol"], drawing["protocol"]):
        return
    raise UsageError(
        f"--census {path}: is of {told(options['protocol'])}, the pictures are of "
        f"{told(drawing['protocol'])}: what it determines is not what the models saw. "
        f"{census_command(drawing['manifest'], options)}"
    )


def census_command(manifest: str, options: Mapping[str, Any]) -> str:
    """How to make the census of pictures that one with these options should have been."""
    delta = "" if options["delta"] == DELTA else f" --delta {options['delta']:g}"
    return (
        "Make the census of the pictures: python -m rc_hpc.census PACKED.h5 --for-pictures "
        f"{manifest}{delta} -o CENSUS.h5"
    )


def same_cameras(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two recorded protocols have the same cameras and tiling, whatever their names."""
    return _cameras(one) == _cameras(other)


def told(protocol: Mapping[str, Any]) -> str:
    """Cameras and tiling in a few words."""
    return (
        f"protocol {protocol['name']}, {len(protocol['views'])} views, "
        f"tiling {shown_tiling(protocol['tiling'])}"
    )


def _protocol(file: PredictionFile) -> Mapping[str, Any]:
    protocol: Mapping[str, Any] = file.details["pictures"]["protocol"]
    return protocol


def _cameras(protocol: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in protocol.items() if key != "name"}
