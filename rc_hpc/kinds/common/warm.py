"""The smallest oracle, on which kernels are compiled or loaded."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.oracle.geometry import GeometricOracle


def cameras(protocol: Mapping[str, Any]) -> GeometricOracle:
    """An oracle of one pair, of pinhole cameras where `protocol` has any."""
    small = load_protocol("frozen")
    if protocol.get("centres") is not None:
        small = dataclasses.replace(small, centres=10 * small.directions)
    return GeometricOracle(small, ((0, 1),))
