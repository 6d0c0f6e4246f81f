"""How a camera design is run: what it takes besides the oracle on one structure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rc_hpc.core.constants import SWEEP
from rc_hpc.geometry.camera_sets import SCORES
from rc_hpc.kinds.common.cameras import protocol_statics
from rc_hpc.kinds.common.costs import Rows, census_costs
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.common.statics import vocabulary
from rc_hpc.kinds.common.warm import cameras
from rc_hpc.kinds.design.options import DesignOptions
from rc_hpc.kinds.noise.work import READ_S, READ_WEIGHT, noise_axes
from rc_hpc.kinds.noise.work import warm as warm_noise

#: Predicted time of a structure that takes no part, in units of a census.
NOTHING = 1e-6


def _pictures(options: DesignOptions) -> int:
    """Sets of pictures of one structure under one protocol."""
    return 1 + options.seeds * sum(sigma > 0 for sigma in options.sigmas)


def _protocols(options: DesignOptions) -> list[int]:
    """Views of each protocol; before the search of as many as there may be."""
    found = [len(protocol["views"]) for protocol in options.protocols]
    beside = [len(protocol["views"]) for protocol in options.beside]
    return found or [options.views] * options.shortlist + beside


def dims(options: DesignOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    views = _protocols(options)
    return {
        "setting": len(SWEEP),
        "protocol": len(views),
        "view": max(views),
        "size": max(views) - 1,
        "sigma": len(options.sigmas),
        "seed": options.seeds,
    }


def statics(options: DesignOptions) -> dict[str, Any]:
    """Datasets that belong to no structure."""
    protocols = [protocol_of(identity) for identity in options.protocols]
    scores = {}
    for name, text in SCORES.items():
        values = [np.inf if one[name] is None else one[name] for one in options.scores]
        unit = "angstrom" if name == "screen_length" else "1"
        about = f"{text} On the searched structures."
        scores[f"scores/{name}"] = (np.array(values), unit, about, ("protocol",))
    return {
        **vocabulary(options.pack),
        **protocol_statics(protocols),
        "protocols/found": (
            np.arange(len(protocols)) < len(options.cameras),
            "1",
            "Whether the search found it; the others stand beside.",
            ("protocol",),
        ),
        **scores,
        **noise_axes(options.sigmas, options.seeds),
        "axes/size": (
            np.arange(2, 1 + max(_protocols(options))),
            "1",
            "Views of a subset.",
            ("size",),
        ),
    }


def costs(options: DesignOptions, sides: dict[str, int], rows: Rows) -> np.ndarray:
    """Predicted time of each structure, (n,), ms."""
    cells = sum(math.prod(protocol["tiling"]) for protocol in options.protocols)
    each = READ_WEIGHT * cells * _pictures(options)
    weights = np.array([each if id in sides else NOTHING for id in rows("id")])
    return np.asarray(weights * census_costs(rows))


def facts(options: DesignOptions) -> tuple[dict[str, Any], float]:
    """What a dry run tells, and seconds for a structure."""
    sets = options.shortlist + len(options.beside)
    told = {
        "cameras of a set": options.views,
        "random starts": options.starts,
        "sets read": sets,
        "sigmas": len(options.sigmas),
        "seeds": options.seeds,
    }
    return told, READ_S * sets * _pictures(options)


def warm(_options: DesignOptions) -> None:
    """Run the kernels once."""
    small = cameras({})
    small.certify(small.enumerate_cell([[0.0, 0.0, 0.0]], [1], 0.01, 0.01), 0.01)
    warm_noise(_options)
