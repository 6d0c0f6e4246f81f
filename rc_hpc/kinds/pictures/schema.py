"""Columns of the scenes of a package."""

from __future__ import annotations

from rc_hpc.benchmark.scene_file import TABLES
from rc_hpc.kinds.common.source import about
from rc_hpc.store.schema import TEXT, Column, Schema

DRAWN = (
    Column("structure", "i8", "1", "Row of /structures."),
    Column("view", TEXT, "1", "Id of the view."),
    Column("file", TEXT, "1", "PNG, as a path below the folder images."),
    Column("bytes", "i8", "byte", "Size of the PNG."),
    Column("sha256", TEXT, "1", "SHA-256 of the PNG."),
    Column(
        "pixels_sha256",
        TEXT,
        "1",
        "SHA-256 of its pixels: rows from the top, three bytes (red, green, blue) each.",
    ),
    Column(
        "origin_u",
        "f8",
        "px",
        "Column of the structure's origin: a position's u is origin_u + k x, k the scene's scale "
        "and x, y, z = rotation @ position.",
    ),
    Column("origin_v", "f8", "px", "Its row: a position's v is origin_v - k y."),
)

PICTURES = Schema(
    "pictures",
    "Scenes that the questions of a package show: displayed atoms, bonds, cameras, what is "
    "visible, and their pictures.",
    about("a scene"),
    {**TABLES, "pictures": DRAWN},
)
