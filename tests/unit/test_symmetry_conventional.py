"""The conventional cell: pymatgen's bit for bit, and refused when it is not the same crystal."""

import warnings

import numpy as np
import pytest
from pymatgen.core import Lattice, Structure
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

from rc_hpc.core.constants import CELL_SYMPREC
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.symmetry import conventional
from rc_hpc.symmetry.conventional import conventional_cell


def arrays(structure):
    return structure.lattice.matrix, structure.frac_coords, structure.atomic_numbers


def primitive(space_group, lattice, species, coords):
    whole = Structure.from_spacegroup(space_group, lattice, species, coords)
    return whole.get_primitive_structure()


CRYSTALS = {
    "fcc": primitive("Fm-3m", Lattice.cubic(3.6), ["Cu"], [[0, 0, 0]]),
    "rutile": primitive(
        "P4_2/mnm", Lattice.tetragonal(4.6, 2.96), ["Ti", "O"], [[0, 0, 0], [0.305, 0.305, 0]]
    ),
    "body-centred": primitive(
        "I4/mmm", Lattice.tetragonal(3.9, 12.7), ["Sr", "Ti"], [[0, 0, 0.355], [0, 0, 0]]
    ),
    "rhombohedral": primitive(
        "R-3m", Lattice.hexagonal(4.38, 30.5), ["Bi", "Te"], [[0, 0, 0.4], [0, 0, 0.21]]
    ),
    "hexagonal": primitive("P6_3/mmc", Lattice.hexagonal(3.2, 5.2), ["Mg"], [[1 / 3, 2 / 3, 0.25]]),
    "C-centred monoclinic": primitive(
        "C2/m", Lattice.monoclinic(9.2, 3.1, 6.4, 104), ["Ga", "O"], [[0.1, 0, 0.8], [0.4, 0, 0.3]]
    ),
    "primitive monoclinic": primitive(
        "P2_1/c",
        Lattice.monoclinic(5.1, 5.2, 5.3, 99),
        ["Zr", "O"],
        [[0.28, 0.04, 0.21], [0.07, 0.33, 0.34]],
    ),
    "A-centred": primitive(
        "Amm2", Lattice.orthorhombic(4.0, 5.7, 5.9), ["Ba", "Ti"], [[0, 0, 0], [0.5, 0, 0.51]]
    ),
    "triclinic": Structure(
        Lattice.from_parameters(5, 6, 7, 80, 95, 102),
        ["Na", "Cl"],
        [[0.1, 0.2, 0.3], [0.55, 0.61, 0.72]],
    ),
}


@pytest.mark.parametrize("name", CRYSTALS)
def test_equals_pymatgen_bit_for_bit(name):
    structure = CRYSTALS[name]
    expected = SpacegroupAnalyzer(structure, CELL_SYMPREC).get_conventional_standard_structure()
    cell = conventional_cell(*arrays(structure))
    assert np.array_equal(cell.lattice, expected.lattice.matrix)
    assert np.array_equal(cell.positions, expected.cart_coords)
    assert np.array_equal(cell.frac, expected.frac_coords)
    assert cell.numbers.tolist() == list(expected.atomic_numbers)
    assert cell.label.number == cell.input_number
    assert cell.volume_change == pytest.approx(0, abs=1e-3)
    assert cell.distance_change == pytest.approx(0, abs=1e-3)


def test_facts_of_a_centred_cell():
    cell = conventional_cell(*arrays(CRYSTALS["fcc"]))
    assert (len(cell.numbers), cell.label.number, cell.input_number) == (4, 225, 225)
    assert cell.message == ""


def test_symmetrisation_within_the_angle_tolerance_is_accepted():
    """88.2 degrees is cubic at 5 degrees; the volume per atom changes by 0.15 per cent."""
    lattice = Lattice.from_parameters(4, 4, 4, 88.2, 88.2, 88.2)
    cell = conventional_cell(lattice.matrix, [[0, 0, 0]], [29])
    assert cell.label.number == cell.input_number == 221
    assert 1e-3 < cell.volume_change < 2e-3


def test_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        conventional_cell(*arrays(CRYSTALS["rutile"]))


def test_colliding_atoms_fail_with_a_reason():
    with pytest.raises(StructureError, match="no conventional cell at symprec 0.01") as caught:
        conventional_cell(np.eye(3) * 4, [[0, 0, 0], [0, 0, 0], [0.5, 0.5, 0.5]], [29] * 3)
    assert caught.value.status is Status.cell_failed


def test_non_finite_never_reaches_pymatgen(monkeypatch):
    monkeypatch.setattr(conventional, "_analyzer_class", lambda: pytest.fail("called"))
    with pytest.raises(StructureError) as caught:
        conventional_cell(np.eye(3) * 4, [[0, 0, np.nan]], [29])
    assert caught.value.status is Status.non_finite


def _scaled(structure):
    return Structure(structure.lattice.matrix * 1.01, structure.species, structure.frac_coords)


def _without_an_atom(structure):
    return Structure.from_sites(structure[1:])


def _moved(structure):
    moved = structure.copy()
    moved.translate_sites([0], [0.2, 0.1, 0], frac_coords=True)
    return moved


@pytest.mark.parametrize(
    ("damage", "text"),
    [(_scaled, "volume"), (_without_an_atom, "composition"), (_moved, "shortest distance")],
)
def test_a_wrong_cell_is_refused(monkeypatch, damage, text):
    class Wrong(conventional._analyzer_class()):
        def get_conventional_standard_structure(self):
            return damage(super().get_conventional_standard_structure())

    monkeypatch.setattr(conventional, "_analyzer_class", lambda: Wrong)
    with pytest.raises(StructureError, match=text) as caught:
        conventional_cell(*arrays(CRYSTALS["rutile"]))
    assert caught.value.status is Status.cell_failed


def test_every_native_call_goes_through_the_recorder(monkeypatch):
    import spglib

    class Counting:
        calls = in_flight = 0

        def call(self, function, *args):
            self.calls, self.in_flight = self.calls + 1, self.in_flight + 1
            try:
                return function(*args)
            finally:
                self.in_flight -= 1

    recorder = Counting()
    original = spglib._spglib.dataset

    def spy(*args):
        assert recorder.in_flight == 1
        return original(*args)

    monkeypatch.setattr(spglib._spglib, "dataset", spy)
    monkeypatch.setattr(spglib._spglib, "refine_cell", lambda *_: pytest.fail("called again"))
    lattice, frac, numbers = arrays(CRYSTALS["C-centred monoclinic"])
    conventional_cell(lattice * 1.001, frac, numbers, recorder=recorder)
    assert recorder.calls == 2
