"""Result files of any kind on one page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import rc_hpc
from rc_hpc.core.errors import Exit, UsageError
from rc_hpc.core.files import disk_errors, name_a_file, spare_others, write_whole
from rc_hpc.core.kind import Kind
from rc_hpc.engine.chemiscoping import check, write_data_set
from rc_hpc.engine.published import conditions_of
from rc_hpc.engine.report_options import PageOptions
from rc_hpc.engine.results import kind_of, lists_in, tables_of
from rc_hpc.kinds.common.atoms import packed_of, spare_inputs
from rc_hpc.kinds.common.lists import REPEATED
from rc_hpc.report import recorded
from rc_hpc.report.page import GENERATOR, Picture, Section, assemble
from rc_hpc.report.plot import NothingToDraw, Origin, drawn_svg
from rc_hpc.report.tables import Table

#: Rows above which a list of failures is left to the structures' own list.
_MOST_ROWS = 200


def report(options: PageOptions, quiet: bool) -> int:
    """Write the page; returns the exit code.

    Raises
    ------
    UsageError
        A file is of a kind that has no tables, or the output is there already.
    """
    name_a_file(options.output)
    if options.output.exists() and not options.overwrite:
        raise UsageError(f"{options.output} is there already: choose another -o, or --overwrite")
    shown = [path for path in options.files if kind_of(path).page]
    atoms = [packed_of(path, options.packed) for path in shown]
    spare_inputs(options.output, *options.files, *atoms)
    spare_others(options.output, GENERATOR)
    if options.chemiscope:
        check(options.chemiscope, options.overwrite)
        spare_inputs(options.chemiscope, *options.files, *atoms)
    sections = [_section(path, options.packed) for path in options.files]
    title = options.title or f"rc_hpc: {', '.join(path.name for path in options.files)}"
    page = assemble(title, sections).encode()
    with disk_errors(options.output, run=False):
        options.output.parent.mkdir(parents=True, exist_ok=True)
        write_whole(options.output, page, run=False)
    if not quiet:
        print(f"{options.output}: {len(page) / 1e6:.2f} MB; open it in a browser")
    if options.chemiscope:
        n = write_data_set(options.files[0], options.packed, options.chemiscope, title)
        if not quiet:
            print(f"{options.chemiscope}: {n} structures, for https://chemiscope.org")
    return Exit.CLEAN


def _section(path: Path, packed: Path | None) -> Section:
    kind = kind_of(path)
    attrs, (failures, every) = lists_in(path, ["failures", "structures"])
    counts, tables = tables_of(path) if kind.tables else (None, [])
    pictures, left_out = _pictures(kind, path, counts, tables, attrs)
    verdict = next((table.note.partition("\n")[0] for table in tables if table.note), "")
    if not verdict:
        counts_by = every.frame["status"].value_counts(sort=False).items()
        told = ", ".join(f"{n} {status}" for status, n in counts_by)
        verdict = f"{len(every.frame)} {kind.unit}: {told}."
    if 0 < len(failures.frame) <= _MOST_ROWS:
        shown = failures.frame.drop(columns=[one for one in REPEATED if one in failures.frame])
        tables = [*tables, replace(failures, frame=shown)]
    structures = kind.load("page")(path, packed) if kind.page else None
    return Section(
        path.name,
        verdict,
        tables,
        pictures,
        _facts(attrs),
        failing=tuple(map(str, failures.frame["id"])),
        failures=failures.brief,
        structures=structures,
        left_out=left_out,
    )


def _pictures(
    kind: Kind, path: Path, counts: Any, tables: list[Table], attrs: dict[str, Any]
) -> tuple[list[Picture], dict[str, str]]:
    """Figures of a file, and why others are left out."""
    if not kind.figures:
        return [], {}
    conditions = conditions_of(path, counts)
    origin = Origin(path.name, str(attrs["content_hash"]), counts.options)
    long: list[Table] = kind.load("tables")(counts, kind.long)
    by_name = {table.name: table for table in (*tables, *long)}
    pictures, left_out = [], {}
    for plot in kind.load("figures"):
        try:
            svg = drawn_svg(plot, by_name, origin, recorded.find(plot.name, conditions))
        except NothingToDraw as reason:
            left_out[plot.name] = str(reason)
            continue
        table = by_name[plot.table]
        pictures.append(Picture(plot.name, table.brief or table.caption, svg))
    return pictures, left_out


def _facts(attrs: dict[str, Any]) -> dict[str, str]:
    """Options and provenance, for the foot of a section."""
    with_text = ("kind", "content_hash", "input_hash", "creator_version", "file_time")
    facts = {name: str(attrs[name]) for name in with_text if name in attrs}
    facts["options"] = json.dumps(json.loads(attrs["options"]))
    facts["package versions"] = str(attrs.get("package_versions", ""))
    facts["page written by"] = f"rc_hpc {rc_hpc.__version__}"
    return facts
