"""Compile or load every kernel on the smallest input."""

from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.oracle.geometry import GeometricOracle


def warm() -> None:
    """Run the kernels once."""
    GeometricOracle(load_protocol("frozen"), ((0, 1),)).run([[0.0, 0.0, 0.0]], [1], 0.01)
