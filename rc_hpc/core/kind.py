"""What one kind of result file is: a frozen declaration, through which everything goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rc_hpc.core.lazy import resolve

#: What `export` may ask for.
EXPORTED = ("cells", "reconstructions", "phantoms")
#: Lists of structures that every kind of file has, each with a line.
LIST_LINES = {
    "structures": "a row each structure: labels, status, what of it is right and why not",
    "failures": "of these what is refused, wrong, not certified or quarantined, in this order: why",
}


@dataclass(frozen=True)
class Kind:
    """Declaration of a kind of result file.

    What leads to code is a dotted name, ``module:object`` below the kind's own package, which
    `load` resolves on first use, so that a list of all kinds costs nothing.

    Attributes
    ----------
    name
        As in the root attribute ``kind`` of its files.
    package
        Package that declares it: pass ``__name__``.
    command
        What makes such files, as typed after ``python -m rc_hpc.``: ``census``, ``sweep noise``.
    line
        What the command does, in one line.
    output
        Name of its file by default.
    description, examples
        Of the command's help; the line where there is no description.
    source
        Where rows are not packed structures: a class that derives from
        `rc_hpc.core.options.Options`, says what is read, has its path as `source` (a tuple of
        str), and as ``open()`` what gives a `rc_hpc.kinds.common.source.Source`.
    unit
        What a row is, in the plural.
    options
        A class that derives from `rc_hpc.core.options.Options`; of packed structures with `pack`
        and `quarantine`.
    schema
        Columns: a `rc_hpc.store.schema.Schema`.
    dims, statics
        Functions of the options: lengths of the dimensions that the schema leaves open, and the
        datasets that belong to no structure.
    plan
        ``plan(packed, options)``: what must be settled once, with the packed file (or the source
        of the kind, open), before the work; gives the options as they are recorded, and what is
        shared with `oracle` and `costs`.
    oracle
        ``oracle(options, given)`` gives the function that takes a
        `rc_hpc.oracle.cell.PackedCell`, or an item of the kind's source, and returns its columns
        and child tables; for `given` see `rc_hpc.kinds.common.given`. That of packed files takes
        a structure as it was read.
    costs
        ``costs(options, shared, rows)``: predicted time of each structure, ms, from columns of
        the packed file, or of the source's known ones.
    facts
        ``facts(options)``: what ``--dry-run`` tells, and seconds for a structure.
    warm
        ``warm(options)``: compiles, or loads, all that the work needs, on the smallest input.
    beside
        What is written beside the file: derives from `rc_hpc.kinds.common.beside.Beside`.
    counts
        ``counts(path)``: the file as counts, from which tables are made.
    tables, figures
        ``tables(counts, names)``, and a tuple of `rc_hpc.report.plot.Plot`.
    table_lines, figure_lines
        Their names, each with a line.
    summary
        Names of the tables that end a run.
    long
        Names of the tables that are made only where they are named or drawn.
    details
        ``details(path)``: what the file says of each structure, for the lists of them; see
        `rc_hpc.kinds.common.lists`.
    show
        ``show(path, packed, id, subset)``: one structure in words and as a figure, or None.
    export
        ``export(path, packed, what, ids, subset)``: structures for other programs, as
        `rc_hpc.kinds.common.exported.Exported`.
    page
        ``page(path, packed)``: its structures on a report page, or None.
    after
        ``after(path)``: what may be typed next, as commands after ``python -m rc_hpc.`` and what
        each is for.
    lattice
        Of kinds that know no molecules: why they need a lattice.
    code
        Modules and packages that decide its results, as paths below ``rc_hpc``.
    """

    name: str
    package: str
    command: str
    line: str
    output: str
    schema: str
    source: str = ""
    unit: str = "structures"
    options: str = ""
    description: str = ""
    examples: str = ""
    dims: str = ""
    statics: str = ""
    plan: str = ""
    oracle: str = ""
    costs: str = ""
    facts: str = ""
    warm: str = ""
    beside: str = ""
    counts: str = ""
    tables: str = ""
    table_lines: Mapping[str, str] = field(default_factory=dict)
    summary: tuple[str, ...] = ()
    long: tuple[str, ...] = ()
    figures: str = ""
    figure_lines: Mapping[str, str] = field(default_factory=dict)
    details: str = ""
    export: str = ""
    page: str = ""
    show: str = ""
    after: str = ""
    lattice: str = ""
    code: tuple[str, ...] = ()

    def load(self, what: str) -> Any:
        """The object behind one of the fields; None where the kind has none."""
        name = getattr(self, what)
        return resolve(f"{self.package}.{name}") if name else None
