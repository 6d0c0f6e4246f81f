"""One structure as read to its packed form: checks, labels, sweep, conventional cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from rc_hpc.core.constants import ANGLE_TOLERANCE, SWEEP
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.structures.record import Structure
from rc_hpc.symmetry.conventional import canonical_order, conventional_cell
from rc_hpc.symmetry.guard import check_cell, min_distances
from rc_hpc.symmetry.labels import Label, label_cell
from rc_hpc.symmetry.recorder import NULL_RECORDER, Recorder
from rc_hpc.symmetry.stability import flipped, neighbourhood_stable, quarantine, sweep


def pack_structure(
    structure: Structure,
    options: PackOptions,
    fields: dict[str, Any],
    recorder: Recorder = NULL_RECORDER,
) -> tuple[np.ndarray, np.ndarray]:
    """Check, label and standardise one structure.

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

    label, why = label_cell(
        lattice, frac, numbers, options.tau, options.angle_tolerance, recorder=recorder
    )
    if label is None:
        raise StructureError(Status.label_failed, f"the cell as read has no label: {why}")
    _set_label(fields, label, "")
    canonical = label.number if (options.tau, options.angle_tolerance) == SWEEP[0] else None
    found = sweep(lattice, frac, numbers, canonical=canonical, recorder=recorder)
    fields.update(
        sweep=found,
        neighbourhood_stable=neighbourhood_stable(found),
        flipped=flipped(found),
        quarantine=int(quarantine(found, structure.source_space_group)),
    )

    cell = conventional_cell(lattice, frac, numbers, options.cell_symprec, recorder=recorder)
    fields.update(n_atoms=len(cell.numbers), lattice=cell.lattice)
    _refuse_large(len(cell.numbers), "in the conventional cell", options)
    drawn, periodic, closest = min_distances(cell.lattice, cell.positions, cell.numbers)
    fields.update(min_distance=closest, min_same_species=drawn, min_same_species_periodic=periodic)
    label, why = cell.label, cell.message
    if (options.tau, options.angle_tolerance) != (options.cell_symprec, ANGLE_TOLERANCE):
        order = canonical_order(cell.positions, cell.numbers)
        label, why = label_cell(
            cell.lattice,
            cell.frac[order],
            cell.numbers[order],
            options.tau,
            options.angle_tolerance,
            recorder=recorder,
        )
    if label is None:
        raise StructureError(Status.label_failed, f"the conventional cell has no label: {why}")
    _set_label(fields, label, "_conventional")
    return cell.numbers, cell.positions


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
