"""What a package of ours holds beyond the card: ``scenes.h5``, from which it can be made again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rc_hpc.benchmark.checks.pictures import Drawn
from rc_hpc.benchmark.questions.options import QuestionOptions
from rc_hpc.benchmark.questions.world import World
from rc_hpc.benchmark.records import BaseStructure, DisplayedScene
from rc_hpc.benchmark.scene_file import read_bases, read_scenes
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.core.errors import RcError
from rc_hpc.store.content import content_hash
from rc_hpc.store.layout import read_rows
from rc_hpc.store.reader import open_ours

#: Cameras and displayed atoms, which the released package lacks.
SCENES = "scenes.h5"


@dataclass(frozen=True)
class Ours:
    """Content of ``scenes.h5``.

    Attributes
    ----------
    scenes, bases
        By id, and by name.
    settings
        As they are recorded: JSON values.
    display, questions
        The same as options.
    drawn
        What is recorded of each picture, by its path below the folder of pictures.
    code, versions
        Fingerprints of the sources that made it, and versions of packages.
    version
        Of the program.
    changed
        Whether its content is another than its own content hash says.
    """

    scenes: Mapping[str, DisplayedScene]
    bases: Mapping[str, BaseStructure]
    settings: Mapping[str, Any]
    display: DisplaySettings
    questions: QuestionOptions
    drawn: Mapping[str, Drawn]
    code: Mapping[str, str]
    versions: Mapping[str, str]
    version: str
    changed: bool

    @property
    def world(self) -> World:
        """The structures and scenes that are shown."""
        return World.of(
            list(self.bases.values()), list(self.scenes.values()), self.questions, self.display
        )


def read_ours(path: Path) -> Ours:
    """Read ``scenes.h5`` of a package.

    Raises
    ------
    RcError
        It is no such file, or is damaged.
    """
    try:
        with open_ours(path, "pictures") as h5:
            told, attributes = json.loads(h5.attrs["options"]), dict(h5.attrs)
            changed = attributes["content_hash"] != content_hash(h5)
            columns = [read_rows(h5[f"pictures/{x}"]) for x in ("file", "sha256", "pixels_sha256")]
        scenes, bases = read_scenes(path), read_bases(path)
        return Ours(
            {scene.id: scene for scene in scenes},
            {base.name: base for base in bases},
            told,
            DisplaySettings.from_dict(told["scenes"]["display"]),
            QuestionOptions.from_dict(told["questions"]),
            {
                str(file): Drawn(str(sha), str(pixels))
                for file, sha, pixels in zip(*columns, strict=True)
            },
            json.loads(attributes["code"]),
            json.loads(attributes["result_versions"]),
            str(attributes["creator_version"]),
            changed,
        )
    except (OSError, KeyError, ValueError, TypeError, IndexError) as error:
        raise RcError(f"{path}: damaged ({error})") from error
