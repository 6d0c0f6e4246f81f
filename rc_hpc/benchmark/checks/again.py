"""Scenes of a package displayed again from their structures, and a sample of its pictures drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.checks.ours import SCENES, Ours
from rc_hpc.benchmark.display import displayed_again
from rc_hpc.benchmark.drawing import ScenePainter
from rc_hpc.benchmark.questions.variants import variants
from rc_hpc.benchmark.records import DisplayedScene
from rc_hpc.core.errors import StructureError
from rc_hpc.core.fingerprint import code_of

#: Scenes and pictures that are made again.
SCENES_AGAIN, PICTURES_AGAIN = 1000, 400
#: Numbers of a scene are the same to within this: Å, and shares that are visible.
SAME, SAME_SHARE = 1e-6, 0.01
_FIELDS = ("lattice", "positions", "numbers", "index", "translation", "bonds")


def other_program(ours: Ours) -> str:
    """Why what is drawn may differ from what was; empty where it may not."""
    mine = code_of(tuple(name.removesuffix(".py") for name in ours.code))
    if changed := sorted(name for name in ours.code if mine.get(name) != ours.code[name]):
        return f"drawn by other sources of rc_hpc ({', '.join(changed)})"
    import matplotlib

    if (was := ours.versions.get("matplotlib")) != matplotlib.__version__:
        return f"drawn with matplotlib {was}, not {matplotlib.__version__}"
    return ""


def check_again(ours: Ours) -> Iterator[Finding]:
    """Scenes that their structures do not give, and pictures that their scenes do not give.

    A sample of both, by hashes of their names.
    """
    changed: dict[str, list] = {}
    for id_ in _sample(ours.scenes, SCENES_AGAIN):
        scene = ours.scenes[id_]
        base = ours.bases[scene.structure]
        if scene.mutation and base.name not in changed:
            changed[base.name] = variants(base, ours.display.stretch)
        try:
            made = displayed_again(base, scene, ours.display, changed.get(base.name, ()))
        except (LookupError, ValueError, StructureError):
            told = f"no scene of {base.name} is like {id_}"
            yield Finding("scene-again", SCENES, told)
            continue
        if differs := _differing(scene, made):
            told = f"{differs} of the scene {id_} is not what {base.name} gives"
            yield Finding("scene-again", SCENES, told)
    painter = ScenePainter(ours.display)
    for file in _sample(ours.drawn, PICTURES_AGAIN):
        _, id_, name = file.split("/")
        if id_ in ours.scenes:
            pixels, _ = painter.draw(ours.scenes[id_], name.removesuffix(".png"))
            if hashlib.sha256(pixels.tobytes()).hexdigest() != ours.drawn[file].pixels:
                told = f"its scene, drawn again, is not {file} as it is recorded"
                yield Finding("picture-again", SCENES, told)


def _sample(names, number: int) -> list[str]:
    """So many of some names, which only the names decide."""
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[:number]


def _differing(scene: DisplayedScene, made: DisplayedScene) -> str:
    """The first field in which two scenes differ; empty where none does."""
    if scene.id != made.id:
        return "the id"
    for name in _FIELDS:
        if not _equal(getattr(scene, name), getattr(made, name), SAME):
            return name
    if [one.id for one in scene.cameras] != [one.id for one in made.cameras]:
        return "the views"
    for one, other in zip(scene.cameras, made.cameras, strict=True):
        if not _equal(one.rotation, other.rotation, SAME):
            return f"the rotation of {one.id}"
    for name in ("centre", "elements", "mode", "repeats"):
        if getattr(scene, name) != getattr(made, name):
            return name
    if abs(scene.px_per_angstrom - made.px_per_angstrom) > SAME * made.px_per_angstrom:
        return "the scale"
    return "" if _equal(scene.visible, made.visible, SAME_SHARE) else "what is visible"


def _equal(one, other, tolerance: float) -> bool:
    return np.shape(one) == np.shape(other) and bool(np.allclose(one, other, 0, tolerance))
