"""A package of the benchmark as it is read: questions, pictures, manifest.

Where the card leaves open how something is written, every likely way is taken: names of strata in
any case, with blanks or dashes; options as an object or as a list; one scene or a list of them.
What the card states is demanded.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rc_hpc.benchmark.records import LETTERS, STRATA, Question
from rc_hpc.core.errors import RcError, UsageError

#: Files of a package by the names of its two sets.
SETS = {"full": "questions.jsonl", "mini": "questions_mini.jsonl"}
MANIFEST = "manifest.json"
#: Folder that the paths of pictures start from.
IMAGES = "images"
#: What lies in the folder of a package, beside scenes.h5.
FILES = (
    *("README.md", "LICENSE", "croissant.json", "provenance"),
    *(MANIFEST, IMAGES, *SETS.values()),
)
#: Fields of a row in the card's order; difficulty and text_repr may be missing.
FIELDS = (
    "id",
    "qtype",
    "difficulty",
    "structure",
    "scene_id",
    "view_ids",
    "image_paths",
    "question",
    "options",
    "answer",
    "answer_text",
    "meta",
    "text_repr",
)
_NEEDED = ("id", "qtype", "scene_id", "view_ids", "image_paths", "question", "options", "answer")
#: Types by what is left of a name without case, blanks and dashes.
_TYPES = {name.lower(): name for name in ("Q1a", "Q1b", "Q2", "Q3", "Q4", "Q5", "Q6")}
_BLANK = re.compile(r"[\s_\-.:/()]+")


@dataclass(frozen=True)
class Package:
    """One set of a package.

    Attributes
    ----------
    root
        Its folder.
    set_name
        ``full`` or ``mini``.
    rows
        The rows as they stand in the file.
    questions
        The same as records, in the same order.
    sha256
        Of the file of questions.
    """

    root: Path
    set_name: str
    rows: tuple[dict[str, Any], ...]
    questions: tuple[Question, ...]
    sha256: str

    @cached_property
    def by_id(self) -> dict[str, Question]:
        """Questions by their ids."""
        return {question.id: question for question in self.questions}

    def picture(self, entry: str) -> Path:
        """File of an entry of ``image_paths``; see `picture_path`."""
        return picture_path(self.root, entry)


def read_package(root: str | Path, set_name: str = "full") -> Package:
    """Read one set of a package.

    Raises
    ------
    RcError
        The file cannot be read, or a row is not one of the card's form; names it and the cure.
    """
    root = Path(root)
    need_folder(root)
    if set_name not in SETS:
        raise UsageError(f"{set_name!r} is no set of a package: one of {', '.join(SETS)}")
    path = root / SETS[set_name]
    data = _bytes(path)
    rows, questions = [], []
    for number, row in read_rows(path, data):
        rows.append(row)
        questions.append(question_of(row, f"{path}, line {number}"))
    if not rows:
        raise RcError(f"{path}: holds no questions; fetch or build the package again")
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise RcError(f"{path}: the id {question.id} is there twice; build the package again")
        seen.add(question.id)
    digest = hashlib.sha256(data).hexdigest()
    return Package(root, set_name, tuple(rows), tuple(questions), digest)


def package_of(path: Path) -> Path | None:
    """Folder of the package that a file belongs to; None where it belongs to none."""
    if not path.is_file():
        return None
    inside = (one for one in path.absolute().parents if (one / SETS["full"]).is_file())
    folder = next(inside, None)
    return folder if folder and (folder / MANIFEST).is_file() else None


def need_folder(root: Path) -> None:
    """Refuse a file where the folder of a package is wanted.

    Raises
    ------
    UsageError
        Names the folder, where the file lies in one.
    """
    if root.is_file():
        folder = package_of(root)
        meant = f": give {folder}" if folder else ", made by python -m rc_hpc.benchmark build"
        raise UsageError(f"{root}: is a file; what is wanted is the folder of a package{meant}")


def read_rows(path: Path, data: bytes | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of a file of JSON lines with the numbers of their lines, as they stand there.

    Raises
    ------
    RcError
        A line is no JSON object.
    """
    try:
        text = (_bytes(path) if data is None else data).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RcError(f"{path}: is no UTF-8 ({error}); fetch it again") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise RcError(
                f"{path}, line {number}: not JSON ({error}); it may be cut short: fetch it again"
            ) from error
        if not isinstance(row, dict):
            raise RcError(f"{path}, line {number}: a JSON {type(row).__name__}, no object")
        yield number, row


def question_of(row: Mapping[str, Any], where: str) -> Question:
    """A row as a record.

    Parameters
    ----------
    where
        Of the row, for messages.

    Raises
    ------
    RcError
        It lacks a field, or one is of another form.
    """
    name = row.get("id")
    where = f"{where} ({name})" if isinstance(name, str) else where
    if missing := [field for field in _NEEDED if row.get(field) is None]:
        raise RcError(f"{where}: lacks {', '.join(missing)}; is it a question of the benchmark?")
    meta = row.get("meta") or {}
    if not isinstance(meta, dict):
        raise RcError(f"{where}: meta is {meta!r}, no object")
    qtype, difficulty = _stratum(row, where)
    options = _options(row["options"], where)
    answer = _letter(row["answer"], where)
    scenes = _texts(row["scene_id"], "scene_id", where)
    structures = _texts(
        row.get("structure") or meta.get("base_structure") or "", "structure", where
    )
    return Question(
        id=_text(row["id"], "id", where),
        qtype=qtype,
        difficulty=difficulty,
        structure=structures[0],
        scene_id=scenes[0] if len(scenes) == 1 else scenes,
        view_ids=_texts(row["view_ids"], "view_ids", where),
        image_paths=_texts(row["image_paths"], "image_paths", where),
        question=_text(row["question"], "question", where),
        options=options,
        answer=answer,
        answer_text=_text(row.get("answer_text") or options[answer], "answer_text", where),
        meta=meta,
        text_repr=_text(row.get("text_repr") or "", "text_repr", where),
    )


def read_manifest(root: str | Path) -> dict[str, tuple[str, int]]:
    """SHA-256 and size in bytes of the files of a package, by their paths below it.

    Both layouts are read: an object by path, and a list of objects with a path, alone or under
    ``files``.

    Raises
    ------
    RcError
        There is no manifest, or it is of another form.
    """
    path = Path(root) / MANIFEST
    try:
        content = json.loads(_bytes(path))
    except ValueError as error:
        raise RcError(f"{path}: not JSON ({error}); fetch it again") from error
    entries = content.get("files", content) if isinstance(content, dict) else content
    if isinstance(entries, dict):
        entries = [{"path": name, "entry": entry} for name, entry in entries.items()]
    found = {}
    for entry in entries if isinstance(entries, list) else [entries]:
        try:
            told = entry.get("entry", entry)
            found[_text(entry["path"], "path", str(path))] = (
                str(told["sha256"]).lower(),
                int(next(told[key] for key in ("bytes", "size", "size_bytes") if key in told)),
            )
        except (AttributeError, KeyError, TypeError, ValueError, StopIteration) as error:
            raise RcError(
                f"{path}: {entry!r} does not say path, sha256 and bytes of a file"
            ) from error
    return found


def picture_path(root: Path, entry: str) -> Path:
    """File of an entry of ``image_paths``, which starts from the folder ``images``.

    Raises
    ------
    RcError
        It leads out of that folder.
    """
    folder = root / IMAGES
    path = folder / entry
    if not path.resolve().is_relative_to(folder.resolve()):
        raise RcError(
            f"{root}: the picture {entry!r} is not below {folder}; nothing outside is read"
        )
    return path


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        fault = RcError if path.parent.is_dir() else UsageError  # no package at all was named
        raise fault(
            f"{path}: cannot be read ({error.strerror}); give the folder of a package, made by "
            "python -m rc_hpc.benchmark build"
        ) from error


def _stratum(row: Mapping[str, Any], where: str) -> tuple[str, str]:
    """Type and difficulty, by the names of `STRATA`; a type may carry its difficulty."""
    kind, level = (
        _BLANK.sub("", str(row.get(key) or "")).lower() for key in ("qtype", "difficulty")
    )
    for difficulty in ("easy", "hard"):
        if kind == f"q2{difficulty}":
            kind, level = "q2", difficulty
    qtype = _TYPES.get(kind)
    known = qtype is not None and (qtype != "Q2" or level in ("easy", "hard"))
    if not known:
        told = f"qtype {row.get('qtype')!r} with difficulty {row.get('difficulty')!r}"
        raise RcError(f"{where}: {told} is none of {', '.join(STRATA)}")
    return str(qtype), level or "standard"


def _options(value: Any, where: str) -> dict[str, str]:
    """Texts by letter: of an object by letter, of four texts, of pairs, or of objects."""
    pairs: Any = value if isinstance(value, list) else ()
    if isinstance(value, Mapping):
        lists = [one for one in value.values() if isinstance(one, list)]
        as_columns = len(lists) == len(value) == 2
        pairs = zip(*lists, strict=False) if as_columns else value.items()
    elif all(isinstance(one, str) for one in pairs):
        pairs = zip(LETTERS, pairs, strict=True) if len(pairs) == len(LETTERS) else ()
    elif all(isinstance(one, Mapping) for one in pairs):
        pairs = [tuple(one.values()) for one in pairs]
    found: dict[str, str] = {}
    for pair in pairs:
        if isinstance(pair, list | tuple) and len(pair) == 2:
            letters = [str(one).strip().upper().rstrip(".)") for one in pair]
            turned = letters[0] not in LETTERS  # objects and columns: the text may stand first
            found[letters[turned]] = str(pair[not turned])
    if tuple(sorted(found)) != LETTERS:
        raise RcError(f"{where}: options are {value!r}, not one for each of {', '.join(LETTERS)}")
    return {letter: found[letter] for letter in LETTERS}


def _letter(value: Any, where: str) -> str:
    letter = str(value).strip().upper()
    if letter not in LETTERS:
        raise RcError(f"{where}: the answer is {value!r}, none of {', '.join(LETTERS)}")
    return letter


def _text(value: Any, field: str, where: str) -> str:
    if not isinstance(value, str):
        raise RcError(f"{where}: {field} is {value!r}, no text")
    return value


def _texts(value: Any, field: str, where: str) -> list[str]:
    """A text, a list of texts, or lists of them one behind the other, as a list."""
    if isinstance(value, str):
        return [value]
    flat: list[Any] = []
    for one in value if isinstance(value, list) else [value]:
        flat += one if isinstance(one, list) else [one]
    if not flat or not all(isinstance(one, str) for one in flat):
        raise RcError(f"{where}: {field} is {value!r}, no list of texts")
    return flat
