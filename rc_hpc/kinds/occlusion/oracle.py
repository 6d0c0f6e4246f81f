"""One packed structure read from pictures in which discs hide the centres of others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rc_hpc.core.constants import NUMERICAL_ZERO
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.geometry.pairs import pair_frames
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kernels.candidates import count_candidates, fill_candidates, normal_heights, project
from rc_hpc.kernels.merge import clusters
from rc_hpc.kernels.occlusion import (
    chosen_by_dominance,
    hidden_centres,
    points_near,
    shown_points,
    spots_covered,
)
from rc_hpc.kernels.search import sort_in_space
from rc_hpc.kernels.subsets import largest_distance
from rc_hpc.kinds.occlusion.options import OcclusionOptions, shown_needed
from rc_hpc.oracle.cell import PackedCell
from rc_hpc.oracle.labelling import NO_ATOMS, LabelTable
from rc_hpc.symmetry.guard import NULL_RECORDER
from rc_hpc.symmetry.labels import code_table
from rc_hpc.symmetry.orbits import orbits

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
        return {
            "O0": np.zeros_like(self.occluded),
            "O1": self.occluded & ~self.redundant,
            "O2": self.occluded,
            "O3": self.redundant,
        }[condition]

    def shown_sites(self, dropped: np.ndarray) -> np.ndarray:
        """Atoms of the cell of which a view still shows a copy, (V, n) bool."""
        return ~dropped.reshape(len(dropped), len(self.shifts), -1).all(axis=1)


def picture(lattice, positions, numbers, rotations, tiling, radii_factor: float, orbit) -> Picture:
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


class _Shown(NamedTuple):
    """Candidates of one condition, from the points its views show."""

    points: np.ndarray
    pair: np.ndarray
    species: np.ndarray
    met: np.ndarray
    position: np.ndarray
    height: np.ndarray
    residual: np.ndarray
    nearest: np.ndarray


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
    """

    def __init__(self, protocol: Protocol, options: OcclusionOptions, recorder=NULL_RECORDER):
        self.options, self.recorder = options, recorder
        self.rotations = np.ascontiguousarray(protocol.rotations)
        self.tiling = protocol.tiling
        self.frames = pair_frames(protocol)
        #: Of each subset: its views, its independent pairs in order, and whether its first two cameras are one.
        self.subsets = []
        pairs = [tuple(pair) for pair in self.frames.views.tolist()]
        for subset in options.subsets:
            own = [p for p, pair in enumerate(pairs) if set(pair) <= set(subset)]
            self.subsets.append((np.array(subset), own, tuple(subset[:2]) in pairs))

    def run(self, cell: PackedCell) -> tuple[dict, dict]:
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
            self.rotations,
            self.tiling,
            options.radii_factor,
            orbit,
        )
        dropped = [drawn.dropped(condition) for condition in options.conditions]
        shown = np.array([drawn.shown_sites(one) for one in dropped])
        shape = (len(options.readings), len(dropped), len(self.subsets))
        made = {
            name: np.empty(shape, np.int64)
            for name in ("n_recovered", "label_status", "space_group")
        }
        made |= {name: np.full(shape, np.inf) for name in ("point_error", "atom_error")}
        for rule in options.rules:
            self._read(cell, rule, drawn, dropped, shown, made)
        truth = cell.space_group if options.truth == "stored" else cell.space_group_conventional
        codes, groups = code_table(), made["space_group"]
        equal = (codes[groups] == codes[truth]) & (groups > 0)[..., None]
        clear = np.array(
            [
                [shown[c][subset].sum(axis=0) for subset, *_ in self.subsets]
                for c in range(len(dropped))
            ]
        )
        fields = {f"occlusion/{name}": values for name, values in made.items()} | {
            "structures/n_drawn": len(drawn.radii),
            "visibility/n_occluded": drawn.occluded.sum(axis=1),
            "visibility/n_redundant": drawn.redundant.sum(axis=1),
            "visibility/n_hidden": (~shown).sum(axis=2),
            "sites/n_clear": (
                clear == np.array([len(subset) for subset, *_ in self.subsets])[:, None]
            ).sum(axis=2),
            "sites/n_lost": (clear < 2).sum(axis=2),
            "sites/n_gone": (clear == 0).sum(axis=2),
            "occlusion/correct_crystal_system": equal[..., 0],
            "occlusion/correct_point_group": equal[..., 1],
            "occlusion/correct_bravais": equal[..., 2],
            "occlusion/correct_space_group": (groups == truth) & (groups > 0),
        }
        return fields, {}

    def _read(self, cell, rule, drawn, dropped, shown, made) -> None:
        """All readings with one merge rule, into the arrays of `made`."""
        options, by_atom = self.options, rule == "first"
        order, starts, kinds = _by_species(np.asarray(cell.numbers), by_atom)
        atoms, atom_heights, _ = sort_in_space(np.ascontiguousarray(cell.positions[order]), starts)
        screen = project(np.ascontiguousarray(cell.positions[order]), self.rotations)
        table = LabelTable(
            cell.lattice, (options.pack.tau,), options.pack.angle_tolerance, by_atom, self.recorder
        )
        if not by_atom:
            table.labels(
                kinds,
                np.repeat(kinds, np.diff(starts)),
                atoms,
                {options.pack.tau: cell.space_group_conventional},
            )
        readings = [
            (r, *reading) for r, reading in enumerate(options.readings) if reading[2] == rule
        ]
        for c, sites in enumerate(shown):
            visible = np.ascontiguousarray(sites[:, order])
            found = self._enumerate(screen, starts, visible, by_atom)
            passes: dict[str, np.ndarray | int] = {}
            for r, verification, enumeration, _ in readings:
                if verification not in passes:
                    passes[verification] = self._forgiven(
                        verification, found, screen, starts, visible, drawn, ~dropped[c]
                    )
                for k, (subset, pairs, anchored) in enumerate(self.subsets):
                    accepted = _accepted(verification, found, passes[verification], subset, pairs)
                    if enumeration == "anchor":
                        accepted = _first_that_sees(accepted, found.pair, pairs if anchored else [])
                    chosen = self._merged(found, accepted, rule, subset)
                    points = found.position[chosen]
                    bounds = np.searchsorted(found.species[chosen], np.arange(len(kinds) + 1))
                    numbers = np.repeat(kinds, np.diff(bounds))
                    made["n_recovered"][r, c, k] = len(points)
                    if len(points) == 0:
                        made["space_group"][r, c, k], made["label_status"][r, c, k] = 0, NO_ATOMS
                        continue
                    heights = found.height[chosen]
                    made["point_error"][r, c, k] = largest_distance(
                        points, bounds, atoms, atom_heights, starts
                    )
                    made["atom_error"][r, c, k] = largest_distance(
                        atoms, starts, points, heights, bounds
                    )
                    if by_atom:
                        points = points[np.lexsort((found.met[chosen], found.species[chosen]))]
                    group, status = table.labels(kinds, numbers, points)
                    made["space_group"][r, c, k], made["label_status"][r, c, k] = (
                        group[0],
                        status[0],
                    )

    def _enumerate(self, screen, starts, visible, by_atom) -> _Shown:
        """Candidates of all pairs up to a gap of delta."""
        frames, reach = self.frames, self.options.delta
        points, heights, view_starts, atom = shown_points(
            screen, starts, visible, not by_atom, NUMERICAL_ZERO
        )
        along, order = normal_heights(points, view_starts, frames.views, frames.screen_normal)
        counts = count_candidates(along, order, view_starts, frames.views, reach)
        if counts.sum() > self.options.max_candidates:
            raise StructureError(
                Status.too_large,
                f"{counts.sum()} candidates at delta {reach} Å; raise --max-candidates ({self.options.max_candidates}) or lower --delta",
            )
        # No true atoms are handed over: nothing here may depend on them.
        pair, species, met, position, height, _, residual, nearest, _ = fill_candidates(
            points,
            heights,
            view_starts,
            atom,
            along,
            order,
            self.rotations,
            frames.views,
            frames.normal,
            frames.screen_side,
            frames.dual,
            np.empty((0, 3)),
            np.empty(0),
            np.zeros_like(starts),
            counts,
            reach,
            by_atom,
        )
        return _Shown(points, pair, species, met, position, height, residual, nearest)

    def _forgiven(
        self, verification, found: _Shown, screen, starts, visible, drawn: Picture, discs
    ) -> np.ndarray:
        """Views that do not show a candidate and let it pass all the same, (C, V) bool."""
        missed = found.nearest < 0
        if verification in ("covered", "painted"):
            discs = discs if verification == "covered" else np.ones_like(discs)
            return spots_covered(
                found.position,
                missed,
                drawn.shifts,
                drawn.screen,
                drawn.radii,
                np.ascontiguousarray(discs),
                self.rotations,
                TIE,
            )
        if verification == "excused":
            points, heights, view_starts, _ = shown_points(
                screen, starts, ~visible, False, NUMERICAL_ZERO
            )
            return points_near(
                found.position,
                found.species,
                missed,
                points,
                heights,
                view_starts,
                self.rotations,
                self.options.delta,
            )
        return np.zeros_like(missed)

    def _merged(self, found: _Shown, live, rule: str, subset) -> np.ndarray:
        """Candidates that become atoms, ascending."""
        if rule == "dominance":
            return chosen_by_dominance(
                live,
                found.pair,
                self.frames.kappa,
                found.residual,
                found.nearest,
                subset,
                found.points.shape[1],
                NUMERICAL_ZERO,
            )
        order = np.argsort(found.met[live], kind="stable")
        _, leaders = clusters(
            live, order, found.species, found.position, found.height, self.options.delta, True
        )
        return live[leaders]


def _accepted(verification: str, found: _Shown, forgiven, subset, pairs) -> np.ndarray:
    """Candidates of a subset that its views accept, ascending."""
    shows = found.nearest[:, subset] >= 0
    needed = shown_needed(verification)
    if needed is None:
        passed = (shows | forgiven[:, subset]).all(axis=1)
    else:
        passed = shows.sum(axis=1) >= min(needed, len(subset))
    return np.flatnonzero(passed & np.isin(found.pair, pairs))


def _first_that_sees(accepted, pair, pairs) -> np.ndarray:
    """Of the accepted those of the first pair that has any."""
    for p in pairs:
        own = accepted[pair[accepted] == p]
        if own.size:
            return own
    return accepted[:0]


def _by_species(numbers: np.ndarray, as_listed: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order of the atoms by species, the species' ranges in it, and their atomic numbers.

    Species come by atomic number, or in the order in which the cell lists them.
    """
    kinds, first, species, sizes = np.unique(
        numbers, return_index=True, return_inverse=True, return_counts=True
    )
    if as_listed:
        ranks = np.argsort(first)
        kinds, sizes, species = kinds[ranks], sizes[ranks], np.argsort(ranks)[species]
    return np.argsort(species, kind="stable"), np.concatenate(([0], np.cumsum(sizes))), kinds
