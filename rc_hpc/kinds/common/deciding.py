"""Modules that decide results of several kinds, as paths below ``rc_hpc``, for their `Kind.code`.

`tests/unit/test_kinds.py` follows the imports and tells what is missing or too much: a change of
any of these keeps earlier work from being gone on with.
"""

from __future__ import annotations

#: Labels of cells.
LABELS = (
    "core/constants",
    "symmetry/distances",
    "symmetry/guard",
    "symmetry/labels",
    "symmetry/recorder",
)
#: Cameras.
CAMERAS = ("geometry/cameras", "geometry/protocol")
#: Points from pictures, and what names them.
POINTS = (
    *LABELS,
    *CAMERAS,
    "core/vocabulary",
    "geometry/pairs",
    "kernels/candidates",
    "kernels/certificate",
    "kernels/compiled",
    "kernels/enumeration",
    "kernels/grid",
    "kernels/merge",
    "kernels/points",
    "kernels/records",
    "kernels/search",
    "kernels/subsets",
    "oracle/cell",
    "oracle/labels",
    "oracle/reading",
    "symmetry/point_groups",
)
#: Every view subset, with its certificate.
SUBSETS = (
    *POINTS,
    "kernels/coverage",
    "kernels/doors",
    "kernels/perspective",
    "kernels/profile",
    "kernels/steps",
    "kernels/ties",
    "oracle/geometry",
)
#: Points with errors.
NOISE = (
    *POINTS,
    "geometry/alignment",
    "geometry/conditioning",
    "kernels/noise",
    "kernels/operations",
    "oracle/correspondence",
    "oracle/draws",
    "oracle/noise",
    "oracle/spread",
    "symmetry/conventional",
    "symmetry/statistical",
)
