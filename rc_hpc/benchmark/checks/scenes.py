"""Right options computed again from the cameras and displayed atoms that our packages hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.display import too_small
from rc_hpc.benchmark.palette import alike
from rc_hpc.benchmark.questions.directions import direction_class, laue_rotations, seen_along
from rc_hpc.benchmark.questions.directions import text_of as direction_text
from rc_hpc.benchmark.questions.options import QuestionOptions
from rc_hpc.benchmark.questions.texts import CENTRE
from rc_hpc.benchmark.records import BaseStructure, DisplayedScene, Question
from rc_hpc.benchmark.settings import DisplaySettings


def check_scenes(
    questions: Sequence[Question],
    scenes: Mapping[str, DisplayedScene],
    bases: Mapping[str, BaseStructure],
    options: QuestionOptions,
) -> Iterator[Finding]:
    """Scenes that are not there, and what scenes say against a question.

    Counts of atoms (Q1a), depth traps (Q3), directions (Q6), and whether what is counted or
    marked can be seen in one of the pictures.

    Parameters
    ----------
    scenes, bases
        By id, and by name.
    options
        Shares that must be visible.
    """
    classes: dict[str, np.ndarray] = {}
    for q in questions:
        ids = [q.scene_id] if isinstance(q.scene_id, str) else q.scene_id
        shown = [scenes.get(one) for one in ids]
        known = [one for one in shown if one is not None]
        if len(known) < len(ids):
            lacking = ", ".join(one for one in ids if one not in scenes)
            yield Finding("scene-missing", q.id, f"scenes.h5 does not have {lacking}")
            continue
        each = max(1, len(q.view_ids) // len(ids))
        views = [(known[min(k // each, len(ids) - 1)], view) for k, view in enumerate(q.view_ids)]
        strange = [view for scene, view in views if view not in {c.id for c in scene.cameras}]
        if strange:
            yield Finding("view-missing", q.id, f"its scene has no view {', '.join(strange)}")
            continue
        scene = known[0]
        if q.qtype == "Q1a":
            yield from _count(q, scene, options)
        elif q.qtype in ("Q2", "Q3"):
            yield from _marked(q, scene, options)
        elif q.qtype == "Q6" and q.structure in bases:
            base = bases[q.structure]
            if base.name not in classes:
                classes[base.name] = laue_rotations(base)
            yield from _direction(q, scene, classes[base.name])


def check_drawable(
    scenes: Mapping[str, DisplayedScene], settings: DisplaySettings
) -> Iterator[Finding]:
    """Scenes whose elements or discs no picture can tell apart."""
    for name, scene in sorted(scenes.items()):
        if why := alike(scene.elements, settings.fog):
            yield Finding("colours", f"the scene {name}", why)
        if why := too_small(scene, settings):
            yield Finding("discs", f"the scene {name}", why)


def _shares(scene: DisplayedScene, views: Sequence[str]) -> np.ndarray:
    """Visible shares of each atom in some views, (views, n)."""
    rows = [k for k, camera in enumerate(scene.cameras) if camera.id in views]
    found: np.ndarray = scene.visible[rows]
    return found


def _count(q: Question, scene: DisplayedScene, options) -> Iterator[Finding]:
    count = len(scene.numbers)
    if q.options[q.answer] != str(count):
        yield Finding("answer", q.id, f"{q.options[q.answer]} counts as right, not {count}")
    if (_shares(scene, q.view_ids).max(axis=0) < options.visible_count).any():
        yield Finding(
            "hidden",
            q.id,
            f"an atom that counts is visible to less than {options.visible_count:.0%}",
        )


def _marked(q: Question, scene: DisplayedScene, options) -> Iterator[Finding]:
    wanted = {"Q2": (CENTRE,), "Q3": ("A", "B", "C")}[q.qtype]
    if not set(wanted) <= set(scene.marks):
        yield Finding("marks", q.id, f"its scene does not mark {', '.join(wanted)}")
        return
    atoms = [scene.marks[mark] for mark in wanted]
    shares, least = _shares(scene, q.view_ids)[:, atoms], options.visible_mark
    if (shares.max(axis=0) < least).any():
        yield Finding("hidden", q.id, f"a marked atom is visible to less than {least:.0%}")
    elif q.qtype == "Q3" and (shares < least).any():
        told = f"the atom of a letter is visible to less than {least:.0%} in one of its pictures"
        yield Finding("hidden", q.id, told)
    if q.qtype == "Q3":
        camera = next(c for c in scene.cameras if c.id == q.view_ids[0])
        a, b, c = scene.positions[atoms]
        true = np.linalg.norm(a - b) > np.linalg.norm(a - c)
        flat = camera.rotation[:2]
        seen = np.linalg.norm(flat @ (a - b)) > np.linalg.norm(flat @ (a - c))
        if bool(true != seen) != q.depth_trap:
            yield Finding(
                "depth-trap", q.id, f"meta.depth_trap is {q.depth_trap}; its first view differs"
            )


def _direction(q: Question, scene: DisplayedScene, rotations) -> Iterator[Finding]:
    camera = next(c for c in scene.cameras if c.id == q.view_ids[0])
    along = seen_along(scene.lattice, camera)
    options = {
        letter: tuple(map(int, found))
        for letter, text in q.options.items()
        if len(found := re.findall(r"-?\d+", text)) == 3
    }
    if along is None or len(options) < len(q.options):
        return
    classes = {x: direction_class((u, v, w), rotations) for x, (u, v, w) in options.items()}
    if classes[q.answer] != direction_class(along, rotations):
        yield Finding("answer", q.id, f"the picture looks along {direction_text(along)}")
    for one, other in combinations(sorted(classes), 2):
        if classes[one] == classes[other]:
            yield Finding("option-twice", q.id, f"{one} and {other} are equivalent directions")
