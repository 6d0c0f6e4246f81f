"""Command: a census or a sweep as tables, on the terminal or as Markdown, CSV, LaTeX and Parquet."""

from __future__ import annotations

import json
import pkgutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rc_hpc.core.old_door import Parser, guarded
from rc_hpc.core.errors import Exit, UsageError
from rc_hpc.kinds.design import tables as design_tables
from rc_hpc.kinds.frontier import tables as frontier_tables
from rc_hpc.kinds.noise import tables as noise_tables
from rc_hpc.kinds.occlusion import tables as occlusion_tables
from rc_hpc.report.tables import (
    DIGITS,
    ENDINGS,
    Table,
    collect,
    partial_note,
    render,
    show,
    views_of,
    write,
    write_bytes,
)

if TYPE_CHECKING:
    from rc_hpc.kinds.census.counts import CensusCounts

NAMES = (
    "reference",
    "subsets",
    "views",
    "violations",
    "falling",
    "granularity",
    "systems",
    "phantom-deltas",
    "status",
)
#: Those that end a run.
SUMMARY = ("reference", "status")
EXAMPLES = """\
  python -m rc_hpc.tables census.h5                 all tables on the terminal
  python -m rc_hpc.tables census.h5 --table reference --format latex > reference.tex
  python -m rc_hpc.tables census.h5 --format csv --output tables
                                                    tables/reference.csv, tables/subsets.csv, ...
  python -m rc_hpc.tables census.h5 --format parquet --output tables
  python -m rc_hpc.tables frontier.h5               the same of a sweep

tables of a census:
  reference    R0, R1 by subset size and for the full protocol, quarantine, certificates, position errors
  subsets      every view subset: kappa, phantoms, R1
  views        the view curve: mean, least and largest R1 by number of views, mean phantom excess
  violations   nested pairs of subsets: how often more cameras give less, by structure and in sum
  falling      the pairs over which R1 itself falls
  granularity  R0 and R1 for crystal system, Bravais lattice, point group and space group
  systems      R1 by true crystal system
  phantom-deltas
               structures that have a phantom at some tolerance up to delta, by number of views
  status       rows by status, with an example of each

tables of a frontier (python -m rc_hpc.sweep frontier):
  frontier     R1 by delta, enumeration and merge rule, with point errors
  certified    certified structures by delta, and what stands against the others
  steps        the exact number of certified structures as a function of delta, full protocol
  status       as above

tables of an occlusion sweep (python -m rc_hpc.sweep occlusion):
  occlusion    R1 by condition and reading, with counts of atoms and point errors
  visibility   share of the drawn atoms that each view hides
  sites        atoms of the cells by the views that show them
  status       as above

tables of a noise sweep (python -m rc_hpc.sweep noise):
  noise        R1 by protocol, tolerance rule, estimator and sigma, with position errors
  crossings    the sigma at which R1 falls below 0.95
  paired       structures right under one protocol or reading only, with exact tests
  kappa        angle, kappa and measured amplification of every camera pair
  conditioning its distribution over the pairs
  budgets      the noise that the structures' separations allow for, certain and probable
  aligned      cameras along lattice vectors, and atoms that they show at one place
  status       as above

tables of a camera design (python -m rc_hpc.sweep design):
  verdict      the best set against those beside it, on held-out structures, with exact tests
  candidates   every set: scores of the search, R1 on both sides
  held-out     R1 by sigma on held-out structures
  paired       structures right under the best set or one beside it only, by sigma
  phantoms     phantoms over the view subsets of each size
  cameras      view directions
  status       as above

Only structures with status ok are counted. What was not computed (the full protocol, a
subset size) is left out. Terminal, Markdown and LaTeX round as each caption
says; CSV and Parquet carry every digit, and units in the names of their columns. Captions, options
and the content hash are inside Parquet files, and in tables.json beside CSV files."""


def parser() -> Parser:
    """Argument parser of the tables."""
    p = Parser("python -m rc_hpc.tables", __doc__, EXAMPLES)
    p.add_argument(
        "census",
        nargs="?",
        type=Path,
        default=Path("census.h5"),
        metavar="FILE.h5",
        help="census or sweep file; default: %(default)s",
    )
    p.add_argument(
        "--table",
        choices=(
            *dict.fromkeys(name for (names, *_), _ in KINDS.values() for name in names),
            "all",
        ),
        default="all",
        help="default: %(default)s",
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
    p.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    args = parser().parse(argv)
    if args.format == "parquet" and args.output is None:
        raise UsageError("--format parquet is not for a terminal: name a folder with --output")
    counts, found = tables_of(args.census, None if args.table == "all" else (args.table,))
    if args.output is None:
        show(found, args.format)
        return Exit.CLEAN
    source = {
        "census": args.census.name,
        "content_hash": str(counts.attrs["content_hash"]),
        "options": counts.options,
    }
    for table in found:
        path = write(table, args.output, args.format, source)
        if not args.quiet:
            print(f"{path}: {table.caption}")
    if args.format == "csv":  # which has no room for it
        about = {**source, "captions": {table.name: table.caption for table in found}}
        write_bytes(
            args.output / "tables.json",
            (json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode(),
        )
    return Exit.CLEAN


def tables_of(path: Path, names: tuple[str, ...] | None, short: bool = False):
    """Counts and tables of a file, whatever its kind: those of these names, by default all, or those that end a run."""
    from rc_hpc.store.reader import open_ours

    with open_ours(path) as h5:
        kind = str(h5.attrs["kind"])
    if kind not in KINDS:
        cure = f": python -m rc_hpc.census {path} makes one that has" if kind == "packed" else ""
        raise UsageError(f"{path} is a {kind} file, which has no tables{cure}")
    (known, ending, make), reader = KINDS[kind]
    count = pkgutil.resolve_name(reader)  # each reader brings its own imports
    names = names or (ending if short else known)
    for name in names:
        if name not in known:
            raise UsageError(
                f"--table {name}: {path} is a {kind} file, whose tables are {', '.join(known)}"
            )
    counts = count(path)
    return counts, make(counts, names)


def summary(path: str | Path) -> str:
    """The tables that end a run as terminal text."""
    return "\n\n".join(
        render(table, "terminal") for table in tables_of(Path(path), None, short=True)[1]
    )


def tables(counts: CensusCounts, names=NAMES) -> list[Table]:
    """The tables of these names, with captions that say under which conditions they hold."""
    from rc_hpc.kinds.census import frames as ceilings
    from rc_hpc.kinds.census import monotonicity, phantom_deltas

    options, sets, subsets = counts.options, counts.sets(), counts.subsets
    conditions = f"{_conditions(counts)}; {DIGITS}"

    def reference():
        delta = options["delta"]
        reading = "R1" if delta == options["pack"]["tau"] else f"R1^{delta}"
        quarantined = int(counts.quarantined.n) + counts.n_dropped
        frame = ceilings.reference(
            sets, subsets, counts.n_rows, quarantined, int(counts.kept.n) + quarantined, reading
        )
        return f"Model-free reference, crystal system ({conditions})", frame

    def by_subset():
        what = "View subsets: structures with phantoms, all phantoms and their mean, by acceptance and by Definition 7 (exact); R1"
        return f"{what} ({conditions})", ceilings.by_subset(sets, subsets)

    def views():
        what = "View curve, crystal system: R1 of the subsets by their number of views; excess is recovered less drawn atoms"
        return f"{what} ({conditions})", monotonicity.by_size(sets, subsets)

    def violations():
        what = "Monotonicity over pairs of subsets, one within the other: losses are structures right on the smaller and wrong on the larger; aggregate counts the pairs over which R1 falls"
        losses = counts.losses()
        return f"{what} ({conditions})", monotonicity.violations(
            {name: (sets[name], losses[name]) for name in sets}, counts.masks
        )

    def falling():
        return (
            f"Pairs of subsets, one within the other, over which R1 falls ({conditions})",
            monotonicity.falling(sets, subsets, counts.masks),
        )

    def granularity():
        return (
            f"Ceilings by granularity of the label{_full(counts)} ({conditions})",
            ceilings.by_granularity(sets, subsets),
        )

    def systems():
        return f"Ceilings by true crystal system{_full(counts)} ({conditions})", ceilings.by_system(
            sets, subsets
        )

    def deltas():
        what = "Structures, on each subset, with a phantom by acceptance at some tolerance up to delta, wherever the delta of the census lies"
        return f"{what} ({conditions})", phantom_deltas.by_delta(
            counts.phantom_deltas(), subsets, options["delta_max"]
        )

    def status():
        return (
            f"Rows by status, with the first of each; only ok rows count elsewhere (counts exact{_partial(counts)})",
            ceilings.by_status(counts.status),
        )

    makers = dict(
        zip(
            NAMES,
            (
                reference,
                by_subset,
                views,
                violations,
                falling,
                granularity,
                systems,
                deltas,
                status,
            ),
            strict=True,
        )
    )
    return collect(makers, names)


def _full(counts: CensusCounts) -> str:
    return "" if counts.subsets.full is None else "; R1 without a mean is that of the full protocol"


def _partial(counts: CensusCounts) -> str:
    return partial_note(counts.n_rows, counts.attrs)


def _conditions(counts: CensusCounts) -> str:
    options, pack, protocol = counts.options, counts.options["pack"], counts.options["protocol"]
    tiling = "x".join(str(n) for n in protocol["tiling"])
    return (
        f"delta {options['delta']} Å, tau {pack['tau']} Å, angle tolerance {pack['angle_tolerance']} degrees; "
        f"protocol {protocol['name']}, {views_of(protocol)}, tiling {tiling}; "
        f"enumeration {options['enumeration']}, merge {options['merge']}; true label: {options['truth']} cell; "
        f"quarantine {options['quarantine']}{_partial(counts)}"
    )


#: Kinds of files: names of their tables, those that end a run, and their maker; their reader.
KINDS = {
    "census": ((NAMES, SUMMARY, tables), "rc_hpc.kinds.census.counts:count_census"),
    **{
        kind: ((module.NAMES, module.SUMMARY, module.tables), reader)
        for kind, module, reader in (
            ("frontier", frontier_tables, "rc_hpc.kinds.frontier.counts:count_frontier"),
            ("noise", noise_tables, "rc_hpc.kinds.noise.counts:count_noise"),
            ("occlusion", occlusion_tables, "rc_hpc.kinds.occlusion.counts:count_occlusion"),
            ("design", design_tables, "rc_hpc.kinds.design.counts:read_design"),
        )
    },
}


if __name__ == "__main__":
    sys.exit(main())
