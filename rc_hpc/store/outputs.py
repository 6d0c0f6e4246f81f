"""Whether an output may be written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from rc_hpc.core.errors import UsageError
from rc_hpc.core.files import disk_errors
from rc_hpc.store.opening import HDF5, open_h5, problem_of
from rc_hpc.store.reader import stranger


def check_not_read(output: Path, inputs: Iterable[Path | None]) -> None:
    """Refuse an output that is an input too: --overwrite would destroy what it is made from.

    Parameters
    ----------
    inputs
        None stands for one that was not given.

    Raises
    ------
    UsageError
    """
    given = (path for path in inputs if path is not None)
    if any(os.path.realpath(path) == os.path.realpath(output) for path in given):
        raise UsageError(f"-o {output} is read too: name another file")


def check_output(
    output: Path,
    resume: bool = False,
    overwrite: bool = False,
    shard: tuple[int, int] | None = None,
    kind: str = "",
) -> None:
    """Refuse an output that cannot or must not be written, before any work is done for it.

    Parameters
    ----------
    kind
        As in the root attributes of what is written: nothing else is replaced.

    Raises
    ------
    UsageError
        No folder to write into, not a regular file, of another kind, or there already and no option
        says what to do.
    """
    with disk_errors(output):
        if not output.parent.is_dir():
            raise UsageError(
                f"no folder {output.parent} to write {output.name} into: make it, or name "
                "another file with -o"
            )
        if not output.exists():
            return
        if not output.is_file():
            what = "a folder" if output.is_dir() else "no regular file"
            raise UsageError(f"{output} is {what}: name a file")
    if kind and (what := _another(output, kind)):
        raise UsageError(
            f"{output} is there and {what}, not a {kind} file: it is left as it is; name another "
            "file, or move it away"
        )
    if not (resume or overwrite or shard):
        raise UsageError(
            f"{output} exists: --overwrite replaces it, --resume completes it, or name another file"
        )


def _another(path: Path, kind: str) -> str:
    """What a file is that is none of this kind; empty where it is one, or a damaged HDF5 file."""
    if not path.stat().st_size:
        return ""
    if problem := problem_of(path):
        with open(path, "rb") as file:
            damaged = file.read(len(HDF5)) == HDF5
        return "" if damaged else problem.partition(";")[0].replace("it seems to be", "seems to be")
    with open_h5(path) as h5:
        if stranger(h5):
            own = h5.attrs.get("creator") == "rc_hpc"
            return "" if own else "is an HDF5 file of another program"
        found = str(h5.attrs["kind"])
        return "" if found == kind else f"is a {found} file"
