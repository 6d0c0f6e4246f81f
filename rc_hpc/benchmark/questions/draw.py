"""One joint draw of all strata: quotas, wrong options, letters, the subset, ids."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rc_hpc.benchmark.display import at_scale, marked
from rc_hpc.benchmark.questions.allot import allot
from rc_hpc.benchmark.questions.balance import Wrong
from rc_hpc.benchmark.questions.coordination import EASY, HARD
from rc_hpc.benchmark.questions.counting import CONTENT, DISPLAYED
from rc_hpc.benchmark.questions.directions import DIRECTIONS
from rc_hpc.benchmark.questions.distances import DISTANCES, turned
from rc_hpc.benchmark.questions.identity import IDENTITY
from rc_hpc.benchmark.questions.options import LEAST, QuestionOptions, quotas
from rc_hpc.benchmark.questions.pools import Pool, largest, shortage
from rc_hpc.benchmark.questions.systems import SYSTEMS
from rc_hpc.benchmark.questions.texts import describe, describe_pair
from rc_hpc.benchmark.questions.world import Candidate, Stratum, World
from rc_hpc.benchmark.records import LETTERS, STRATA, BaseStructure, DisplayedScene, Question
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.core.errors import RcError

#: How each stratum's questions come about.
ASKED: dict[str, Stratum] = dict(
    zip(
        STRATA,
        (DISPLAYED, CONTENT, EASY, HARD, DISTANCES, SYSTEMS, IDENTITY, DIRECTIONS),
        strict=True,
    )
)
#: Strata that no text can ask.
WITHOUT_TEXT = ("Q1a", "Q6")


class Draw(NamedTuple):
    """What was drawn.

    Attributes
    ----------
    questions
        All of them, in the order of their ids.
    mini
        Those of the subset, in the same order.
    scenes
        By id, those that the questions show: displayed ones, and ones with marks or at another
        scale.
    view_sets
        Sets of three views that each stratum needed; 1: the default one alone.
    refused
        Why scenes and atoms gave no question, and how often.
    """

    questions: list[Question]
    mini: list[Question]
    scenes: dict[str, DisplayedScene]
    view_sets: dict[str, int]
    refused: dict[str, int]


def draw_questions(
    bases: Sequence[BaseStructure],
    scenes: Sequence[DisplayedScene],
    options: QuestionOptions,
    settings: DisplaySettings,
) -> Draw:
    """Draw all questions; the same for the same structures and scenes in any order.

    Parameters
    ----------
    scenes
        All that `rc_hpc.benchmark.display` shows of the structures and of what
        `rc_hpc.benchmark.questions.variants` makes of them.
    settings
        Under which the scenes were displayed; their seed is that of every choice.

    Raises
    ------
    RcError
        A stratum cannot be filled; says how far, and what would help.
    """
    world, seed = World.of(bases, scenes, options, settings), settings.seed
    systems = {candidate.group for candidate in SYSTEMS.candidates(world, 0)}
    wanted = quotas(options, max(1, len(systems)))
    pools = {name: Pool(name, one, world, _stream(seed, name)) for name, one in ASKED.items()}
    found: list[tuple[str, Candidate, tuple[Wrong, ...]]] = []
    view_sets = {}
    for stratum in STRATA:
        chosen, view_sets[stratum] = _chosen(pools, stratum, wanted[stratum], len(systems))
        asked, rng = ASKED[stratum], pools[stratum].rng
        truths = Counter(candidate.truth for candidate in chosen)
        sets = [asked.wrong(candidate, world, truths, rng) for candidate in chosen]
        wrong = asked.taken(chosen, sets, rng)
        found += [(stratum, *pair) for pair in zip(chosen, wrong, strict=True)]
    questions, shown = _written(found, world)
    mini = _subset(questions, options.mini, _stream(seed, "mini"))
    return Draw(questions, mini, shown, view_sets, dict(sorted(world.refused.items())))


def _stream(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def _chosen(
    pools: Mapping[str, Pool], stratum: str, total: int, systems: int
) -> tuple[list[Candidate], int]:
    """Candidates that fill a quota, and how many sets of views they needed."""
    pool, options = pools[stratum], pools[stratum].world.options
    limit = options.most(stratum.partition("_")[0])
    *_, found = pool.filled(total, limit)
    if found.total == total:
        return _taken(stratum, found.numbers, pool.cells, pool.rng), pool.view_sets
    most = largest(pools, stratum, options, systems)
    can = f"take --questions {most}, the most that can be drawn of these structures so"
    cure = can if most else f"not even the fewest, {LEAST}, can be drawn of these structures so"
    kind = "difficulty" if stratum.startswith("Q2") else "structure"
    raise RcError(
        f"{shortage(pool, total, limit, found)}; {cure}; or give more structures, or ask for more "
        f"of each (--per-{kind})"
    )


def _taken(stratum: str, numbers, cells, rng) -> list[Candidate]:
    """As many of each group and structure as were allotted, of different scenes if possible."""
    chosen: list[Candidate] = []
    used: set[tuple[Any, ...]] = set()
    scenes: Counter[str] = Counter()
    for cell in sorted(numbers):
        keys = list(cells[cell].values())
        order = rng.permutation(len(keys)).tolist()
        for _ in range(numbers[cell]):
            free = [k for k in order if keys[k][0].key not in used]
            if not free:
                raise RcError(f"{stratum}: {cell} has fewer different questions than counted")
            best = min(free, key=lambda k: scenes[keys[k][0].scenes[0].id])
            one = keys[best][int(rng.integers(len(keys[best])))]
            used.add(one.key)
            scenes[one.scenes[0].id] += 1
            chosen.append(one)
    return turned(chosen) if stratum == "Q3" else chosen


def _written(found, world: World):
    """Questions with ids and letters, and the scenes that they show."""
    questions: list[Question] = []
    shown: dict[str, DisplayedScene] = {}
    for stratum in STRATA:
        own = [(one, wrong) for name, one, wrong in found if name == stratum]
        rng = _stream(world.settings.seed, f"{stratum} letters")
        own = [own[k] for k in rng.permutation(len(own)).tolist()]
        letters = [LETTERS[k % 4] for k in range(len(own))]
        letters = [letters[k] for k in rng.permutation(len(own)).tolist()]
        for number, ((candidate, wrong), letter) in enumerate(zip(own, letters, strict=True), 1):
            scenes = _derived(candidate, world.settings)
            shown.update((scene.id, scene) for scene in scenes)
            name = f"{stratum.lower().replace('_', '-')}-{number:04d}"
            others = [wrong[k] for k in rng.permutation(3).tolist()]
            placed = dict(zip([x for x in LETTERS if x != letter], others, strict=True))
            placed[letter] = Wrong(candidate.truth, "right")
            options = {x: placed[x] for x in LETTERS}
            questions.append(_question(name, stratum, candidate, scenes, options, letter, world))
    return questions, shown


def _derived(candidate: Candidate, settings: DisplaySettings) -> tuple[DisplayedScene, ...]:
    """Scenes with marks; both of a pair at the scale of the wider."""
    if candidate.marks:
        return (marked(candidate.scenes[0], candidate.marks, settings),)
    scale = min(scene.px_per_angstrom for scene in candidate.scenes)
    return tuple(at_scale(scene, scale, settings) for scene in candidate.scenes)


def _question(
    name: str,
    stratum: str,
    candidate: Candidate,
    scenes: tuple[DisplayedScene, ...],
    options: Mapping[str, Wrong],
    letter: str,
    world: World,
) -> Question:
    qtype, _, difficulty = stratum.partition("_")
    with_text = qtype not in WITHOUT_TEXT
    base = world.bases[candidate.structure]
    meta = {
        "base_structure": base.name,
        "crystal_system": base.system,
        "display_mode": scenes[0].mode,
        "text_applicable": with_text,
        **candidate.facts,
        "option_rules": {x: wrong.rule for x, wrong in options.items()},
    }
    pictures = [
        (scene.id, view)
        for scene, views in zip(scenes, candidate.views, strict=True)
        for view in views
    ]
    text = ""
    if with_text:
        text = describe_pair(*scenes) if len(scenes) == 2 else describe(scenes[0])
    return Question(
        id=name,
        qtype=qtype,
        difficulty=difficulty or "standard",
        structure=base.name,
        scene_id=scenes[0].id if len(scenes) == 1 else [scene.id for scene in scenes],
        view_ids=[view for _, view in pictures],
        image_paths=[f"scenes/{scene}/{view}.png" for scene, view in pictures],
        question=ASKED[stratum].words(candidate, world),
        options={x: wrong.text for x, wrong in options.items()},
        answer=letter,
        answer_text=candidate.truth,
        meta=meta,
        text_repr=text,
    )


def _subset(questions: Sequence[Question], each: int, rng: np.random.Generator) -> list[Question]:
    """So many of each stratum, of as many base structures and as even in letters as possible."""
    kept: set[str] = set()
    for place, stratum in enumerate(STRATA):
        own = [q for q in questions if q.stratum == stratum]
        total = min(each, len(own))
        # the odd ones go to letters in turn, so that all strata together are even
        first = place * (total % 4) % 4
        turn = [*LETTERS[first:], *LETTERS[:first]]
        limits = {x: total // 4 + (k < total % 4) for k, x in enumerate(turn)}
        cells: dict[tuple[str, str], list[str]] = {}
        for q in own:
            cells.setdefault((q.answer, q.structure), []).append(q.id)
        available = {cell: len(ids) for cell, ids in cells.items()}
        for cell, number in sorted(allot(limits, available, total, len(own), rng).items()):
            ids = cells[cell]
            kept.update(ids[k] for k in rng.permutation(len(ids))[:number].tolist())
    return [q for q in questions if q.id in kept]
