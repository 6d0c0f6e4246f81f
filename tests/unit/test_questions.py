"""Questions of the benchmark: strata against slow twins, quotas, letters, rules of thumb."""

import itertools
import json
import re
from collections import Counter
from dataclasses import asdict, replace

import naive_questions as naive
import numpy as np
import pytest
import question_cases as cases
from ase.data import covalent_radii
from hypothesis import given, settings
from hypothesis import strategies as st

from rc_hpc.benchmark.questions import coordination, counting, directions, distances, identity
from rc_hpc.benchmark.questions.allot import allot
from rc_hpc.benchmark.questions.balance import Wrong, balanced
from rc_hpc.benchmark.questions.draw import draw_questions
from rc_hpc.benchmark.questions.options import QUOTAS, QuestionOptions, quotas
from rc_hpc.benchmark.questions.rules import RULES, hits, prior_floor, prior_hits, seen
from rc_hpc.benchmark.questions.systems import folded, system_of
from rc_hpc.benchmark.questions.texts import (
    CENTRE,
    composition,
    counts_of,
    describe,
    describe_pair,
    described,
)
from rc_hpc.benchmark.questions.variants import same_crystal, variants
from rc_hpc.benchmark.questions.world import markable
from rc_hpc.benchmark.records import LETTERS, STRATA
from rc_hpc.core.errors import RcError, UsageError

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def draw():
    return cases.small_draw()


@pytest.fixture(scope="module")
def bases():
    return cases.catalogue()


def twin(question, draw, bases):
    """The right option, computed again the slow way."""
    ids = question.scene_id
    scenes = [draw.scenes[one] for one in ([ids] if isinstance(ids, str) else ids)]
    scene, base = scenes[0], bases[question.structure]
    match question.stratum:
        case "Q1a":
            return str(naive.displayed_count(base, scene.repeats))
        case "Q1b":
            return naive.cell_content(base)
        case "Q2_easy" | "Q2_hard":
            return str(naive.coordination(base, int(scene.index[scene.marks[CENTRE]])))
        case "Q3":
            return naive.longer(scene)[0]
        case "Q4":
            return naive.system(base)
        case "Q5":
            return naive.changed(*scenes)
    indices = tuple(map(int, re.findall(r"-?\d+", question.answer_text)))
    assert naive.looks_along(scene, question.view_ids[0], indices)
    shown = [tuple(map(int, re.findall(r"-?\d+", t))) for t in question.options.values()]
    assert not any(naive.equivalent(base, a, b) for a, b in itertools.combinations(shown, 2))
    return question.answer_text


def test_every_answer_is_that_of_its_slow_twin(draw, bases):
    known = {}
    for q in draw.questions:
        atom = ()
        if q.qtype == "Q2":
            scene = draw.scenes[q.scene_id]
            atom = int(scene.index[scene.marks[CENTRE]])
        key = (q.stratum, q.structure, str(q.scene_id), atom, q.view_ids[0])
        if q.stratum in ("Q1b", "Q2_easy", "Q2_hard", "Q4"):
            key = (q.qtype, q.structure, atom)
        known.setdefault(key, twin(q, draw, bases))
        assert q.answer_text == q.options[q.answer] == known[key], q.id


def test_depth_traps_are_what_they_say(draw):
    for q in draw.questions:
        if q.qtype == "Q3":
            scene = draw.scenes[q.scene_id]
            (to_b, to_c), (b, c) = (
                naive.longer(scene)[1],
                naive.flat_distances(scene, q.view_ids[0]),
            )
            assert q.meta["depth_trap"] == ((to_b > to_c) != (b > c))
            assert abs(to_b - to_c) >= 0.15 * max(to_b, to_c) - 1e-9
            assert abs(b - c) >= 0.05 * max(b, c) - 1e-9
            ratio = max(to_b, to_c) / min(to_b, to_c)
            assert ratio <= 1.4 or ratio >= 1.6
    traps = [q.meta["depth_trap"] for q in draw.questions if q.qtype == "Q3"]
    assert traps.count(True) * 2 == len(traps)
    right = Counter(q.answer_text for q in draw.questions if q.qtype == "Q3")
    assert set(right.values()) == {len(traps) // 4}


def test_strata_letters_and_caps(draw):
    wanted = quotas(QuestionOptions(questions=112), 6)
    assert cases.by_stratum(draw) == wanted and sum(wanted.values()) == 112
    for stratum, number in wanted.items():
        own = [q.answer for q in draw.questions if q.stratum == stratum]
        assert {own.count(x) for x in LETTERS} == {number // 4}
    for (name, _), number in Counter((q.qtype, q.structure) for q in draw.questions).items():
        assert number <= 4, name
    for number in Counter((q.stratum, q.structure) for q in draw.questions).values():
        assert number <= 4
    easy = Counter((q.stratum, q.structure) for q in draw.questions if q.qtype == "Q2")
    assert max(easy.values()) <= 2
    systems = Counter(q.answer_text for q in draw.questions if q.qtype == "Q4")
    assert set(systems.values()) == {2} and len(systems) == 6
    pairs = Counter(q.meta["mutation"] for q in draw.questions if q.qtype == "Q5")
    assert pairs == {"none": 8, "exchange": 2, "deletion": 2, "stretch": 2, "polymorph": 2}


def test_mini_is_an_even_part(draw):
    assert [q for q in draw.questions if q in draw.mini] == draw.mini
    assert Counter(q.stratum for q in draw.mini) == dict.fromkeys(STRATA, 6)
    assert Counter(q.answer for q in draw.mini) == dict.fromkeys(LETTERS, 12)


def test_pictures_are_those_of_the_scenes(draw):
    for q in draw.questions:
        ids = [q.scene_id] if isinstance(q.scene_id, str) else q.scene_id
        assert len(q.image_paths) == {"Q5": 6, "Q6": 1}.get(q.qtype, 3)
        each = len(q.view_ids) // len(ids)
        for k, (path, view) in enumerate(zip(q.image_paths, q.view_ids)):
            scene = draw.scenes[ids[k // each]]
            assert path == f"scenes/{scene.id}/{view}.png"
            assert view in [camera.id for camera in scene.cameras]
        assert len(set(q.image_paths)) == len(q.image_paths)
        if q.qtype == "Q5":
            assert len({draw.scenes[one].px_per_angstrom for one in ids}) == 1
            assert not set(q.view_ids[:3]) & set(q.view_ids[3:])
        if q.qtype == "Q6":
            scene = draw.scenes[q.scene_id]
            camera = next(c for c in scene.cameras if c.id == q.view_ids[0])
            assert scene.label_edges and camera.tilt_degrees == 0
        assert q.meta["text_applicable"] == (q.qtype not in ("Q1a", "Q6")) == bool(q.text_repr)


def test_no_rule_of_thumb_beats_chance(draw):
    for stratum in STRATA:
        own = [q for q in draw.questions if q.stratum == stratum]
        found = hits(
            [[seen(q.options[x]) for x in LETTERS] for q in own],
            [LETTERS.index(q.answer) for q in own],
        ).mean(axis=0)
        assert (found <= 0.25 + 1.5 / len(own)).all(), (stratum, dict(zip(RULES, found)))


def test_the_order_of_structures_and_scenes_does_not_matter():
    bases, scenes = cases.world(cases.SIX)
    options = QuestionOptions(questions=64, mini=8)
    draw = draw_questions(bases, scenes, options, cases.SETTINGS)
    again = draw_questions(bases[::-1], scenes[::-1], options, cases.SETTINGS)
    assert [asdict(q) for q in again.questions] == [asdict(q) for q in draw.questions]
    assert again.mini == draw.mini
    other = draw_questions(bases, scenes, options, replace(cases.SETTINGS, seed=1))
    assert [q.options for q in other.questions] != [q.options for q in draw.questions]


def test_too_few_structures_are_told():
    world = cases.world(cases.SIX)
    with pytest.raises(RcError, match="Q1a: 24 of 100 .* of 6 .* take --questions 168, the most"):
        draw_questions(*world, QuestionOptions(), cases.SETTINGS)
    options = QuestionOptions(questions=64, per_structure=1)
    with pytest.raises(RcError, match="Q1a: 6 of 8 .*--per-structure"):
        draw_questions(*world, options, cases.SETTINGS)
    assert [QuestionOptions(questions=n).most("Q1a") for n in (64, 716, 720)] == [4, 4, 720]
    with pytest.raises(UsageError, match="multiple of 4"):
        QuestionOptions(questions=717)
    with pytest.raises(UsageError, match="both sides of 1.5"):
        QuestionOptions(near=1.1)


def test_quotas_are_the_cards():
    assert quotas(QuestionOptions(), 6) == QUOTAS


@given(st.integers(16, 4000), st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_quotas_add_up(quarters, systems):
    try:
        found = quotas(QuestionOptions(questions=4 * quarters), systems)
    except UsageError:
        assert quarters < 50
        return
    assert sum(found.values()) == 4 * quarters
    assert all(number % 4 == 0 and number > 0 for number in found.values())
    assert found["Q4"] % systems == 0


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_allotting_reaches_the_largest_flow(data):
    """As many as a linear program can, and no structure two while another has room for one."""
    from scipy.optimize import linprog

    groups = [f"g{k}" for k in range(data.draw(st.integers(1, 4)))]
    structures = [f"s{k}" for k in range(data.draw(st.integers(1, 5)))]
    number = st.integers(0, 3)
    available = {(g, s): data.draw(number) for g in groups for s in structures}
    most = {g: data.draw(st.integers(1, 5)) for g in groups}
    limit = data.draw(st.integers(1, 4))
    total = sum(most.values())
    found = allot(most, available, total, limit, np.random.default_rng(0))
    cells = list(available)
    rows = [[g == group for g, _ in cells] for group in groups]
    rows += [[s == structure for _, s in cells] for structure in structures]
    best = linprog(
        -np.ones(len(cells)),
        A_ub=np.array(rows, float),
        b_ub=[most[g] for g in groups] + [limit] * len(structures),
        bounds=[(0, available[cell]) for cell in cells],
    )
    assert sum(found.values()) == round(-best.fun)
    for cell, n in found.items():
        assert 0 < n <= available[cell]
    for g in groups:
        assert sum(n for (one, _), n in found.items() if one == g) <= most[g]
    for s in structures:
        assert sum(n for (_, one), n in found.items() if one == s) <= limit


numbers = st.lists(st.integers(1, 60), min_size=4, max_size=4)


@given(st.lists(numbers, min_size=1, max_size=5), st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_rules_are_what_their_names_say(sets, right):
    found = hits([[seen(str(n)) for n in one] for one in sets], [right] * len(sets))
    for row, values in zip(found, sets):
        if len(set(values)) == 1:
            assert (row == 0.25).all()
            continue
        ordered = sorted(values)
        for rank in range(4):
            same = [v for v in values if v == ordered[rank]]
            assert row[rank] == (values[right] == ordered[rank]) / len(same)
        gap = {k: min(abs(values[k] - values[m]) for m in range(4) if m != k) for k in range(4)}
        close = [k for k in gap if gap[k] == min(gap.values())]
        assert row[4] == (right in close) / len(close)
        middle = sum(values) / 4
        away = [abs(v - middle) for v in values]
        near = [k for k in range(4) if away[k] <= min(away) + 1e-9]
        assert row[5] == (right in near) / len(near)
        assert row[6] == 0.25


def test_rules_see_ratios_and_directions():
    ratio = [seen(t) for t in ("Ca4 F8", "Ca1 F2", "Ca2 F4", "Ca8 F4")]
    assert hits([ratio], [0])[0, 6] == pytest.approx(1 / 3)
    assert hits([ratio], [3])[0, 6] == 0
    assert seen("[2 1 0]").value == seen("[210]").value == 5 and seen("cubic").value is None
    alike = [seen(t) for t in ("[1 0 0]", "[1 1 0]", "[2 1 0]", "[0 2 2]")]
    assert hits([alike], [1])[0, 6] == 1


def test_the_prior_leaves_its_own_structure_out():
    options = [["a", "b", "c", "d"]] * 4
    found = prior_hits(options, ["a", "a", "b", "b"], ["x", "x", "y", "y"])
    assert found.tolist() == [0, 0, 0, 0]
    found = prior_hits(options, ["a", "a", "b", "a"], ["x", "y", "x", "y"])
    assert found.tolist() == [1, 0.5, 0, 0.5]


def test_the_floor_draws_where_the_prior_names_fewer():
    options = [["a", "b", "c", "d"]] * 4
    assert prior_floor(options, ["a", "a", "b", "b"], ["x", "x", "y", "y"]).tolist() == [0.25] * 4
    found = prior_floor(options, ["a", "a", "b", "a"], ["x", "y", "x", "y"])
    assert found.tolist() == [1, 0.5, 0, 0.5]
    assert prior_floor([], [], []).tolist() == []


def test_balance_takes_the_sets_that_tell_least():
    sets = [
        [tuple(Wrong(str(n + 5 * (k - m)), "") for k in range(4) if k != m) for m in range(4)]
        for n in range(20, 60)
    ]
    made = balanced([str(n) for n in range(20, 60)], sets, np.random.default_rng(0))
    found = hits(
        [[seen(str(20 + k)), *(seen(w.text) for w in one)] for k, one in enumerate(made)],
        [0] * len(made),
    ).mean(axis=0)
    assert np.abs(found[:4] - 0.25).max() <= 0.05


@pytest.mark.parametrize(
    "options",
    [
        QuestionOptions(questions=400),
        QuestionOptions(questions=1000, per_structure=8),
    ],
)
def test_the_most_that_can_be_drawn_is_named(options):
    """That number is drawn, and four more are not."""
    made = cases.world(cases.SIX)
    with cases.everything_visible():
        with pytest.raises(
            RcError, match="of 6 base structures at .* the most that can be"
        ) as told:
            draw_questions(*made, options, cases.SETTINGS)
        most = int(re.search(r"take --questions (\d+)", str(told.value))[1])
        assert 64 <= most < options.questions
        draw = draw_questions(*made, replace(options, questions=most), cases.SETTINGS)
        assert len(draw.questions) == most
        with pytest.raises(RcError, match=f"take --questions {most}, the most"):
            draw_questions(*made, replace(options, questions=most + 4), cases.SETTINGS)


def test_where_not_even_the_fewest_can_be_drawn_that_is_said():
    with pytest.raises(RcError, match="not even the fewest, 64, can be drawn"):
        draw_questions(*cases.world(("rock salt",)), QuestionOptions(), cases.SETTINGS)


def test_letters_lie_apart_in_every_picture(draw):
    """No disc of a letter covers another in a picture that is shown."""
    for q in draw.questions:
        if q.qtype == "Q3":
            scene = draw.scenes[q.scene_id]
            atoms = [scene.marks[x] for x in "ABC"]
            radii = covalent_radii[scene.numbers[atoms]] * cases.SETTINGS.radii
            for camera in scene.cameras:
                flat = scene.positions[atoms] @ camera.rotation[:2].T
                for i, j in ((0, 1), (0, 2), (1, 2)) if camera.id in q.view_ids else ():
                    assert np.linalg.norm(flat[i] - flat[j]) >= radii[i] + radii[j]


def test_texts_come_back(draw):
    seen_types = set()
    for q in draw.questions[::3]:
        if not q.text_repr:
            continue
        seen_types.add(q.qtype)
        ids = [q.scene_id] if isinstance(q.scene_id, str) else q.scene_id
        scenes = [draw.scenes[one] for one in ids]
        told = described(q.text_repr)
        assert len(told) == len(scenes)
        for one, scene in zip(told, scenes):
            assert np.allclose(one.lattice, scene.lattice, atol=1e-5)
            assert sorted(one.numbers.tolist()) == sorted(scene.numbers.tolist())
            for mark, atom in scene.marks.items():
                there = one.positions[one.marks[mark]]
                assert np.allclose(there, scene.positions[atom], atol=1e-4)
    assert seen_types == {"Q1b", "Q2", "Q3", "Q4", "Q5"}
    with pytest.raises(RcError, match="no lattice vectors"):
        described("something else")


def test_a_text_tells_nothing_of_images(bases):
    """Atoms stand in the order of element and place, not originals first."""
    scene = cases.scenes_of(bases["rock salt"])[0]
    turned = replace(
        scene,
        positions=scene.positions[::-1],
        numbers=scene.numbers[::-1],
        index=scene.index[::-1],
        translation=scene.translation[::-1],
    )
    assert describe(scene) == describe(turned)
    assert describe_pair(scene, turned).count("Structure") == 2
    assert "-0.000000" not in describe(scene)


def test_compositions_come_back():
    assert composition({20: 4, 9: 8}) == "Ca4 F8"
    assert counts_of("Ca4 F8") == {"Ca": 4, "F": 8}
    assert counts_of("cubic") is None and counts_of("12") is None


def test_changes_that_change_nothing_are_refused(bases):
    for name in ("rock salt", "caesium chloride", "zincblende"):
        assert not [v for v in variants(bases[name]) if v.mutation == "exchange"], name
    assert [v.detail for v in variants(bases["fluorite"]) if v.mutation == "exchange"] == ["F-Ca"]
    assert not [v for v in variants(bases["AlB2"]) if v.mutation == "deletion"]
    made = variants(bases["rutile"])
    assert Counter(v.mutation for v in made) == {"exchange": 1, "deletion": 2, "stretch": 2}
    for one in made:
        assert not same_crystal(bases["rutile"], one.cell)
        assert one.cell.name == "rutile"
    assert same_crystal(bases["rutile"], bases["rutile"])


def test_exchanged_sites_keep_their_bonds(bases):
    swap = next(v for v in variants(bases["AlB2"]) if v.mutation == "exchange")
    assert bases["AlB2"].pairs == ((5, 5), (5, 13)) and swap.cell.pairs == ((5, 13), (13, 13))


def test_coordination_by_its_twin(bases):
    for name in ("rock salt", "fluorite", "alpha quartz", "marcasite", "fcc copper"):
        base = bases[name]
        found = coordination.neighbours(base, 1.10)
        assert found.tolist() == [
            naive.coordination(base, atom, reach=2) for atom in range(len(base.numbers))
        ]


def test_shares_of_displayed_atoms_are_whole(bases):
    for name in ("rock salt", "hcp magnesium", "alpha quartz", "SiS2"):
        for scene in cases.scenes_of(bases[name]):
            if scene.mode != "environment" and not scene.mutation:
                shared = counting.shared_counts(scene)
                own = Counter(bases[name].numbers.tolist())
                assert {n: round(x, 6) for n, x in shared.items()} == own
                assert counting.images(bases[name], scene.repeats) == len(scene.numbers)
                assert system_of(scene, 0.01) == bases[name].system
                inverse = np.linalg.inv(scene.lattice)
                kept = folded(scene.lattice, scene.positions @ inverse, scene.numbers)
                assert len(kept[1]) == len(bases[name].numbers)


def test_laue_classes_by_their_twin(bases):
    pool = list(itertools.product((0, 1, 2), repeat=3))[1:]
    for name in ("alpha quartz", "litharge PbO", "pyrite"):
        base = bases[name]
        rotations = directions.laue_rotations(base)
        for one, other in itertools.islice(itertools.combinations(pool, 2), 0, None, 9):
            same = directions.direction_class(one, rotations) == directions.direction_class(
                other, rotations
            )
            assert same == naive.equivalent(base, one, other), (name, one, other)
    assert not directions.inequivalent([(1, 0, 0), (0, 1, 0)], directions.laue_rotations(base))


def test_directions_come_from_edges_alone(bases):
    for name in ("rock salt", "alpha quartz", "AlCl3"):
        scene = next(s for s in cases.scenes_of(bases[name]) if s.label_edges)
        for camera in scene.cameras:
            found = directions.seen_along(scene.lattice, camera)
            assert found == tuple(int(k) for k in camera.direction)
        tilted = next(s for s in cases.scenes_of(bases[name]) if not s.label_edges).cameras[0]
        assert directions.seen_along(scene.lattice, tilted) is None


def test_what_is_hidden_is_not_asked_about(bases):
    scene = cases.scenes_of(bases["rutile"])[0]
    shares = np.ones_like(scene.visible)
    shares[:, 0], shares[:3, 1], shares[:6, 2] = 0.6, 0.69, 0.0
    shares[0, 2] = 0.8
    scene = replace(scene, visible=shares)
    views = ("v00", "v01", "v02")
    assert markable(scene, views, QuestionOptions())[:4].tolist() == [False, False, False, True]
    any_of = markable(scene, views, QuestionOptions(visibility="any"))
    assert any_of[:4].tolist() == [False, False, True, True]
    hidden = replace(scene, visible=shares * 0.4)
    with pytest.raises(RcError, match="Q1a: 0 of"):
        draw_questions([bases["rutile"]], [hidden], QuestionOptions(), cases.SETTINGS)


def test_a_wrong_number_of_displayed_atoms_is_refused():
    """Both computations must agree; what they do not agree on is counted and not asked."""
    bases, scenes = cases.world(cases.SIX)
    broken = []
    for scene in scenes:
        if scene.structure == "rutile" and scene.mode == "supercell":
            keep = slice(None, -1)
            bonds = scene.bonds[(scene.bonds < len(scene.numbers) - 1).all(axis=1)]
            scene = replace(
                scene,
                positions=scene.positions[keep],
                numbers=scene.numbers[keep],
                index=scene.index[keep],
                translation=scene.translation[keep],
                visible=scene.visible[:, keep],
                bonds=bonds,
            )
        broken.append(scene)
    draw = draw_questions(bases, broken, QuestionOptions(questions=64, mini=4), cases.SETTINGS)
    assert draw.refused["Q1a: two computations disagree"] >= 1
    assert draw.refused["Q1b: two computations disagree"] >= 1
    lacking = {s.id for s in broken if s.structure == "rutile" and s.mode == "supercell"}
    assert not [q for q in draw.questions if q.qtype in ("Q1a", "Q1b") and q.scene_id in lacking]


def test_categories_of_pairs():
    cell = np.eye(3) * 4
    places = np.array([[0, 0, 0], [0.5, 0.5, 0.5], [0.5, 0, 0], [1, 0.5, 0]])
    kinds = np.array([3, 9, 3, 9])
    other = {
        identity.SAME: (cell, places[::-1], kinds[::-1]),
        identity.LATTICE: (cell * [[1.08], [1], [1]], places, kinds),
        identity.EXCHANGE: (cell, places, 12 - kinds),
        identity.ARRANGEMENT: (cell, places[:-1], kinds[:-1]),
    }
    for right, (lattice, fractional, numbers) in other.items():
        found = identity.category([cell, lattice], [places, fractional], [kinds, numbers])
        assert found == right
    one = np.array([9, 9, 3, 3])
    assert identity.category([cell] * 2, [places] * 2, [kinds, one]) == identity.EXCHANGE
    one = np.array([9, 9, 3, 9])
    assert identity.category([cell] * 2, [places] * 2, [kinds, one]) == identity.ARRANGEMENT


def test_answers_of_distances():
    assert distances.answer_of(3.0, 2.4) == naive.FOUR_Q3["B", False]
    assert distances.answer_of(2.0, 4.0) == naive.FOUR_Q3["C", True]


def test_rows_are_plain_json(draw):
    for q in draw.questions:
        assert json.loads(json.dumps(asdict(q))) == asdict(q)
