"""The naive twins against hand-made cases and the recorded values of the 210 structures."""

import json
import warnings
from collections import Counter
from functools import cache

import naive
import numpy as np
import pytest

# spglib 2.8 announces a change of its error handling on every call.
pytestmark = pytest.mark.filterwarnings("ignore:Set OLD_ERROR_HANDLING")

NAMES = list(naive.FROZEN)
FROZEN = list(naive.FROZEN.values())
OFF_AXIS = list(naive.OFF_AXIS.values())
SUBSETS = [tuple(NAMES.index(n) for n in names) for names in naive.subsets_of(NAMES)]


def title(subset):
    return "|".join(NAMES[v] for v in subset)


@pytest.fixture(scope="session")
def expected(shared):
    return json.loads((shared / "expected" / "geometry.json").read_text())


@pytest.fixture(scope="session")
def recorded_subsets(shared):
    path = shared / "data" / "records" / "view_subsets_delta0.15.json"
    return json.loads(path.read_text())["per_structure"]


@pytest.fixture(scope="session")
def systems(shared):
    """Crystal system of each evaluation structure."""
    with open(shared / "data" / "e3" / "eval.jsonl", encoding="utf-8") as lines:
        rows = map(json.loads, lines)
        return {row["material_id"]: row["crystal_system"] for row in rows}


@pytest.fixture(scope="session")
def cell(shared):
    """Function from an id to the lattice, positions and symbols of its conventional cell."""
    from pymatgen.io.cif import CifParser
    from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

    texts = json.loads((shared / "data" / "e3" / "structures.json").read_text())

    @cache
    def build(material_id):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parser = CifParser.from_str(texts[material_id]["cif"])
            structure = parser.parse_structures(primitive=False)[0]
            analyzer = SpacegroupAnalyzer(structure, symprec=0.01)
            drawn = analyzer.get_conventional_standard_structure()
        return drawn.lattice.matrix, drawn.cart_coords, np.array([s.specie.symbol for s in drawn])

    return build


@pytest.fixture(scope="session")
def sample(eval_ids):
    """One structure of each system and five of those that are lost at 0.15 Å."""
    return eval_ids[::30] + ["mp-3751", "mp-29816", "mp-1246088", "mp-1188147", "mp-1182875"]


# ------------------------------------------------------------------ by hand

CUBE_HALF = np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]], float)
OTHER_HALF = 1 - CUBE_HALF


def same_points(found, wanted):
    order = [tuple(row) for row in np.round(found, 9) + 0.0]
    return sorted(order) == sorted(tuple(row) for row in np.round(wanted, 9) + 0.0)


def test_three_axis_cameras_cannot_tell_the_halves_of_a_cube():
    symbols = np.full(4, "A")
    for find in (naive.phantoms_by_acceptance, naive.phantoms_by_definition7):
        raw, merged = find(CUBE_HALF, symbols, FROZEN, (0, 1, 2), 0.01)
        assert len(raw) == 12 and same_points(merged.positions, OTHER_HALF)
        assert len(find(CUBE_HALF, symbols, FROZEN, (0, 1, 2, 3), 0.01)[0]) == 0
        mixed = np.array(["A", "A", "B", "C"])
        assert len(find(CUBE_HALF, mixed, FROZEN, (0, 1, 2), 0.01)[0]) == 0
    for merge in ("first", "mean", "best-residual", "dominance"):
        points, _ = naive.released_reconstruct(CUBE_HALF, symbols, FROZEN[:3], 0.01, False, merge)
        assert same_points(points, np.vstack([CUBE_HALF, OTHER_HALF]))


def test_interval_of_a_skew_ghost():
    height = 0.1
    atoms, symbols = np.array([[0, 0, 0], [1, 1, height]]), np.array(["A", "A"])
    candidates, lower, upper, smallest = naive.delta_intervals(atoms, symbols, FROZEN, (0, 1))
    ghosts = [[1, 0, height / 2], [0, 1, height / 2]]
    assert same_points(candidates.positions, [*atoms, *ghosts])
    away = np.hypot(1, height / 2)
    assert lower == pytest.approx([0, height, height, 0], abs=1e-12)
    assert upper == pytest.approx([0, away, away, 0], abs=1e-12)
    assert smallest == pytest.approx(height)
    assert len(naive.phantoms_by_acceptance(atoms, symbols, FROZEN, (0, 1), 0.09)[1]) == 0
    assert len(naive.phantoms_by_acceptance(atoms, symbols, FROZEN, (0, 1), 0.11)[1]) == 2
    assert len(naive.phantoms_by_definition7(atoms, symbols, FROZEN, (0, 1), 0.11)[1]) == 0


def test_dominance_drops_the_skew_ghost_that_first_keeps():
    atoms, symbols = np.array([[0, 0, 0], [1, 1, 0.1]]), np.array(["A", "A"])
    first, _ = naive.released_reconstruct(atoms, symbols, FROZEN[:2], 0.15)
    dominance, _ = naive.released_reconstruct(atoms, symbols, FROZEN[:2], 0.15, False, "dominance")
    assert len(first) == 4
    assert same_points(dominance, atoms)


def test_merge_rules_at_exactly_delta():
    points, symbols = np.array([[0, 0, 0], [0.75, 0, 0], [1.5, 0, 0]]), np.full(3, "A")
    assert list(naive.merge_first(points, symbols, 0.75)) == [0, 1, 2]  # strict
    assert list(naive.merge_first(points, symbols, 0.76)) == [0, 2]
    assert list(naive.merge_first(points, np.array(["A", "B", "A"]), 0.76)) == [0, 1, 2]
    means, _ = naive.merge_mean(points, symbols, 0.75)
    assert same_points(means, [[0.375, 0, 0], [1.5, 0, 0]])  # not strict, first member counts


def test_parallel_cameras_give_no_candidate():
    symbols = np.full(4, "A")
    points, _ = naive.released_reconstruct(CUBE_HALF, symbols, [FROZEN[2], FROZEN[2]], 0.1)
    assert len(points) == 0 and len(naive.all_candidates(CUBE_HALF, symbols, [FROZEN[2]] * 2)) == 0
    assert naive.label(4 * np.identity(3), points, symbols[:0], 0.01) is None


def test_label_of_plain_cells():
    origin, symbols = np.zeros((1, 3)), np.array(["A"])
    assert naive.label(np.diag([4.0, 4.0, 4.0]), origin, symbols, 0.01) == "cubic"
    assert naive.label(np.diag([4.0, 4.0, 5.0]), origin, symbols, 0.01) == "tetragonal"
    assert naive.label(np.diag([4.0, 4.6, 5.0]), origin + 9.9, symbols, 0.01) == "orthorhombic"


# ------------------------------------------------------------------ records, quick


@pytest.mark.data
@pytest.mark.parametrize("key, cameras", [("frozen", naive.FROZEN), ("offaxis", naive.OFF_AXIS)])
def test_cameras_and_kappa(expected, key, cameras):
    for name, rotation in cameras.items():
        recorded = np.array(expected["cameras"][key]["matrix"][name])
        assert rotation == pytest.approx(recorded, abs=1e-15)
    table = expected["kappa"][key]["per_pair"]
    assert list(table) == ["|".join(pair) for pair in naive.subsets_of(cameras) if len(pair) == 2]
    for pair, value in table.items():
        a, b = (cameras[name] for name in pair.split("|"))
        assert naive.kappa(a, b) == pytest.approx(value, rel=1e-12)
        assert naive.kappa(a, b) == pytest.approx((1 - abs(a[:, 2] @ b[:, 2])) ** -0.5, rel=1e-12)


@pytest.mark.data
def test_released_loops_and_broadcasting_agree(cell, sample):
    for material_id in sample[:3] + sample[-2:]:
        _, positions, symbols = cell(material_id)
        loops = naive.accepted_candidates(positions, symbols, FROZEN, 0.15, anchor=False)
        every = naive.all_candidates(positions, symbols, FROZEN)
        broadcast = every[every.reached <= 0.15]
        assert np.array_equal(loops.atoms, broadcast.atoms)
        assert np.array_equal(loops.views, broadcast.views)
        for name in ("positions", "gap", "residuals"):
            assert getattr(loops, name) == pytest.approx(getattr(broadcast, name), abs=1e-12)


def differing_cells(cell, recorded, ids):
    """Cells (id, subset) whose released reading differs from the record at 0.15 Å."""
    wrong = []
    for material_id in ids:
        lattice, positions, symbols = cell(material_id)
        for subset in SUBSETS:
            cameras = [FROZEN[v] for v in subset]
            points, species = naive.released_reconstruct(positions, symbols, cameras, 0.15)
            mine = [naive.label(lattice, points, species, 0.01), len(points), len(positions)]
            if mine != recorded[material_id][title(subset)]:
                wrong.append((material_id, title(subset), mine))
    return wrong


@pytest.mark.data
def test_released_view_subsets_of_a_sample(cell, sample, recorded_subsets):
    assert len(sample) == 12 and len(SUBSETS) == 26
    assert differing_cells(cell, recorded_subsets, sample) == []


@pytest.mark.data
def test_phantoms_of_a_sample(cell, sample):
    seen = Counter()
    for material_id in sample[:7]:
        _, positions, symbols = cell(material_id)
        for subset in SUBSETS:
            args = positions, symbols, FROZEN, subset
            candidates, lower, upper, smallest = naive.delta_intervals(*args)
            raw, merged = naive.phantoms_by_acceptance(*args, naive.EXACT, candidates=candidates)
            exact_raw, exact = naive.phantoms_by_definition7(
                *args, naive.EXACT, candidates=candidates
            )
            assert len(raw) == len(exact_raw) and same_points(merged.positions, exact.positions)
            for delta in (naive.EXACT, 0.01, 0.15):
                raw, _ = naive.phantoms_by_acceptance(*args, delta, candidates=candidates)
                count = len(raw)
                assert count == ((lower <= delta) & (delta < upper)).sum()
                assert count == 0 or smallest <= delta
            seen[title(subset) if len(subset) > 2 else "two views"] += len(merged)
    assert set(+seen) == {"two views", "axis_a|axis_b|axis_c"}


# ------------------------------------------------------------------ records, all of them


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 210, 30))
def test_released_view_subsets(cell, eval_ids, recorded_subsets, start):
    assert differing_cells(cell, recorded_subsets, eval_ids[start : start + 30]) == []


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("subset", SUBSETS, ids=title)
def test_released_view_subsets_at_the_certified_delta(cell, systems, expected, subset):
    correct = 0
    for material_id, system in systems.items():
        lattice, positions, symbols = cell(material_id)
        cameras = [FROZEN[v] for v in subset]
        points, species = naive.released_reconstruct(positions, symbols, cameras, 0.01)
        correct += naive.label(lattice, points, species, 0.01) == system
        assert len(points) >= len(positions)
    assert correct == expected["view_subsets"]["correct_counts"]["e3|0.01"][title(subset)]


@pytest.fixture(scope="session")
def every(cell, eval_ids):
    """Every candidate of all pairs of the five frozen views, by id."""
    return {i: naive.all_candidates(*cell(i)[1:], FROZEN) for i in eval_ids}


def anchored(every):
    return {i: c[(c.views == [0, 1]).all(axis=1)] for i, c in every.items()}


def read(cell, systems, candidates, merge, delta, cameras=FROZEN):
    """Failing ids, over-counts, number of under-counts, largest RMSD over all structures."""
    fails, over, under, rmsd = [], [], 0, 0.0
    for material_id, found in candidates.items():
        lattice, positions, symbols = cell(material_id)
        accepted = found[found.reached <= delta]
        points, species = naive.merged(accepted, positions, symbols, cameras, delta, merge)
        if naive.label(lattice, points, species, 0.01) != systems[material_id]:
            fails.append(material_id)
        if len(points) > len(positions):
            over.append([material_id, len(points), len(positions)])
        under += len(points) < len(positions)
        errors = naive.distance_to_atoms(points, species, positions, symbols)
        rmsd = max(rmsd, np.sqrt(np.mean(errors**2)))
    return fails, over, under, rmsd


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("merge", ["first", "mean"])
@pytest.mark.parametrize("delta", ["1e-06", "0.0001", "0.001", "0.005", "0.01", "0.05", "0.15"])
def test_all_pairs(cell, systems, every, expected, delta, merge):
    record = expected["cleanroom_allpairs"]["measured"][f"e3|{merge}|{delta}"]
    fails, over, under, rmsd = read(cell, systems, every, merge, float(delta))
    assert (fails, over, under) == (record["fails"], record["over_ids"], record["under"])
    assert 210 - len(fails) == record["k"]
    assert rmsd == pytest.approx(record["maxrmsd"], abs=1e-12)
    paper = expected["cleanroom_allpairs"]["recorded"].get(delta)
    if paper and merge == "mean":
        assert (210 - len(fails), len(over)) == (paper["k"], paper["phantoms"])
        assert rmsd == pytest.approx(paper["max_rmsd"], abs=5e-9)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("key, cameras", [("frozen", FROZEN), ("offaxis", OFF_AXIS)])
def test_released_frontier(cell, systems, expected, key, cameras):
    record = expected["frontier"]
    found = anchored({i: naive.all_candidates(*cell(i)[1:], cameras) for i in systems})
    for k, delta in enumerate(record["delta_axis"]):
        fails, over, under, _ = read(cell, systems, found, "first", delta, cameras)
        assert fails == record["e3_failing_ids"][f"e3|{key}"][str(delta)]
        assert 210 - len(fails) == record["recorded_e3"][key][k]
        assert [len(over), under] == record["over_under"][f"e3|{key}"][k]


@pytest.mark.data
@pytest.mark.slow
def test_best_residual(cell, systems, every, expected):
    record = expected["merge_rule_experiment_measured"]
    for candidates, counts in ((every, record["allpairs"]), (anchored(every), record["anchor"])):
        for delta, count in counts["e3"].items():
            fails, *_ = read(cell, systems, candidates, "best-residual", float(delta))
            assert 210 - len(fails) == count


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.01, 0.15, 0.3, 0.5])
def test_dominance_loses_nothing(cell, systems, every, delta):
    fails, over, under, rmsd = read(cell, systems, every, "dominance", delta)
    assert (fails, over, under) == ([], [], 0) and rmsd < 2e-14


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.01, 0.15])
def test_dominance_keeps_exactly_the_phantoms_of_the_census(cell, eval_ids, expected, delta):
    census = expected["phantom_census"]["measured_accepted_point_census"]
    for subset in (s for s in SUBSETS if len(s) < 4):
        wrong = 0
        for material_id in eval_ids:
            _, positions, symbols = cell(material_id)
            cameras = [FROZEN[v] for v in subset]
            found = naive.all_candidates(positions, symbols, cameras)
            accepted = found[found.reached <= delta]
            points, _ = naive.merged(accepted, positions, symbols, cameras, delta, "dominance")
            assert len(points) >= len(positions)
            wrong += len(points) > len(positions)
        record = census[f"e3|1e-06|{len(subset)}|allpairs"]["per_subset"]
        assert wrong == record.get(title(subset), 0)


RULES: list = [
    (f"{delta}|{pairs}", naive.phantoms_by_acceptance, float(delta), {"anchor": pairs == "anchor"})
    for delta in ("1e-09", "1e-06", "0.0001", "0.001", "0.01")
    for pairs in ("allpairs", "anchor")
] + [
    (f"delta{delta}", naive.phantoms_by_definition7, float(delta), {})
    for delta in ("1e-6", "0.01", "0.15")
]


@pytest.fixture(scope="session")
def census(cell, eval_ids):
    """(rule, number of views): nonempty, total, raw, structures, nonempty per subset."""
    totals = {}
    for material_id in eval_ids:
        _, positions, symbols = cell(material_id)
        for subset in SUBSETS:
            found = naive.all_candidates(positions, symbols, [FROZEN[v] for v in subset])
            for key, find, delta, options in RULES:
                count = totals.setdefault(
                    (key, len(subset)),
                    {
                        "nonempty": 0,
                        "total": 0,
                        "raw": 0,
                        "structs": set(),
                        "per_subset": Counter(),
                    },
                )
                raw, merged = find(
                    positions, symbols, FROZEN, subset, delta, candidates=found, **options
                )
                count["total"] += len(merged)
                count["raw"] += len(raw)
                if len(merged):
                    count["nonempty"] += 1
                    count["structs"].add(material_id)
                    count["per_subset"][title(subset)] += 1
    for count in totals.values():
        count["structs"] = len(count["structs"])
    return totals


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("n_views", [2, 3, 4, 5])
def test_phantom_census(census, expected, n_views):
    records = expected["phantom_census"]
    by_acceptance = records["measured_accepted_point_census"]
    by_definition7 = records["measured_by_definition7"]["e3"]
    for key, find, _, _ in RULES:
        found = census[key, n_views]
        if find is naive.phantoms_by_acceptance:
            delta, pairs = key.split("|")
            record = by_acceptance[f"e3|{delta}|{n_views}|{pairs}"]
            assert found == {field: record[field] for field in found}, key
        else:
            nonempty, _, total = by_definition7[key][str(n_views)]
            assert (found["nonempty"], found["total"]) == (nonempty, total), key
    if n_views != 4:
        paper = records["recorded_e3"][f"views_{n_views}"]
        found = census["1e-06|allpairs", n_views]
        assert found["nonempty"] == paper["with_nonempty_Phi0"]
        assert found["total"] == paper["total_phantoms"]
