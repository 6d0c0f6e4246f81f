"""What the cell of a CIF decides, and what contradicts it: axes, volume, units, numbers."""

import numpy as np
import pytest
from test_structures_aflow import INSTALLED
from test_structures_readers import SITES, cif, read, refused

from rc_hpc.core.errors import Status
from rc_hpc.structures.checks import LEAST_ROOM
from rc_hpc.structures.cif import read_cif
from rc_hpc.structures.cif_symmetry import operations_in
from rc_hpc.structures.poscar import read_poscar
from rc_hpc.structures.sources import iter_items

CELL = (
    "data_x\n_cell_length_a {}\n_cell_length_b {}\n_cell_length_c {}\n"
    "_cell_angle_alpha {}\n_cell_angle_beta {}\n_cell_angle_gamma {}\n"
)
ATOMS = (
    "loop_\n_atom_site_label\n_atom_site_fract_x\n_atom_site_fract_y\n_atom_site_fract_z\n"
    "Bi1 0.13 0.21 0.31\n"
)
HEXAGONAL, RHOMBOHEDRAL = (4.54, 4.54, 11.86, 90, 90, 120), (4.74,) * 3 + (57.24,) * 3
OBLIQUE = {axis: (4, 5, 6, *np.where(np.arange(3) == axis, 100, 90)) for axis in range(3)}


def told(cell, extra, atoms=ATOMS):
    return CELL.format(*cell) + extra + atoms


def by_symbol(symbol, number=0):
    listed = f"_symmetry_Int_Tables_number {number}\n" if number else ""
    return f"_symmetry_space_group_name_H-M '{symbol}'\n{listed}"


def by_operations(hall):
    return "loop_\n_symmetry_equiv_pos_as_xyz\n" + "\n".join(operations_in(hall)) + "\n"


def assert_same(one, other):
    np.testing.assert_array_equal(one.lattice, other.lattice)
    np.testing.assert_array_equal(one.frac, other.frac)


@pytest.mark.parametrize(
    ("symbols", "number", "hall"),
    [
        (("R 3", "R3", "R_3"), 146, 433),
        (("R -3", "R-3"), 148, 436),
        (("R 3 2", "R32"), 155, 444),
        (("R 3 m", "R3m", "r 3 M"), 160, 450),
        (("R 3 c", "R3c"), 161, 452),
        (("R -3 m", "R-3m", "R -3 2/m", "R-3m "), 166, 458),
        (("R -3 c", "R-3c", "R -3 2/c"), 167, 460),
    ],
)
def test_the_cell_tells_the_axes_of_a_rhombohedral_group(symbols, number, hall):
    for cell, setting in ((HEXAGONAL, hall), (RHOMBOHEDRAL, hall + 1)):
        right = read(read_cif, told(cell, by_operations(setting)))
        numbered = f"_space_group_IT_number {number}\n"
        told_so = [by_symbol(one, n) for one in symbols for n in (0, number)]
        for extra in [numbered, *told_so]:
            structure = read(read_cif, told(cell, extra))
            assert structure.source_space_group == number
            assert_same(structure, right)
    for extra in (by_symbol(symbols[0]), f"_space_group_IT_number {number}\n"):
        refused(
            read_cif,
            told((4, 5, 6, 90, 90, 90), extra),
            Status.read_error,
            r"hexagonal axes \(a = b, .*\), or rhombohedral axes \(a = b = c",
        )


def test_axes_that_are_told_are_kept():
    for suffix, cell in ((":H", RHOMBOHEDRAL), (" R", HEXAGONAL)):
        text = told(cell, by_symbol(f"R -3 m{suffix}"))
        refused(read_cif, text, Status.read_error, "do not fit its cell")


@pytest.mark.parametrize(
    ("extra", "halls"),
    [
        (by_symbol("P 21/m"), (62, 60, 61)),
        (by_symbol("P2"), (5, 3, 4)),
        ("_symmetry_Int_Tables_number 11\n", (62, 60, 61)),
        (by_symbol("P 21/c", 14), (89, 81, None)),
        (by_symbol("P 21/n"), (88, 82, 85)),
        (by_symbol("B 2/m"), (69, None, 67)),
        (by_symbol("I 2/a"), (None, 92, 101)),
        (by_symbol("P 1 21/c 1"), (None, 81, None)),
        ("_symmetry_Int_Tables_number 14\n", (None, 81, None)),
    ],
)
def test_the_cell_tells_the_unique_axis(extra, halls):
    for axis, hall in enumerate(halls):
        text = told(OBLIQUE[axis], extra)
        if hall is None:
            refused(read_cif, text, Status.read_error, "its cell|its symmetry operations")
        else:
            assert_same(
                read(read_cif, text), read(read_cif, told(OBLIQUE[axis], by_operations(hall)))
            )


def test_an_angle_near_90_tells_it_too_and_rounding_does_not():
    extra = by_symbol("P 21/m")
    for angles, hall in (((90, 90, 90.4), 61), ((90, 90, 90), 60), ((90.004, 90, 90), 60)):
        cell = (4, 5, 6, *angles)
        right = read(read_cif, told(cell, by_operations(hall)))
        assert_same(read(read_cif, told(cell, extra)), right)
    refused(
        read_cif,
        told((4, 5, 6, 80, 75, 90), extra),
        Status.read_error,
        r"fits none of the axes .*unique axis b \(alpha = gamma = 90\)",
    )


VOLUME = 4.0 * 4.2 * 4.4


@pytest.mark.parametrize("stated", ["73.92(3)", "73.9", "74", "73", "73.3", "7.392E1", "?", "."])
def test_a_volume_as_files_round_it(stated):
    assert read(read_cif, cif(extra=f"_cell_volume {stated}\n")).numbers.tolist() == [26, 8]


@pytest.mark.parametrize("stated", ["125", "147.84", "0.07392", "72.9", "-73.92", "nan", "inf"])
def test_another_volume_than_that_of_the_cell(stated):
    said = rf"has a volume of {VOLUME:.6g} Å\^3, _cell_volume says {stated};"
    refused(read_cif, cif(extra=f"_cell_volume {stated}\n"), Status.read_error, said)


@pytest.mark.parametrize("rubbish", ["4.1(2", "4.1(2)x", "4.1)", "4.1 A", "4.1(a)", "4,1"])
def test_numbers_with_something_behind_them_are_refused(rubbish):
    name = "_cell_length_a"
    text = cif().replace(f"{name} 4.0", f"{name} '{rubbish}'")
    refused(read_cif, text, Status.read_error, f"{name} .* is not a number; correct it")
    for name in (
        "_cell_volume",
        "_cell_formula_units_Z",
        "_symmetry_int_tables_number",
        "_space_group_it_number",
    ):
        said = f"{name} .* is not a number; correct it"
        refused(read_cif, cif(extra=f"{name} '{rubbish}'\n"), Status.read_error, said)
    sites = SITES.replace("0.1 ", f"'{rubbish}' ")
    refused(read_cif, cif(sites=sites), Status.read_error, "coordinate x of site Fe1 is")
    sites = SITES.replace("0.3 1", f"0.3 '{rubbish}'")
    refused(read_cif, cif(sites=sites), Status.read_error, "occupancy of site Fe1 is")


SALT = (4.0, 4.2, 4.4)


def scaled(factor, angles=(90, 90, 90)):
    return told(
        (*(factor * length for length in SALT), *angles), "", ATOMS + "Bi2 0.63 0.71 0.81\n"
    )


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        (scaled(0.1), Status.close_atoms, "0.037 Å.*in a cell of 0.4, .*nanometres"),
        (scaled(100), Status.read_error, "400, .*more than in any crystal.*picometres"),
        (scaled(1, (1.5708, 1.5708, 1.5708)), Status.close_atoms, r"\(1.571, .*radians\?"),
        (scaled(4, (1.5708, 1.74, 1.5708)), Status.close_atoms, r"1.74.*radians\?"),
    ],
)
def test_cells_in_other_units(text, status, message):
    refused(read_cif, text, status, message)


def test_units_are_told_in_files_of_any_kind():
    poscar = "x\n0.1\n4 0 0\n0 4 0\n0 0 4\nCs Cl\n1 1\nDirect\n0 0 0\n0.5 0.5 0.5\n"
    refused(read_poscar, poscar, Status.close_atoms, "nanometres")
    radians = np.radians(1.5708)
    turned = f"{4 * np.cos(radians)} {4 * np.sin(radians)} 0"
    up = f"{4 * np.cos(radians)} {4 * np.sin(radians) * 0.01} {4 * np.sin(radians)}"
    poscar = poscar.replace("\n0.1\n", "\n1\n").replace("0 4 0", turned).replace("0 0 4", up)
    refused(read_poscar, poscar, Status.close_atoms, "radians")


def room_in(source, ending=""):
    found = []
    for item in iter_items([source]):
        if item.id.endswith(ending):
            one = item.read(item, item.blob())
            found.append(abs(np.linalg.det(one.lattice)) / len(one.numbers))
    return found


def test_no_prototype_is_near_the_bound():
    assert min(room_in("prototypes")) > 6 * LEAST_ROOM


@INSTALLED
def test_the_densest_of_the_encyclopedia():
    assert round(*room_in("aflow:sg=15", "A_mC24_15_2e2f-001"), 2) == 1.46
