"""Tables of what the released study tells beside its ladder: discs, phantoms, labels, a forest."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.images.build import crystal_scene
from rc_hpc.images.conventions import CONVENTIONS
from rc_hpc.images.overlap import overlap_fraction
from rc_hpc.images.view import project
from rc_hpc.ladder import baselines
from rc_hpc.ladder.evidence import Evidence, Missing
from rc_hpc.ladder.inputs import read_phantoms
from rc_hpc.stats import statistics
from rc_hpc.stats.frames import frame_of

if TYPE_CHECKING:
    import pandas as pd

_PIXELS = 768


def _overlap(e: Evidence):
    if e.options.structures is None:
        raise Missing("needs the atoms: --structures with a packed file")
    convention = CONVENTIONS["C1"]
    cameras = load_protocol(convention.protocol, convention.tiling)
    lattices, _ = e.crystals.cell("conventional")
    shares: dict[bool, list[float]] = {True: [], False: []}
    for lattice, (numbers, frac) in zip(lattices, e.crystals.atoms(), strict=True):
        scene = crystal_scene(
            lattice, numbers, frac @ lattice, cameras.tiling, convention.radii_factor
        )
        views = [project(scene, rotation, _PIXELS) for rotation in cameras.rotations]
        for coincident, found in shares.items():
            found.append(overlap_fraction(views, scene.discs.numbers, coincident))
    records = [
        {
            "discs": "all" if coincident else "without coincident centres",
            "structures": len(found),
            "with_any_count": int(np.count_nonzero(found)),
            "n": len(found),
            "mean": float(np.mean(found)),
            "median": float(np.median(found)),
        }
        for coincident, found in shares.items()
    ]
    columns = ("discs", "structures", "with_any_count", "n", "mean", "median")
    return (
        "Drawn atoms whose disc overlaps another of its element in pictures C1: share of a "
        "structure's atoms, mean over its views, then mean and median over structures",
        frame_of(records, columns, ("structures", "with_any_count", "n")),
    )


def _density(e: Evidence):
    if not e.options.census:
        raise Missing("needs the phantoms: --census")
    path = e.options.census[0]
    sizes, counts, delta = read_phantoms(path, e.ids)
    atoms = np.asarray(e.crystals.columns["n_atoms"], float)
    records = []
    for size in np.unique(sizes):
        own = counts[:, sizes == size]
        x = np.repeat(atoms, own.shape[1])
        y = own.ravel().astype(float)
        some = y > 0
        told: dict[str, tuple[np.ndarray, np.ndarray]] = {
            "phantoms": (x, y),
            "phantoms, where there are any": (x[some], y[some]),
            "whether there are any": (x, some.astype(float)),
            "phantoms for each atom": (x, y / x),
            "share of the subsets with any, by structure": (atoms, (own > 0).mean(axis=1)),
        }
        for what, (a, b) in told.items():
            found = statistics.spearman(a, b)
            records.append(
                {
                    "views": int(size),
                    "quantity": what,
                    "pairs": len(a),
                    "rho": found.rho,
                    "p": found.p,
                }
            )
    return (
        "Phantoms (rays of different atoms that meet within 1e-6 Å, residuals within delta) "
        "against the atoms of the conventional cell: Spearman's rho over pairs of structure and "
        f"view subset; p takes the pairs for independent, which they are not; delta {delta:g} Å",
        frame_of(records, ("views", "quantity", "pairs", "rho", "p"), ("views", "pairs")),
    )


def _certification(e: Evidence):
    columns = e.crystals.columns
    claimed = columns["source_space_group"] > 0
    agree = columns["source_space_group"] == columns["space_group"]
    records = []
    for what, mask in (
        ("one space group over the neighbourhood of tolerances", columns["neighbourhood_stable"]),
        ("one space group over the whole sweep of tolerances", ~columns["flipped"].astype(bool)),
        (
            "the conventional cell has the stored cell's space group",
            columns["space_group_conventional"] == columns["space_group"],
        ),
        ("the source claims the same space group, of those with a claim", agree[claimed]),
    ):
        count, n = int(np.sum(mask)), len(mask)
        if n:
            bound = statistics.exact_lower_bound(count, n)
            records.append({"label": what, "count": count, "n": n, "exact_lower_bound": bound})
    return (
        "Certification of the labels: one-sided exact 95 % lower bound (Clopper-Pearson; "
        "0.05^(1/n) where all agree)",
        frame_of(records, ("label", "count", "n", "exact_lower_bound"), ("count", "n")),
    )


def _readings(e: Evidence):
    if e.options.table != "forest-readings":
        raise Missing("trains twelve forests: ask for it by name, --table forest-readings")
    sides = (e.training, e.crystals)
    systems = e.training.labels()["crystal system"]
    records = []
    for ratio, (angle_ddof, edge_ddof) in itertools.product(
        baselines.RATIOS, itertools.product((0, 1), repeat=2)
    ):
        train, evaluation = (
            baselines.features(
                *side.cell("stored"), side.mass_per_atom, ratio, angle_ddof, edge_ddof
            )
            for side in sides
        )
        right = baselines.forest(train, systems, evaluation) == e.truths
        records.append(
            {
                "edge_ratios": ratio,
                "angle_sd": _SD[angle_ddof],
                "edge_sd": _SD[edge_ddof],
                "count": int(right.sum()),
                "n": len(right),
            }
        )
    return (
        "The forest of 19 features of the stored cell under twelve readings of what the study "
        f"tells; {baselines.N_TREES} trees, seed {baselines.FOREST_SEED}",
        frame_of(records, ("edge_ratios", "angle_sd", "edge_sd", "count", "n"), ("count", "n")),
    )


#: What the degrees of freedom of a deviation are called.
_SD = {0: "population", 1: "sample"}

#: Tables by name, in the order in which they are printed.
MAKERS: dict[str, Callable[[Evidence], tuple[str, pd.DataFrame]]] = {
    "forest-readings": _readings,
    "certification": _certification,
    "density": _density,
    "overlap": _overlap,
}
