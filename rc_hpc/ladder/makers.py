"""The ladder command from parsed arguments to tables."""

from __future__ import annotations

from collections.abc import Iterable

from rc_hpc.ladder import baseline_tables
from rc_hpc.ladder import tables as ladder_tables
from rc_hpc.ladder.evidence import Evidence, Missing
from rc_hpc.report.tables import DIGITS_P, Table

MAKERS = ladder_tables.MAKERS | baseline_tables.MAKERS


def tables(evidence: Evidence, names: Iterable[str]) -> tuple[list[Table], dict[str, str]]:
    """The tables of these names, and for those that cannot be made the input that they need."""
    found, missing = [], {}
    for name in names:
        try:
            caption, frame = MAKERS[name](evidence)
        except Missing as reason:
            missing[name] = str(reason)
        else:
            found.append(Table(name, f"{caption} ({DIGITS_P}).", frame))
    return found, missing
