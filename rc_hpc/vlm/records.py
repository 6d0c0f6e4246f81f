"""What is asked about: subjects, from JSON lines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rc_hpc.answers.task import Task
from rc_hpc.core.errors import RcError
from rc_hpc.core.ids import read_entries


@dataclass(frozen=True, slots=True)
class Subject:
    """What one question, or several, are about.

    Attributes
    ----------
    id, truth
        Name, and the right answer.
    question
        The input's own, or None.
    images
        Picture files that the input names; None where it names none.
    choices
        What each label of the task stands for in its question; empty where they stand for
        themselves.
    """

    id: str
    truth: str
    question: str | None = None
    images: tuple[str, ...] | None = None
    choices: tuple[str, ...] = ()


def read_records(path: Path, task: Task) -> list[Subject]:
    """Subjects of JSON lines with ``material_id`` and the task's truth.

    A line may have ``question``, ``images``, and, where the task has any, ``choices``.

    Raises
    ------
    RcError
        Not such a file; names the record.
    """
    subjects: dict[str, Subject] = {}
    for entry in read_entries(path, "SOURCE"):
        id_ = entry["material_id"]
        if id_ in subjects:
            raise RcError(f"{path}: {id_} is there twice")
        if entry.get(task.key) not in task.labels:
            raise RcError(
                f"{path}: {id_}: {task.key} is {entry.get(task.key)!r}, "
                f"none of {', '.join(task.labels)}"
            )
        subjects[id_] = Subject(
            id_,
            entry[task.key],
            _text(path, entry, "question"),
            _texts(path, entry, "images"),
            (_texts(path, entry, "choices") or ()) if task.choices else (),
        )
    return list(subjects.values())


def _text(path: Path, entry: dict, key: str) -> str | None:
    value = entry.get(key)
    if value is not None and not isinstance(value, str):
        raise RcError(f"{path}: {entry['material_id']}: {key} is no text")
    return value


def _texts(path: Path, entry: dict, key: str) -> tuple[str, ...] | None:
    values = entry.get(key)
    if values is None:
        return None
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise RcError(f"{path}: {entry['material_id']}: {key} is no list of texts")
    return tuple(values)
