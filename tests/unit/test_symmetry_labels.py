"""Labels: the tables of all 230 groups, and every way in which spglib fails."""

import numpy as np
import pytest
import spglib

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.symmetry import labels
from rc_hpc.symmetry.labels import BRAVAIS_LATTICES, POINT_GROUPS, label, label_cell

CUBIC = np.eye(3) * 4.0
FCC = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
COPPER = np.full(4, 29)

# number: symbol, point group, Bravais lattice, crystal system (International Tables A)
KNOWN = {
    1: ("P1", "1", "aP", "triclinic"),
    5: ("C2", "2", "mC", "monoclinic"),
    14: ("P2_1/c", "2/m", "mP", "monoclinic"),
    38: ("Amm2", "mm2", "oC", "orthorhombic"),
    62: ("Pnma", "mmm", "oP", "orthorhombic"),
    70: ("Fddd", "mmm", "oF", "orthorhombic"),
    74: ("Imma", "mmm", "oI", "orthorhombic"),
    141: ("I4_1/amd", "4/mmm", "tI", "tetragonal"),
    164: ("P-3m1", "-3m", "hP", "trigonal"),
    166: ("R-3m", "-3m", "hR", "trigonal"),
    194: ("P6_3/mmc", "6/mmm", "hP", "hexagonal"),
    221: ("Pm-3m", "m-3m", "cP", "cubic"),
    225: ("Fm-3m", "m-3m", "cF", "cubic"),
    230: ("Ia-3d", "m-3m", "cI", "cubic"),
}


@pytest.mark.parametrize("number", KNOWN)
def test_known_groups(number):
    found = label(number)
    assert (found.symbol, found.point_group, found.bravais, found.crystal_system) == KNOWN[number]


def test_all_groups_reach_every_code():
    """230 groups make 7 systems, 32 point groups and 14 lattices, and no others."""
    all_labels = [label(number) for number in range(1, 231)]
    assert len({one.symbol for one in all_labels}) == 230
    # in order of first appearance, the vocabularies follow the space-group numbers
    assert tuple(dict.fromkeys(one.point_group for one in all_labels)) == POINT_GROUPS
    assert tuple(dict.fromkeys(one.crystal_system for one in all_labels)) == CRYSTAL_SYSTEMS
    assert {one.bravais for one in all_labels} == set(BRAVAIS_LATTICES)
    assert len(POINT_GROUPS) == 32 and len(BRAVAIS_LATTICES) == 14


def test_crystal_systems_have_their_sizes():
    sizes = [sum(labels.crystal_system(n) == s for n in range(1, 231)) for s in CRYSTAL_SYSTEMS]
    assert sizes == [2, 13, 59, 68, 25, 27, 36]


def test_a_centred_groups_in_both_vocabularies():
    a_centred = [n for n in range(1, 231) if labels.bravais(n, as_in_symbol=True) == "oA"]
    assert a_centred == [38, 39, 40, 41]
    assert {labels.bravais(n) for n in a_centred} == {"oC"}


def test_codes_decode():
    table = labels.code_table()
    assert table.shape == (231, 3) and table[0].tolist() == [0, 0, 0]
    for number in range(1, 231):
        system, point_group, lattice = table[number]
        one = label(number)
        assert one.codes == (system, point_group, lattice)
        assert CRYSTAL_SYSTEMS[system - 1] == one.crystal_system
        assert POINT_GROUPS[point_group - 1] == one.point_group
        assert BRAVAIS_LATTICES[lattice - 1] == one.bravais


@pytest.mark.parametrize("number", [0, 231, -1])
def test_no_such_group(number):
    with pytest.raises(ValueError, match=str(number)):
        label(number)


def test_label_of_a_cell_wraps_positions(monkeypatch):
    found, message = label_cell(CUBIC, FCC, COPPER)
    assert (found.number, message) == (225, "")
    original, given = spglib.get_symmetry_dataset, []

    def spy(cell, *tolerances):
        given.append(cell[1])
        return original(cell, *tolerances)

    monkeypatch.setattr(spglib, "get_symmetry_dataset", spy)
    assert label_cell(CUBIC, FCC + [[3, -2, 1]], COPPER)[0] == found
    assert np.array_equal(given[0], FCC)


@pytest.mark.parametrize("where", ["lattice", "frac"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_never_reaches_spglib(monkeypatch, where, value):
    monkeypatch.setattr(spglib, "get_symmetry_dataset", _must_not_be_called)
    lattice, frac = CUBIC.copy(), FCC.copy()
    (lattice if where == "lattice" else frac)[1, 2] = value
    found, message = label_cell(lattice, frac, COPPER)
    assert found is None and "NaN or infinity" in message


@pytest.mark.parametrize(
    ("lattice", "frac", "numbers", "text"),
    [
        (np.diag([4, 4, 0]), FCC, COPPER, "no usable volume"),
        (CUBIC, np.empty((0, 3)), [], "no atoms"),
        (CUBIC, FCC, [29, 29], "shapes do not fit"),
        (CUBIC[:2], FCC, COPPER, "shapes do not fit"),
    ],
)
def test_impossible_cells_never_reach_spglib(monkeypatch, lattice, frac, numbers, text):
    monkeypatch.setattr(spglib, "get_symmetry_dataset", _must_not_be_called)
    found, message = label_cell(lattice, frac, numbers)
    assert found is None and text in message


@pytest.mark.parametrize("old_style", ["0", "1", None])
def test_both_error_styles_of_spglib(monkeypatch, old_style):
    """Colliding atoms: None in the old style, an exception with the reason in the new one."""
    if old_style is None:
        monkeypatch.delenv("SPGLIB_OLD_ERROR_HANDLING", raising=False)
    else:
        monkeypatch.setenv("SPGLIB_OLD_ERROR_HANDLING", old_style)
    frac = np.vstack([FCC, FCC[:1]])
    found, message = label_cell(CUBIC, frac, np.full(5, 29))
    assert found is None
    assert "symprec 0.01" in message
    if old_style != "1" and hasattr(spglib, "SpglibError"):
        assert "too close" in message
    assert label_cell(CUBIC, FCC, COPPER)[0].number == 225  # the failure leaves nothing behind


def test_the_process_keeps_its_error_style():
    error = pytest.importorskip("spglib.error")
    before = error.OLD_ERROR_HANDLING
    label_cell(CUBIC, np.vstack([FCC, FCC[:1]]), np.full(5, 29))
    assert error.OLD_ERROR_HANDLING is before


def test_other_errors_are_not_swallowed(monkeypatch):
    def broken(*_):
        raise MemoryError("full")

    monkeypatch.setattr(spglib, "get_symmetry_dataset", broken)
    with pytest.raises(MemoryError):
        label_cell(CUBIC, FCC, COPPER)


def _must_not_be_called(*_args, **_kwargs):
    raise AssertionError("spglib was called")
