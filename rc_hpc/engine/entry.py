"""How every command that makes result files begins: an action on earlier work, or the run itself.

Light: nothing heavy is loaded before it is known what to do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rc_hpc.core.door import Parser, guarded, left, plain_streams
from rc_hpc.core.errors import Exit, UsageError
from rc_hpc.core.kind import Kind
from rc_hpc.core.lazy import resolve
from rc_hpc.engine.options import RunOptions, sources
from rc_hpc.kinds.registry import of_command
from rc_hpc.parallel.launch import launcher_rank, limit_threads, run_guarded

#: Words in place of SOURCE that ask for work on an output rather than for a run.
ACTIONS = ("status", "merge", "validate")


def parser(kind: Kind) -> Parser:
    """Argument parser of the runs of one kind."""
    description = kind.description or f"{kind.line}."
    p = Parser(f"python -m rc_hpc.{kind.command}", description, kind.examples)
    p.add_options(sources(kind), "what is read")
    p.add_options(kind.load("options"), "what is computed")
    p.add_options(RunOptions, "how the run goes about its work", output=Path(kind.output))
    p.add_config()
    return p


def parsers(command: str) -> dict[str, Parser]:
    """Parsers of a command by the word that follows its name; an empty one: its own."""
    kinds = {kind.command.partition(" ")[2]: parser(kind) for kind in of_command(command)}
    action_parser = resolve("rc_hpc.engine.actions:parser")
    return kinds | {action: action_parser(command, action) for action in ACTIONS}


def main(command: str, argv: Sequence[str] | None = None, about: Parser | None = None) -> int:
    """Exit code of a command.

    Parameters
    ----------
    command
        Its name, as in ``python -m rc_hpc.NAME``.
    argv
        Arguments; by default those of the process.
    about
        Parser that tells of the kinds, where the command makes several.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    if argv and argv[0] in ACTIONS:
        if launcher_rank():
            return int(Exit.CLEAN)  # one of many ranks: the first does it
        return guarded(resolve("rc_hpc.engine.actions:run_action"), command, argv)
    limit_threads()
    plain_streams()
    return left(run_guarded(_run, command, argv, about))


def on_all_ranks(run: Callable[[Sequence[str]], int], argv: Sequence[str]) -> int:
    """Exit code of a command that runs under ranks and is no run of one kind alone."""
    limit_threads()
    return run_guarded(run, argv)


def _run(command: str, argv: list[str], about: Parser | None) -> int:
    kinds = {kind.command.split()[-1]: kind for kind in of_command(command)}
    if about is None:
        (kind,) = kinds.values()
    else:
        if argv and argv[0] in ("-h", "--help", "--version"):
            about.read(argv)
        if not argv or argv[0].startswith("-"):
            raise UsageError(f"name one of {', '.join(kinds)} first; see {about.prog} --help")
        if argv[0] not in kinds:
            raise UsageError(f"{argv[0]!r} is none of {', '.join(kinds)}; see {about.prog} --help")
        kind, argv = kinds[argv[0]], argv[1:]
    asked = parser(kind).read(argv)
    return resolve("rc_hpc.engine.command:run")(kind, asked)
