"""Scenes that differ from displayed ones in what is marked, or in their scale."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

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


def paired(first: DisplayedScene, second: DisplayedScene) -> tuple[DisplayedScene, DisplayedScene]:
    """Both scenes at one scale, that of the wider; each keeps its id where it has that scale."""
    scale = min(first.px_per_angstrom, second.px_per_angstrom)
    made = [
        one
        if one.px_per_angstrom == scale
        else replace(one, px_per_angstrom=scale, id=derived_id(one, "scale", scale))
        for one in (first, second)
    ]
    return made[0], made[1]


#: Without anybody who draws.
PLAIN = Derive(marked, paired)
