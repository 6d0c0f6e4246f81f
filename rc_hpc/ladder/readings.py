"""R2: what a reader without a model and without the truth reads from the pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.answers.arms import FROZEN, some
from rc_hpc.core.errors import RcError, Status, UsageError
from rc_hpc.core.text import parse_json
from rc_hpc.ladder import pictures
from rc_hpc.ladder.inputs import rows_of
from rc_hpc.reader.convention import named
from rc_hpc.store.reader import open_ours, read_table
from rc_hpc.symmetry.labels import crystal_system

#: The name of the rung where nothing but cameras and convention is known.
R2 = "R2"
HEADLINE_LEVEL = "K0"
_SCORE = ("space_group", "system_right", "certified")


@dataclass(frozen=True)
class Readings:
    """What was read of the ladder's structures.

    Attributes
    ----------
    path
        File of scores.
    name
        ``R2``, with the level of knowledge where that is not K0.
    right : (n,) bool
        The crystal system is the true one at the first symprec; what was not read is wrong.
    certified : (n,) bool
    read : (n,) bool
        There were pictures to be read.
    options
        Of the readings, as recorded.
    """

    path: Path
    name: str
    right: np.ndarray
    certified: np.ndarray
    read: np.ndarray
    options: dict[str, Any]

    def told(self, truths: np.ndarray) -> str:
        """What a caption says of it."""
        lucky = int(np.sum(self.right & ~self.certified & (truths == "triclinic")))
        parts = [
            f"{self.name}: known {self.options['knowledge']}, {self.options['convention']['name']}",
            f"{self.options['size']} px",
            f"{int(np.sum(self.right & self.certified))} right and certified",
            f"{int(np.sum(self.certified & ~self.right))} certified and wrong",
        ]
        if lucky:
            parts.append(
                f"{lucky} triclinic and right without a certificate, as a reading without any "
                "symmetry is by luck"
            )
        if lacking := int(np.sum(~self.read)):
            parts.append(f"{lacking} without pictures, which count as wrong")
        return ", ".join(parts)


def read_scores(path: Path, ids: Sequence[str], truths: Sequence[str] | np.ndarray) -> Readings:
    """Scored readings of these structures.

    Raises
    ------
    RcError
        Not a file of scores, a structure is missing, or its true crystal system is not that of
        the predictions.
    """
    with open_ours(path) as h5:
        kind, options = str(h5.attrs["kind"]), parse_json(h5.attrs["options"])
    if kind == "readings":
        raise UsageError(
            f"--scores {path}: are readings, which know no truth: python -m rc_hpc.score {path} "
            "RENDERS.h5 -o scores.h5"
        )
    names = [f"score/{name}" for name in _SCORE]
    about = ("structures/id", "structures/duplicate", "structures/status")
    with open_ours(path, "scores"):
        table = read_table(path, (*about, *names))
    known = table["structures/id"]
    lacking = sorted(set(ids) - set(map(str, known)))
    if lacking:
        raise RcError(
            f"{path}: {len(lacking)} of {len(ids)} structures are not in it: "
            f"{some(lacking)}; draw, read and score them as well: python -m rc_hpc.render "
            f"PACKED.h5 -o RENDERS.h5, then {_commands('RENDERS.h5', options['readings'])}"
        )
    rows = rows_of(path, known, table["structures/duplicate"], ids)
    read = table["structures/status"][rows] == Status.ok
    groups, right, certified = (table[name][rows] for name in names)
    for id_, group, truth in zip(ids, groups.tolist(), truths, strict=True):
        if group and (system := crystal_system(group)) != truth:
            raise RcError(
                f"{path}: {id_} is {system} there and {truth} in the predictions; they are not "
                "of one benchmark"
            )
    level = options["readings"]["knowledge"]
    return Readings(
        Path(path),
        R2 if level == HEADLINE_LEVEL else f"{R2}^{level}",
        read & right[:, 0].astype(bool),
        read & certified.astype(bool),
        read,
        options["readings"],
    )


def check_readings(
    readings: Readings,
    convention: str,
    drawing: Mapping[str, Any] | None,
    censuses: Mapping[str, Mapping[str, Any]],
) -> None:
    """Refuse readings of other pictures than those of the models and the ceilings.

    Parameters
    ----------
    convention
        Of the models' pictures, as files name it: empty for the frozen one.
    drawing
        Of `pictures.drawing_of`.
    censuses
        Options of each census, by the name of its ceiling.

    Raises
    ------
    UsageError
        With the commands that make the right readings, or the right census.
    """
    options = readings.options
    protocol, drawn = options["protocol"], options["convention"]
    where = f"--scores {readings.path}: pictures were read of"
    if drawing is not None:
        again = f"Read theirs: {_commands(drawing['manifest'], options)}"
        if not pictures.same_cameras(protocol, drawing["protocol"]):
            raise UsageError(
                f"{where} {pictures.told(protocol)}, the models saw those of "
                f"{pictures.told(drawing['protocol'])}. {again}"
            )
        tiling = tuple(drawing["protocol"]["tiling"])
        shown = named(drawing["convention"], tiling, drawing.get("radii_factor"))
        if drawn != shown.identity():
            raise UsageError(
                f"{where} convention {drawn['name']}, the models saw those of "
                f"{drawing['convention']}, drawn otherwise. {again}"
            )
    elif drawn["name"] != (convention or FROZEN).partition("_")[0]:
        raise UsageError(
            f"{where} convention {drawn['name']}, the models saw those of {convention or FROZEN}. "
            f"Draw and read theirs: python -m rc_hpc.render PACKED.h5 --convention "
            f"{(convention or FROZEN).partition('_')[0]} -o RENDERS.h5, then "
            f"{_commands('RENDERS.h5', options)}"
        )
    for name, census in censuses.items():
        if not pictures.same_cameras(protocol, census["protocol"]):
            raise UsageError(
                f"{where} {pictures.told(protocol)}, the census of {name} is of "
                f"{pictures.told(census['protocol'])}: two ceilings of one ladder are of the same "
                f"pictures. {pictures.census_command('RENDERS.h5', census)}"
            )


def _commands(manifest: str, options: Mapping[str, Any]) -> str:
    level = options["knowledge"]
    known = "" if level == HEADLINE_LEVEL else f" --knowledge {level}"
    return (
        f"python -m rc_hpc.read {manifest}{known} -o readings.h5, then "
        f"python -m rc_hpc.score readings.h5 {manifest} -o scores.h5"
    )
