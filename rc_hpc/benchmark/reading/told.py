"""Scenes as far as texts tell them, where a package lacks the scenes themselves."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rc_hpc.benchmark.cameras import TILTED, camera
from rc_hpc.benchmark.questions.texts import Described, described
from rc_hpc.benchmark.records import DisplayedScene, Question
from rc_hpc.core.errors import RcError

#: Tilt of the default views, degrees.
TILT = 8.0


def scenes_of_texts(questions: Iterable[Question]) -> dict[str, DisplayedScene]:
    """Scenes by id, of all questions that have a text; the first that tells of a scene counts.

    A question without a text borrows that of another on the same scene. Only the three default
    views are known, neither bonds, nor visibility, nor scale.
    """
    found: dict[str, DisplayedScene] = {}
    for question in questions:
        ids = question.scene_id if isinstance(question.scene_id, list) else [question.scene_id]
        try:
            told = described(question.text_repr) if question.text_repr else []
        except RcError:
            continue  # of another form: the question's row says that its scene is not known
        if len(told) == len(ids):
            for id_, one in zip(ids, told, strict=True):
                found.setdefault(id_, scene_of(id_, question.structure, one))
    return found


def scene_of(id_: str, structure: str, told: Described) -> DisplayedScene:
    """The scene that a text describes."""
    n = len(told.numbers)
    cameras = tuple(
        camera(f"v{k:02}", direction, told.lattice, TILT) for k, direction in enumerate(TILTED)
    )
    return DisplayedScene(
        id=id_,
        structure=structure,
        mode="cell",
        lattice=told.lattice,
        repeats=(1, 1, 1),
        positions=told.positions,
        numbers=told.numbers,
        index=np.arange(n),
        translation=np.zeros((n, 3), np.int64),
        bonds=np.empty((0, 2), np.int64),
        centre=-1,
        cameras=cameras,
        visible=np.ones((len(cameras), n)),
        marks=told.marks,
    )
