"""Scenes that differ from displayed ones in what is marked, or in how much a picture spans."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rc_hpc.benchmark.records import DisplayedScene


class Derive(NamedTuple):
    """How scenes are derived; whoever draws may give others, which see what a mark covers.

    Attributes
    ----------
    marked
        A scene with marks, of a new id.
    paired
        Two scenes that are drawn at one scale, of new ids where theirs differ.
    """

    marked: Callable[[DisplayedScene, Mapping[str, int]], DisplayedScene]
    paired: Callable[[DisplayedScene, DisplayedScene], tuple[DisplayedScene, DisplayedScene]]


def derived_id(scene: DisplayedScene, *what: object) -> str:
    """Id of a scene made of another: hexadecimal digits that tell nothing of either."""
    told = json.dumps([scene.id, *what], sort_keys=True)
    digits = hashlib.sha256(told.encode()).hexdigest()
    return scene.id[:1] + digits[: len(scene.id) - 1]


def marked(scene: DisplayedScene, marks: Mapping[str, int]) -> DisplayedScene:
    """The scene with these marks; visibilities as they were."""
    marks = dict(sorted(marks.items()))
    return replace(scene, marks=marks, id=derived_id(scene, marks))


def span_of(scene: DisplayedScene) -> float:
    """Half the width of what all pictures of a scene have room for, Å.

    From the middle of the cell's and atoms' box to the farthest of them, so that no camera
    leaves anything out.
    """
    corners = np.indices((2, 2, 2)).reshape(3, -1).T @ scene.lattice
    points = np.concatenate([scene.positions, corners])
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    return float(np.linalg.norm(points - middle, axis=1).max())


def paired(
    first: DisplayedScene, second: DisplayedScene
) -> tuple[DisplayedScene, DisplayedScene]:
    """Both scenes with one span, that of the wider; both keep their ids where they are one."""
    if first.id == second.id:
        return first, second
    span = round(max(one.span or span_of(one) for one in (first, second)), 6)
    made = [replace(one, span=span, id=derived_id(one, "span", span)) for one in (first, second)]
    return made[0], made[1]


#: Without anybody who draws.
PLAIN = Derive(marked, paired)
