"""Whether an output may be written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from rc_hpc.core.errors import UsageError
from rc_hpc.core.files import disk_errors


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
) -> None:
    """Refuse an output that cannot or must not be written, before any work is done for it.

    Raises
    ------
    UsageError
        No folder to write into, not a regular file, or there already and no option says what to do.
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
            raise UsageError(f"{output} is {what}: name a file with -o")
    if not (resume or overwrite or shard):
        raise UsageError(
            f"{output} exists: --overwrite replaces it, --resume completes it, "
            "-o names another file"
        )
