"""How every command that may run under ranks begins: an action on earlier work, or the run itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from rc_hpc.core.old_door import ACTIONS, guarded
from rc_hpc.core.errors import Exit
from rc_hpc.parallel.launch import launcher_rank, limit_threads, run_guarded


def run_command(
    command: str, run: Callable[[list[str]], int], argv: Sequence[str] | None = None
) -> int:
    """Exit code of a command; heavy modules are left to `run`.

    Parameters
    ----------
    command
        Its name, as in ``python -m rc_hpc.NAME``.
    run
        Called on every rank with the arguments that begin with none of `ACTIONS`.
    argv
        Arguments; by default those of the process.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    if argv and argv[0] in ACTIONS:
        if launcher_rank():
            return int(Exit.CLEAN)  # one of many ranks: the first does it
        from rc_hpc.engine.actions import run_action

        return guarded(run_action, command, argv)
    limit_threads()
    return run_guarded(run, argv)
