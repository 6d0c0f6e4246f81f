"""Questions of a package with the scenes that they show."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.benchmark.package import read_package
from rc_hpc.benchmark.reading.floors import FLOORS, own_floors, priors
from rc_hpc.benchmark.reading.reader import Asked
from rc_hpc.benchmark.reading.told import scenes_of_texts
from rc_hpc.benchmark.records import LETTERS, DisplayedScene, Question
from rc_hpc.benchmark.scene_file import read_scenes, read_settings
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.core.errors import Status
from rc_hpc.core.text import storable
from rc_hpc.kinds.common.source import Listed
from rc_hpc.store.batch import Batch

#: File of the displayed scenes within a package.
SCENES = "scenes.h5"


def open_package(folder: Path, set_name: str, scenes: Path | None) -> Listed:
    """Questions of a set, in the order of their ids.

    Parameters
    ----------
    scenes
        File of scenes; by default that of the package, and what the texts tell where it has none.

    Raises
    ------
    RcError
        The package, or the file of scenes, cannot be read.
    """
    package = read_package(folder, set_name)
    questions = sorted(package.questions, key=lambda question: question.id)
    file = scenes or (folder / SCENES if (folder / SCENES).is_file() else None)
    digest = hashlib.sha256(package.sha256.encode())
    if file is None:
        known, display = scenes_of_texts(package.questions), DisplaySettings()
    else:
        known = {scene.id: scene for scene in read_scenes(file)}
        display = read_settings(file)
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    items = [
        asked_of(question, known, complete=file is not None)._replace(display=display)
        for question in questions
    ]
    return Listed(_columns(items, str(folder), file), items, digest.hexdigest())


def asked_of(question: Question, known: dict[str, DisplayedScene], *, complete: bool) -> Asked:
    """A question with its scenes and their views; without any where one is not known."""
    ids = question.scene_id if isinstance(question.scene_id, list) else [question.scene_id]
    ids = ids * 2 if question.qtype == "Q5" and len(ids) == 1 else ids
    shown = len(question.view_ids) // len(ids)
    scenes, views = [], []
    for k, id_ in enumerate(ids):
        scene = known.get(id_)
        order = scene and _order(scene, question.view_ids[k * shown : (k + 1) * shown])
        if scene is None or not order:
            return Asked(question, (), (), shown, complete)
        scenes.append(scene)
        views.append(order)
    return Asked(question, tuple(scenes), tuple(views), shown, complete)


def _order(scene: DisplayedScene, shown: Sequence[str]) -> tuple[int, ...]:
    """Views shown first, then the other candidate ones; none where one shown is not known."""
    names = [camera.id for camera in scene.cameras]
    if not set(shown) <= set(names):
        return ()
    others = [k for k, name in enumerate(names) if name not in shown and name.startswith("v")]
    return (*(names.index(name) for name in shown), *others)


def _columns(items: Sequence[Asked], where: str, file: Path | None) -> Batch:
    """What is known of the questions before they are read."""
    questions = [item.question for item in items]
    lacking = [not item.scenes for item in items]

    def texts(values: Iterable[str]) -> np.ndarray:
        return np.array([storable(value) for value in values], object)

    columns: dict[str, Any] = {
        "structures/id": texts(question.id for question in questions),
        "structures/duplicate": np.zeros(len(items), np.int32),
        "structures/source": texts(where for _ in items),
        "structures/sha256": texts(question.sha256 for question in questions),
        "structures/status": np.array(
            [Status.read_error if lack and file else Status.ok for lack in lacking], np.uint8
        ),
        "structures/message": texts(_why(file) if lack else "" for lack in lacking),
        "questions/stratum": texts(question.stratum for question in questions),
        "questions/base_structure": texts(question.structure for question in questions),
        "questions/answer": texts(question.answer for question in questions),
        "questions/options": np.array(
            [[storable(question.options[letter]) for letter in LETTERS] for question in questions],
            object,
        ).reshape(-1, len(LETTERS)),
        "questions/n_shown": np.array([item.shown for item in items], np.int32),
        "questions/radii": np.array([item.display.radii if file else np.nan for item in items]),
        "questions/bond_factor": np.array([item.display.bond_factor for item in items]),
        "questions/depth_trap": np.array([bool(q.meta.get("depth_trap")) for q in questions]),
        "questions/scene_from": texts(
            "nothing" if lack else "scenes" if item.complete else "text"
            for item, lack in zip(items, lacking, strict=True)
        ),
    }
    floors = {name: np.full(len(items), np.nan) for name in FLOORS}
    floors["prior"][:] = priors(questions)
    for k, item in enumerate(items):
        for name, score in own_floors(item).items():
            floors[name][k] = score
    return columns | {f"floors/{name}": values for name, values in floors.items()}


def _why(file: Path | None) -> str:
    if file is None:
        return "no text describes its scene, and the package has no scenes.h5: give --scenes FILE"
    return f"{file.name} lacks its scene, or a view that it shows: take the file of this package"
