"""How tables are made of counts: what each shows, under which conditions, and its frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rc_hpc.core.options import Options
from rc_hpc.kinds.common.counting import ByStatus, Counts
from rc_hpc.report.tables import DIGITS, Table
from rc_hpc.stats.frames import frame_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Maker:
    """One table.

    Attributes
    ----------
    name
        Of the table and its file.
    what
        What it shows, or what makes that of the counts; the caption without its conditions.
    frame
        Makes its frame of the counts.
    digits
        How the text formats round.
    conditional
        Whether it depends on the options.
    note
        Makes what stands below it of the counts.
    """

    name: str
    what: str | Callable[[Any], str]
    frame: Callable[[Any], pd.DataFrame]
    digits: str = DIGITS
    conditional: bool = True
    note: Callable[[Any], str] | None = None


def make(
    makers: Iterable[Maker], conditions: str, counts: Counts, names: Iterable[str]
) -> list[Table]:
    """The tables of these names, with captions that say under which conditions they hold."""
    by_name = {maker.name: maker for maker in makers}
    tables = []
    for name in names:
        maker = by_name[name]
        what = maker.what if isinstance(maker.what, str) else maker.what(counts)
        told = (*([conditions] if maker.conditional else []), maker.digits)
        caption = f"{what} ({'; '.join(told)})."
        note = maker.note(counts) if maker.note else ""
        tables.append(Table(name, caption, maker.frame(counts), note, f"{what}.", told))
    return tables


def conditions_of(options: type[Options], counts: Counts, *more: str) -> str:
    """Under which options a file holds, and whether it is whole."""
    told = (*more, options.from_dict(counts.options).caption())
    return "; ".join(told) + partial_note(counts)


def partial_note(counts: Counts) -> str:
    """End of the conditions of an unfinished file; empty for a whole one."""
    if counts.attrs.get("complete_rows", 1):
        return ""
    return f"; PARTIAL: {counts.n_rows} of {counts.attrs['total']} structures are done"


def status_maker(counted: str = "only ok rows count elsewhere") -> Maker:
    """The table of statuses."""

    def what(counts: Counts) -> str:
        return f"Rows by status, with the first of each; {counted}{partial_note(counts)}"

    return Maker(
        "status", what, lambda counts: by_status(counts.status), "counts exact", conditional=False
    )


def by_status(status: ByStatus) -> pd.DataFrame:
    """One row per status: rows that have it, and the id and message of one of them."""
    columns = ["status", "rows", "example_id", "example_message"]
    records = [dict(zip(columns, (name, *rest), strict=True)) for name, rest in status.items()]
    return frame_of(records, columns, ["rows"])
