"""From marks to a certified crystal."""

import dataclasses

import numpy as np
import pytest
import read_cases as cases

from rc_hpc.images.fast import FastRenderer
from rc_hpc.kinds.readings.oracle import read_pictures
from rc_hpc.reader.convention import named
from rc_hpc.reader.dashes import counted
from rc_hpc.reader.drawn import Redrawing
from rc_hpc.reader.exact import Crystal
from rc_hpc.reader.read import read
from rc_hpc.reader.records import Knowledge, Limits, Marks

LIMITS = Limits()


def reading(drawn, level):
    return read(drawn.pictures, drawn.marks, drawn.knowledge(level), LIMITS)


def right(found, drawn):
    return cases.same_crystal(
        found.lattice_A,
        found.species,
        found.fractional @ found.lattice_A,
        (drawn.lattice, drawn.numbers, drawn.positions),
    )


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("name", cases.cells())
def test_true_centres_in_a_known_frame_give_the_crystal(name, every):
    drawn = cases.made(name, every=every, least=1)
    found = reading(drawn, "K1")
    assert found.status == "read", found.message
    assert found.certified and found.tries == 1
    assert found.numbers[0] == cases.cells()[name][3]
    assert right(found, drawn)


@pytest.mark.parametrize("name", cases.cells())
def test_marks_alone_give_the_crystal_where_nothing_else_is_known(name):
    drawn = cases.made(name, noise=0.004, scale_error=1e-4)
    found = reading(drawn, "K0")
    assert found.status == "read", found.message
    assert found.numbers[0] == found.number_by_pictures == cases.cells()[name][3]
    assert right(found, drawn)
    assert found.differing_pixels <= LIMITS.max_pixels


@pytest.mark.parametrize("off", [-1e-5, 3e-6, 5e-3])
def test_no_label_is_certified_that_flips_within_its_error(off):
    """The second atom lies off the middle by half the tolerance, where 123 becomes 221."""
    lattice = np.diag([2.8, 2.8, 5.6])
    positions = np.array([[0, 0, 0], [0, 0, 2.8 + LIMITS.tau / 2 + off]])
    drawn = cases.case(lattice, [26, 26], positions, least=1)
    found = reading(drawn, "K1")
    assert found.certified == (off > 1e-4)
    assert ("within the reading's own error" in found.message) == (off < 1e-4)


def test_pictures_that_lead_to_no_cell_are_no_lattice(monkeypatch):
    def flat(*_):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr("rc_hpc.reader.read._framed", flat)
    found = reading(cases.made("rutile"), "K0")
    assert (found.status, found.certified) == ("no_lattice", False)
    assert "not of one crystal" in found.message


def test_the_truth_drawn_again_differs_in_no_pixel():
    for name in cases.cells():
        drawn = cases.made(name)
        again = Redrawing(drawn.pictures, drawn.knowledge("K0"), 0)
        assert again.draw(drawn.lattice, drawn.numbers, drawn.positions).total == 0


@pytest.mark.parametrize("change", ["moved", "element", "added", "missing"])
@pytest.mark.parametrize("name", cases.cells())
def test_the_certificate_notices_another_crystal(name, change):
    """The reading of one crystal is held against the pictures of one that is nearly the same."""
    drawn = cases.made(name)
    numbers, positions = drawn.numbers.copy(), drawn.positions.copy()
    if change == "moved":
        positions[-1] += 0.02 * np.array((0.6, 0.48, 0.64))
    elif change == "element":
        numbers[-1] += 1
    elif change == "added":
        numbers = np.append(numbers, 1)
        positions = np.concatenate((positions, [drawn.lattice.sum(0) * (0.43, 0.41, 0.47)]))
    else:
        numbers, positions = numbers[:-1], positions[:-1]
    other = Redrawing(drawn.pictures, drawn.knowledge("K0"), LIMITS.levels)
    again = other.draw(drawn.lattice, numbers, positions)
    assert again.total > LIMITS.max_pixels


def test_neither_order_of_atoms_nor_of_vectors_changes_the_reading():
    name = "skew"
    drawn = cases.made(name, noise=0.004)
    order = np.array([3, 1, 7, 0, 5, 2, 6, 4])
    turned = cases.case(
        drawn.lattice[[2, 0, 1]], drawn.numbers[order], drawn.positions[order], noise=0.004
    )
    for one in (drawn, turned):
        found = reading(one, "K0")
        assert found.certified and right(found, drawn) and right(found, turned)


@pytest.mark.parametrize("change", ["moved", "element", "added"])
def test_the_reading_follows_the_pictures(change):
    """What is done to the crystal is read of its pictures, and certified."""
    drawn = cases.made("skew")
    numbers, positions = drawn.numbers.copy(), drawn.positions.copy()
    if change == "moved":
        positions[-1] += 0.02 * np.array((0.6, 0.48, 0.64))
    elif change == "element":
        numbers[-1] += 1
    else:
        numbers = np.append(numbers, 26)
        positions = np.concatenate((positions, [drawn.lattice.sum(0) * (0.43, 0.41, 0.47)]))
    other = cases.case(drawn.lattice, numbers, positions, noise=0.004)
    found = reading(other, "K0")
    places = found.fractional @ found.lattice_A
    assert found.certified, found.message
    crystal = (found.lattice_A, found.species, places)
    assert cases.same_crystal(*crystal, (drawn.lattice, numbers, positions), tolerance=0.004)
    assert not cases.same_crystal(
        *crystal, (drawn.lattice, drawn.numbers, drawn.positions), tolerance=0.004
    )


def hostile(drawn, other):
    """Pictures that show no crystal, and their marks."""
    nothing = Marks(
        np.empty(0, np.int64), np.empty((0, 2)), np.empty((0, 2, 2)), np.empty(0),
        np.empty(0, np.int64), np.empty(0), drawn.marks[0].scale_px_per_A, 1.0,
    )  # fmt: skip
    blank = np.full_like(drawn.pictures[0], 255)
    yield "blank", [blank, *drawn.pictures[1:]], [nothing, *drawn.marks[1:]]
    yield "all blank", [blank] * 5, [nothing] * 5
    yield "equal", [drawn.pictures[3]] * 5, [drawn.marks[3]] * 5
    yield "another", [*drawn.pictures[:4], other.pictures[4]], [*drawn.marks[:4], other.marks[4]]
    yield "order", drawn.pictures[::-1], drawn.marks[::-1]


@pytest.mark.parametrize("level", ["K0", "K1"])
def test_what_is_no_crystal_is_never_certified(level):
    drawn, other = cases.made("skew", noise=0.004), cases.made("rutile", noise=0.004)
    for name, pictures, marks in hostile(drawn, other):
        found = read(pictures, marks, drawn.knowledge(level), LIMITS)
        assert not found.certified and found.status != "read", name
        assert found.message, name


def test_a_frame_that_the_marks_leave_loose_is_not_certified():
    drawn = cases.made("skew")
    loose = [
        dataclasses.replace(one, covariance_px2=one.covariance_px2 + np.eye(2))
        for one in drawn.marks
    ]
    found = read(drawn.pictures, loose, drawn.knowledge("K1"), LIMITS)
    assert found.differing_pixels <= LIMITS.max_pixels
    assert not found.certified and "standard errors" in found.message


@pytest.mark.parametrize("name", ["C2", "C5"])
def test_a_cell_drawn_once_is_read_where_its_lattice_is_known(name):
    lattice, numbers, fractional, group = cases.cells()["rutile"]
    convention, size = named(name), 384
    scene = convention.scene(lattice, numbers, fractional @ lattice)
    views = [convention.view(scene, rotation, size) for rotation in cases.ROTATIONS]
    pictures = [FastRenderer().draw(scene, view) for view in views]
    _, found = read_pictures(pictures, Knowledge("K0", cases.ROTATIONS, size, convention), LIMITS)
    assert found.status == "no_lattice" and "take K1 or more cells" in found.message
    known = Knowledge(
        "K1", cases.ROTATIONS, size, convention, lattice,
        np.array([view.px_per_angstrom for view in views]),
        np.array([view.origin for view in views]),
    )  # fmt: skip
    _, found = read_pictures(pictures, known, LIMITS)
    assert found.certified and found.numbers[0] == group


@pytest.mark.parametrize("stretch", [-2e-4, 1e-5, 2e-4])
@pytest.mark.parametrize("lengths", [(5.1, 6.3, 7.2), (5.1, 6.3, 7.21)])
def test_edges_of_a_whole_number_of_dashes(lengths, stretch):
    """Edges of 10.2 Å in the drawn block have 34 dashes, or 33: no scale that is measured tells."""
    lattice = np.diag(lengths)
    lattice[1, 0], lattice[2, :2] = 0.9, (-0.4, 0.7)
    lattice *= (np.array(lengths) / np.linalg.norm(lattice, axis=1))[:, None]
    positions = np.array([[0, 0, 0], [0.31, 0.42, 0.53], [0.6, 0.1, 0.75]]) @ lattice
    drawn = cases.case(lattice, [22, 8, 38], positions)
    redrawing = Redrawing(drawn.pictures, drawn.knowledge("K0"), LIMITS.levels)
    factor = 1 + stretch
    off = Crystal(factor * lattice, drawn.numbers, factor * positions, np.arange(3))
    before, error = off.draw(redrawing), 2e-4 * np.array(lengths)
    found, after = counted(off, before, redrawing, error)
    assert before.total > LIMITS.max_pixels or stretch > 0
    assert after.total <= LIMITS.max_pixels
    assert np.linalg.norm(found.lattice, axis=1) == pytest.approx(lengths, abs=1e-4)
    assert found.fractional == pytest.approx(off.fractional)
    far = Crystal(1.01 * lattice, drawn.numbers, 1.01 * positions, np.arange(3))
    assert counted(far, far.draw(redrawing), redrawing, error)[0] is far
