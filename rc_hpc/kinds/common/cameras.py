"""Datasets of files that compare several sets of cameras."""

from __future__ import annotations

from typing import Any

import numpy as np

from rc_hpc.geometry import conditioning
from rc_hpc.geometry.protocol import Protocol


def protocol_statics(protocols: list[Protocol]) -> dict[str, Any]:
    """Cameras of each protocol.

    Views beyond a protocol's own are empty, NaN where there are numbers.
    """
    n_views = max(len(protocol.views) for protocol in protocols)
    names = np.full((len(protocols), n_views), "", object)
    rotations = np.full((len(protocols), n_views, 3, 3), np.nan)
    for p, protocol in enumerate(protocols):
        names[p, : len(protocol.views)] = protocol.views
        rotations[p, : len(protocol.views)] = protocol.rotations
    spread = [conditioning.distribution(protocol) for protocol in protocols]
    return {
        "protocols/name": (
            [protocol.name for protocol in protocols],
            "1",
            "Name of each protocol.",
            ("protocol",),
        ),
        "protocols/n_views": (
            np.array([len(protocol.views) for protocol in protocols]),
            "1",
            "Number of its cameras.",
            ("protocol",),
        ),
        "protocols/view": (names, "1", "Names of its cameras.", ("protocol", "view")),
        "protocols/rotation": (
            rotations,
            "1",
            "Rotation of each camera: screen x, y and depth are columns of position @ rotation.",
            ("protocol", "view", "xyz", "screen"),
        ),
        "protocols/direction": (
            rotations[..., 2],
            "1",
            "View direction of each camera, towards the viewer.",
            ("protocol", "view", "xyz"),
        ),
        "protocols/tiling": (
            np.array([protocol.tiling for protocol in protocols]),
            "1",
            "Repetitions of the conventional cell along its axes.",
            ("protocol", "axis"),
        ),
        "protocols/kappa": (
            np.array([one["max"] for one in spread]),
            "1",
            "Largest conditioning number kappa among the independent camera pairs.",
            ("protocol",),
        ),
        "protocols/gain": (
            np.array([one["all_views"] for one in spread]),
            "1",
            "The same 2-norm for all views together: that of their least-squares position.",
            ("protocol",),
        ),
    }
