"""Command: how much of a model's shortfall is perception, and what remains? The attribution ladder and its statistics."""

from __future__ import annotations

import sys
from pathlib import Path

from rc_hpc.core.old_door import Parser, guarded
from rc_hpc.core.errors import Exit, UsageError
from rc_hpc.report.tables import ENDINGS, show, write

#: Tables in the order in which they are printed.
NAMES = (
    "files",
    "leaderboard",
    "ladder",
    "models",
    "sensitivity",
    "cells",
    "length",
    "length-split",
    "size",
    "question-only",
    "control",
    "exchangeability",
    "conventions",
    "contrasts",
    "family",
    "baselines",
    "strata",
    "cues",
    "floor",
    "granularity",
    "resampling",
    "transplant",
    "emission",
)
EXAMPLES = """\
  python -m rc_hpc.ladder predictions/ --census census.h5
                                   every table that these files allow
  python -m rc_hpc.ladder predictions/ --census census.h5 --census loose.h5 --table ladder
                                   both ceilings, R1 and R1 at a looser delta
  python -m rc_hpc.ladder predictions/ --census census.h5 --structures packed.h5 --train train.jsonl
                                   also the forests, trained in the order of train.jsonl
  python -m rc_hpc.ladder predictions/ --census census.h5 --figures figures
                                   the tables, and their figures with the data behind them
  python -m rc_hpc.ladder predictions/ --structures packed.h5 --emitted emitted.json --table transplant
  python -m rc_hpc.ladder predictions/ --census census.h5 --contrast google/gemini-2.5-flash google/gemini-3.6-flash --table contrasts

tables:
  files            every prediction file, recounted, with its error rates and gates
  leaderboard      R4 of every model with its interval
  ladder           R4, R3, P, S and share of every model, McNemar
  models           medians, intervals, dominance, rank correlations over the scored models
  sensitivity      the same headline under other tie rules and per sample
  cells            ... by stored or conventional cell and by crystal system
  length, length-split, size
                   R3 against the atoms listed; atoms by crystal system
  question-only, control, exchangeability
                   the arm without pictures
  conventions      render conventions against the frozen one
  contrasts        pairs of models (--contrast) within cue strata
  family           the 26 corrected tests, all adjusted values
  baselines, strata, cues, floor, granularity, resampling
                   metric rule, forests (--train), cue sufficiency, models against them
  transplant, emission
                   emitted atoms (--emitted) against the true cell

A prediction file is JSON: arm, K, n, micro and predictions (material_id, truth, pred, votes);
of a folder every .json file is read. Rows whose API errors or unanswered structures pass 5 % are
shown, and left out of the statistics.

figures (of the tables that are made): ladder, leaderboard, cue-sufficiency (table cues) and
question-only; NAME.pdf, NAME.png, and the table as NAME.csv."""


def parser() -> Parser:
    """Argument parser of the ladder."""
    p = Parser("python -m rc_hpc.ladder", __doc__, EXAMPLES)
    p.add_argument(
        "predictions",
        nargs="+",
        type=Path,
        metavar="PREDICTIONS",
        help="prediction files, folders of them, or HDF5 files of answers (jobs/query_vlm.py)",
    )
    p.add_argument(
        "--census",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="census that says which structures are determined; may be given once per delta; without one all are taken to be",
    )
    p.add_argument(
        "--labels",
        type=Path,
        default=None,
        metavar="FILE",
        help="true crystal systems to check the predictions against: JSON lines or a JSON object",
    )
    p.add_argument(
        "--structures",
        type=Path,
        default=None,
        metavar="FILE",
        help="packed or census file with the cells; default: the first census",
    )
    p.add_argument(
        "--train",
        type=Path,
        default=None,
        metavar="FILE",
        help="training structures of the forests, in order: ids one a line, or JSON lines; they must be in --structures",
    )
    p.add_argument(
        "--emitted",
        type=Path,
        default=None,
        metavar="FILE",
        help="atoms that an extraction arm emitted, JSON; needs a packed --structures",
    )
    p.add_argument(
        "--contrast",
        nargs=2,
        action="append",
        default=[],
        metavar=("MODEL", "MODEL"),
        help="compare two models within strata; may be repeated",
    )
    p.add_argument(
        "--gate-samples",
        action="store_true",
        help="also leave rows unscored that lost more than 5 %% of their samples",
    )
    p.add_argument(
        "--resamples",
        type=int,
        default=0,
        metavar="N",
        help="trials per resampling regime of the shape-free forest; default: none",
    )
    p.add_argument(
        "--table",
        choices=(*NAMES, "all"),
        default="all",
        help="default: %(default)s that can be made",
    )
    p.add_argument(
        "--format",
        choices=tuple(ENDINGS),
        default="terminal",
        help="default: %(default)s; parquet needs pyarrow",
    )
    p.add_argument(
        "-o",
        "--output",
        type=Path,
        default=None,
        metavar="DIR",
        help="write one file per table into this folder; default: print them",
    )
    p.add_argument(
        "--figures",
        type=Path,
        default=None,
        metavar="DIR",
        help="also draw the figures of these tables into this folder",
    )
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    args = parser().parse(argv)
    if args.format == "parquet" and args.output is None:
        raise UsageError("--format parquet is not for a terminal: name a folder with --output")
    if args.resamples < 0:
        raise UsageError(f"--resamples {args.resamples}: give 0 or more")
    from rc_hpc.ladder.evidence import Evidence, Request
    from rc_hpc.ladder.makers import tables

    request = Request(
        tuple(args.predictions),
        tuple(args.census),
        args.labels,
        args.structures,
        args.train,
        args.emitted,
        tuple(map(tuple, args.contrast)),
        args.gate_samples,
        args.resamples,
    )
    evidence = Evidence(request)
    found, missing = tables(evidence, NAMES if args.table == "all" else (args.table,))
    if missing and args.table != "all":
        raise UsageError(f"--table {args.table} {missing[args.table]}")
    if args.output is None:
        show(found, args.format)
    source = {
        "predictions": [str(path) for path in args.predictions],
        "census": [str(path) for path in args.census],
    }
    for table in found if args.output is not None else ():
        path = write(table, args.output, args.format, source)
        if not args.quiet:
            print(f"{path}: {table.caption}")
    if args.figures is not None:
        from rc_hpc.engine.figures import draw_ladder
        from rc_hpc.figures import tell

        tell(draw_ladder(evidence, found, args.figures), args.quiet)
    if missing and not args.quiet:
        print(
            "\n".join(
                f"rc_hpc: table {name} left out: it {reason}" for name, reason in missing.items()
            ),
            file=sys.stderr,
        )
    return Exit.CLEAN


if __name__ == "__main__":
    sys.exit(main())
