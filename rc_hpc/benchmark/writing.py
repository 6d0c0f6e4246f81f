"""The files of a package around its pictures: questions, manifest, README, licence, Croissant."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import rc_hpc
from rc_hpc.benchmark.croissant import croissant
from rc_hpc.benchmark.package import MANIFEST
from rc_hpc.benchmark.questions.draw import Draw
from rc_hpc.benchmark.readme import LICENCE, readme
from rc_hpc.benchmark.records import BaseStructure, Question
from rc_hpc.core.errors import RcError
from rc_hpc.core.files import write_whole

QUESTIONS, MINI = "questions.jsonl", "questions_mini.jsonl"
#: Where the structures are told of.
PROVENANCE = "provenance/structures.jsonl"
#: Bytes that are read at a time.
_BLOCK = 1 << 20


def question_line(question: Question) -> str:
    """A question as a line of JSON; its scenes are a list in every row, as columns want it."""
    row = dataclasses.asdict(question)
    if isinstance(question.scene_id, str):
        row["scene_id"] = [question.scene_id]
    return json.dumps(row, ensure_ascii=False) + "\n"


def write_package(
    root: Path,
    draw: Draw,
    bases: Sequence[BaseStructure],
    sources: Mapping[str, str],
    options: Mapping[str, Any],
) -> None:
    """Write all files of a package but ``scenes.h5`` and the pictures, which are there.

    Parameters
    ----------
    bases
        The structures that are asked about.
    sources
        Where each came from, by name.
    options
        All settings, as JSON values.

    Raises
    ------
    RcError
        Pictures are missing.
    """
    (root / "provenance").mkdir(exist_ok=True)
    texts = {
        QUESTIONS: "".join(map(question_line, draw.questions)),
        MINI: "".join(map(question_line, draw.mini)),
        PROVENANCE: "".join(base_line(base, sources.get(base.name, "")) for base in bases),
        "LICENSE": LICENCE,
        "README.md": readme(draw.questions, draw.mini, bases, options),
    }
    for name, text in texts.items():
        write_whole(root / name, text.encode(), durable=False)
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    metadata = croissant(draw.questions, digests, rc_hpc.__version__)
    write_whole(root / "croissant.json", json_file(metadata), durable=False)
    pictures = sorted({path for one in draw.questions for path in one.image_paths})
    names = [*texts, "croissant.json", "scenes.h5", *(f"images/{path}" for path in pictures)]
    manifest = {
        "creator": f"rc_hpc {rc_hpc.__version__}",
        "settings": options,
        "view_sets": draw.view_sets,
        "files": dict(_entries(root, sorted(names))),
    }
    write_whole(root / MANIFEST, json_file(manifest))


def json_file(value: Any) -> bytes:
    """A JSON value as the bytes of a file."""
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def base_line(base: BaseStructure, source: str) -> str:
    """A structure as a line of JSON, with where it came from."""
    told = {
        "name": base.name,
        "source": source,
        "formula": base.formula,
        "crystal_system": base.system,
        "space_group": base.number,
        "lattice": base.lattice.tolist(),
        "fractional": base.fractional.tolist(),
        "atomic_numbers": base.numbers.tolist(),
        "bonded_pairs": [list(pair) for pair in base.pairs],
        "coordination": base.coordination,
    }
    return json.dumps(told, ensure_ascii=False) + "\n"


def _entries(root: Path, names: Iterable[str]):
    for name in names:
        digest, size = hashlib.sha256(), 0
        try:
            with open(root / name, "rb") as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
                    size += len(block)
        except OSError as error:
            raise RcError(
                f"{root / name}: cannot be read ({error.strerror}): build it again with --overwrite"
            ) from error
        yield name, {"sha256": digest.hexdigest(), "bytes": size}
