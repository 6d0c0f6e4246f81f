"""Datasets of a file that belong to no structure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rc_hpc.core.constants import SWEEP
from rc_hpc.geometry.pairs import subset_masks
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.symmetry.labels import BRAVAIS_LATTICES, POINT_GROUPS
from rc_hpc.symmetry.point_groups import SCHOENFLIES
from rc_hpc.symmetry.stability import settings


def vocabulary(pack: Any) -> dict[str, Any]:
    """Static datasets that decode the stored label codes and sweeps.

    Parameters
    ----------
    pack : PackOptions
    """
    if pack.molecules:
        told = "Point group in Schoenflies' notation by stored code."
        names = ["", *SCHOENFLIES]
        return {"vocabulary/schoenflies": (names, "1", told, ("schoenflies_code",))}
    return {
        "vocabulary/bravais": (
            ["", *BRAVAIS_LATTICES],
            "1",
            "Bravais lattice by stored code; trigonal lattices are filed under h.",
            ("bravais_code",),
        ),
        "vocabulary/point_group": (
            ["", *POINT_GROUPS],
            "1",
            "Crystallographic point group by stored code.",
            ("point_group_code",),
        ),
        "settings/sweep": (
            np.array(settings(pack.tau, pack.angle_tolerance)),
            "angstrom, degree",
            "symprec and angle tolerance (-1: spglib's own rule) of each setting of the "
            "tolerance sweep.",
            ("setting", "tolerance"),
        ),
    }


def protocol_datasets(protocol: Protocol) -> dict[str, Any]:
    """Static datasets that say which cameras a file is about."""
    found = {
        "protocol/view": (protocol.views, "1", "Name of each camera.", ("view",)),
        "protocol/rotation": (
            protocol.rotations,
            "1",
            "Rotation of each camera: screen x, y and depth are columns of position @ rotation.",
            ("view", "xyz", "screen"),
        ),
        "protocol/direction": (
            protocol.directions,
            "1",
            "View direction of each camera, towards the viewer.",
            ("view", "xyz"),
        ),
        "protocol/tiling": (
            np.array(protocol.tiling),
            "1",
            "Repetitions of the conventional cell along its axes.",
            ("axis",),
        ),
    }
    if protocol.pinhole.any():
        kinds = np.where(protocol.pinhole, "pinhole", "orthographic").tolist()
        found["protocol/projection"] = (
            kinds,
            "1",
            "Orthographic, or a pinhole at /protocol/centre; a file without this is all "
            "orthographic.",
            ("view",),
        )
        found["protocol/centre"] = (
            protocol.centres,
            "angstrom",
            "Where a pinhole camera is in the cell's frame: (position - centre) @ rotation, "
            "divided by minus its third column, is its picture. NaN: orthographic.",
            ("view", "xyz"),
        )
    return found


def subset_dims(options: Any) -> dict[str, int]:
    """Lengths of the dimensions that every result over view subsets has."""
    of_labels = {} if options.pack.molecules else {"setting": len(SWEEP)}
    return of_labels | {"subset": len(options.subsets)}


def subset_statics(options: Any) -> dict[str, Any]:
    """Datasets of a file over view subsets that belong to no structure."""
    protocol, subsets, packed = protocol_of(options.protocol), options.subsets, options.pack
    if tau := getattr(options, "packed_tau", None):
        packed = replace(packed, tau=tau)
    kappas = protocol.kappas()
    cameras = protocol_datasets(protocol)
    if packed.molecules:  # there is no cell to repeat
        del cameras["protocol/tiling"]
    return {
        **vocabulary(packed),
        **cameras,
        "subsets/mask": (
            subset_masks(subsets),
            "1",
            "Cameras of the subset: bit v stands for /protocol/view[v].",
            ("subset",),
        ),
        "subsets/name": (
            ["+".join(protocol.views[v] for v in subset) for subset in subsets],
            "1",
            "Names of the subset's cameras.",
            ("subset",),
        ),
        "subsets/size": (
            np.array([len(subset) for subset in subsets]),
            "1",
            "Number of cameras.",
            ("subset",),
        ),
        "subsets/kappa": (
            np.array(
                [
                    max(
                        (k for pair, k in kappas.items() if set(pair) <= set(subset)),
                        default=np.inf,
                    )
                    for subset in subsets
                ]
            ),
            "1",
            "Largest conditioning number kappa among the subset's independent camera pairs; "
            "inf where it has none.",
            ("subset",),
        ),
    }
