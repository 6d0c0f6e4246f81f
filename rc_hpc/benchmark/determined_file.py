"""What pictures determine, as it stands in a file that ``benchmark determine`` has written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.benchmark.package import Package
from rc_hpc.core.errors import RcError, Status
from rc_hpc.store.reader import open_ours, read_table

#: Columns over questions, sights and numbers of views, below ``determined/``.
READINGS = (
    *("known", "remain", "n_remain", "determined", "misled", "score"),
    *("n_points", "n_phantoms", "n_missed", "remain_by_distance"),
)
#: Columns over questions, below ``questions/``.
QUESTIONS = (
    *("stratum", "base_structure", "answer", "options", "n_shown", "depth_trap", "scene_from"),
)


@dataclass(frozen=True)
class Determined:
    """Rows of a file, in its order.

    Attributes
    ----------
    ids : (n,) str
    status : (n,) int
        Codes of `rc_hpc.core.errors.Status`; only ok rows were read.
    message : (n,) str
    sha256 : (n,) str
        Of what each question was, see `rc_hpc.benchmark.records.Question.sha256`.
    questions
        `QUESTIONS` by name, (n,); options (n, 4).
    floors
        Expected scores (n,) by name; NaN where a reader has nothing to say.
    sights
        Names (S,).
    n_views : (V,) int
    readings
        `READINGS` by name, (n, S, V).
    """

    ids: np.ndarray
    status: np.ndarray
    message: np.ndarray
    sha256: np.ndarray
    questions: dict[str, np.ndarray]
    floors: dict[str, np.ndarray]
    sights: tuple[str, ...]
    n_views: np.ndarray
    readings: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.ids)

    def asked(self, name: str) -> np.ndarray:
        """A reading of the pictures that each question itself shows, (n, S).

        Of questions that show another number of them than the file has: nothing is known.
        """
        at, there = self._asked
        values = self.readings[name][np.arange(len(self)), :, at]
        empty = np.nan if name == "score" else 0
        return np.where(there[:, None], values, np.array(empty, values.dtype))

    @property
    def _asked(self) -> tuple[np.ndarray, np.ndarray]:
        equal = self.questions["n_shown"][:, None] == self.n_views
        return equal.argmax(axis=1), equal.any(axis=1)


def read_determined(path: str | Path) -> Determined:
    """Read such a file.

    Raises
    ------
    RcError
        It is none, or lacks something.
    """
    with open_ours(path, "determined") as h5:
        if "floors" not in h5:
            raise RcError(f"{path}: has no floors: compute it again")
        floors = sorted(h5["floors"])
    static = read_table(path, ("reading/sight", "reading/n_views"))
    groups = {
        "structures": ("id", "status", "message", "sha256"),
        "questions": QUESTIONS,
        "floors": floors,
        "determined": READINGS,
    }
    read = read_table(path, [f"{group}/{name}" for group, own in groups.items() for name in own])
    by_group = {
        group: {name: read[f"{group}/{name}"] for name in own} for group, own in groups.items()
    }
    about = by_group["structures"]
    known = by_group["determined"]["known"] & (about["status"] == Status.ok)[:, None, None]
    return Determined(
        about["id"],
        about["status"],
        about["message"],
        about["sha256"],
        by_group["questions"],
        by_group["floors"],
        tuple(map(str, static["reading/sight"])),
        static["reading/n_views"],
        by_group["determined"] | {"known": known},
    )


def determined_of(path: str | Path, package: Package) -> tuple[Determined, np.ndarray]:
    """Such a file, and the row of each question of a package, (n,); -1 where it has none.

    Raises
    ------
    RcError
        No such file, or it is of another package, or of another version of this one.
    """
    found = read_determined(path)
    place = {str(id_): row for row, id_ in enumerate(found.ids)}
    rows = np.array([place.get(question.id, -1) for question in package.questions])
    cure = "compute it of this package (python -m rc_hpc.benchmark determine)"
    if (rows < 0).all():
        raise RcError(
            f"{path}: tells of none of the {len(rows)} questions of {package.root}: {cure}"
        )
    for question, row in zip(package.questions, rows.tolist(), strict=True):
        if row >= 0 and str(found.sha256[row]) != question.sha256:
            raise RcError(
                f"{path}: {question.id} is another question there than in {package.root}: {cure}"
            )
    return found, rows
