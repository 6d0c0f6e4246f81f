"""Protocols: an ordered set of cameras with a tiling, built in or read from a TOML file."""

from __future__ import annotations

import hashlib
import itertools
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.constants import MAX_VIEWS
from rc_hpc.errors import UsageError
from rc_hpc.geometry.cameras import (
    kappa,
    rotation_from_direction,
    rotation_from_matrix,
    rotation_from_string,
)

#: Cameras of the built-in protocols, as ASE rotation strings.
BUILT_IN = {
    "frozen": {
        "axis_a": "0x,-90y,0z",
        "axis_b": "-90x,0y,0z",
        "axis_c": "0x,0y,0z",
        "body_diagonal": "-60x,-30y,-15z",
        "oblique2": "-30x,-60y,-45z",
    },
    "off-axis": {
        "axis_a": "12x,-78y,7z",
        "axis_b": "-78x,10y,-8z",
        "axis_c": "15x,12y,20z",
        "body_diagonal": "-48x,-42y,-3z",
        "oblique2": "-18x,-72y,-30z",
    },
}
#: Sine of the angle below which two view lines count as parallel (kappa above 10^6).
PARALLEL = 1e-6

EXAMPLE = """\
name = "mine"
tiling = [1, 1, 1]

[[camera]]
name = "front"
rotation = "-90x,0y,0z"        # ASE rotation string, degrees

[[camera]]
name = "corner"
direction = [1.0, 1.0, 1.0]    # towards the viewer
up = [0.0, 0.0, 1.0]
"""


@dataclass(frozen=True)
class Protocol:
    """Cameras in order.

    Attributes
    ----------
    name
    views : tuple of str
        Names of the V cameras.
    rotations : (V, 3, 3) float64
    tiling : tuple of int
        Repetitions of the conventional cell along its three axes.
    """

    name: str
    views: tuple[str, ...]
    rotations: np.ndarray
    tiling: tuple[int, int, int] = (1, 1, 1)

    def __post_init__(self):
        if len(self.views) < 2:
            raise UsageError(f"protocol {self.name!r} has {len(self.views)} camera(s); triangulation needs two or more")
        if len(self.views) > MAX_VIEWS:
            raise UsageError(f"protocol {self.name!r} has {len(self.views)} cameras; at most {MAX_VIEWS} are supported")
        if len(set(self.views)) != len(self.views):
            raise UsageError(f"protocol {self.name!r}: camera names repeat; give each its own")
        for view in self.views:
            if not view or set(view) & set("+,| "):
                raise UsageError(f"protocol {self.name!r}: camera name {view!r} must not be empty or hold '+', ',', '|' or spaces")
        if not self.pairs():
            raise UsageError(
                f"protocol {self.name!r}: all cameras look along one line, so no two rays meet; turn at least one of them"
            )

    @property
    def directions(self) -> np.ndarray:
        """View directions, (V, 3)."""
        return self.rotations[:, :, 2]

    def pairs(self) -> list[tuple[int, int]]:
        """Independent camera pairs (v, w), v < w, in camera order."""
        d = self.directions
        return [
            (v, w)
            for v, w in itertools.combinations(range(len(self.views)), 2)
            if np.linalg.norm(np.cross(d[v], d[w])) > PARALLEL
        ]

    def kappas(self) -> dict[tuple[int, int], float]:
        """kappa of every independent pair."""
        d = self.directions
        return {(v, w): kappa(d[v], d[w]) for v, w in self.pairs()}

    def identity(self) -> dict:
        """Everything that results depend on, as plain JSON values."""
        return {
            "views": list(self.views),
            "rotations": self.rotations.tolist(),
            "tiling": list(self.tiling),
        }

    def digest(self) -> str:
        """Hash of `identity`."""
        return hashlib.sha256(json.dumps(self.identity()).encode()).hexdigest()


def load_protocol(name_or_file: str, tiling: tuple[int, int, int] | None = None) -> Protocol:
    """Protocol built in under that name, or read from that TOML file.

    Raises
    ------
    UsageError
        Unknown name, unreadable file or impossible cameras; the message says what to write.
    """
    if name_or_file in BUILT_IN:
        cameras = BUILT_IN[name_or_file]
        rotations = np.array([rotation_from_string(text) for text in cameras.values()])
        return Protocol(name_or_file, tuple(cameras), rotations, tiling or (1, 1, 1))
    path = Path(name_or_file)
    if not path.is_file():
        raise UsageError(
            f"no protocol {name_or_file!r}: built in are {', '.join(BUILT_IN)}; or name a TOML file of cameras, for example\n{EXAMPLE}"
        )
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"protocol file {path}: not valid TOML ({error})") from error
    except OSError as error:
        raise UsageError(f"protocol file {path}: cannot be read ({error.strerror})") from error
    return _from_toml(data, path, tiling)


def _from_toml(data: dict, path: Path, tiling) -> Protocol:
    unknown = set(data) - {"name", "tiling", "camera"}
    if unknown:
        raise UsageError(f"protocol file {path}: unknown key {sorted(unknown)[0]!r}; known are name, tiling and [[camera]]")
    cameras = data.get("camera", [])
    if not isinstance(cameras, list) or not all(isinstance(camera, dict) for camera in cameras):
        raise UsageError(f"protocol file {path}: cameras are tables, [[camera]], one each")
    views, rotations = [], []
    for number, camera in enumerate(cameras):
        ways = set(camera) & {"rotation", "direction", "matrix"}
        extra = set(camera) - {"name", "rotation", "direction", "matrix", "up"}
        if len(ways) != 1 or extra or ("up" in camera and "direction" not in camera):
            raise UsageError(
                f"protocol file {path}: camera {number + 1} needs exactly one of rotation, direction (with up) or matrix, and a name"
            )
        try:
            if "rotation" in camera:
                rotation = rotation_from_string(str(camera["rotation"]))
            elif "direction" in camera:
                rotation = rotation_from_direction(camera["direction"], camera.get("up", (0.0, 0.0, 1.0)))
            else:
                rotation = rotation_from_matrix(camera["matrix"])
        except (UsageError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"protocol file {path}: camera {number + 1}: {error}") from error
        views.append(str(camera.get("name", f"view{number}")))
        rotations.append(rotation)
    if tiling is None:
        tiling = parse_tiling(data.get("tiling", 1))
    return Protocol(str(data.get("name", path.stem)), tuple(views), np.array(rotations).reshape(-1, 3, 3), tiling)


def parse_tiling(value) -> tuple[int, int, int]:
    """Tiling from ``2``, ``"2,2,1"`` or a list of three positive integers."""
    try:
        parts = value.split(",") if isinstance(value, str) else value if isinstance(value, (list, tuple)) else [value]
        whole = all(isinstance(part, (int, str)) for part in parts)
        numbers = [int(part) for part in parts] if whole else []
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) == 1:
        numbers *= 3
    if len(numbers) != 3 or min(numbers) < 1:
        raise UsageError(f"tiling {value!r}: expected N or N,N,N with positive integers")
    return tuple(numbers)


def parse_subsets(text: str, views: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """View subsets from ``all``, ``full`` or ``name+name,name+name+name``.

    Returns
    -------
    tuple of tuple of int
        Camera indices in camera order; for ``all``: every subset of two or more, by size.
    """
    indices = range(len(views))
    if text == "all":
        return tuple(s for size in range(2, len(views) + 1) for s in itertools.combinations(indices, size))
    if text == "full":
        return (tuple(indices),)
    subsets = []
    for part in text.split(","):
        names = part.split("+")
        unknown = [name for name in names if name not in views]
        if unknown:
            raise UsageError(f"subset {part!r}: no camera {unknown[0]!r}; the protocol has {', '.join(views)}")
        chosen = tuple(sorted({views.index(name) for name in names}))
        if len(chosen) < 2:
            raise UsageError(f"subset {part!r}: name two or more different cameras, joined by '+'")
        if chosen not in subsets:
            subsets.append(chosen)
    return tuple(subsets)
