"""Structures changed on purpose: two elements exchanged, an atom taken out, an axis stretched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, islice

import numpy as np

from rc_hpc.benchmark.questions.texts import symbol_of
from rc_hpc.benchmark.records import BaseStructure, Variant
from rc_hpc.symmetry.orbits import orbits

#: Of each kind, of one structure, at most.
MOST = 2
#: Atoms that a cell must hold for one of them to be taken out.
LEAST_FOR_DELETION = 4
#: Å, for orbits.
SYMPREC = 0.01
#: Lengths of one crystal differ by no more, relative.
LENGTHS = 0.02
#: Two axes are one kind where their lengths differ by no more, relative.
SAME_LENGTH = 1e-3


def variants(base: BaseStructure, stretch: float = 0.08) -> list[Variant]:
    """What is made of one structure.

    A changed cell keeps the name, system and space group of the one it was made of; at most
    `MOST` of each mutation. Exchanges that leave the crystal as it is are left out.

    Parameters
    ----------
    stretch
        By how much one axis grows, relative.
    """
    return [
        *islice(_exchanged(base), MOST),
        *islice(_without_one(base), MOST),
        *islice(_stretched(base, stretch), MOST),
    ]


def same_crystal(first: BaseStructure, second: BaseStructure) -> bool:
    """Whether two structures are one crystal, up to a rigid motion or a reflection.

    Lengths within 2 %, places within 0.05 of the mean spacing of atoms: a looser matcher calls
    a structure whose axis has grown by 8 % the same.
    """
    if not np.array_equal(np.sort(first.numbers), np.sort(second.numbers)):
        return False
    volumes = [abs(np.linalg.det(one.lattice)) for one in (first, second)]
    if max(volumes) > min(volumes) * (1 + LENGTHS) ** 3:
        return False
    from pymatgen.analysis.structure_matcher import StructureMatcher
    from pymatgen.core import Structure

    matcher = StructureMatcher(
        ltol=LENGTHS, stol=0.05, angle_tol=1, primitive_cell=False, scale=False
    )
    made = [Structure(one.lattice, one.numbers, one.fractional) for one in (first, second)]
    return bool(matcher.fit(*made))


def _exchanged(base: BaseStructure) -> Iterator[Variant]:
    """Sites of two elements, with their bonds, change places."""
    for one, other in combinations(sorted(set(base.numbers.tolist())), 2):
        swap = {one: other, other: one}
        made = replace(
            base,
            numbers=np.array([swap.get(n, n) for n in base.numbers.tolist()], base.numbers.dtype),
            pairs=tuple(sorted(tuple(sorted(swap.get(n, n) for n in pair)) for pair in base.pairs)),
        )
        if not same_crystal(base, made):
            yield Variant("exchange", f"{symbol_of(one)}-{symbol_of(other)}", made)


def _without_one(base: BaseStructure) -> Iterator[Variant]:
    """The first atom of an orbit is not there, in no cell."""
    if len(base.numbers) < LEAST_FOR_DELETION:
        return
    places = base.fractional @ base.lattice
    found = orbits(base.lattice, places, base.numbers, SYMPREC)
    for atom in np.unique(found, return_index=True)[1]:
        kept = np.arange(len(base.numbers)) != atom
        left = base.numbers[kept]
        bonded = {n for pair in base.pairs for n in pair}
        if bonded <= set(left.tolist()):
            made = replace(base, numbers=left, fractional=base.fractional[kept])
            yield Variant("deletion", f"{symbol_of(int(base.numbers[atom]))} {atom + 1}", made)


def _stretched(base: BaseStructure, stretch: float) -> Iterator[Variant]:
    """One axis grows; of axes of one length, the first."""
    sides = np.linalg.norm(base.lattice, axis=1)
    for axis in range(3):
        if not np.any(np.abs(sides[:axis] / sides[axis] - 1) < SAME_LENGTH):
            lattice = base.lattice.copy()
            lattice[axis] *= 1 + stretch
            yield Variant("stretch", "abc"[axis], replace(base, lattice=lattice))
