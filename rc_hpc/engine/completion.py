"""Completion of ``rc-hpc`` in a shell: commands, options, their values, and files."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import shtab

from rc_hpc.core.door import Parser

#: Of a command: what it does, and its parsers by the word that follows; an empty one: its own.
Told = tuple[str, Mapping[str, Parser]]
#: Values that are folders, by their name in the help.
_FOLDERS = ("DIR",)


def script(shell: str, own: Parser, commands: Mapping[str, Told]) -> str:
    """The completion script.

    Parameters
    ----------
    shell
        One of ``bash``, ``zsh``, ``tcsh``.
    own
        Parser of ``rc-hpc`` without a command.
    commands
        By name.
    """
    root = argparse.ArgumentParser("rc-hpc", parents=[own], add_help=False)
    names = root.add_subparsers(parser_class=argparse.ArgumentParser)
    for name, (line, parsers) in commands.items():
        words = [word for word in parsers if word]
        if "" in parsers:
            _completed(_add(names, name, line, parsers[""]), words)
            continue
        below = names.add_parser(name, help=_plain(line)).add_subparsers()
        for word in words:
            _completed(_add(below, word, parsers[word].description or "", parsers[word]), ())
    return shtab.complete(root, shell)


def _add(names: Any, name: str, line: str, parser: Parser) -> argparse.ArgumentParser:
    added: argparse.ArgumentParser = names.add_parser(
        name, help=_plain(line), parents=[parser], add_help=False
    )
    return added


def _plain(line: str) -> str:
    """A line without what means something to a shell."""
    return " ".join(line.split()).translate(str.maketrans("", "", "'\"`[]():"))


def _completed(parser: argparse.ArgumentParser, words: Iterable[str]) -> None:
    """Say of each value what it may be, where it is a file, or one of `words` as the first."""
    first = True
    for action in parser._actions:
        positional = not action.option_strings
        if positional and first and words:
            action.complete = _words_or_files(words)  # type: ignore[attr-defined]
        elif action.metavar in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif (
            action.type is Path
            or str(action.metavar).endswith("|FILE")
            or (positional and not action.choices)
        ):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        first = first and not positional


def _words_or_files(words: Iterable[str]) -> dict[str, Any]:
    name = "_rc_hpc_" + "_or_".join(words)
    listed = " ".join(words)
    return {
        "bash": name,
        "zsh": f"{{compadd {listed}; _files}}",
        "tcsh": "f",
        "preamble": {"bash": f'{name}() {{ compgen -W "{listed}" -- "$1"; compgen -f -- "$1"; }}'},
    }
