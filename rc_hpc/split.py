"""Command: training and evaluation structures that share no composition: build or audit a split."""

from __future__ import annotations

import sys
from typing import NamedTuple

from rc_hpc.core.door import Parser, Talk, guarded
from rc_hpc.core.lazy import resolve
from rc_hpc.core.options import Options
from rc_hpc.training.options import AuditOptions, BuildOptions

EXAMPLES = """\
  python -m rc_hpc.split build packed.h5 --reserve 13 --train-per-system 230 \\
      --eval-per-system 30 -o split     draw 13 elements that only evaluation structures hold
  python -m rc_hpc.split build packed.h5 --reserve Ti,Mn,La --prior split/eval.ids -o new-split
                                        nothing, by id or formula, that was used before
  python -m rc_hpc.split audit split    what the sides share, and what is on the wrong side
  python -m rc_hpc.split audit released --structures packed.h5
                                        a split whose lines have no formula
  python -m rc_hpc.split build --help   the options of an action

  A split is a folder: train.jsonl and eval.jsonl, their id lists, and split_meta.json with the
  SHA-256 of each.
"""


class Action(NamedTuple):
    """One action: what it does, its options, an example, and the function that does it."""

    line: str
    options: type[Options]
    examples: str
    does: str


ACTIONS = {
    "build": Action(
        "Draw a split from packed structures.",
        BuildOptions,
        "  python -m rc_hpc.split build packed.h5 --reserve 13 --train-per-system 230 "
        "--eval-per-system 30 -o split\n",
        "rc_hpc.training.splitting:build_and_tell",
    ),
    "audit": Action(
        "Say what the two sides of a split share. Exit code 3 where anything leaks.",
        AuditOptions,
        "  python -m rc_hpc.split audit released --structures packed.h5\n",
        "rc_hpc.training.splitting:audit_and_tell",
    ),
}


def parser() -> Parser:
    """Argument parser that tells the actions."""
    p = Parser("python -m rc_hpc.split", __doc__, EXAMPLES)
    lines = "; ".join(f"{name}: {action.line.rstrip('.')}" for name, action in ACTIONS.items())
    p.add_argument("action", metavar="ACTION", choices=tuple(ACTIONS), help=lines)
    return p


def action_parser(name: str) -> Parser:
    """Argument parser of an action."""
    action = ACTIONS[name]
    p = Parser(f"python -m rc_hpc.split {name}", action.line, action.examples)
    p.add_options(action.options)
    p.add_config()
    return p


def parsers() -> dict[str, Parser]:
    """Argument parsers by action."""
    return {name: action_parser(name) for name in ACTIONS}


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, sys.argv[1:] if argv is None else list(argv))


def _run(argv: list[str]) -> int:
    name = parser().parse_args(argv[:1]).action
    asked = action_parser(name).read(argv[1:])
    return resolve(ACTIONS[name].does)(asked.make(ACTIONS[name].options), asked.make(Talk))


if __name__ == "__main__":
    sys.exit(main())
