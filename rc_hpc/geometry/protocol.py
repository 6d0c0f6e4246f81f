"""Protocols: an ordered set of cameras with a tiling, built in or read from a TOML file."""

from __future__ import annotations

import hashlib
import itertools
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rc_hpc.core.constants import MAX_VIEWS
from rc_hpc.core.errors import UsageError
from rc_hpc.core.text import parse_toml
from rc_hpc.geometry.cameras import (
    kappa,
    pinhole_centre,
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
# distance = 100.0             # a pinhole camera this far from the cell's origin, in angstrom
# position = [60.0, 60.0, 60.0]  # or one here; alone, it looks at the origin
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
    centres : (V, 3) float64 or None
        Where pinhole cameras are in the cell's frame, Å; rows of NaN, or None for all, stand
        for orthographic ones. A pinhole camera looks against its view direction. Its focal
        length only scales the picture, which is taken to be to scale at the origin.
    """

    name: str
    views: tuple[str, ...]
    rotations: np.ndarray
    tiling: tuple[int, int, int] = (1, 1, 1)
    centres: np.ndarray | None = None

    def __post_init__(self):
        if len(self.views) < 2:
            raise UsageError(
                f"protocol {self.name!r} has {len(self.views)} camera(s); triangulation "
                "needs two or more"
            )
        if len(self.views) > MAX_VIEWS:
            raise UsageError(
                f"protocol {self.name!r} has {len(self.views)} cameras; at most {MAX_VIEWS} "
                "are supported"
            )
        if len(set(self.views)) != len(self.views):
            raise UsageError(f"protocol {self.name!r}: camera names repeat; give each its own")
        for view in self.views:
            if not view or set(view) & set("+,| "):
                raise UsageError(
                    f"protocol {self.name!r}: camera name {view!r} must not be empty or hold "
                    "'+', ',', '|' or spaces"
                )
        if not self.pairs():
            raise UsageError(
                f"protocol {self.name!r}: all cameras look along one line, so no two rays "
                "meet; turn at least one of them"
                if self.centres is None
                else f"protocol {self.name!r}: no two cameras see from different places; "
                "move or turn one of them"
            )

    @property
    def directions(self) -> np.ndarray:
        """View directions, (V, 3)."""
        return self.rotations[:, :, 2]

    @property
    def pinhole(self) -> np.ndarray:
        """Which cameras are pinhole cameras, (V,) bool."""
        return (
            np.zeros(len(self.views), bool)
            if self.centres is None
            else np.isfinite(self.centres[:, 0])
        )

    @property
    def focal(self) -> np.ndarray:
        """Distance at which a pinhole camera's picture is to scale, (V,) Å.

        That of the origin; 1 where it has no use.
        """
        if self.centres is None:
            return np.ones(len(self.views))
        return np.where(
            self.pinhole,
            np.maximum(np.abs(np.sum(self.centres * self.directions, axis=1)), 1.0),
            1.0,
        )

    @property
    def sight(self) -> np.ndarray:
        """Directions from the origin of the cell's frame to the viewer, (V, 3).

        Of orthographic cameras they are the view directions.
        """
        if self.centres is None:
            return self.directions
        away = np.linalg.norm(self.centres, axis=1)
        near = ~(away > PARALLEL)  # orthographic, or a pinhole at the origin itself
        return np.where(
            near[:, None], self.directions, self.centres / np.where(near, 1.0, away)[:, None]
        )

    def pairs(self) -> list[tuple[int, int]]:
        """Camera pairs (v, w), v < w, whose rays can meet, in camera order.

        Two orthographic cameras must look along different lines, two pinhole cameras be in
        different places; one of each kind always sees from two places.
        """
        d, pinhole = self.directions, self.pinhole

        def independent(v, w):
            if pinhole[v] and pinhole[w]:
                return np.linalg.norm(self.centres[v] - self.centres[w]) > PARALLEL
            return pinhole[v] != pinhole[w] or np.linalg.norm(np.cross(d[v], d[w])) > PARALLEL

        return [
            (v, w)
            for v, w in itertools.combinations(range(len(self.views)), 2)
            if independent(v, w)
        ]

    def kappas(self) -> dict[tuple[int, int], float]:
        """kappa of every such pair.

        With pinhole cameras that of the rays to the origin, infinite where they are one line.
        """
        d = self.sight
        return {(v, w): kappa(d[v], d[w]) for v, w in self.pairs()}

    def identity(self) -> dict:
        """Everything that results depend on, as plain JSON values."""
        found = {
            "views": list(self.views),
            "rotations": self.rotations.tolist(),
            "tiling": list(self.tiling),
        }
        if self.centres is not None:
            found["centres"] = [
                centre.tolist() if pinhole else None
                for centre, pinhole in zip(self.centres, self.pinhole, strict=True)
            ]
        return found

    @classmethod
    def from_identity(cls, name: str, identity: dict) -> Protocol:
        """The protocol of that name that `identity` describes."""
        centres = identity.get("centres")
        if centres is not None:
            centres = np.array(
                [[np.nan] * 3 if centre is None else centre for centre in centres], float
            )
        return cls(
            name,
            tuple(identity["views"]),
            np.array(identity["rotations"]),
            tuple(identity["tiling"]),
            centres,
        )

    def require_orthographic(self, what: str) -> None:
        """Refuse pinhole cameras for `what` (plural), which has no use for them."""
        if self.pinhole.any():
            view = self.views[int(self.pinhole.argmax())]
            raise UsageError(
                f"protocol {self.name!r}: camera {view!r} is a pinhole camera, and {what} "
                "take orthographic ones only: leave out its distance or position"
            )

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
            f"no protocol {name_or_file!r}: built in are {', '.join(BUILT_IN)}; or name a "
            f"TOML file of cameras, for example\n{EXAMPLE}"
        )
    try:
        data = parse_toml(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"protocol file {path}: not valid TOML ({error})") from error
    except OSError as error:
        raise UsageError(f"protocol file {path}: cannot be read ({error.strerror})") from error
    return _from_toml(data, path, tiling)


def _from_toml(data: dict, path: Path, tiling) -> Protocol:
    unknown = set(data) - {"name", "tiling", "camera"}
    if unknown:
        raise UsageError(
            f"protocol file {path}: unknown key {sorted(unknown)[0]!r}; known are name, "
            "tiling and [[camera]]"
        )
    cameras = data.get("camera", [])
    if not isinstance(cameras, list) or not all(isinstance(camera, dict) for camera in cameras):
        raise UsageError(f"protocol file {path}: cameras are tables, [[camera]], one each")
    views, rotations, centres = [], [], []
    for number, camera in enumerate(cameras):
        ways = set(camera) & {"rotation", "direction", "matrix"}
        places = set(camera) & {"distance", "position"}
        extra = set(camera) - {
            "name",
            "rotation",
            "direction",
            "matrix",
            "up",
            "distance",
            "position",
        }
        if extra:
            raise UsageError(
                f"protocol file {path}: camera {number + 1} has an unknown key "
                f"{sorted(extra)[0]!r}; known are name, rotation, direction, up, matrix, "
                "distance and position"
            )
        aimed = not ways and "position" in camera
        if (
            (len(ways) != 1 and not aimed)
            or len(places) > 1
            or ("up" in camera and "direction" not in camera and not aimed)
        ):
            raise UsageError(
                f"protocol file {path}: camera {number + 1} needs exactly one of rotation, "
                "direction (with up) or matrix, and a name; "
                "a pinhole camera also distance or position (which alone looks at the origin)"
            )
        try:
            if "rotation" in camera:
                rotation = rotation_from_string(str(camera["rotation"]))
            elif "matrix" in camera:
                rotation = rotation_from_matrix(camera["matrix"])
            else:
                rotation = rotation_from_direction(
                    camera["position" if aimed else "direction"], camera.get("up", (0.0, 0.0, 1.0))
                )
            centres.append(pinhole_centre(rotation, camera.get("distance"), camera.get("position")))
        except (UsageError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"protocol file {path}: camera {number + 1}: {error}") from error
        views.append(str(camera.get("name", f"view{number}")))
        rotations.append(rotation)
    if tiling is None:
        tiling = parse_tiling(data.get("tiling", 1))
    all_centres = np.array(centres).reshape(-1, 3)
    return Protocol(
        str(data.get("name", path.stem)),
        tuple(views),
        np.array(rotations).reshape(-1, 3, 3),
        tiling,
        all_centres if np.isfinite(all_centres).any() else None,
    )


def parse_tiling(value) -> tuple[int, int, int]:
    """Tiling from ``2``, ``"2,2,1"`` or a list of three positive integers."""
    try:
        parts = (
            value.split(",")
            if isinstance(value, str)
            else value
            if isinstance(value, (list, tuple))
            else [value]
        )
        whole = all(isinstance(part, (int, str)) for part in parts)
        numbers = [int(part) for part in parts] if whole else []
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) == 1:
        numbers *= 3
    if len(numbers) != 3 or min(numbers) < 1:
        raise UsageError(f"tiling {value!r}: expected N or N,N,N with positive integers")
    a, b, c = numbers
    return a, b, c


def parse_subsets(text: str, views: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """View subsets from ``all``, ``full`` or ``name+name,name+name+name``.

    Returns
    -------
    tuple of tuple of int
        Camera indices in camera order; for ``all``: every subset of two or more, by size.
    """
    indices = range(len(views))
    if text == "all":
        return tuple(
            s for size in range(2, len(views) + 1) for s in itertools.combinations(indices, size)
        )
    if text == "full":
        return (tuple(indices),)
    subsets = []
    for part in text.split(","):
        names = part.split("+")
        unknown = [name for name in names if name not in views]
        if unknown:
            raise UsageError(
                f"subset {part!r}: no camera {unknown[0]!r}; the protocol has {', '.join(views)}"
            )
        chosen = tuple(sorted({views.index(name) for name in names}))
        if len(chosen) < 2:
            raise UsageError(f"subset {part!r}: name two or more different cameras, joined by '+'")
        if chosen not in subsets:
            subsets.append(chosen)
    return tuple(subsets)
