"""Files that programs misread: each is read as it says, or refused by a message with a cure."""

from pathlib import Path

import numpy as np
import pytest
from test_structures_readers import LOOP, SITES, cif, read, refused

from rc_hpc.core.errors import Status, StructureError
from rc_hpc.structures import cif_symmetry
from rc_hpc.structures.cif import read_cif
from rc_hpc.structures.poscar import read_poscar
from rc_hpc.structures.readers import read_xyz
from rc_hpc.structures.sources import iter_items

FOLDER = Path(__file__).parents[1] / "cases" / "structures"
H, C, CL, CS, AL, CU = 1, 6, 17, 55, 13, 29


def outcomes(*names):
    """What each structure of the files is read to: a record, or its failure."""
    results = {}
    for item in iter_items([str(FOLDER / name) for name in names]):
        try:
            results[item.id] = item.read(item, item.blob())
        except StructureError as error:
            results[item.id] = error
    return results


@pytest.mark.parametrize(
    ("name", "numbers", "group"),
    [
        ("diamond_origin2_Z.cif", [C] * 8, 227),
        ("diamond_origin2_code.cif", [C] * 8, 227),
        ("diamond_origin2_multiplicity.cif", [C] * 8, 227),
        ("bismuth_rhombohedral_axes.cif", [83] * 2, 166),
        ("hall_symbol_only.cif", [CU, 8, 8, 8], 221),
        ("unicode_minus_operation.cif", [CS, CL, CL], 0),
        ("unicode_minus_coordinate.cif", [CS, CL], 0),
        ("upper_case_names.cif", [CS, CL], 0),
        ("P21c_short.cif", [84, 84], 14),
        ("P21c_full.cif", [84, 84], 14),
        ("j_single_site_noloop.cif", [AL] * 4, 225),
        ("t_CIF2dots.cif", [AL] * 4, 225),
        ("POSCAR_three_scale_factors", [CS, CL], 0),
        ("lowercase.vasp", [11, CL], 0),
        ("columns_initial_structure.json", [CS, CL], 0),
        ("optimade_page.json", [CS, CL], 0),
    ],
)
def test_read_as_the_file_says(name, numbers, group):
    (structure,) = outcomes(name).values()
    assert not isinstance(structure, StructureError), structure
    assert structure.numbers.tolist() == numbers
    assert structure.source_space_group == group


def test_lost_signs_are_kept():
    (structure,) = outcomes("unicode_minus_coordinate.cif").values()
    np.testing.assert_allclose(structure.frac[1] % 1, [0.8, 0.3, 0.4])
    (structure,) = outcomes("unicode_minus_operation.cif").values()
    np.testing.assert_allclose(structure.frac[1] % 1, -structure.frac[2] % 1)


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("short_row.cif", Status.read_error, "5 columns, and 9 values do not fill its rows"),
        ("u_HO1_label.cif", Status.unknown_species, "site HO1 may be H or Ho"),
        ("POSCAR_missing_atom", Status.read_error, "1 position for 2 atoms"),
        ("o_rhomb_third.cif", Status.close_atoms, r"site Ti1 nearly meet.*0\.3333"),
    ],
)
def test_refused_by_name(name, status, message):
    (error,) = outcomes(name).values()
    assert isinstance(error, StructureError) and error.status is status
    assert error.args and error.__class__ is StructureError
    with pytest.raises(StructureError, match=message):
        raise error


@pytest.mark.parametrize(
    ("name", "lengths", "numbers"),
    [
        ("upper_case_keywords.cif", [4, 5], [[CS, CL]] * 2),
        ("zz_cap_first.cif", [4.05, 3.61], [[AL] * 4, [CU] * 4]),
    ],
)
def test_no_block_vanishes(name, lengths, numbers):
    results = outcomes(name)
    assert list(results) == [f"{name}#1", f"{name}#2"]
    assert [s.numbers.tolist() for s in results.values()] == numbers
    np.testing.assert_allclose([s.lattice[0, 0] for s in results.values()], lengths)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
def test_blocks_with_any_line_ends(tmp_path, ends, mark):
    path = tmp_path / "two.cif"
    path.write_bytes(
        mark + (cif() + "Data_y\n" + cif().split("\n", 1)[1]).replace("\n", ends).encode()
    )
    items = list(iter_items([str(path)]))
    assert [item.id for item in items] == ["two.cif#1", "two.cif#2"]
    assert all(item.read(item, item.blob()).numbers.tolist() == [26, 8] for item in items)


@pytest.mark.parametrize(
    ("symbol", "number"),
    [
        ("P 21", 4),
        ("P 21/n", 14),
        ("P2(1)/c", 14),
        ("P_21/c", 14),
        ("p 21/C", 14),
        ("I 2/a", 15),
        ("C m c a", 64),
        ("C m c e", 64),
        ("P m 3 m", 221),
        ("F d 3 m", 227),
        ("F d -3 m Z", 227),
        ("Fd-3m:2", 227),
        ("I 41/a m d S", 141),
        ("R -3 m :R", 166),
        ("R -3 m H", 166),
        ("P 1", 0),
        ("x 17", 0),
    ],
)
def test_claims_in_the_spellings_of_files(symbol, number):
    values = {"_symmetry_space_group_name_h-m": [symbol]}
    assert cif_symmetry.claimed_number(values) == number


def test_every_hall_symbol_names_its_setting():
    import spglib

    for hall in range(1, 531):
        kind = spglib.get_spacegroup_type(hall)
        values = {"_space_group_name_hall": [kind.hall_symbol]}
        (named,) = cif_symmetry.candidates(values)
        assert spglib.get_spacegroup_type(named).hall_symbol == kind.hall_symbol
        symbol = f"{kind.international.split('=')[-1]}:{kind.choice}".strip(":")
        assert hall in cif_symmetry.settings_named(symbol, ""), symbol
        shifts = [cif_symmetry.matrix_of(text)[1] for text in cif_symmetry.operations_in(hall)]
        there = spglib.get_symmetry_from_database(hall)["translations"]
        np.testing.assert_allclose(shifts, there % 1, atol=1e-12)


OPERATIONS = "loop_\n_symmetry_equiv_pos_as_xyz\n"


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (OPERATIONS + "x,y,z\n-y,x,z\n-x,-y,z\ny,-x,z\n", "do not fit its cell"),
        (OPERATIONS + "x,y,z\n-x,y,-z\n-x,-y,-z\n", "no group"),
        (OPERATIONS + "-x,-y,-z\n", "no group"),
        (OPERATIONS + "x,y,z\n-x,-y\n", "'-x,-y' is no symmetry operation"),
        (OPERATIONS + "x, y, z\n-x, -y, -z\n", "'x,' is no symmetry operation"),
        (OPERATIONS + "'x,y,z'\n'~x,-y,-z'\n", "'~x,-y,-z' is no symmetry operation"),
        (OPERATIONS + "x,y,z\n" + "1" * 1000 + "+x,y,z\n", "is no symmetry operation"),
        (OPERATIONS + "x,y,z\nx,x,z\n", "no rotation"),
        (OPERATIONS + "x,y,z\nx+1/0,y,z\n", "is no symmetry operation"),
        (
            OPERATIONS + "x,y,z\nloop_\n_space_group_symop_operation_xyz\nx,y,z\n-x,-y,-z\n",
            "two lists of symmetry operations differ",
        ),
        ("_symmetry_space_group_name_H-M 'F m -3 m'\n", "do not fit its cell"),
        ("_symmetry_space_group_name_H-M 'Q 4 2 3'\n", "nor a known space group"),
        ("_symmetry_Int_Tables_number 999\n", "nor a known space group"),
        ("_space_group_name_Hall 'P 9'\n", "Hall symbol 'P 9' is not known"),
        ("_symmetry_space_group_name_H-M 'P -1'\n_symmetry_Int_Tables_number 3\n", "not number 3"),
        ("_symmetry_space_group_name_H-M 'P -1'\n_space_group_name_Hall 'P 2'\n", "differ"),
        ("_symmetry_space_group_name_H-M 'P n n n'\n", "leaves the origin or the axes open"),
        ("_cell_formula_units_Z 2\n_chemical_formula_sum 'Fe O'\n", "contradicts Z = 2"),
        ("_cell_formula_units_Z 3\n", "contradicts Z = 3"),
        ("_cell_length_a 4.0\n", "_cell_length_a is told twice"),
        ("_cell_volume\n", "_cell_volume has no value"),
        ("_cell_volume 73 74\n", "_cell_volume has two values"),
        ("_cell_modulation_dimension 1\n", "superspace"),
        ("loop_\n_cell_wave_vector_seq_id\n_cell_wave_vector_x\n1 0.3\n", "superspace"),
        ("_space_group_ssg_name 'X'\n", "superspace"),
        ("_space_group_magn.number_BNS 1.1\n", "magnetic"),
        ("loop_\n_space_group_symop_magn_operation.xyz\nx,y,z,+1\n", "magnetic"),
    ],
)
def test_contradictions_and_other_dictionaries(extra, message):
    refused(read_cif, cif(extra=extra), Status.read_error, message)


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        (
            cif(loop=LOOP.replace("occupancy", "calc_flag"), sites=SITES.replace("1.0", "dum")),
            Status.unknown_species,
            "site O1 is a dummy",
        ),
        (
            cif(loop=LOOP.replace("occupancy", "symmetry_multiplicity"))
            .replace("0.3 1", "0.3 2")
            .replace("0.8 1.0", "0.8 1"),
            Status.read_error,
            "1 atoms of site Fe1 are placed, its multiplicity is 2",
        ),
        (cif(sites=SITES.replace("Fe3+", "F\u0435")), Status.unknown_species, "no letter of ours"),
        (
            cif(sites=SITES.replace("0.1", "\uff10.1")),
            Status.read_error,
            "coordinate x of site Fe1",
        ),
        (cif(sites=SITES.replace("0.1", "0_1")), Status.read_error, "coordinate x of site Fe1"),
        (
            "data_pattern\n_cell_length_a 4\n_pd_meas_2theta_range_min 5\n",
            Status.empty,
            "powder pattern",
        ),
        (cif() + "loop_\n_publ_author_name\n;never closed\n", Status.read_error, "never closed"),
        (cif().replace("_cell_angle_gamma 90\n", ""), Status.read_error, "cell is incomplete"),
        (
            cif().replace("_cell_length_a 4.0\n", "loop_\n_cell_length_a\n4.0\n4.1\n"),
            Status.read_error,
            "_cell_length_a has 2 values",
        ),
    ],
)
def test_other_refusals(text, status, message):
    refused(read_cif, text, status, message)


@pytest.mark.parametrize(
    "text",
    [
        cif().replace("loop_\n", "LOOP_ "),
        cif().replace("_cell_length_a 4.0\n", "loop_\n_cell_length_a\n4.0\n"),
        cif(sites=SITES.replace("0.1 ", "1.0E-1 ")),
        cif(sites=SITES.replace("Fe1 ", "'Fe #1' ")),
        cif(sites=SITES.replace("Fe1 ", "Fe1' ")),
        cif(sites=SITES.replace("Fe1 ", "Fe\u03b1 ")),
        cif(extra="_publ_section_title\n;\ndata_ and loop_\n# no comment\n;\n"),
        cif(extra="_chemical_name_common sodium chloride\n"),
        cif(extra="_journal_year _journal_volume 3\n"),
        cif(extra="_cell_formula_units_Z 1\n_chemical_formula_sum 'Fe O'\n"),
        cif(extra="loop_\n_atom_type_symbol\n_atom_type_oxidation_number\nFe3+ 3\nO2- -2\n"),
        cif(extra=OPERATIONS + "'X, Y, Z'\n"),
        cif(loop=LOOP.replace("occupancy", "symmetry_multiplicity")),
    ],
)
def test_odd_spellings_are_read(text):
    structure = read(read_cif, text)
    assert sorted(structure.numbers.tolist()) == [8, 26]
    iron = structure.frac[structure.numbers == 26][0]
    np.testing.assert_allclose(iron, [0.1, 0.2, 0.3], atol=1e-15)


def test_formula_of_the_whole_cell():
    operations = OPERATIONS + "x,y,z\n-x,-y,-z\n"
    for formula in ("Fe O", "Fe2 O2"):  # of the unit, and as programs write it
        extra = f"{operations}_cell_formula_units_Z 2\n_chemical_formula_sum '{formula}'\n"
        assert len(read(read_cif, cif(extra=extra)).numbers) == 4


def test_multiplicity_as_shelx_means_it():
    extra = OPERATIONS + "x,y,z\n-x,-y,-z\n"
    loop = LOOP.replace("occupancy", "symmetry_multiplicity")
    for general, special in ((2, 1), (1, 2)):
        sites = f"Fe1 Fe 0.1 0.2 0.3 {general}\nO1 O 0.5 0.5 0.5 {special}\n"
        assert sorted(read(read_cif, cif(extra=extra, loop=loop, sites=sites)).numbers) == [
            8,
            26,
            26,
        ]


def lines(*, scale="1.0", head="Fe O\n1 1\n", kind="Direct", rows="0.1 0.2 0.3\n0.6 0.7 0.8\n"):
    return f"title\n{scale}\n4 0 0\n0 4.2 0\n0 0 4.4\n{head}{kind}\n{rows}"


@pytest.mark.parametrize(
    "text",
    [
        lines(scale="1.0D+00"),
        lines(head="FE o\n1 1\n"),
        lines(head="Fe_pv/f474ac0d O_s\n1 1\n"),
        lines(head="Fe\nO\n1\n1\n"),
        lines(head="1 1\n", rows="0.1 0.2 0.3 Fe\n0.6 0.7 0.8 O\n"),
        lines(
            head="1 1\n",
            kind="Selective dynamics\nDirect",
            rows="0.1 0.2 0.3 T T F fe\n0.6 0.7 0.8 F F F O\n",
        ),
        lines(rows="0.1 0.2 0.3\n-0.4-0.3-0.2\n"),
        lines(rows="0.1 0.2 0.3\n\u22120.4 \u22120.3 \u22120.2\n"),
        lines(rows="0.1 0.2 0.3\n6d-1 0.7 0.8\n\n 0 0 0\n 0 0 0\n"),  # velocities
        lines(kind="Cartesian", rows="0.4 0.84 1.32\n2.4 2.94 3.52\n"),
        lines(scale="1 1 1.0", kind="Cartesian", rows="0.4 0.84 1.32\n2.4 2.94 3.52\n"),
    ],
)
def test_poscar_spellings(text):
    structure = read(read_poscar, text)
    assert structure.numbers.tolist() == [26, 8]
    np.testing.assert_allclose(structure.lattice, np.diag([4, 4.2, 4.4]), atol=1e-15)
    np.testing.assert_allclose(structure.frac % 1, [[0.1, 0.2, 0.3], [0.6, 0.7, 0.8]], atol=1e-14)


def test_three_scale_factors_scale_the_axes():
    (structure,) = outcomes("POSCAR_three_scale_factors").values()
    np.testing.assert_array_equal(structure.lattice, np.diag([4.0, 4.0, 8.0]))
    np.testing.assert_array_equal(structure.frac[1], [0.5, 0.5, 0.5])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (lines(scale="1 2"), "line 2 must hold one scale factor or three"),
        (lines(scale="1 -2 1"), "line 2 has three scale factors, which must be above 0"),
        (lines(head="Fe O H\n1 1\n"), "line 8 must hold the numbers of atoms"),
        (lines(head="Fe\n1 1\n"), "line 7 has 2 numbers for 1 elements"),
        (lines(head="Fe O\n1 -1\n"), "line 7 must hold the numbers of atoms"),
        (lines(kind="0 0 0"), "line 8 must say Direct or Cartesian"),
        (lines(rows="0.1 0.2 0.3\n"), "1 position for 2 atoms"),
        (lines(rows="0.1 0.2 0.3\n" * 3), "3 positions for 2 atoms"),
        (lines(rows="0.1 0.2 0.3\n0.6 0.7 x\n"), "line 10 must hold three coordinates"),
    ],
)
def test_poscar_faults_name_the_line(text, message):
    refused(read_poscar, text, Status.read_error, message)


@pytest.mark.parametrize("quote", ["", '"'])
def test_extxyz_in_matrix_form(quote):
    def frame(matrix):
        lattice = f"Lattice={quote}{matrix}{quote} Properties=species:S:1:pos:R:3"
        return f"2\n{lattice}\nCs 0 0 0\nCl 2 2 2\n"

    structure = read(read_xyz, frame("[[4, 1, 0], [1, 5.0, 0], [0, 0, 6]]"))
    np.testing.assert_array_equal(structure.lattice, [[4, 1, 0], [1, 5, 0], [0, 0, 6]])
    for matrix in ("[[4, 1, 0], [0, 5, 0], [0, 0, 6]]", "[[4, 0, 0], [0, 4, 0]]"):
        refused(read_xyz, frame(matrix), Status.read_error, "by rows or by columns.*nine numbers")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (lines(rows="0.1 0.2 0.3\n0.6 1e300 0.8\n"), "atom 2 lies 1e\\+300 cells away"),
        (lines(scale="1e30"), "a cell vector has a component of 4.4e\\+30"),
    ],
)
def test_numbers_without_digits_left(text, message):
    refused(read_poscar, text, Status.read_error, message)
