"""Root attributes: who wrote a file, from what, with which options and versions."""

from __future__ import annotations

import json
import platform
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import h5py

import rc_hpc
from rc_hpc.store.schema import SCHEMA_VERSION, Schema

#: Packages whose version can change a result.
PACKAGES = ("numpy", "numba", "scipy", "h5py", "spglib", "ase", "pymatgen", "pymatgen-core")
#: Attributes that every merged file has.
REQUIRED = (
    "title",
    "kind",
    "creator",
    "creator_version",
    "schema_version",
    "file_time",
    "Conventions",
    "options",
    "options_hash",
    "input_hash",
    "package_versions",
    "host_count",
    "content_hash",
)


def package_versions() -> dict[str, str]:
    """Versions of Python, HDF5 and the packages that results depend on."""
    versions = {"python": platform.python_version(), "hdf5": h5py.version.hdf5_version}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue  # older pymatgen has no pymatgen-core
    return versions


def result_versions() -> dict[str, str]:
    """Versions under which work can be joined: rc_hpc and `PACKAGES`, without their foundations."""
    found = package_versions()
    return {"rc_hpc": rc_hpc.__version__} | {
        name: found[name] for name in PACKAGES if name in found
    }


def root_attributes(
    schema: Schema, identity: dict[str, Any], hosts: set[str], more: dict[str, Any]
) -> dict[str, Any]:
    """All root attributes but the content hash; `more` wins.

    Of the run's identity, `options`, `options_hash`, `input_hash` and whatever else is
    there become attributes; what is neither text nor a number is written as JSON.
    """
    attributes = {
        "title": schema.title,
        "kind": schema.kind,
        "creator": "rc_hpc",
        "creator_version": rc_hpc.__version__,
        "schema_version": SCHEMA_VERSION,
        "file_time": datetime.now().astimezone().isoformat(timespec="seconds"),
        "Conventions": "netCDF-4 dimension scales; CF flag_values and flag_meanings on enums",
        "options": "{}",
        "options_hash": "",
        "input_hash": "",
        "package_versions": package_versions(),
        "host_count": len(hosts),
        **identity,
        **more,
    }
    return {
        name: value if isinstance(value, (str, int, float)) else json.dumps(value, sort_keys=True)
        for name, value in attributes.items()
    }
