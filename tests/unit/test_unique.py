"""Uniqueness: every answer against all sets of places, the theorem, and a second solver."""

import itertools
import os
from dataclasses import replace

import naive
import naive_unique
import numpy as np
import oracle_cases as cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rc_hpc.core.constants import CENSUS_ZERO
from rc_hpc.core.vocabulary import Known, System, Uniqueness
from rc_hpc.kernels.places import near_pairs
from rc_hpc.oracle.decision import Budget
from rc_hpc.oracle.explanations import puzzle_of
from rc_hpc.oracle.fewest import fewest
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.oracle.labels import SpaceGroupLabel
from rc_hpc.oracle.levels import Draws, permuted
from rc_hpc.oracle.parsimony import most_symmetric
from rc_hpc.oracle.rotations import Metric, basis_of, rotations_of
from rc_hpc.oracle.solving import Questions
from rc_hpc.oracle.symmetries import HOLOHEDRY, Symmetries
from rc_hpc.oracle.uniqueness import Cell

POLICIES = tuple(Known)
PLENTY = Budget()
#: Explanations up to which all are labelled; of more as many are.
MANY = 200
SUBSETS = naive_unique.subsets_of(3)
LABELLER = SpaceGroupLabel()
#: Lattices of all kinds, Å, so long that the sites of a cell are those of its box.
LATTICES = {
    "cubic": 4 * np.eye(3),
    "tetragonal": np.diag([4.0, 4.0, 5.0]),
    "orthorhombic": np.diag([4.0, 4.5, 5.0]),
    "hexagonal": np.array([[4.0, 0, 0], [-2.0, 4 * 0.75**0.5, 0], [0, 0, 5.0]]),
    "monoclinic": np.array([[4.0, 0, 0], [0, 4.5, 0], [-1.0, 0, 5.0]]),
    "triclinic": np.array([[4.0, 0, 0], [0.6, 4.5, 0], [-1.0, 0.4, 5.0]]),
}
OPERATIONS = {
    "cubic": 48,
    "tetragonal": 16,
    "orthorhombic": 8,
    "hexagonal": 24,
    "monoclinic": 4,
    "triclinic": 2,
}


def puzzles(positions, numbers, lattice, subsets=SUBSETS, protocol=cases.EXACT, zero=CENSUS_ZERO):
    """The puzzle of each view subset."""
    oracle = GeometricOracle(protocol, subsets)
    images, truth = oracle.project(positions, numbers)
    found = oracle.compare(oracle.enumerate(images, zero, zero, tie=CENSUS_ZERO), truth)
    return [puzzle_of(oracle, found, k, zero, lattice) for k in range(len(subsets))]


def system_of(puzzle, chosen):
    number, _ = LABELLER.label(puzzle.lattice, puzzle.numbers[chosen], puzzle.positions[chosen])
    return System(int(LABELLER.codes(number)[0]))


def decide(puzzle, budget=PLENTY, seed=0):
    """Decisions of one puzzle, and the cell that made them."""
    cell = Cell(
        puzzle,
        Metric(puzzle.lattice),
        lambda chosen: system_of(puzzle, chosen),
        system_of(puzzle, puzzle.truth),
        budget,
        np.random.default_rng(seed),
    )
    return cell.decide(POLICIES), cell


def admissible(puzzle, policy):
    """All explanations under a policy, by looking at all sets of places."""
    sets = (np.arange(2**puzzle.size)[:, None] >> np.arange(puzzle.size)) & 1 == 1
    sets = sets[(sets.astype(int) @ puzzle.points.T.astype(int) > 0).all(axis=1)]
    sets = [one for one in sets if puzzle.explains(one)]
    if policy == Known.fewest:
        kinds = list(puzzle.counts)
        n = [[(one & (puzzle.numbers == kind)).sum() for kind in kinds] for one in sets]
        # Species are explained one by one, so the fewest of each come together unless they clash.
        least = {kind: alone(puzzle, kind) for kind in kinds}
        return [one for one, each in zip(sets, n) if each == [least[kind] for kind in kinds]]
    if policy != Known.any:
        sets = [one for one in sets if puzzle.has_counts(one)]
    if policy == Known.physical:
        sets = [one for one in sets if puzzle.is_physical(one)]
    return sets


def alone(puzzle, kind):
    """Fewest places of one species that explain its points, by looking at all sets of them."""
    own = np.flatnonzero(puzzle.numbers == kind)
    points = puzzle.points[:, own]
    points = points[points.any(axis=1)]
    for n in range(1, len(own) + 1):
        for some in itertools.combinations(range(len(own)), n):
            chosen = np.zeros(puzzle.size, bool)
            chosen[own[list(some)]] = True
            if points[:, some].any(axis=1).all() and not puzzle.any_pair(puzzle.clashes, chosen):
                return n
    return None


def check(puzzle):
    """Every decision of a small puzzle against all its explanations."""
    decisions, _ = decide(puzzle)
    for policy, decision in decisions.items():
        sets = list({puzzle.key(one): one for one in admissible(puzzle, policy)}.values())
        labelled = sets if len(sets) <= MANY else sets[:: -(-len(sets) // MANY)]
        systems = {system_of(puzzle, one) for one in labelled}
        if not sets or (policy == Known.physical and not puzzle.is_physical(puzzle.truth)):
            assert decision.status == Uniqueness.inadmissible
            continue
        if decision.status == Uniqueness.unknown:
            continue
        if len(labelled) < len(sets):
            assert decision.status != Uniqueness.unique
            if decision.status == Uniqueness.determined:
                assert systems == {decision.reference}
            continue
        wanted = (
            Uniqueness.unique
            if len(sets) == 1
            else Uniqueness.determined
            if len(systems) == 1
            else Uniqueness.undetermined
        )
        assert decision.status == wanted, (policy, len(sets), systems)
        if decision.status != Uniqueness.undetermined:
            assert decision.reference in systems
        highest = max(systems, key=HOLOHEDRY.__getitem__)
        assert decision.best in (System.none, highest)
    return decisions


@st.composite
def crystals(draw, max_atoms=6):
    """Lattice, and atoms on a coarse grid of its box: (lattice, positions, numbers)."""
    name = draw(st.sampled_from(sorted(LATTICES)))
    lattice = LATTICES[name]
    grid = st.sampled_from([0.0, 0.25, 0.5, 0.75])
    frac = draw(st.lists(st.tuples(grid, grid, grid), min_size=2, max_size=max_atoms, unique=True))
    numbers = draw(st.lists(st.sampled_from([8, 8, 26]), min_size=len(frac), max_size=len(frac)))
    return lattice, np.array(frac) @ lattice, np.array(numbers)


# ------------------------------------------------------------------ against all sets of places


@settings(max_examples=40, deadline=None)
@given(crystals())
def test_every_answer_against_all_sets_of_places(crystal):
    lattice, positions, numbers = crystal
    for puzzle in puzzles(positions, numbers, lattice):
        if puzzle.size <= 11:
            check(puzzle)


@st.composite
def near_crystals(draw):
    """Crystals whose atoms are some hundredths of an Å off a coarse grid."""
    lattice, positions, numbers = draw(crystals(max_atoms=5))
    off = st.sampled_from([0.0, 0.0, 0.0, 0.004, -0.007, 0.012, 0.03])
    return lattice, positions + np.array([draw(st.tuples(off, off, off)) for _ in numbers]), numbers


@settings(max_examples=15, deadline=None)
@given(near_crystals())
def test_every_answer_within_a_tolerance_against_all_sets_of_places(crystal):
    lattice, positions, numbers = crystal
    oracle = GeometricOracle(cases.EXACT, SUBSETS)
    n_phantoms = oracle.run(positions, numbers, 0.01).n_phantoms
    for k, puzzle in enumerate(puzzles(positions, numbers, lattice, zero=0.01)):
        assert (puzzle.atom < 0).sum() == n_phantoms[k]
        if puzzle.size > 10:
            continue
        decisions = check(puzzle)
        names = [
            int(np.linalg.norm(positions - at, axis=1).argmin())
            if atom >= 0
            else (int(kind), *np.round(at, 4))
            for at, atom, kind in zip(puzzle.positions, puzzle.atom, puzzle.numbers)
        ]
        crystals = {
            frozenset(name for name, there in zip(names, one) if there)
            for one in admissible(puzzle, Known.any)
        }
        rotations = [cases.EXACT.rotations[v] for v in SUBSETS[k]]
        assert crystals == naive_unique.crystals_within(
            positions, numbers, rotations, lattice, 0.01
        )
        assert (len(crystals) == 1) == (decisions[Known.any].status == Uniqueness.unique)


def rectangle(name):
    frac = np.array([[0, 0, 0], [0.5, 0, 0], [0, 0.4, 0], [0.5, 0.4, 0]])
    lattice = LATTICES[name]
    return puzzles(frac @ lattice, np.full(4, 26), lattice, [(0, 1)])[0]


def test_four_atoms_on_a_rectangle():
    """Certified; unique with counts; without, the diagonal ones are another crystal."""
    puzzle = rectangle("monoclinic")
    assert puzzle.size == 4 and (puzzle.atom >= 0).all()
    decisions = check(puzzle)
    assert decisions[Known.counts].status == Uniqueness.unique
    assert decisions[Known.any].status == Uniqueness.undetermined
    assert decisions[Known.fewest].status == Uniqueness.determined
    assert decisions[Known.any].best == System.orthorhombic


def test_no_answer_is_guessed_where_the_budget_is_too_small():
    puzzle = rectangle("cubic")
    decisions, _ = decide(puzzle, Budget(places=3))
    assert decisions[Known.counts].status in (Uniqueness.unknown, Uniqueness.unique)
    assert decisions[Known.fewest].status == Uniqueness.unknown
    assert decisions[Known.fewest].reason.name == "operations"


@pytest.mark.slow  # 15 CPU s; RC_EVERY=N takes each N-th structure
@pytest.mark.data
def test_real_cells_of_up_to_sixteen_places(shared, eval_ids):
    """All such cells of the evaluation structures, two and three of the frozen cameras: 86."""
    from rc_hpc.core.errors import StructureError
    from rc_hpc.structures.sources import iter_items
    from rc_hpc.symmetry.conventional import conventional_cell

    every = int(os.environ.get("RC_EVERY", "1"))
    wanted, checked = set(eval_ids[::every]), 0
    subsets = [s for s in naive_unique.subsets_of(5) if len(s) <= 3]
    for item in iter_items([str(shared / "data" / "e3" / "structures.json")]):
        if item.id not in wanted:
            continue
        try:
            read = item.read(item, item.blob())
            cell = conventional_cell(read.lattice, read.frac, read.numbers)
        except StructureError:
            continue
        found = puzzles(cell.positions, cell.numbers, cell.lattice, subsets, cases.FROZEN)
        for puzzle in found:
            if puzzle.size > 16 or puzzle.alone:
                continue
            check(puzzle)
            checked += 1
    assert checked == 86 if every == 1 else checked > 50 / every


# ------------------------------------------------------------------ the theorem


def two_views(n_cells, seed):
    """Random small cells under two views: places, explanations with known counts, phantoms."""
    rng = np.random.default_rng(seed)
    for _ in range(n_cells):
        n = rng.integers(1, 7)
        frac = np.unique(rng.integers(0, 3, (n, 3)), axis=0) / 4
        numbers = rng.choice([8, 26], len(frac))
        puzzle = puzzles(frac @ LATTICES["monoclinic"], numbers, LATTICES["monoclinic"], [(0, 1)])[
            0
        ]
        if puzzle.size > 12:
            continue
        sets = naive_unique.explanations(
            np.stack([np.nonzero(row)[0] for row in puzzle.points.T]) if puzzle.size else None
        )
        yield puzzle, sum(puzzle.has_counts(one) for one in sets), (puzzle.atom < 0).any()


def _theorem(n_cells, seed):
    met = {True: 0, False: 0}
    for puzzle, n_sets, phantoms in two_views(n_cells, seed):
        assert (n_sets == 1) == (not phantoms)
        number = 10 ** Draws(puzzle.levels, puzzle.counts).log10
        assert number == pytest.approx(n_sets)
        met[bool(phantoms)] += 1
    assert min(met.values()) > n_cells / 10


def test_with_counts_two_views_are_unique_without_phantoms_only():
    _theorem(400, 0)


@pytest.mark.slow  # 20 CPU s
def test_the_theorem_on_ten_thousand_cells():
    _theorem(11_000, 1)


# ------------------------------------------------------------------ witnesses and nesting


def same_pictures(puzzle, a, b, rotations):
    """Whether two choices of places have the same pictures."""
    for rotation in rotations:
        for kind in puzzle.counts:
            sides = []
            for chosen in (a, b):
                own = puzzle.positions[chosen & (puzzle.numbers == kind)] @ rotation[:, :2]
                sides.append(np.unique(np.round(own, 5) + 0.0, axis=0))
            if sides[0].shape != sides[1].shape or not np.allclose(*sides, atol=1e-4):
                return False
    return True


@settings(max_examples=25, deadline=None)
@given(crystals(max_atoms=9))
def test_witnesses_have_the_pictures_and_another_system_and_policies_nest(crystal):
    lattice, positions, numbers = crystal
    by_subset = {}
    for subset, puzzle in zip(SUBSETS, puzzles(positions, numbers, lattice)):
        decisions, cell = decide(puzzle)
        by_subset[subset] = decisions
        for policy, decision in decisions.items():
            if decision.witness is not None:
                rotations = [cases.EXACT.rotations[v] for v in subset]
                assert same_pictures(puzzle, puzzle.truth, decision.witness, rotations)
                chosen = decision.witness
                seen = naive.label(lattice, puzzle.positions[chosen], puzzle.numbers[chosen], 0.01)
                assert seen != naive.label(lattice, positions, numbers, 0.01)
                assert cell.admits(policy, chosen) and puzzle.explains(chosen)
        loose, counted, tight = (decisions[p].status for p in POLICIES[:3])
        if tight == Uniqueness.undetermined:
            assert counted == Uniqueness.undetermined
        if counted == Uniqueness.undetermined:
            assert loose == Uniqueness.undetermined
        if loose == Uniqueness.unique:
            assert counted == Uniqueness.unique
        if counted == Uniqueness.unique:
            assert tight in (Uniqueness.unique, Uniqueness.inadmissible)
    for few, more in itertools.product(SUBSETS, SUBSETS):
        if set(few) < set(more):
            for policy in POLICIES[:3]:
                a, b = (by_subset[one][policy].status for one in (few, more))
                if a == Uniqueness.unique:
                    assert b == Uniqueness.unique
                if b == Uniqueness.undetermined:
                    assert a == Uniqueness.undetermined


# ------------------------------------------------------------------ a second solver


def by_highs(puzzle, counts):
    """Whether HiGHS finds an explanation with a phantom, or with an atom less."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    constraints = [LinearConstraint(puzzle.points.astype(float), 1)]
    if len(puzzle.clashes):
        pairs = np.zeros((len(puzzle.clashes), puzzle.size))
        np.put_along_axis(pairs, puzzle.clashes, 1, axis=1)
        constraints.append(LinearConstraint(pairs, ub=1))
    if counts:
        kinds = np.array([puzzle.numbers == kind for kind in puzzle.counts], float)
        n = list(puzzle.counts.values())
        constraints.append(LinearConstraint(kinds, n, n))
    # Atoms that are there less phantoms that are there: less than all atoms.
    difference = np.where(puzzle.atom >= 0, 1.0, -1.0)
    constraints.append(LinearConstraint(difference, ub=puzzle.truth.sum() - 1))
    solution = milp(
        np.zeros(puzzle.size),
        constraints=constraints,
        integrality=np.ones(puzzle.size),
        bounds=Bounds(0, 1),
    )
    return solution.status == 0


@settings(max_examples=30, deadline=None)
@given(crystals(max_atoms=12), st.booleans())
def test_another_explanation_by_two_solvers(crystal, counted):
    lattice, positions, numbers = crystal
    for puzzle in puzzles(positions, numbers, lattice):
        symmetries = Symmetries(puzzle, Metric(lattice))
        counts = puzzle.counts if counted else None
        questions = Questions(puzzle, symmetries, counts, 10_000, np.random.default_rng(0))
        found = questions.ask(questions.another())
        questions.close()
        assert (found is not None) == by_highs(puzzle, counted)
        if found is not None:
            assert puzzle.explains(found) and (not counted or puzzle.has_counts(found))


@settings(max_examples=30, deadline=None)
@given(crystals())
def test_fewest_by_closed_form_and_by_looking(crystal):
    lattice, positions, numbers = crystal
    for puzzle in puzzles(positions, numbers, lattice):
        if puzzle.size <= 11:
            least = fewest(puzzle, 10.0)
            assert least == {kind: alone(puzzle, kind) for kind in puzzle.counts}


@settings(max_examples=30, deadline=None)
@given(crystals())
def test_the_most_symmetric_crystal_needs_no_truth(crystal):
    lattice, positions, numbers = crystal
    for puzzle in puzzles(positions, numbers, lattice):
        if puzzle.size > 11:
            continue
        blind = replace(puzzle, atom=np.full(puzzle.size, -1), counts=dict.fromkeys(puzzle.counts))
        for few, policy in ((True, Known.fewest), (False, Known.any)):
            chosen = most_symmetric(
                blind, Metric(lattice), lambda some: system_of(puzzle, some), few
            )
            sets = admissible(puzzle, policy)
            if not sets:
                assert chosen is None
                continue
            assert chosen.tolist() in [one.tolist() for one in sets]
            highest = max(HOLOHEDRY[system_of(puzzle, one)] for one in sets)
            assert HOLOHEDRY[system_of(puzzle, chosen)] == highest


# ------------------------------------------------------------------ parts


@pytest.mark.parametrize("name", LATTICES)
def test_rotations_of_a_lattice(name):
    found = rotations_of(LATTICES[name])
    assert len(found.order) == OPERATIONS[name] and found.sure.all()
    metric = LATTICES[name] @ LATTICES[name].T
    for matrix in found.matrices:
        assert np.allclose(matrix @ metric @ matrix.T, metric)
    # In another basis of the same lattice they are as many.
    skewed = np.array([[1, 2, 0], [0, 1, 1], [0, 0, 1]]) @ LATTICES[name]
    assert len(rotations_of(skewed).order) == OPERATIONS[name]


def test_a_nearly_right_angle_may_be_one_but_is_not_surely():
    lattice = LATTICES["orthorhombic"].copy()
    lattice[2, 0] = -0.1
    found = rotations_of(lattice)
    assert (len(found.order), found.sure.sum()) == (8, 4)


def test_basis_of_a_centred_lattice():
    centred = np.array([[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    basis = basis_of(centred)
    assert abs(np.linalg.det(basis)) == pytest.approx(1 / 4)
    for vector in (*np.eye(3), *centred):
        in_basis = vector @ np.linalg.inv(basis)
        assert np.allclose(in_basis, np.rint(in_basis))


@settings(max_examples=30, deadline=None)
@given(crystals(max_atoms=8), st.floats(0.05, 3.0))
def test_near_pairs_with_their_images(crystal, reach):
    lattice, positions, _ = crystal
    frac = positions @ np.linalg.inv(lattice)
    shifts = np.array(list(itertools.product(range(-3, 4), repeat=3))) @ lattice
    first, second, away = near_pairs(lattice, frac, reach)
    found = dict(zip(zip(first.tolist(), second.tolist()), away.tolist()))
    for i, j in itertools.combinations(range(len(frac)), 2):
        distance = np.linalg.norm(positions[j] - positions[i] + shifts, axis=1).min()
        if abs(distance - reach) > 1e-9:
            assert ((i, j) in found) == (distance < reach)
        if (i, j) in found:
            assert found[i, j] == pytest.approx(distance)


def test_draws_are_all_equally_likely():
    """Of two levels of one species, whose counts may be shared out in several ways."""
    frac = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0], [0, 0, 0.5], [0.5, 0.5, 0.5]])
    lattice = LATTICES["orthorhombic"]
    puzzle = puzzles(frac @ lattice, np.full(5, 26), lattice, [(0, 1)])[0]
    levels = puzzle.levels
    draws = Draws(levels, puzzle.counts)
    sets = list(admissible(puzzle, Known.counts))
    assert 10**draws.log10 == pytest.approx(len(sets)) and len(sets) > 8
    rng = np.random.default_rng(0)
    n = 200 * len(sets)
    met = {one.tobytes(): 0 for one in sets}
    for _ in range(n):
        met[draws.draw(rng).tobytes()] += 1
    counts = np.array(list(met.values()))
    # Chi-squared with len(sets) - 1 degrees of freedom, five standard deviations.
    chi2 = ((counts - 200) ** 2 / 200).sum()
    assert chi2 < len(sets) - 1 + 5 * np.sqrt(2 * (len(sets) - 1))
    for _ in range(20):
        moved = permuted(levels, puzzle.truth, rng, 1)[0]
        assert puzzle.explains(moved) and puzzle.has_counts(moved)


def test_one_site_twice_is_no_crystal():
    """A place and its copy one lattice vector away are never both chosen."""
    lattice = LATTICES["orthorhombic"]
    frac = np.array([[0.0, 0.5, 0.25], [1.0, 0.25, 0.25], [0.0, 0.25, 0.25], [1.0, 0.5, 0.25]])
    positions = frac[[0, 1]] @ lattice
    puzzle = puzzles(positions, np.full(2, 26), lattice, [(0, 2)])[0]
    full = np.ones(puzzle.size, bool)
    copies = len(np.unique(puzzle.sites)) < puzzle.size
    assert copies == (puzzle.size > 2) and puzzle.explains(full) == (not copies)
    check(puzzle)


def test_no_solver_is_told_with_the_cure(monkeypatch):
    import sys

    from rc_hpc.core.errors import UsageError
    from rc_hpc.oracle.solving import check_solver

    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    with pytest.raises(UsageError, match=r"pip install 'rc_hpc\[unique\]'"):
        check_solver()
