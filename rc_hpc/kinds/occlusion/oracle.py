"""One packed structure read from pictures in which discs hide the centres of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rc_hpc.core.constants import NUMERICAL_ZERO
from rc_hpc.core.vocabulary import LabelStatus
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kernels.merge import clusters
from rc_hpc.kernels.occlusion import (
    chosen_by_dominance,
    hidden_centres,
    points_near,
    shown_points,
    spots_covered,
)
from rc_hpc.kernels.points import project, sort_points, species_ranges
from rc_hpc.kernels.records import ImagePoints, PointSet
from rc_hpc.kernels.search import largest_distance
from rc_hpc.kinds.common.given import Compute, Given
from rc_hpc.kinds.common.options import protocol_of
from rc_hpc.kinds.occlusion.options import OcclusionOptions
from rc_hpc.kinds.occlusion.readings import readings, shown_needed
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.labels import Labeller, LabelTable, SpaceGroupLabel, correct_columns
from rc_hpc.oracle.reading import Enumeration
from rc_hpc.symmetry.orbits import orbits
from rc_hpc.symmetry.recorder import NULL_RECORDER, Recorder

#: A disc is nearer, and a centre inside it, only if by more than this, Å: depths and centres that
#: symmetry makes equal differ by 1e-15 Å, and coordinates have some eight decimals.
TIE = 1e-6
#: symprec of the orbits that tell redundant from informative occlusion, Å.
ORBIT_SYMPREC = 1e-3


class Picture(NamedTuple):
    """Discs of a tiled structure in V views.

    Attributes
    ----------
    shifts : (T, 3) float64
        From the cell to its copies, Å; the discs come copy by copy.
    screen : (V, T n, 2), radii : (T n,) float64
        Å.
    occluded, redundant : (V, T n) bool
        See `hidden_centres`.
    """

    shifts: np.ndarray
    screen: np.ndarray
    radii: np.ndarray
    occluded: np.ndarray
    redundant: np.ndarray

    def dropped(self, condition: str) -> np.ndarray:
        """Discs whose centres a condition takes away, (V, T n) bool."""
        by_name: dict[str, np.ndarray] = {
            "O0": np.zeros_like(self.occluded),
            "O1": self.occluded & ~self.redundant,
            "O2": self.occluded,
            "O3": self.redundant,
        }
        return by_name[condition]

    def shown_sites(self, dropped: np.ndarray) -> np.ndarray:
        """Atoms of the cell of which a view still shows a copy, (V, n) bool."""
        return np.logical_not(dropped.reshape(len(dropped), len(self.shifts), -1).all(axis=1))


def picture(
    lattice: np.ndarray,
    positions: np.ndarray,
    numbers: np.ndarray,
    rotations: np.ndarray,
    tiling: tuple[int, ...],
    radii_factor: float,
    orbit: np.ndarray,
) -> Picture:
    """Draw a tiled cell as discs and find what they hide of each other.

    Parameters
    ----------
    lattice : (3, 3), positions : (n, 3)
        Å.
    numbers, orbit : (n,)
        Atomic number and symmetry orbit.
    radii_factor
        Disc radius in units of ASE's covalent radius.
    """
    from ase.data import covalent_radii

    shifts = (
        np.stack(np.meshgrid(*(np.arange(t) for t in tiling), indexing="ij"), axis=-1).reshape(
            -1, 3
        )
        @ lattice
    )
    copies = (shifts[:, None] + positions[None]).reshape(-1, 3)
    radii = np.tile(covalent_radii[numbers] * radii_factor, len(shifts))
    screen, depth = (
        project(copies, rotations),
        np.ascontiguousarray((copies @ rotations[:, :, 2].T).T),
    )
    return Picture(
        shifts,
        screen,
        radii,
        *hidden_centres(screen, depth, radii, np.tile(orbit, len(shifts)), TIE),
    )


class OcclusionOracle:
    """Reads a structure under every condition and reading.

    A reading sees the centres that the condition leaves and the discs around them, `painted`
    also where there is paint at all; only `excused` knows what was taken away.

    Parameters
    ----------
    protocol
        Cameras; the tiling is that of the pictures. Copies of a site are folded into the cell.
    options
    recorder
        Notes the structure in flight during native calls.
    labeller
        By default the space group at the tolerances of the packed file.
    """

    def __init__(
        self,
        protocol: Protocol,
        options: OcclusionOptions,
        recorder: Recorder = NULL_RECORDER,
        labeller: Labeller | None = None,
    ):
        protocol.require_orthographic("occlusion sweeps")
        self.options, self.recorder = options, recorder
        self.labeller = labeller or SpaceGroupLabel(
            options.pack.tau, options.pack.angle_tolerance, recorder, packed=True
        )
        self.tiling = protocol.tiling
        self.oracles = {
            rule: GeometricOracle(
                protocol,
                options.subsets,
                merge=rule,
                max_candidates=options.max_candidates,
                tie=options.tie,
            )
            for rule in options.rules
        }
        self.cameras = self.oracles[options.rules[0]].cameras
        #: Of each subset: its views, its independent pairs in order, and whether its first two
        #: cameras are one.
        self.subsets = []
        #: Whether each pair belongs to each subset, (K, P).
        self.inside = np.zeros((len(options.subsets), len(self.cameras.pairs)), dtype=bool)
        pairs = [tuple(pair) for pair in self.cameras.pairs.tolist()]
        for k, subset in enumerate(options.subsets):
            own = [p for p, pair in enumerate(pairs) if set(pair) <= set(subset)]
            self.subsets.append((np.array(subset), own, tuple(subset[:2]) in pairs))
            self.inside[k, own] = True

    def run(self, cell: PackedCell) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read and label one structure.

        Returns
        -------
        fields : dict
            Values of the `structures/`, `visibility/`, `sites/` and `occlusion/` columns by path.
        children : dict
            Empty: there are no child tables.

        Raises
        ------
        StructureError
            Too many candidates, or no orbits.
        """
        options = self.options
        self.recorder.about(cell.id)
        positions, numbers = np.ascontiguousarray(cell.positions), np.asarray(cell.numbers)
        orbit = orbits(cell.lattice, positions, numbers, ORBIT_SYMPREC, self.recorder)
        drawn = picture(
            cell.lattice,
            positions,
            numbers,
            self.cameras.rotations,
            self.tiling,
            options.radii_factor,
            orbit,
        )
        dropped = [drawn.dropped(condition) for condition in options.conditions]
        shown = np.array([drawn.shown_sites(one) for one in dropped])
        shape = (len(options.readings), len(dropped), len(self.subsets))
        columns = {
            name: np.empty(shape, np.int64) for name in ("n_recovered", "label_status", "label")
        }
        columns |= {name: np.full(shape, np.inf) for name in ("point_error", "atom_error")}
        for rule in options.rules:
            self._read(cell, rule, drawn, dropped, shown, columns)
        labels = columns.pop("label")
        columns[self.labeller.granularities[-1]] = labels
        truth = self.labeller.truth(cell, options.truth)
        clear = np.array(
            [
                [shown[c][subset].sum(axis=0) for subset, *_ in self.subsets]
                for c in range(len(dropped))
            ]
        )
        fields = {f"occlusion/{name}": values for name, values in columns.items()} | {
            "structures/n_drawn": len(drawn.radii),
            "visibility/n_occluded": drawn.occluded.sum(axis=1),
            "visibility/n_redundant": drawn.redundant.sum(axis=1),
            "visibility/n_hidden": (~shown).sum(axis=2),
            "sites/n_clear": (
                clear == np.array([len(subset) for subset, *_ in self.subsets])[:, None]
            ).sum(axis=2),
            "sites/n_lost": (clear < 2).sum(axis=2),
            "sites/n_gone": (clear == 0).sum(axis=2),
            **correct_columns(self.labeller, labels, truth, "occlusion"),
        }
        return fields, {}

    def _read(
        self,
        cell: PackedCell,
        rule: str,
        drawn: Picture,
        dropped: list[np.ndarray],
        shown: np.ndarray,
        columns: dict[str, np.ndarray],
    ) -> None:
        """All readings with one merge rule, into the arrays of `columns`."""
        options, oracle = self.options, self.oracles[rule]
        images, truth = oracle.project(cell.positions, cell.numbers)
        species = images.species
        order, *_ = species_ranges(np.asarray(cell.numbers, np.int64), oracle.by_atom)
        table = LabelTable(cell.lattice, (self.labeller,), oracle.by_atom)
        if not oracle.by_atom:
            own = np.repeat(species, np.diff(truth.starts))
            table.labels(species, own, truth.positions, [self.labeller.known(cell)])
        every = readings(options.verifications, options.enumerations, options.rules)
        own_readings = [(r, *reading) for r, reading in enumerate(every) if reading[2] == rule]
        for c, sites in enumerate(shown):
            visible = np.ascontiguousarray(sites[:, order])
            # No true atoms are handed over: nothing here may depend on them.
            found = oracle.enumerate(shown_points(images, visible), options.delta, options.delta)
            passes: dict[str, np.ndarray] = {}
            for r, verification, enumeration, _ in own_readings:
                if verification not in passes:
                    passes[verification] = self._forgiven(
                        verification, found, images, visible, drawn, ~dropped[c]
                    )
                for k, (subset, pairs, anchored) in enumerate(self.subsets):
                    inside = self.inside[k]
                    accepted = _accepted(verification, found, passes[verification], subset, inside)
                    if enumeration == "anchor":
                        accepted = _first_that_sees(
                            accepted, found.candidates.pair, pairs if anchored else []
                        )
                    atoms = self._merged(found, accepted, rule, subset)
                    columns["n_recovered"][r, c, k] = len(atoms.positions)
                    if len(atoms.positions) == 0:
                        columns["label"][r, c, k] = 0
                        columns["label_status"][r, c, k] = LabelStatus.no_atoms
                        continue
                    columns["point_error"][r, c, k] = largest_distance(atoms, truth)
                    columns["atom_error"][r, c, k] = largest_distance(truth, atoms)
                    points, sizes = atoms.positions, np.diff(atoms.starts)
                    if oracle.by_atom:
                        which = np.repeat(np.arange(len(sizes)), sizes)
                        points = points[np.lexsort((atoms.order, which))]
                    label, status = table.labels(species, np.repeat(species, sizes), points)
                    columns["label"][r, c, k] = label[0]
                    columns["label_status"][r, c, k] = status[0]

    def _forgiven(
        self,
        verification: str,
        found: Enumeration,
        images: ImagePoints,
        visible: np.ndarray,
        drawn: Picture,
        discs: np.ndarray,
    ) -> np.ndarray:
        """Views that do not show a candidate and let it pass all the same, (C, V) bool."""
        candidates, rotations = found.candidates, self.cameras.rotations
        missed = candidates.nearest < 0
        if verification in ("covered", "painted"):
            discs = discs if verification == "covered" else np.ones_like(discs)
            covered: np.ndarray = spots_covered(
                candidates.position,
                missed,
                drawn.shifts,
                drawn.screen,
                drawn.radii,
                np.ascontiguousarray(discs),
                rotations,
                TIE,
            )
            return covered
        if verification == "excused":
            points = sort_points(shown_points(images, ~visible), False, NUMERICAL_ZERO)
            near: np.ndarray = points_near(
                candidates, missed, points, rotations, self.options.delta
            )
            return near
        return np.zeros_like(missed)

    def _merged(
        self, found: Enumeration, live: np.ndarray, rule: str, subset: np.ndarray
    ) -> PointSet:
        """Candidates that become atoms."""
        candidates = found.candidates
        if rule == "dominance":
            chosen = chosen_by_dominance(
                live,
                candidates,
                self.cameras.kappa,
                subset,
                found.points.screen.shape[1],
                found.tie,
            )
        else:
            order = np.argsort(candidates.met[live], kind="stable")
            _, leaders = clusters(
                live,
                order,
                candidates.species,
                candidates.position,
                candidates.height,
                self.options.delta,
                True,
            )
            chosen = live[leaders]
        starts = np.searchsorted(candidates.species[chosen], np.arange(len(found.species) + 1))
        return PointSet(
            candidates.position[chosen], candidates.height[chosen], candidates.met[chosen], starts
        )


def _accepted(
    verification: str,
    found: Enumeration,
    forgiven: np.ndarray,
    subset: np.ndarray,
    inside: np.ndarray,
) -> np.ndarray:
    """Candidates of the pairs `inside` (P,) a subset that its views accept, ascending."""
    shows = found.candidates.nearest[:, subset] >= 0
    needed = shown_needed(verification)
    if needed is None:
        passed = (shows | forgiven[:, subset]).all(axis=1)
    else:
        passed = shows.sum(axis=1) >= min(needed, len(subset))
    return np.flatnonzero(passed & inside[found.candidates.pair])


def _first_that_sees(accepted: np.ndarray, pair: np.ndarray, pairs: Sequence[int]) -> np.ndarray:
    """Of the accepted those of the first pair that has any."""
    for p in pairs:
        own: np.ndarray = accepted[pair[accepted] == p]
        if own.size:
            return own
    return accepted[:0]


def oracle(options: OcclusionOptions, given: Given) -> Compute:
    """What computes one structure."""
    return OcclusionOracle(protocol_of(options.protocol), options, given.recorder).run
