"""Fields of a JSON entry: what is not what it should be is refused by its name, with a cure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rc_hpc.core.cells import cell_parameters
from rc_hpc.core.errors import Status
from rc_hpc.structures.checks import LARGEST, refuse
from rc_hpc.structures.record import Item

PERIODIC = "it is not periodic in three directions; set its cell, and periodicity in each of them"
LENGTHS, ANGLES = ("a", "b", "c"), ("alpha", "beta", "gamma")
#: By how much numbers that files round may differ: lengths in Å and as a share, angles in degrees,
#: volumes as a share.
LENGTH_TOLERANCE, LENGTH_SHARE, ANGLE_TOLERANCE, VOLUME_SHARE = 0.01, 1e-3, 0.1, 5e-3
_KINDS = {type(None): "null", bool: "true or false", str: "text", dict: "object", list: "list"}


def kind_of(value: object) -> str:
    """What JSON calls a value."""
    return _KINDS.get(type(value), "number")


def field(item: Item, entry: Mapping[str, Any], key: str, name: str) -> Any:
    """The value of a field; refused, as what `name` lacks, where there is none."""
    if key not in entry:
        raise refuse(item, Status.read_error, f"{name} has no {key!r}; add it")
    return entry[key]


def object_of(item: Item, value: Any, name: str) -> dict[str, Any]:
    """A JSON object, refused where it is none."""
    if not isinstance(value, dict):
        raise _other(item, name, value, "an object in braces")
    return value


def list_of(item: Item, value: Any, name: str) -> list[Any]:
    """A JSON list, refused where it is none."""
    if not isinstance(value, list):
        raise _other(item, name, value, "a list")
    return value


def text_in(item: Item, value: Any, name: str) -> str:
    """A JSON text, refused where it is none."""
    if not isinstance(value, str):
        raise _other(item, name, value, "a text")
    return value


def _other(item: Item, name: str, value: object, wanted: str):
    return refuse(
        item, Status.read_error, f"{name} is a JSON {kind_of(value)}, not {wanted}; correct it"
    )


def numbers_of(
    item: Item, values: Any, name: str, shape: tuple[int, ...] | None = None
) -> np.ndarray:
    """Numbers as float64, of a shape or of any; null is NaN, refused later by its own name."""
    try:
        if _has_truth(values):
            raise ValueError
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        wanted = "number" if shape == () else "array of numbers"
        raise refuse(item, Status.read_error, f"{name} is no {wanted}; correct it") from error
    if shape is not None and found.shape != shape:
        has, wanted = (" x ".join(map(str, one)) or "1" for one in (found.shape, shape))
        raise refuse(
            item, Status.read_error, f"{name} has {has} numbers instead of {wanted}; correct it"
        )
    return found


def _has_truth(values: object) -> bool:
    if isinstance(values, list):
        return any(map(_has_truth, values))
    return isinstance(values, bool)


def check_periodic(item: Item, value: Any, name: str) -> None:
    """Refuse what is not periodic along each of three vectors: one truth for all, or three."""
    truths = value if isinstance(value, list) else [value]
    if len(truths) not in (1, 3) or not all(
        isinstance(one, bool | int) and one in (0, 1) for one in truths
    ):
        raise refuse(
            item, Status.read_error, f"{name} is not true or false, three times; correct it"
        )
    if not all(truths):
        raise refuse(item, Status.read_error, PERIODIC)


def check_metric(item: Item, matrix: np.ndarray, stated: Mapping[str, Any], name: str) -> None:
    """Refuse lengths, angles and a volume that contradict the vectors that they stand beside.

    Parameters
    ----------
    matrix : (3, 3)
        Vectors as rows, Å.
    stated
        Any of a, b, c (Å), alpha, beta, gamma (degrees) and volume (Å^3); null says nothing.
    name
        Of what holds them.
    """
    if not np.isfinite(matrix).all() or not np.linalg.norm(matrix, axis=1).all():
        return  # refused by its own name
    edges, angles = cell_parameters(matrix)
    volume = abs(float(np.linalg.det(matrix)))
    found = dict(zip((*LENGTHS, *ANGLES), (*edges, *angles), strict=True)) | {"volume": volume}
    for key, value in found.items():
        if stated.get(key) is None:
            continue
        told = float(numbers_of(item, stated[key], f"{name} {key!r}", ()))
        if key in ANGLES:
            allowed = ANGLE_TOLERANCE
        else:
            share = VOLUME_SHARE if key == "volume" else LENGTH_SHARE
            allowed = max(LENGTH_TOLERANCE, share * value)
        if not math.isfinite(told) or abs(told - value) > allowed:
            raise refuse(
                item,
                Status.read_error,
                f"{name} states {key} = {told:.6g}, its vectors make {value:.6g}; correct one "
                "of them",
            )


def check_place(item: Item, matrix: np.ndarray, abc: np.ndarray, xyz: Any, name: str) -> None:
    """Refuse Cartesian coordinates (Å) that are another place than the fractional ones.

    The same place in another cell is none.
    """
    place = numbers_of(item, xyz, f"'xyz' of {name}", (3,))
    edges = np.linalg.norm(matrix, axis=1)
    flat = not np.isfinite(matrix).all() or abs(np.linalg.det(matrix)) < 1e-12 * edges.prod()
    if flat or not np.isfinite(abc).all():
        return  # refused by its own name
    away = np.linalg.solve(matrix.T, place) - abc
    apart = np.linalg.norm((away - np.rint(away)) @ matrix)
    far = np.abs(away).max() > LARGEST  # it has lost the digits to compare
    if far or not apart <= LENGTH_TOLERANCE + LENGTH_SHARE * edges.max():
        numbers = ", ".join(f"{x:.6g}" for x in abc @ matrix)
        raise refuse(
            item,
            Status.read_error,
            f"'xyz' of {name} is {', '.join(f'{x:.6g}' for x in place)} Å, its 'abc' makes "
            f"{numbers} Å; correct one of them",
        )
