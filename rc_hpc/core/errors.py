"""What can go wrong: row statuses, exit codes and the exceptions that carry a cure."""

import os
from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command."""

    CLEAN = 0  # also when a signal stopped the run in good order
    FATAL = 1
    USAGE = 2
    FAILURES = 3  # finished, with failures recorded in the results
    INTERRUPTED = 130  # INT, from the keyboard; what was done is saved


class Status(IntEnum):
    """Outcome of one structure; stored as an HDF5 enum. Codes are never renumbered."""

    ok = 0
    read_error = 1
    empty = 2
    disordered = 3
    non_finite = 4
    singular_cell = 5
    close_atoms = 6
    too_large = 7
    unknown_species = 8
    label_failed = 9
    cell_failed = 10
    duplicate_id = 11
    crashed = 12
    quarantined = 13
    internal = 14
    behind_camera = 15
    timed_out = 16
    undrawable = 17


class StructureError(Exception):
    """One structure cannot be used: `status` says why, the message says what to do."""

    def __init__(self, status: Status, message: str):
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[type, tuple[Status, str]]:  # to another process
        return type(self), (self.status, str(self))


class RcError(Exception):
    """The run cannot go on; the message names the thing and the cure."""

    code = Exit.FATAL

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in place of a traceback (a protocol of IPython)."""
        return [f"{type(self).__name__}: {self}"]


class UsageError(RcError):
    """The request itself is wrong (an option, a protocol, a source)."""

    code = Exit.USAGE


def fault_of(path: str | os.PathLike[str]) -> type[RcError]:
    """What an unusable input is: of one that is not there, the request itself is wrong."""
    return RcError if os.path.exists(path) else UsageError


#: Files in use that have been changed since they were written, and what tells it: what goes wrong
#: unexpectedly is their fault before it is the program's.
DOUBTFUL: dict[str, str] = {}


def fault_of_files(error: BaseException) -> str:
    """A line on an unexpected error where it may be the fault of a file; empty where not."""
    told = "; ".join(f"{path}: {why}" for path, why in DOUBTFUL.items())
    what = str(error).partition("\n")[0] or "no message"
    return told and f"{told}, and cannot be used ({type(error).__name__}: {what}): make it again"
