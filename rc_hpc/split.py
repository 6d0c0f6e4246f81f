"""Command: training and evaluation structures that share no composition: build a split, or audit one."""

from __future__ import annotations

import sys
from pathlib import Path

from rc_hpc.core.old_door import Parser, guarded, setup_logging
from rc_hpc.core.errors import Exit, UsageError

EXAMPLES = """\
  python -m rc_hpc.split build packed.h5 --reserve 13 --train-per-system 230 --eval-per-system 30 -o split
                                                    draw 13 elements that only evaluation structures hold
  python -m rc_hpc.split build packed.h5 --reserve Ti,Mn,La --prior split/eval.ids -o new-split
                                                    nothing, by id or formula, that was used before
  python -m rc_hpc.split audit split                what the sides share, and whether every element is on its side
  python -m rc_hpc.split audit released --structures packed.h5
                                                    a split whose lines have no formula

  A split is a folder: train.jsonl and eval.jsonl, their id lists, and split_meta.json with the SHA-256 of each.
"""
BUILD = """\
  python -m rc_hpc.split build packed.h5 --reserve 13 --train-per-system 230 --eval-per-system 30 -o split
"""
AUDIT = """\
  python -m rc_hpc.split audit released --structures packed.h5
"""


def elements(text: str) -> tuple[str, ...] | int:
    """A number, or comma-separated symbols."""
    if text.isdecimal():
        return int(text)
    from ase.data import atomic_numbers

    names = tuple(part.strip() for part in text.split(","))
    if strange := [name for name in names if name not in atomic_numbers or name == "X"]:
        raise UsageError(
            f"{strange[0]!r} is no element: give symbols such as Ti,Mn, or how many to draw"
        )
    return tuple(sorted(set(names)))


def parser() -> Parser:
    """Argument parser of the command."""
    p = Parser("python -m rc_hpc.split", __doc__, EXAMPLES, told=False)
    actions = p.add_subparsers(dest="action", required=True, metavar="ACTION", title="actions")
    text = "draw a split from packed structures"
    build = actions.add_parser("build", help=text, description=f"{text}.", examples=BUILD)
    build.add_argument(
        "packed", type=Path, metavar="PACKED", help="file written by python -m rc_hpc.pack"
    )
    build.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("split"),
        metavar="DIR",
        help="default: %(default)s",
    )
    build.add_argument(
        "--reserve",
        required=True,
        metavar="N|A,B,C",
        help="elements that only evaluation structures hold, or how many to draw",
    )
    build.add_argument(
        "--seed", type=int, default=23, metavar="N", help="of all draws; default: %(default)s"
    )
    for side in ("train", "eval"):
        build.add_argument(
            f"--{side}-per-system",
            type=int,
            default=0,
            metavar="N",
            help="structures of each crystal system at most; default: all",
        )
    build.add_argument(
        "--per-formula",
        type=int,
        default=0,
        metavar="N",
        help="structures of one formula at most; default: all",
    )
    build.add_argument(
        "--max-atoms",
        type=int,
        default=0,
        metavar="N",
        help="atoms of the conventional cell at most; default: all that were packed",
    )
    build.add_argument(
        "--quarantined", action="store_true", help="also structures whose label is unstable"
    )
    build.add_argument(
        "--prior",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="structures used before: ids one a line, or JSON lines; neither they nor their formulas are drawn. May be repeated",
    )
    build.add_argument("--overwrite", action="store_true", help="replace the split in the folder")
    build.add_config()
    text = "say what the two sides of a split share"
    audit = actions.add_parser(
        "audit", help=text, description=f"{text}. Exit code 3 where anything leaks.", examples=AUDIT
    )
    audit.add_argument(
        "split", type=Path, metavar="DIR", help="folder with train.jsonl and eval.jsonl"
    )
    audit.add_argument(
        "--structures",
        type=Path,
        default=None,
        metavar="FILE",
        help="formulas of lines that have none: a packed file, or a JSON object of id to an object with formula",
    )
    audit.add_argument(
        "--reserve",
        default="",
        metavar="A,B,C",
        help="reserved elements; default: those in split_meta.json",
    )
    audit.add_argument(
        "--prior", type=Path, action="append", default=[], metavar="FILE", help="as for build"
    )
    audit.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    args = parser().parse(argv)
    setup_logging(args)
    from rc_hpc.report.tables import show
    from rc_hpc.training import splitting

    reserve = elements(args.reserve) if args.reserve else ()
    if args.action == "audit":
        if isinstance(reserve, int):
            raise UsageError(f"--reserve {reserve}: name the elements")
        tables, leakage = splitting.audit(args.split, args.structures, reserve, args.prior)
        code = Exit.CLEAN if leakage.clean else Exit.FAILURES
    else:
        caps = (args.train_per_system, args.eval_per_system, args.per_formula)
        if min(*caps, args.max_atoms) < 0 or not 0 <= args.seed < 1 << 63:
            raise UsageError("caps and --seed are whole numbers from 0 on")
        request = splitting.Request(
            reserve,
            args.seed,
            splitting.Caps(*caps),
            args.max_atoms,
            args.quarantined,
            tuple(args.prior),
        )
        tables, code = (
            splitting.build(args.packed, args.output, request, args.overwrite),
            Exit.CLEAN,
        )
    if not args.quiet:
        show(tables, "terminal")
    return code


if __name__ == "__main__":
    sys.exit(main())
