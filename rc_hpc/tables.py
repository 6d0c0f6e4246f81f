"""Command: a census as tables, on the terminal or as Markdown, CSV, LaTeX and Parquet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rc_hpc.cli import Parser, guarded
from rc_hpc.errors import Exit, UsageError
from rc_hpc.report import DIGITS, ENDINGS, Table, render, write

if TYPE_CHECKING:
    from rc_hpc.store.tallies import CensusCounts

NAMES = ("reference", "subsets", "granularity", "systems", "status")
EXAMPLES = """\
  python -m rc_hpc.tables census.h5                 all tables on the terminal
  python -m rc_hpc.tables census.h5 --table reference --format latex > reference.tex
  python -m rc_hpc.tables census.h5 --format csv --output tables
                                                    tables/reference.csv, tables/subsets.csv, ...
  python -m rc_hpc.tables census.h5 --format parquet --output tables

tables:
  reference    R0, R1 by subset size and for the full protocol, quarantine, certificates, position errors
  subsets      every view subset: kappa, phantoms, R1
  granularity  R0 and R1 for crystal system, Bravais lattice, point group and space group
  systems      R1 by true crystal system
  status       rows by status, with an example of each

Only structures with status ok are counted. What the census did not compute (the full
protocol, a subset size) is left out. Terminal, Markdown and LaTeX round as each caption
says; CSV and Parquet carry every digit, and units in the names of their columns."""


def parser() -> Parser:
    """Argument parser of the tables."""
    p = Parser("python -m rc_hpc.tables", __doc__, EXAMPLES)
    p.add_argument("census", nargs="?", type=Path, default=Path("census.h5"), metavar="CENSUS.h5", help="census file; default: %(default)s")
    p.add_argument("--table", choices=(*NAMES, "all"), default="all", help="default: %(default)s")
    p.add_argument("--format", choices=tuple(ENDINGS), default="terminal", help="default: %(default)s; parquet needs pyarrow")
    p.add_argument("-o", "--output", type=Path, default=None, metavar="DIR", help="write one file per table into this folder; default: print them")
    p.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    args = parser().parse(argv)
    from rc_hpc.store.tallies import count_census

    if args.format == "parquet" and args.output is None:
        raise UsageError("--format parquet is not for a terminal: name a folder with --output")
    counts = count_census(args.census)
    found = tables(counts, NAMES if args.table == "all" else (args.table,))
    if args.output is None:
        _show(found, args.format)
        return Exit.CLEAN
    source = {"census": args.census.name, "content_hash": str(counts.attrs["content_hash"]), "options": counts.options}
    for table in found:
        path = write(table, args.output, args.format, source)
        if not args.quiet:
            print(f"{path}: {table.caption}")
    return Exit.CLEAN


def _show(found: list[Table], style: str) -> None:
    """Print tables, an empty line between them; captions of CSV go to stderr, out of the way of programs."""
    for number, table in enumerate(found):
        if number:
            print()
        if style == "csv":
            print(table.caption, file=sys.stderr)
        print(render(table, style))
    sys.stdout.flush()


def summary(path: str | Path) -> str:
    """Reference and status of a census file as terminal text, for the end of a run."""
    from rc_hpc.store.tallies import count_census

    return "\n\n".join(render(table, "terminal") for table in tables(count_census(path), ("reference", "status")))


def tables(counts: CensusCounts, names=NAMES) -> list[Table]:
    """The tables of these names, with captions that say under which conditions they hold."""
    from rc_hpc.analysis import ceilings

    options, sets, subsets = counts.options, counts.sets(), counts.subsets
    conditions = f"{_conditions(counts)}; {DIGITS}"

    def reference():
        delta = options["delta"]
        reading = "R1" if delta == options["pack"]["tau"] else f"R1^{delta}"
        quarantined = int(counts.quarantined.n) + counts.n_dropped
        frame = ceilings.reference(sets, subsets, counts.n_rows, quarantined, int(counts.kept.n) + quarantined, reading)
        return f"Model-free reference, crystal system ({conditions})", frame

    def by_subset():
        what = "View subsets: structures with phantoms, all phantoms and their mean, by acceptance and by Definition 7 (exact); R1"
        return f"{what} ({conditions})", ceilings.by_subset(sets, subsets)

    def granularity():
        return f"Ceilings by granularity of the label{_full(counts)} ({conditions})", ceilings.by_granularity(sets, subsets)

    def systems():
        return f"Ceilings by true crystal system{_full(counts)} ({conditions})", ceilings.by_system(sets, subsets)

    def status():
        return f"Rows by status, with the first of each; only ok rows count elsewhere (counts exact{_partial(counts)})", ceilings.by_status(counts.status)

    makers = dict(zip(NAMES, (reference, by_subset, granularity, systems, status), strict=True))
    found = []
    for name in names:
        caption, frame = makers[name]()
        found.append(Table(name, f"{caption}.", frame))
    return found


def _full(counts: CensusCounts) -> str:
    return "" if counts.subsets.full is None else "; R1 without a mean is that of the full protocol"


def _partial(counts: CensusCounts) -> str:
    if counts.attrs.get("complete_rows", 1):
        return ""
    return f"; PARTIAL: {counts.n_rows} of {counts.attrs['total']} structures are done"


def _conditions(counts: CensusCounts) -> str:
    options, pack, protocol = counts.options, counts.options["pack"], counts.options["protocol"]
    tiling = "x".join(str(n) for n in protocol["tiling"])
    return (
        f"delta {options['delta']} Å, tau {pack['tau']} Å, angle tolerance {pack['angle_tolerance']} degrees; "
        f"protocol {protocol['name']}, {counts.n_views} views, tiling {tiling}; "
        f"enumeration {options['enumeration']}, merge {options['merge']}; true label: {options['truth']} cell; "
        f"quarantine {options['quarantine']}{_partial(counts)}"
    )


if __name__ == "__main__":
    sys.exit(main())
