"""Command: how much of a model's shortfall is perception, and what remains? The ladder's tables."""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser, Talk, guarded, setup_logging
from rc_hpc.core.lazy import resolve
from rc_hpc.ladder.options import TABLES, LadderOptions

_LINES = "\n".join(f"  {name:<16} {line}" for name, line in TABLES.items())
EXAMPLES = f"""\
  python -m rc_hpc.ladder predictions/ --census census.h5
                                   every table that these files allow
  python -m rc_hpc.ladder predictions/ --census census.h5 --census loose.h5 --table ladder
                                   both ceilings, R1 and R1 at a looser delta
  python -m rc_hpc.ladder predictions/ --census census.h5 --scores scores.h5 --table rungs
                                   also R2, what is read from the pictures themselves
  python -m rc_hpc.ladder predictions/ --census census.h5 --structures packed.h5 \\
      --train train.jsonl          also the forests, trained in the order of train.jsonl
  python -m rc_hpc.ladder predictions/ --census census.h5 --figures figures
                                   the tables, and their figures with the data behind them
  python -m rc_hpc.ladder predictions/ --structures packed.h5 --emitted emitted.json \\
      --table transplant           atoms that a model listed, against the true ones
  python -m rc_hpc.ladder predictions/ --census census.h5 --table contrasts \\
      --contrast google/gemini-2.5-flash google/gemini-3.6-flash

tables:
{_LINES}

A prediction file is JSON: arm, K, n, micro and predictions (material_id, truth, pred, votes);
of a folder every .json file is read. Rows whose API errors or unanswered structures pass 5 % are
shown, and left out of the statistics.

figures (of the tables that are made): rungs, ladder, leaderboard, cue-sufficiency (table cues) and
question-only; NAME.pdf, NAME.png, and the table as NAME.csv."""


def parser() -> Parser:
    """Argument parser of the ladder."""
    p = Parser("python -m rc_hpc.ladder", __doc__, EXAMPLES)
    p.add_options(LadderOptions)
    p.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    asked = parser().read(argv)
    talk = asked.make(Talk)
    setup_logging(talk)
    return resolve("rc_hpc.ladder.run:run")(asked.make(LadderOptions), talk)


if __name__ == "__main__":
    sys.exit(main())
