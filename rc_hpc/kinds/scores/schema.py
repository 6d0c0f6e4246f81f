"""Columns of a file of scores."""

from __future__ import annotations

import numpy as np

from rc_hpc.core.vocabulary import ReadStatus
from rc_hpc.kinds.common.source import about
from rc_hpc.store.schema import TEXT, Column, Schema

_AT = ("symprec",)

SCORED = (
    Column("score/space_group", "i2", "1", "True space group."),
    Column("score/n_atoms", "i4", "1", "Atoms of the cell that was drawn."),
    Column(
        "score/reading", ReadStatus, "1", "How reading its pictures ended.", fill=ReadStatus.refused
    ),
    Column("score/certified", "?", "1", "The reading is certified.", fill=False),
    Column(
        "score/system_right",
        "?",
        "1",
        "The crystal system is the true one, at each of /reading/symprec.",
        _AT,
        False,
    ),
    Column("score/space_group_right", "?", "1", "The same of the space group.", _AT, False),
    Column(
        "score/system_right_by_pictures", "?", "1", "The same of the label by pictures.", fill=False
    ),
    Column(
        "score/space_group_right_by_pictures", "?", "1", "The same of its space group.", fill=False
    ),
    Column("score/n_missing", "i4", "1", "Atoms of the cell without a site."),
    Column("score/n_extra", "i4", "1", "Sites that are no atom of the cell."),
    Column("score/sites_exact", "?", "1", "Neither.", fill=False),
    Column(
        "score/largest_error",
        "f8",
        "angstrom",
        "Largest distance of a site from its atom, a common shift taken out.",
        fill=np.nan,
    ),
    Column(
        "score/frame_error",
        "f8",
        "angstrom",
        "Largest distance of the end of a vector read from the true one; inf: another cell.",
        fill=np.nan,
    ),
    Column(
        "score/cause",
        TEXT,
        "1",
        "What went wrong; empty where the system is right at the first symprec and every site is "
        "told once.",
        fill="",
    ),
)

SCORES = Schema(
    "scores",
    "Readings of pictures against the truth.",
    (*about("a crystal"), *SCORED),
    {},
)
