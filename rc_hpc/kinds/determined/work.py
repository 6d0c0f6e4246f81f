"""How questions are read: what it takes besides the oracle on one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rc_hpc.benchmark.reading.reader import COUNTS
from rc_hpc.benchmark.reading.sights import sights
from rc_hpc.benchmark.records import LETTERS
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.kinds.common.costs import Rows
from rc_hpc.kinds.determined.options import DeterminedOptions
from rc_hpc.oracle.geometry import GeometricOracle

#: Predicted time of a question, s.
QUESTION_S = 0.15


def dims(options: DeterminedOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return {"sight": len(sights(options.thetas)), "views": len(COUNTS), "option": len(LETTERS)}


def statics(options: DeterminedOptions) -> dict[str, Any]:
    """Datasets that belong to no question."""
    ways = sights(options.thetas)
    return {
        "reading/sight": (
            [sight.name for sight in ways],
            "1",
            "How centres are read: all of them; those whose disc is visible to at least a share; "
            "all, to the pixel.",
            ("sight",),
        ),
        "reading/least_visible": (
            np.array([sight.least for sight in ways]),
            "1",
            "Visible share of a disc from which on its centre is read.",
            ("sight",),
        ),
        "reading/n_views": (
            np.array(COUNTS),
            "1",
            "Pictures of each scene, those that the question shows first.",
            ("views",),
        ),
        "reading/letter": (list(LETTERS), "1", "Of each option.", ("option",)),
    }


def costs(_options: DeterminedOptions, _shared: None, rows: Rows) -> np.ndarray:
    """Predicted time of each question, (n,), ms."""
    return np.full(len(rows("status")), 1000 * QUESTION_S)


def facts(options: DeterminedOptions) -> tuple[dict[str, Any], float]:
    """What a dry run tells, and seconds for a question."""
    return {"sights": ", ".join(sight.name for sight in sights(options.thetas))}, QUESTION_S


def warm(_options: DeterminedOptions) -> None:
    """Compile the enumeration once."""
    oracle = GeometricOracle(load_protocol("frozen"), ())
    oracle.enumerate(oracle.project([[0.0, 0.0, 0.0]], [1]).images, 0.01, 0.01)
