"""One structure as read to its packed form: checks, labels, sweep, conventional cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from rc_hpc.core.constants import ANGLE_TOLERANCE
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.core.vocabulary import ATOM_ORDERS, SWEEPS, SweptBy
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.structures.record import Structure
from rc_hpc.symmetry.conventional import canonical_order, conventional_cell
from rc_hpc.symmetry.distances import closest_in_radii
from rc_hpc.symmetry.guard import check_cell, min_distances
from rc_hpc.symmetry.labels import Label, label_cell, symmetry_of
from rc_hpc.symmetry.labels import label as label_of
from rc_hpc.symmetry.recorder import NULL_RECORDER, Recorder
from rc_hpc.symmetry.sharp import is_sharp
from rc_hpc.symmetry.stability import (
    flipped,
    neighbourhood_stable,
    order_dependent,
    quarantine,
    settings,
    sweep,
)


def pack_structure(
    structure: Structure,
    options: PackOptions,
    fields: dict[str, Any],
    recorder: Recorder = NULL_RECORDER,
) -> tuple[np.ndarray, np.ndarray]:
    """Check, label and standardise one structure, by default its atoms in their one fixed order.

    Parameters
    ----------
    fields : dict
        Receives the values of the `structures/` columns by name, as far as they were
        found: also when an error ends the work.
    recorder
        Notes the structure in flight during native calls.

    Returns
    -------
    numbers (n,), positions (n, 3)
        Atoms of the conventional cell, in pymatgen's order and frame, Å.

    Raises
    ------
    StructureError
        The structure cannot be used; its status and message say why.
    """
    from pymatgen.core import Composition

    lattice, frac, numbers = structure.lattice, structure.frac, structure.numbers
    fields.update(
        reader=structure.reader,
        n_atoms_stored=len(numbers),
        lattice_stored=lattice,
        source_space_group=structure.source_space_group,
    )
    kinds, counts = np.unique(numbers, return_counts=True)
    fields["formula"] = Composition.from_dict(
        dict(zip(kinds.tolist(), counts.tolist(), strict=True))
    ).reduced_formula
    _refuse_large(len(numbers), "as read", options)
    check_cell(lattice, frac, numbers, min_distance=options.min_distance)
    recorder.about(structure.id)

    if options.atom_order == ATOM_ORDERS[0]:
        order = canonical_order(_positions(lattice, frac), numbers)
        frac, numbers = frac[order], numbers[order]
    cell = lattice, frac, numbers, options.tau, options.angle_tolerance
    dataset, why = symmetry_of(*cell, recorder)
    if dataset is None:
        raise StructureError(Status.label_failed, f"the cell as read has no label: {why}")
    own = label_of(int(dataset.number))
    _set_label(fields, own, "")
    tolerances = settings(options.tau, options.angle_tolerance)
    if options.sweep == SWEEPS[0] and is_sharp(
        lattice, frac, numbers, dataset, own.point_group, tolerances
    ):
        found, ordered = np.full(len(tolerances), own.number, np.int16), False
        by = SweptBy.exactness
    else:
        found = sweep(*cell, canonical=own.number, recorder=recorder)
        ordered = order_dependent(*cell, canonical=own.number, recorder=recorder)
        by = SweptBy.calls
    fields.update(
        sweep=found,
        sweep_by=by,
        neighbourhood_stable=neighbourhood_stable(found),
        flipped=flipped(found),
        order_dependent=ordered,
        quarantine=int(quarantine(found, structure.source_space_group, ordered)),
    )

    standard = conventional_cell(lattice, frac, numbers, options.cell_symprec, recorder=recorder)
    fields.update(n_atoms=len(standard.numbers), lattice=standard.lattice)
    _refuse_large(len(standard.numbers), "in the conventional cell", options)
    drawn, periodic, closest = min_distances(standard.lattice, standard.positions, standard.numbers)
    fields.update(min_distance=closest, min_same_species=drawn, min_same_species_periodic=periodic)
    fields.update(
        min_distance_in_radii=closest_in_radii(
            standard.lattice, standard.positions, standard.numbers
        )
    )
    label, why = standard.label, standard.message
    if (options.tau, options.angle_tolerance) != (options.cell_symprec, ANGLE_TOLERANCE):
        order = canonical_order(standard.positions, standard.numbers)
        label, why = label_cell(
            standard.lattice,
            standard.frac[order],
            standard.numbers[order],
            options.tau,
            options.angle_tolerance,
            recorder=recorder,
        )
    if label is None:
        raise StructureError(Status.label_failed, f"the conventional cell has no label: {why}")
    _set_label(fields, label, "_conventional")
    return standard.numbers, standard.positions


def _positions(lattice: np.ndarray, frac: np.ndarray) -> np.ndarray:
    """Cartesian positions, (n, 3), Å, each rounded alike wherever it stands."""
    a, b, c = frac.T[:, :, None]
    positions: np.ndarray = a * lattice[0] + b * lattice[1] + c * lattice[2]
    return positions


def _set_label(fields: dict[str, Any], label: Label, suffix: str) -> None:
    system, point_group, bravais = label.codes
    fields.update(
        {
            f"space_group{suffix}": label.number,
            f"crystal_system{suffix}": system,
            f"point_group{suffix}": point_group,
            f"bravais{suffix}": bravais,
        }
    )


def _refuse_large(n_atoms: int, where: str, options: PackOptions) -> None:
    if n_atoms > options.max_atoms:
        raise StructureError(
            Status.too_large,
            f"{n_atoms} atoms {where}, more than --max-atoms {options.max_atoms}: raise it to "
            "include this structure",
        )
