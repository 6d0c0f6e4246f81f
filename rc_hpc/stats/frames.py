"""Frames made of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def frame_of(
    records: Sequence[dict | tuple], columns: Sequence[str], integers: Sequence[str] = ()
) -> pd.DataFrame:
    """Frame of records with these columns.

    `integers` are nullable, so that a missing count is not a float.
    """
    import pandas as pd

    return pd.DataFrame(records, columns=list(columns)).astype(dict.fromkeys(integers, "Int64"))
