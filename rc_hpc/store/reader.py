"""Reading merged files: the packed structures by ranges of rows, and whole datasets by path."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import h5py

from rc_hpc.core.errors import RcError, fault_of
from rc_hpc.store import layout
from rc_hpc.store.batch import Batch
from rc_hpc.store.opening import open_h5, problem_of
from rc_hpc.store.schema import SCHEMA_VERSION

#: Dataset that every file with a row for each structure has.
_STATUS = "structures/status"


def open_ours(path: str | Path, kind: str | None = None) -> h5py.File:
    """Open a merged file for reading.

    Parameters
    ----------
    kind
        As in its root attributes; by default any that has a row for each structure.

    Raises
    ------
    RcError
        Not a file of ours, of that kind and version; says what it seems to be. A `UsageError`
        where there is no file.
    """
    path = Path(path)
    wanted = f"a {kind} file of rc_hpc" if kind else "a file of rc_hpc"
    if problem := problem_of(path):
        raise fault_of(path)(f"{path}: not {wanted}: {problem}")
    h5 = open_h5(path)
    if not (problem := stranger(h5)):
        found = h5.attrs["kind"]
        if found == "answers" != kind:
            problem = "it holds a model's answers: python -m rc_hpc.ladder reads them"
        elif found != kind if kind else _STATUS not in h5:
            wanted = wanted.replace("a file of rc_hpc", "a census, sweep, packed or render file")
            problem = f"it is a {found} file"
            if kind == "packed":
                problem += "; what is wanted is the packed file that it was computed from"
        else:
            return h5
    h5.close()
    raise RcError(f"{path}: not {wanted}: {problem}")


def stranger(h5: h5py.File) -> str:
    """Why a file is no finished one of this version, or an empty string."""
    found, version = h5.attrs.get("kind"), h5.attrs.get("schema_version")
    if "complete" in h5.attrs:
        return "it is one part of an unfinished run; merge its folder first"
    if h5.attrs.get("creator") != "rc_hpc" or not found:
        content = ", ".join(sorted(h5)[:5]) or "nothing"
        return f"it is an HDF5 file of another program, with {content} in it"
    if version != SCHEMA_VERSION:
        return (
            f"its version is {version}, this rc_hpc reads {SCHEMA_VERSION}: "
            "write it again or use the version that wrote it"
        )
    return ""


def read_table(path: str | Path, paths: Iterable[str]) -> Batch:
    """Whole datasets of a merged file by path: text as str objects, enums as uint8.

    Raises
    ------
    RcError
        The file is not ours, or has no such dataset.
    """
    with open_ours(path) as h5:
        return {name: layout.read_rows(dataset_of(h5, path, name)) for name in paths}


def dataset_of(h5: h5py.File, path: str | Path, name: str) -> h5py.Dataset:
    found = h5.get(name)
    if not isinstance(found, h5py.Dataset):
        writer = f"a {h5.attrs['kind']} file, written by rc_hpc {h5.attrs['creator_version']}"
        raise RcError(f"{path}: has no dataset {name!r} ({writer}): compute it again")
    return found
