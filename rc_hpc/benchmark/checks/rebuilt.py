"""Rows made again from the scenes that they show, field by field."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.checks.ours import Ours
from rc_hpc.benchmark.questions import distances, identity
from rc_hpc.benchmark.questions.coordination import neighbours
from rc_hpc.benchmark.questions.directions import text_of as direction_text
from rc_hpc.benchmark.questions.draw import ASKED, WITHOUT_TEXT
from rc_hpc.benchmark.questions.texts import (
    CENTRE,
    composition,
    counts_of,
    describe,
    describe_pair,
)
from rc_hpc.benchmark.questions.world import Candidate, World, markable
from rc_hpc.benchmark.records import LETTERS, DisplayedScene, Question
from rc_hpc.core.constants import CRYSTAL_SYSTEMS

#: What is told of a long value.
_TOLD = 48
_WHOLE = re.compile(r"[1-9]\d*")
_DIRECTION = re.compile(r"\[-?\d -?\d -?\d\]")


class _Shown(NamedTuple):
    """A question with what it shows, and what its meta should tell."""

    question: Question
    scenes: tuple[DisplayedScene, ...]
    world: World
    facts: dict[str, Any]
    truth: str


def check_rebuilt(questions: Sequence[Question], ours: Ours) -> Iterator[Finding]:
    """Fields of rows that are not what their scenes make of them.

    Rows whose scenes or views are not there are passed over; `check_scenes` tells of them.
    """
    world, numbers = ours.world, Counter[str]()
    for q in questions:
        numbers[q.stratum] += 1
        name = f"{q.stratum.lower().replace('_', '-')}-{numbers[q.stratum]:04d}"
        if q.id != name:
            yield Finding("rebuilt-id", q.id, f"should be {name} by its place")
        ids = [q.scene_id] if isinstance(q.scene_id, str) else q.scene_id
        scenes = tuple(ours.scenes[one] for one in ids if one in ours.scenes)
        if len(scenes) < len(ids) or len(ids) != 1 + (q.qtype == "Q5") or _strange(q, scenes):
            continue
        if misfit := _misfit(q, scenes):
            yield Finding("rebuilt-scene", q.id, misfit)
            continue
        facts, truth = _facts(q, scenes, world)
        shown = _Shown(q, scenes, world, facts, truth)
        for field, found, wanted in _fields(shown):
            if found != wanted or type(found) is not type(wanted):
                told = f"{field} is {_short(found)}; its scene makes {_short(wanted)}"
                yield Finding(f"rebuilt-{field.partition('.')[0]}", q.id, told)
        yield from _meta(shown)
        yield from _views(shown)
        yield from _options(shown)
    shown_ids = {path.split("/")[1] for q in questions for path in q.image_paths if "/" in path}
    for strange in sorted(ours.scenes.keys() - shown_ids):
        yield Finding("scene-unused", "scenes.h5", f"no question shows its scene {strange}")


def _strange(q: Question, scenes: Sequence[DisplayedScene]) -> bool:
    """Whether a scene lacks a view that the question names."""
    each = len(q.view_ids) // len(scenes)
    return any(
        view not in {camera.id for camera in scene.cameras}
        for k, scene in enumerate(scenes)
        for view in q.view_ids[k * each : (k + 1) * each]
    )


def _misfit(q: Question, scenes: tuple[DisplayedScene, ...]) -> str:
    """Why a question of this type cannot show these scenes; empty where it can."""
    first = scenes[0]
    marks = {"Q2": {CENTRE}, "Q3": {"A", "B", "C"}}.get(q.qtype, set())
    modes = {"cell"}
    if q.qtype not in ("Q5", "Q6"):
        modes |= {"supercell"}
    if q.qtype == "Q2":  # an environment is easy: `_fields` tells of a wrong difficulty
        modes |= {"environment"}
    for scene in scenes:
        if set(scene.marks) != marks:
            return f"its scene marks {', '.join(sorted(scene.marks)) or 'nothing'}"
        if scene.mode not in modes:
            return f"its scene displays a {scene.mode}"
        if scene.label_edges != (q.qtype == "Q6"):
            return f"its scene has {'' if scene.label_edges else 'no '}letters at the edges"
        if scene.mutation and q.qtype != "Q5":
            return "its scene is of a changed structure"
    if any(one.px_per_angstrom != first.px_per_angstrom for one in scenes):
        return "its two scenes are not at one scale"
    return ""


def _facts(q: Question, scenes: tuple[DisplayedScene, ...], world: World):
    """What the meta of a question tells of its type, and the right option."""
    scene = scenes[0]
    base = world.bases[scene.structure]
    if q.qtype == "Q1a":
        return {"displayed_atoms": len(scene.numbers)}, str(len(scene.numbers))
    if q.qtype == "Q1b":
        firsts = np.unique(scene.index, return_index=True)[1]
        cell = Counter(scene.numbers[firsts].tolist())
        return {"formula_units": gcd(*cell.values())}, composition(cell)
    if q.qtype == "Q2":
        count = world.once(
            ("neighbours", base.name), lambda: neighbours(base, world.settings.bond_factor)
        )
        number = int(count[scene.index[scene.marks[CENTRE]]])
        return {"coordination_number": number}, str(number)
    if q.qtype == "Q3":
        a, b, c = (scene.positions[scene.marks[x]] for x in "ABC")
        apart = [float(np.linalg.norm(a - one)) for one in (b, c)]
        flat = _camera(scene, q.view_ids[0]).rotation[:2]
        seen = [float(np.linalg.norm(flat @ (a - one))) for one in (b, c)]
        trap = (apart[0] > apart[1]) != (seen[0] > seen[1])
        told = {"depth_trap": trap, "distances": [round(one, 4) for one in apart]}
        return told, distances.answer_of(*apart)
    if q.qtype == "Q4":
        return {"crystal_system": base.system}, base.system
    if q.qtype == "Q5":
        mutation = scenes[0].mutation or scenes[1].mutation
        if scenes[0].structure != scenes[1].structure:
            mutation = "polymorph"
        told = {"mutation": mutation or "none", "second_structure": scenes[1].structure}
        return told, identity.CATEGORY[mutation]
    along = [round(float(one)) for one in _camera(scene, q.view_ids[0]).direction]
    return {"direction": along}, direction_text((along[0], along[1], along[2]))


def _camera(scene: DisplayedScene, view: str):
    return next(one for one in scene.cameras if one.id == view)


def _fields(shown: _Shown) -> Iterator[tuple[str, object, object]]:
    """Names of fields, what they are, and what they should be."""
    q, scenes, world, facts, truth = shown
    base = world.bases[scenes[0].structure]
    level = "standard"
    if q.qtype == "Q2":
        level = "easy" if scenes[0].mode == "environment" else "hard"
    yield "difficulty", q.difficulty, level
    yield "structure", q.structure, base.name
    asked = Candidate(base.name, "", (), scenes, (), truth, scenes[0].marks, facts)
    yield "question", q.question, ASKED[q.stratum].words(asked, world)
    text = ""
    if q.qtype not in WITHOUT_TEXT:
        text = describe_pair(*scenes) if len(scenes) == 2 else describe(scenes[0])
    yield "text_repr", q.text_repr, text
    yield "answer_text", q.answer_text, truth
    meta = {
        "base_structure": base.name,
        "crystal_system": base.system,
        "display_mode": scenes[0].mode,
        "text_applicable": q.qtype not in WITHOUT_TEXT,
        **facts,
    }
    for name, wanted in meta.items():
        yield f"meta.{name}", q.meta.get(name), wanted


def _meta(shown: _Shown) -> Iterator[Finding]:
    q = shown.question
    known = {
        *("base_structure", "crystal_system", "display_mode", "text_applicable", "option_rules"),
        *shown.facts,
    }
    if strange := sorted(q.meta.keys() - known):
        told = f"meta tells of {', '.join(strange)}, which ours do not"
        yield Finding("rebuilt-meta", q.id, told)
    rules = q.meta.get("option_rules")
    rules = rules if isinstance(rules, dict) else {}
    if [x for x in rules if rules[x] == "right"] != [q.answer] or set(rules) != set(LETTERS):
        yield Finding("rebuilt-meta", q.id, "meta.option_rules does not name the right option")


def _views(shown: _Shown) -> Iterator[Finding]:
    """Sets of views that are none of those that questions are drawn with."""
    q, scenes, world = shown.question, shown.scenes, shown.world
    each = len(q.view_ids) // len(scenes)
    groups = [tuple(q.view_ids[k * each : (k + 1) * each]) for k in range(len(scenes))]
    if q.qtype == "Q6":
        if _camera(scenes[0], q.view_ids[0]).tilt_degrees or not q.view_ids[0].startswith("s"):
            yield Finding("rebuilt-views", q.id, f"{q.view_ids[0]} is no strict view")
        return
    sets = world.once("sets", lambda: {world.views(k) for k in range(world.view_sets)})
    if not set(groups) <= sets:
        told = ", ".join(q.view_ids)
        yield Finding("rebuilt-views", q.id, f"{told} are no views that a question is drawn with")
    elif q.qtype == "Q5" and set(groups[0]) & set(groups[1]):
        yield Finding("rebuilt-views", q.id, "both groups show a structure from one direction")
    if q.qtype in ("Q2", "Q3"):
        enough = markable(scenes[0], q.view_ids, world.options)
        if not enough[list(scenes[0].marks.values())].all():
            yield Finding("hidden", q.id, "a marked atom is not visible enough across all views")


def _options(shown: _Shown) -> Iterator[Finding]:
    """Options of another form than those of their stratum."""
    q, scene = shown.question, shown.scenes[0]
    texts = q.options.values()
    fixed = {"Q3": set(distances.OPTIONS.values()), "Q5": set(identity.OPTIONS)}
    if q.qtype in fixed and set(texts) != fixed[q.qtype]:
        yield Finding("option-form", q.id, "its options are not the four fixed ones")
    for letter, text in q.options.items():
        if not _fits(q.qtype, text, scene):
            yield Finding("option-form", q.id, f"{letter}, {_short(text)}, is of another form")


def _fits(qtype: str, text: str, scene: DisplayedScene) -> bool:
    if qtype in ("Q1a", "Q2"):
        return bool(_WHOLE.fullmatch(text))
    if qtype == "Q1b":
        counts = counts_of(text) or {}
        own = composition(Counter(scene.numbers.tolist()))
        return text == " ".join(sorted(text.split())) and set(counts) == set(counts_of(own) or {})
    if qtype == "Q4":
        return text in CRYSTAL_SYSTEMS
    return qtype != "Q6" or bool(_DIRECTION.fullmatch(text))


def _short(value: object) -> str:
    """A value in a line; of a long text its end."""
    told = repr(value)
    return told if len(told) <= _TOLD else f"...{told[-_TOLD:]}"
