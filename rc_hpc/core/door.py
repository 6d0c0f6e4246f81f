"""The door of every command: parsers made of declared options, config files, messages, exit codes.

Arguments become `Asked` here, and options from there on: nothing below sees a parser's namespace.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import logging
import os
import signal
import sys
import textwrap
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import rc_hpc
from rc_hpc.core.errors import Exit, RcError, UsageError, fault_of_files
from rc_hpc.core.glossary import used
from rc_hpc.core.options import Opt, Options, declared, opt, text_of
from rc_hpc.core.text import parse_toml

#: Exit codes, for every command's help.
CODES = (
    "Exit codes: 0 clean (also when TERM or USR1 stopped it in good order), 1 fatal, 2 usage, "
    "3 finished with failures recorded, 130 interrupted."
)

#: Of the lines that explain words, characters.
_WIDTH = 98
O = TypeVar("O", bound=Options)  # noqa: E741 - the options of a kind


@dataclass(frozen=True)
class Talk(Options):
    """How much a command tells."""

    verbose: int = opt(
        0,
        "tell more, and every refused structure with its message; -vv names each",
        short="-v",
        told="",
        kept=False,
        recorded=False,
    )
    quiet: bool = opt(False, "errors only", short="-q", kept=False, recorded=False)


@dataclass(frozen=True)
class Asked:
    """What a person asked for, by the names of the options, defaults included."""

    values: Mapping[str, Any]
    declarations: tuple[Opt, ...]

    def make(self, options: type[O]) -> O:
        """A group of options, checked."""
        return options.of(self.values)

    def toml(self) -> str:
        """The options used, as a file that ``--config`` reads back to the same run."""
        lines = []
        for one in self.declarations:
            value = self.values.get(one.name)
            if one.kept and value is not None and (value != () or one.asked != ()):
                lines.append(f"{one.key} = {_toml(value)}\n")
        return "".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, bool | int):
        return json.dumps(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return json.dumps(text_of(value), ensure_ascii=False).replace("\x7f", "\\u007f")


class Parser(argparse.ArgumentParser):
    """Parser with the house's help format, made of groups of declared options."""

    def __init__(self, prog: str, description: str, examples: str = "", **more: Any):
        description = description.strip().removeprefix("Command: ")
        above = f"examples:\n{examples.rstrip()}\n\n" if examples else ""
        super().__init__(
            prog=prog,
            description=description[:1].upper() + description[1:],
            epilog=f"{above}{CODES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **more,
        )
        self.add_argument("--version", action="version", version=f"rc_hpc {rc_hpc.__version__}")
        self._declared: dict[str, Opt] = {}
        self._groups: list[type[Options]] = []
        self.add_options(Talk)

    def format_help(self) -> str:
        """The help, with the words of the field that it uses explained."""
        told = super().format_help()
        words = "".join(
            textwrap.fill(line, _WIDTH, initial_indent=f"  {word}: ", subsequent_indent="      ")
            + "\n"
            for word, line in used(told).items()
        )
        above, codes, last = told.rpartition("Exit codes:")
        return f"{above}words:\n{words}\n{codes}{last}" if words else told

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong as a `UsageError`: the usage alone would fill the screen."""
        raise UsageError(f"{message}; see {self.prog} --help")

    def add_options(
        self, options: type[Options], title: str | None = None, **defaults: Any
    ) -> None:
        """Add the options that a class declares, under a title of their own; `defaults` by name."""
        group = self.add_argument_group(title) if title else self
        self._groups.append(options)
        for one in declared(options):
            if one.name in defaults:
                one = replace(one, asked=defaults[one.name])
            self._declared[one.name] = one
            self._add(group, one)

    def add_config(self) -> None:
        """Add --config and --write-config."""
        group = self.add_argument_group("configuration")
        group.add_argument(
            "--config",
            type=Path,
            metavar="FILE",
            help="TOML file of defaults: keys are the long options without dashes; flags win",
        )
        group.add_argument(
            "--write-config",
            type=Path,
            metavar="FILE",
            help="write the options used as such a file, and go on",
        )

    def read(self, argv: Sequence[str] | None = None) -> Asked:
        """What the arguments ask for, over the config file's values, over the defaults.

        Raises
        ------
        UsageError
            An argument, or the config file, is wrong.
        """
        given = vars(self.parse_intermixed_args(argv))
        config, target = given.pop("config", None), given.pop("write_config", None)
        values = {name: one.asked for name, one in self._declared.items()}
        if config is not None:
            values |= _read_config(config, self._declared)
        told = {name: value for name, value in given.items() if value is not None}
        values |= {name: value for name, value in told.items() if name in self._declared}
        for one in self._declared.values():
            if one.many and isinstance(values[one.name], list):
                values[one.name] = _tuples(values[one.name]) or one.asked
            if one.required and values[one.name] in (None, ()):
                self.error(f"the following arguments are required: {one.flag}")
        asked = Asked(values, tuple(self._declared.values()))
        if target is not None:
            for options in self._groups:  # what cannot be is no file to go on from
                asked.make(options)
            _write_config(target, asked, self._declared)
        return asked

    @staticmethod
    def _add(group: Any, one: Opt) -> None:
        default = f"; default: {one.default}" if one.default else ""
        how: dict[str, Any] = {
            "default": argparse.SUPPRESS,
            "help": (one.help + default).lstrip("; ").replace("%", "%%"),
        }
        if one.switch:
            how["action"] = "store_true"
        elif one.short == "-v":
            how |= {"action": "count"}
        else:
            how |= {"type": _converter(one), "choices": one.one_of, "metavar": one.metavar}
            if one.words > 1:
                how["nargs"] = one.words
            if one.many:
                how |= {"nargs": "*"} if one.positional else {"action": "append"}
                if one.positional:  # argparse would hold the lack of any against the choices
                    how |= {"type": _chosen(one, how.pop("choices"))}
            elif one.positional:
                how |= {"nargs": "?", "default": None}  # SUPPRESS would be parsed as a value
        if one.positional:
            group.add_argument(one.name, **how)
        else:
            group.add_argument(*filter(None, (one.short, one.flag)), dest=one.name, **how)


def _chosen(one: Opt, known: Sequence[Any] | None) -> Callable[[str], Any]:
    """What converts a word that must be one of those known."""
    parse = _converter(one)

    def convert(text: str) -> Any:
        value = parse(text)
        if known is not None and value not in known:
            among = ", ".join(map(repr, known))
            raise argparse.ArgumentTypeError(f"invalid choice: {text!r} (choose from {among})")
        return value

    return convert


def _converter(one: Opt) -> Callable[[str], Any]:
    """`Opt.parse` whose own words reach the message."""
    parse = one.parse or str
    if parse in (int, float, str, Path):
        return parse

    def convert(text: str) -> Any:
        try:
            return parse(text)
        except (ValueError, TypeError) as error:
            raise argparse.ArgumentTypeError(f"{text!r} is not valid ({error})") from error

    return convert


def _read_config(path: Path, known: Mapping[str, Opt]) -> dict[str, Any]:
    try:
        values = parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"config file {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"config file {path}: not valid TOML ({error})") from error
    found = {}
    for key, value in values.items():
        one = known.get(key.replace("-", "_"))
        if one is None:
            keys = ", ".join(sorted(known_one.key for known_one in known.values()))
            raise UsageError(f"config file {path}: unknown key {key!r}; known are {keys}")
        found[one.name] = _converted(path, key, one, value)
    return found


def _converted(path: Path, key: str, one: Opt, value: Any) -> Any:
    where = f"config file {path}: {key}"
    if one.switch or one.short == "-v":
        if not isinstance(value, bool | int):
            raise UsageError(f"{where} must be true or false")
        return value
    if one.many:
        items = value if isinstance(value, list) else [value]
        return tuple(_words(where, one, item) for item in items)
    if isinstance(value, list):
        value = ",".join(map(str, value))
    return _parsed(where, one, value)


def _words(where: str, one: Opt, value: Any) -> Any:
    if one.words == 1:
        return _parsed(where, one, value)
    if not isinstance(value, list) or len(value) != one.words:
        raise UsageError(f"{where}: give lists of {one.words}, not {value!r}")
    return tuple(_parsed(where, one, word) for word in value)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _parsed(where: str, one: Opt, value: Any) -> Any:
    try:
        parsed = one.parse(str(value)) if one.parse else str(value)
    except (ValueError, TypeError, argparse.ArgumentTypeError) as error:
        raise UsageError(f"{where} = {value!r} is not valid ({error})") from error
    if one.one_of and parsed not in one.one_of:
        raise UsageError(f"{where} = {value!r}; choose from {', '.join(one.one_of)}")
    return parsed


def _write_config(path: Path, asked: Asked, known: Mapping[str, Opt]) -> None:
    where = f"--write-config {path}"
    for one in known.values():
        value = asked.values.get(one.name)
        for item in value if isinstance(value, tuple | list) else (value,):
            named = isinstance(item, str | Path) and str(item)
            if named and os.path.realpath(item) == os.path.realpath(path):
                raise UsageError(f"{where} is the {one.key} of this command: name another file")
    try:
        if path.exists():  # an earlier one is replaced, nothing else is
            _read_config(path, known)
    except UsageError as error:
        raise UsageError(f"{where} is there and holds something else: name another file") from error
    try:
        path.write_text(asked.toml(), encoding="utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(f"{where}: a name has no UTF-8 ({error})") from error
    except OSError as error:
        raise UsageError(f"{where}: cannot be written ({error.strerror})") from error


def setup_logging(talk: Talk, rank: int = 0) -> None:
    """Log to stderr; only rank 0 below warnings."""
    levels = (logging.WARNING, logging.INFO, logging.DEBUG)
    level = logging.ERROR if talk.quiet else levels[min(talk.verbose, 2)]
    prefix = "rc_hpc: " if rank == 0 else f"rc_hpc: rank {rank}: "
    logging.basicConfig(
        stream=sys.stderr,
        format=f"{prefix}%(levelname)s: %(message)s",
        force=True,
        level=logging.WARNING,
    )
    quietest = level if rank == 0 else max(level, logging.WARNING)
    logging.getLogger("rc_hpc").setLevel(quietest)


def plain_streams() -> None:
    """Let a terminal that lacks a letter show another instead of failing at it."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # replaced by a program
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def give_up_output(error: OSError) -> str:
    """Write to standard output no more; a line that says why."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return f"standard output cannot be written ({error.strerror or error})"


def left(code: int) -> int:
    """The exit code; a run that Ctrl-C ended at a terminal ends by that signal.

    A shell ends its loop only then; it shows 130 in either case.
    """
    with contextlib.suppress(AttributeError, OSError, ValueError):
        if code == Exit.INTERRUPTED and sys.stdin.isatty():
            sys.stdout.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
    return code


def guarded(main: Callable[..., int | None], *args: Any) -> int:
    """Run a serial command: a known error is one line and its exit code."""
    return left(_guarded(main, *args))


def _guarded(main: Callable[..., int | None], *args: Any) -> int:
    plain_streams()
    try:
        code = int(main(*args) or 0)
        sys.stdout.flush()
        return code
    except RcError as error:
        print(f"rc_hpc: error: {error}", file=sys.stderr)
        return int(error.code)
    except KeyboardInterrupt:
        print("rc_hpc: interrupted", file=sys.stderr)
        return int(Exit.INTERRUPTED)
    except BrokenPipeError:  # the reader of our output left, as `head` does
        sys.stderr.close()
        return int(Exit.CLEAN)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
            print(f"rc_hpc: error: {give_up_output(error)}", file=sys.stderr)
            return int(Exit.FATAL)
        if not (told := fault_of_files(error)):
            raise
        print(f"rc_hpc: error: {told}", file=sys.stderr)
        return int(Exit.FATAL)
