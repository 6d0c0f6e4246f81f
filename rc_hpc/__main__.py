"""Command: certified render ceilings of crystal-structure pictures, in batch."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from rc_hpc.core.door import Parser, guarded
from rc_hpc.core.errors import Exit, UsageError
from rc_hpc.core.lazy import resolve
from rc_hpc.core.options import Options, opt
from rc_hpc.engine import entry
from rc_hpc.kinds.registry import KINDS, of_command

EXAMPLES = """\
  python -m rc_hpc census                   the same as python -m rc_hpc.census and rc-hpc census
  python -m rc_hpc sweep noise --help       the options of a command
  rc-hpc --print-completion bash > ~/.local/share/bash-completion/completions/rc-hpc
                                            completion of commands, options and their values
"""
#: Modules of the commands that make result files with a row for each structure, and of the others.
COMMANDS = {
    **{name: f"rc_hpc.{name}" for name in (kind.command.split()[0] for kind in KINDS.values())},
    "benchmark": "rc_hpc.benchmark.__main__",
    "cameras": "rc_hpc.cameras",
    "tables": "rc_hpc.tables",
    "figures": "rc_hpc.figures",
    "report": "rc_hpc.report.__main__",
    "show": "rc_hpc.show",
    "export": "rc_hpc.export",
    "ladder": "rc_hpc.ladder.__main__",
    "diff": "rc_hpc.diff",
    "split": "rc_hpc.split",
    "pixels": "rc_hpc.pixels",
    "training": "rc_hpc.training.__main__",
    "query_vlm": "rc_hpc.query_vlm",
    "warm": "rc_hpc.warm",
}
#: Those of the others that take an action: what gives the parser of each.
_ACTIONS = {
    "benchmark": "rc_hpc.benchmark.__main__:parsers",
    "split": "rc_hpc.split:parsers",
    "query_vlm": "rc_hpc.query_vlm:parsers",
}


@dataclass(frozen=True)
class AboutOptions(Options):
    """What is told in place of a command."""

    print_completion: str | None = opt(
        None, "print the completion of rc-hpc for a shell", choices=("bash", "zsh", "tcsh")
    )


def line(name: str) -> str:
    """What a command does, in one line."""
    about: str = resolve(f"{COMMANDS[name]}:__doc__")
    return about.strip().splitlines()[0].removeprefix("Command: ").removesuffix(".")


def lines(name: str) -> str:
    """The same, with a line for each kind of result that it makes by a word of its own."""
    words = {kind.command.partition(" ")[2]: kind.line for kind in of_command(name)}
    below = [f"    {word:<11}{told}\n" for word, told in words.items() if word]
    return "".join([f"  {name:<13}{line(name)}\n", *below])


def parsers(name: str) -> dict[str, Parser]:
    """Parsers of a command by the word that follows its name; an empty one: its own."""
    if name in _ACTIONS:
        return resolve(_ACTIONS[name])()
    if of_command(name):
        return entry.parsers(name)
    return {"": resolve(f"{COMMANDS[name]}:parser")()}


def parser() -> Parser:
    """Argument parser that tells of all commands."""
    about = f"{__doc__}\n\ncommands:\n{''.join(map(lines, COMMANDS))}"
    usage = "%(prog)s COMMAND ...\n       %(prog)s COMMAND --help"
    p = Parser("python -m rc_hpc", about, EXAMPLES, usage=usage)
    p.add_options(AboutOptions)
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    name = argv[0].replace("-", "_") if argv else ""
    if name in COMMANDS:
        return resolve(f"{COMMANDS[name]}:main")(argv[1:])
    return guarded(_about, argv)


def _about(argv: list[str]) -> Exit:
    if argv and not argv[0].startswith("-"):
        raise UsageError(f"there is no command {argv[0]!r}; there are {', '.join(COMMANDS)}")
    p = parser()
    options = p.read(argv).make(AboutOptions)
    if options.print_completion:
        tree = {name: (line(name), parsers(name)) for name in COMMANDS}
        print(resolve("rc_hpc.engine.completion:script")(options.print_completion, p, tree))
    else:
        p.print_help()
    return Exit.CLEAN


if __name__ == "__main__":
    sys.exit(main())
