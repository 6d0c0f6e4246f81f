"""What all commands share: help with examples, a config file under the flags, messages."""

from __future__ import annotations

import argparse
import logging
import sys
import tomllib
from pathlib import Path

import rc_hpc
from rc_hpc.core.errors import Exit, RcError, UsageError

#: Exit codes, for every command's help.
CODES = "Exit codes: 0 clean (also when a signal stopped it in good order), 1 fatal, 2 usage, 3 finished with failures recorded."

#: Words in place of SOURCE that ask for work on an output rather than for a run.
ACTIONS = ("status", "merge", "validate")


class Parser(argparse.ArgumentParser):
    """Parser with the house's help format, --version, -v/-q and --config."""

    def __init__(self, prog: str, description: str, examples: str, told: bool = True, **more):
        description = description.strip().removeprefix("Command: ")
        super().__init__(
            prog=prog,
            description=description[:1].upper() + description[1:],
            epilog=f"examples:\n{examples.rstrip()}\n\n{CODES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **more,
        )
        self.add_argument("--version", action="version", version=f"rc_hpc {rc_hpc.__version__}")
        if not told:  # a parser of sub-commands: they have these, and would forget those given before their name
            return
        self.add_argument(
            "-v",
            "--verbose",
            action="count",
            default=0,
            help="tell more; -vv names every structure",
        )
        self.add_argument("-q", "--quiet", action="store_true", help="errors only")

    def error(self, message: str):
        """Raise what is wrong as a `UsageError`: the usage alone would fill the screen."""
        raise UsageError(f"{message}; see {self.prog} --help")

    def add_config(self):
        """Add --config FILE."""
        self.add_argument(
            "--config",
            type=Path,
            metavar="FILE",
            help="TOML file of defaults: keys are the long options without dashes; flags win",
        )

    def parse(self, argv=None) -> argparse.Namespace:
        """Parse, with the config file's values as defaults.

        Raises
        ------
        UsageError
            The config file is unreadable or has a key that is no option.
        """
        args = self.parse_args(argv)
        if getattr(args, "config", None) is not None:
            chosen = self._chosen(args)
            chosen.set_defaults(**chosen._config(args.config))
            args = self.parse_args(argv)
        return args

    def _chosen(self, args: argparse.Namespace) -> Parser:
        """The parser of the sub-command, where there are any."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return action.choices[getattr(args, action.dest)]
        return self

    def _config(self, path: Path) -> dict:
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"config file {path}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"config file {path}: not valid TOML ({error})") from error
        actions = {
            action.dest: action
            for action in self._actions
            if action.dest not in ("help", "version", "config")
        }
        defaults = {}
        for key, value in values.items():
            action = actions.get(key.replace("-", "_"))
            if action is None:
                raise UsageError(
                    f"config file {path}: unknown key {key!r}; known are {', '.join(sorted(name.replace('_', '-') for name in actions))}"
                )
            defaults[action.dest] = self._converted(path, key, action, value)
        return defaults

    def _converted(self, path: Path, key: str, action: argparse.Action, value):
        if isinstance(action, argparse._StoreTrueAction | argparse._CountAction):
            if not isinstance(value, bool | int):
                raise UsageError(f"config file {path}: {key} must be true or false")
            return value
        if isinstance(value, list):
            if action.nargs == "*":
                return [str(item) for item in value]
            value = ",".join(str(item) for item in value)
        try:
            converted = action.type(str(value)) if action.type else str(value)
        except (ValueError, TypeError) as error:
            raise UsageError(
                f"config file {path}: {key} = {value!r} is not valid ({error})"
            ) from error
        if action.choices and converted not in action.choices:
            raise UsageError(
                f"config file {path}: {key} = {value!r}; choose from {', '.join(action.choices)}"
            )
        return [converted] if action.nargs == "*" else converted


def setup_logging(args: argparse.Namespace, rank: int = 0) -> None:
    """Log to stderr; only rank 0 below warnings."""
    level = (
        logging.ERROR
        if args.quiet
        else (logging.WARNING, logging.INFO, logging.DEBUG)[min(args.verbose, 2)]
    )
    prefix = "rc_hpc: " if rank == 0 else f"rc_hpc: rank {rank}: "
    logging.basicConfig(
        stream=sys.stderr,
        format=f"{prefix}%(levelname)s: %(message)s",
        force=True,
        level=logging.WARNING,
    )
    logging.getLogger("rc_hpc").setLevel(level if rank == 0 else max(level, logging.WARNING))


def guarded(main, *args) -> int:
    """Run a serial command: a known error is one line and its exit code."""
    try:
        return int(main(*args) or 0)
    except RcError as error:
        print(f"rc_hpc: error: {error}", file=sys.stderr)
        return int(error.code)
    except KeyboardInterrupt:
        print("rc_hpc: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output left, as `head` does
        sys.stderr.close()
        return int(Exit.CLEAN)
