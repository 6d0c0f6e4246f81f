"""Pictures of one crystal to marks and a reading."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import numpy as np

from rc_hpc.core.errors import RcError, Status, StructureError
from rc_hpc.core.files import read_regular
from rc_hpc.core.text import storable
from rc_hpc.core.vocabulary import COLOURS, ReadStatus
from rc_hpc.images.files import LARGEST_FILE
from rc_hpc.images.pixels import rgb_of
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.readings.options import ReadingsOptions
from rc_hpc.kinds.readings.plan import Known
from rc_hpc.kinds.readings.source import Pictured
from rc_hpc.reader.detector import detect
from rc_hpc.reader.edges import fills_of
from rc_hpc.reader.nearest import nearest
from rc_hpc.reader.read import read
from rc_hpc.reader.records import Knowledge, Limits, Marks, NotReadError, Reading
from rc_hpc.reader.released import Told, read_released

#: Pixels that may differ where a reading of the nearest colours is drawn, as a share of all: with
#: more it is none.
MOST_OFF = 0.02


def oracle(options: ReadingsOptions, given: Given) -> Compute:
    """What reads one crystal."""
    known: Known = given.shared
    limits = Limits(options.max_tries, options.tau, options.max_pixels)

    def compute(asked: Pictured) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        given.recorder.about(asked.id)
        pictures, own = opened(asked), known.of(asked.id)
        if isinstance(own, Told):
            marks, reading = read_released(pictures, own, limits.symprecs)
        else:
            marks, reading = read_pictures(pictures, own, limits, options.colours)
        if reading.status == "refused":
            raise StructureError(Status.read_error, f"{reading.message}: give its own pictures")
        return _fields(marks, reading, len(known.rotations)), {
            "discs": _discs(marks),
            "sites": _sites(reading),
        }

    return compute


def read_pictures(
    pictures: list[np.ndarray], knowledge: Knowledge, limits: Limits, colours: str = COLOURS[0]
) -> tuple[list[Marks], Reading]:
    """Marks and reading of the pictures of one crystal; what cannot be read has a status.

    Parameters
    ----------
    colours
        One of `COLOURS`. Pictures whose colours are not those of the convention are read again
        with the nearest ones, if that is asked for, and the reading is not certified.
    """
    marks, reading = _read(pictures, knowledge, limits)
    if reading.status != "convention" or colours == COLOURS[0]:
        return marks, reading
    mended = nearest(pictures, fills_of(knowledge.convention, knowledge.species))
    marks, again = _read(mended, knowledge, limits)
    message = f"{reading.message}; of the nearest colours: {again.message or 'as drawn'}"
    if again.differing_pixels > MOST_OFF * len(pictures) * knowledge.size_px**2:
        return marks, Reading("convention", message, tries=again.tries)
    status = "uncertified" if again.certified else again.status
    return marks, dataclasses.replace(again, status=status, certified=False, message=message)


def _read(
    pictures: list[np.ndarray], knowledge: Knowledge, limits: Limits
) -> tuple[list[Marks], Reading]:
    try:
        marks = detect(pictures, knowledge)
    except NotReadError as error:
        return [], Reading(error.status, str(error))
    return marks, read(pictures, marks, knowledge, limits)


def opened(asked: Pictured) -> list[np.ndarray]:
    """The pictures of one crystal, decoded.

    Raises
    ------
    StructureError
        A file cannot be read, is no PNG, or is not the one that was drawn.
    """
    pictures = []
    for path, digest in zip(asked.paths, asked.digests, strict=True):
        try:
            data = read_regular(path, LARGEST_FILE)
            if digest and hashlib.sha256(data).hexdigest() != digest:
                raise RcError(f"{path}: changed since it was listed: draw it again")
            pictures.append(rgb_of(data, str(path)))
        except OSError as error:
            raise StructureError(
                Status.read_error, f"{path}: cannot be read ({error.strerror or error})"
            ) from error
        except RcError as error:
            raise StructureError(Status.read_error, str(error)) from error
    return pictures


def _fields(marks: list[Marks], reading: Reading, views: int) -> dict[str, Any]:
    scales = [(one.scale_px_per_A, one.scale_sigma, len(one)) for one in marks]
    scale, sigma, count = zip(*(scales or [(np.nan, np.nan, 0)] * views), strict=True)
    return {
        "readings/status": ReadStatus[reading.status],
        "readings/message": storable(reading.message),
        "readings/certified": reading.certified,
        "readings/differing_pixels": reading.differing_pixels,
        "readings/tries": reading.tries,
        "readings/n_sites": len(reading.species),
        "readings/lattice": reading.lattice_A,
        "readings/frame_covariance": reading.frame_covariance,
        "readings/largest_sigma": reading.sigma_A.max() if len(reading.sigma_A) else np.nan,
        "readings/space_group_by_pictures": reading.number_by_pictures,
        "readings/space_group": reading.numbers,
        "readings/scale": np.array(scale),
        "readings/scale_sigma": np.array(sigma),
        "readings/n_discs": np.array(count),
    }


def _discs(marks: list[Marks]) -> dict[str, Any]:
    def column(values: list[np.ndarray], dtype: type = float) -> np.ndarray:
        return np.concatenate([np.empty(0, dtype), *values])

    return {
        "view": column([np.full(len(one), v) for v, one in enumerate(marks)], np.uint8),
        "number": column([one.species for one in marks], np.uint8),
        "u": column([one.centres_px[:, 0] for one in marks]),
        "v": column([one.centres_px[:, 1] for one in marks]),
        "variance_u": column([one.covariance_px2[:, 0, 0] for one in marks]),
        "covariance_uv": column([one.covariance_px2[:, 0, 1] for one in marks]),
        "variance_v": column([one.covariance_px2[:, 1, 1] for one in marks]),
        "radius": column([one.radius_px for one in marks]),
        "edge_pixels": column([one.arc_px for one in marks], np.int32),
        "visible": column([one.visible for one in marks]),
    }


def _sites(reading: Reading) -> dict[str, Any]:
    return {
        "number": np.asarray(reading.species, np.uint8),
        "fractional": np.asarray(reading.fractional, float).reshape(-1, 3),
        "sigma": np.asarray(reading.sigma_A, float),
    }
