"""One molecule as read to its packed form: checks, orientation, point group; no lattice."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from rc_hpc.core.constants import MOLECULE_DISTANCE
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.structures.record import Molecule
from rc_hpc.symmetry.point_groups import SCHOENFLIES, point_group
from rc_hpc.symmetry.recorder import NULL_RECORDER, Recorder


def pack_molecule(
    molecule: Molecule,
    options: PackOptions,
    fields: dict[str, Any],
    recorder: Recorder = NULL_RECORDER,
) -> tuple[np.ndarray, np.ndarray]:
    """Check, turn and label one molecule.

    Parameters
    ----------
    fields : dict
        Receives the values of the `structures/` columns by name, as far as they were found: also
        when an error ends the work.
    recorder
        Notes the molecule in flight.

    Returns
    -------
    numbers (n,), positions (n, 3)
        In the order of the file; Å.

    Raises
    ------
    StructureError
        The molecule cannot be used; its status and message say why.
    """
    from ase.formula import Formula

    numbers = molecule.numbers
    fields.update(
        reader=molecule.reader,
        n_atoms=len(numbers),
        formula=str(Formula.from_list(_symbols(numbers)).format("hill")),
    )
    if len(numbers) > options.max_atoms:
        raise StructureError(
            Status.too_large,
            f"{len(numbers)} atoms, more than --max-atoms {options.max_atoms}: raise it to include "
            "this molecule",
        )
    recorder.about(molecule.id)
    positions = turned(molecule.positions, options.orientation, molecule.id)
    closest, same, in_radii = separations(positions, numbers)
    fields.update(min_distance=closest, min_same_species=same, min_distance_in_radii=in_radii)
    if closest < options.min_distance:
        raise StructureError(
            Status.close_atoms,
            f"two atoms are {closest:.4g} Å apart (at least {options.min_distance:g} Å is "
            "required): duplicate atoms or wrong units?",
        )
    if in_radii < MOLECULE_DISTANCE:
        raise StructureError(
            Status.close_atoms,
            f"two atoms are {closest:.4g} Å apart, {in_radii:.2f} of their covalent radii: are its "
            "coordinates nanometres? Write them in Å",
        )
    symbol = point_group(numbers, positions, options.group_tolerance)
    if symbol not in SCHOENFLIES:
        raise StructureError(
            Status.label_failed,
            f"no point group within {options.group_tolerance:g} Å: take another --group-tolerance",
        )
    fields["point_group"] = SCHOENFLIES.index(symbol) + 1
    return numbers, positions


def _symbols(numbers: np.ndarray) -> list[str]:
    from ase.data import chemical_symbols

    return [chemical_symbols[number] for number in numbers]


def turned(positions: np.ndarray, orientation: str, id_: str) -> np.ndarray:
    """A molecule as it stands before the cameras, (n, 3), Å.

    Parameters
    ----------
    orientation
        ``given``; ``random:SEED``, turned at random, each by its own lot; ``turned:DEGREES``, about
        an axis that is drawn at random.
    id_
        Which the lots follow from.
    """
    how, _, value = orientation.partition(":")
    if how == "given":
        return positions
    from scipy.spatial.transform import Rotation

    lot = np.random.default_rng((int(value) if how == "random" else 0, zlib.crc32(id_.encode())))
    if how == "random":
        turn = Rotation.random(random_state=lot)
    else:
        axis = lot.normal(size=3)
        turn = Rotation.from_rotvec(np.radians(float(value)) * axis / np.linalg.norm(axis))
    about = positions.mean(axis=0)
    found: np.ndarray = turn.apply(positions - about) + about
    return found


def separations(positions: np.ndarray, numbers: np.ndarray) -> tuple[float, float, float]:
    """Smallest distances of two atoms: of any, of one species, Å, and in sums of covalent radii.

    Infinity where there are none, and of the last where none is below 1.
    """
    from ase.data import covalent_radii
    from scipy.spatial.distance import pdist

    first, second = np.triu_indices(len(numbers), 1)
    away, radii = pdist(positions), covalent_radii[numbers]
    same = away[numbers[first] == numbers[second]]
    shares = away / (radii[first] + radii[second])
    return (
        float(away.min(initial=np.inf)),
        float(same.min(initial=np.inf)),
        float(shares[shares < 1].min(initial=np.inf)),
    )
