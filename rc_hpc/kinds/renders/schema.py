"""Columns of a renders file."""

from __future__ import annotations

from rc_hpc.core.vocabulary import Renderer
from rc_hpc.kinds.packed.schema import STRUCTURES
from rc_hpc.store.schema import TEXT, Column, Schema

PICTURES = (
    Column("structure", "i8", "1", "Row of /structures."),
    Column("view", "u1", "1", "Camera: index into /protocol/view."),
    Column("file", TEXT, "1", "Name of the PNG in the folder of pictures beside this file."),
    Column("bytes", "i8", "byte", "Size of the PNG."),
    Column("sha256", TEXT, "1", "SHA-256 of the PNG."),
    Column(
        "pixels_sha256",
        TEXT,
        "1",
        "SHA-256 of its pixels: rows from the top, three bytes (red, green, blue) each.",
    ),
    Column("convention", TEXT, "1", "Drawing convention, C1 to C5, or custom."),
    Column(
        "renderer",
        Renderer,
        "1",
        "What drew it: the fast path, or ASE where that was asked for or the structure is too "
        "wide for the fast path.",
    ),
    Column("size", "i4", "px", "Width and height."),
    Column(
        "tiling", "i4", "1", "Repetitions of the conventional cell along its vectors.", ("vector",)
    ),
    Column("radii_factor", "f8", "1", "Disc radius in units of ASE's covalent radius."),
    Column("px_per_angstrom", "f8", "px/angstrom", "Scale k."),
    Column(
        "origin_u",
        "f8",
        "px",
        "Column at which the origin of the cell's frame lies: a position's u is origin_u + k x, "
        "x the first column of position @ rotation.",
    ),
    Column(
        "origin_v", "f8", "px", "Row at which it lies: v is origin_v - k y, y the second column."
    ),
    Column(
        "tied_pairs",
        "i4",
        "1",
        "Pairs of drawn things at one depth whose paint may meet: where 0, the order of painting "
        "is no convention.",
    ),
    Column(
        "pixels_not_ase",
        "i4",
        "1",
        "Pixels that differ from ASE's own drawing; -1 where it was not compared.",
        fill=-1,
    ),
    Column(
        "largest_not_ase",
        "i2",
        "1",
        "Largest difference of a colour from ASE's, of 255; -1 where it was not compared.",
        fill=-1,
    ),
    Column(
        "tied_not_ase",
        "i4",
        "1",
        "Of the pixels that differ those that both things of a pair at one depth may paint: the "
        "order of painting is a convention there; -1 where it was not compared.",
        fill=-1,
        later=True,
    ),
)

DISCS = (
    Column("structure", "i8", "1", "Row of /structures."),
    Column("view", "u1", "1", "Camera: index into /protocol/view."),
    Column("number", "u1", "1", "Atomic number."),
    Column("site", "i4", "1", "Atom of the conventional cell, from 0, of which this is a copy."),
    Column("u", "f8", "px", "Centre from the left edge; pixel i reaches from i to i + 1."),
    Column("v", "f8", "px", "Centre from the upper edge."),
    Column(
        "radius", "f8", "px", "Radius without the outline, which reaches half its width further."
    ),
    Column("depth", "f8", "angstrom", "Third column of position @ rotation; larger is nearer."),
)

RENDERS = Schema(
    "renders",
    "Pictures of crystal structures: what each PNG shows, how it was drawn, and where every atom "
    "lies in it.",
    (*STRUCTURES, Column("structures/n_drawn", "i4", "1", "Atoms drawn in each picture.")),
    {"pictures": PICTURES, "discs": DISCS},
)
