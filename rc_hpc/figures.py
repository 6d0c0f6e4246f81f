"""Command: the figures of a census or a sweep, as PDF and PNG with their data."""

from __future__ import annotations

import sys
from pathlib import Path

from rc_hpc.core.old_door import Parser, guarded
from rc_hpc.core.errors import Exit

EXAMPLES = """\
  python -m rc_hpc.figures census.h5                all its figures, into the folder figures
  python -m rc_hpc.figures census.h5 --figure view-curve --figure subsets -o paper
  python -m rc_hpc.figures frontier.h5              the same of a sweep
  python -m rc_hpc.ladder predictions/ --census census.h5 --figures figures
                                                    those of the attribution ladder

figures of a census:
  view-curve      R1 by number of views: mean, least and largest over the subsets; phantom excess
  subsets         every view subset: R1, and the share of structures with phantoms
  granularity     R0 and R1 for crystal system, Bravais lattice, point group and space group
  systems         R1 by true crystal system
  phantom-deltas  structures that have a phantom at some tolerance up to delta

figures of a frontier (python -m rc_hpc.sweep frontier):
  frontier        R1 over delta, by enumeration and merge rule
  certified       the exact number of certified structures over delta
  grid            R1 over delta and symprec (--symprecs of the sweep)

figures of a noise sweep (python -m rc_hpc.sweep noise):
  noise           R1 over sigma by protocol, rule and estimator, with the crossing of 0.95
                  (NAME.crossings.csv)
  kappa           conditioning of every camera pair over the angle between its view lines

figures of an occlusion sweep (python -m rc_hpc.sweep occlusion):
  occlusion       R1 by what is taken away and by verification rule

Each figure is NAME.pdf, NAME.png and NAME.csv: the table of rc_hpc.tables that it shows, unrounded,
after comment lines (#) with the file, its content hash, its options and the published values that are
marked. Those are marked only on the structures and under the options at which they were read. Of
several sets of structures the first is drawn. Read it with pandas.read_csv(file, comment="#")."""


def parser() -> Parser:
    """Argument parser of the figures."""
    p = Parser("python -m rc_hpc.figures", __doc__, EXAMPLES)
    p.add_argument(
        "file",
        nargs="?",
        type=Path,
        default=Path("census.h5"),
        metavar="FILE.h5",
        help="census or sweep file; default: %(default)s",
    )
    p.add_argument(
        "--figure",
        action="append",
        default=[],
        metavar="NAME",
        help="only this one; may be repeated; default: all that can be drawn",
    )
    p.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("figures"),
        metavar="DIR",
        help="folder for the files; default: %(default)s",
    )
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def tell(drawn, quiet: bool) -> None:
    """Say what was written, and to stderr what was left out."""
    written, left_out = drawn
    if quiet:
        return
    for paths in written.values():
        print(", ".join(map(str, paths)))
    for name, reason in left_out.items():
        print(f"rc_hpc: figure {name} left out: it {reason}", file=sys.stderr)


def _run(argv) -> int:
    args = parser().parse(argv)
    from rc_hpc.engine.figures import draw_file

    drawn = draw_file(args.file, args.figure, args.output)
    tell(drawn, args.quiet)
    return Exit.CLEAN


if __name__ == "__main__":
    sys.exit(main())
