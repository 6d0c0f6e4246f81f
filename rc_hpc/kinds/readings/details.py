"""What a readings file says of each crystal, for the lists of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import ReadStatus
from rc_hpc.kinds.common.lists import Details, where_done
from rc_hpc.store.reader import read_table

_ROWS = (
    *("status", "message", "certified", "differing_pixels", "tries", "n_sites"),
    *("space_group", "space_group_by_pictures"),
)
_SPARE = ("tries", "pixels", "space_group_by_pictures", "sites", "space_group_read")


def details(path: Path) -> Details:
    """Columns of the lists: what was read, whether certified, and why not."""
    names = [f"readings/{name}" for name in _ROWS]
    read = read_table(path, [*names, "structures/status", "reading/symprec"])
    rows = {name: read[f"readings/{name}"].tolist() for name in _ROWS}
    done = read["structures/status"] == Status.ok
    certified = read["readings/certified"]
    whole = np.isin(read["readings/status"], (ReadStatus.read, ReadStatus.uncertified))
    statuses = [ReadStatus(code).name for code in rows["status"]]
    columns = {
        "reading": statuses,
        "certified": ["yes" if one else "no" for one in rows["certified"]],
        "space_group_read": [groups[0] or None for groups in rows["space_group"]],
        "space_group_by_pictures": [n or None for n in rows["space_group_by_pictures"]],
        "sites": rows["n_sites"],
        "pixels": [n if n >= 0 else None for n in rows["differing_pixels"]],
        "tries": rows["tries"],
    }
    group = np.where(done & ~certified, np.where(whole, 2, 1), 0).astype(np.int64)
    why = [
        f"{status}: {message or 'no more was said of it'}" if one else ""
        for one, status, message in zip(group.tolist(), statuses, rows["message"], strict=True)
    ]
    pixels = read["readings/differing_pixels"].astype(np.int64)
    told = (
        "certified: the pictures drawn again are the same; space group read: of the sites read, at "
        f"symprec {read['reading/symprec'][0]:g} Å, by pictures: of highest order that draws them "
        "as well; pixels: of all pictures, that differ where the reading is drawn"
    )
    return Details(
        {name: where_done(done, values) for name, values in columns.items()},
        why,
        group,
        np.where(group == 2, pixels, 0),
        ("not read", "read but not certified"),
        told,
        _SPARE,
    )
