"""One row at a time: its form, its options, its pictures, its text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from rc_hpc.benchmark.card import Card
from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.package import FIELDS, IMAGES
from rc_hpc.benchmark.questions.texts import counts_of
from rc_hpc.benchmark.records import LETTERS, Question

_PICTURE = re.compile(r"scenes/(?P<scene>[^/\\]+)/(?P<view>[^/\\]+)\.png")
_ANONYMOUS = re.compile(r"s?[0-9a-f]{4,}", re.IGNORECASE)


def check_form(row: dict[str, Any], where: str) -> Iterator[Finding]:
    """Fields of a row as it stands, against the card's."""
    if missing := [name for name in FIELDS if name not in row]:
        yield Finding("fields", where, f"lacks {', '.join(missing)}")
    if strange := sorted(row.keys() - set(FIELDS)):
        yield Finding("fields", where, f"has fields that the card does not: {', '.join(strange)}")
    shown = row.get("answer_text")
    options = row.get("options")
    if isinstance(options, dict) and options.get(str(row.get("answer"))) != shown:
        yield Finding(
            "answer-text", where, f"answer_text {shown!r} is not the option of its letter"
        )


def check_question(q: Question, root: Path, card: Card) -> Iterator[Finding]:
    """What a single question can have wrong."""
    yield from _options(q)
    yield from _pictures(q, root, card)
    yield from _text(q, card)
    if not q.meta.get("base_structure"):
        yield Finding("meta", q.id, "meta has no base_structure, by which intervals are made")
    if q.qtype == "Q3" and q.depth_trap is None:
        yield Finding("meta", q.id, "meta does not say whether it is a depth trap")


def meaning(text: str) -> object:
    """What two options with the same meaning have in common."""
    text = unicodedata.normalize("NFKC", text)
    if counts := counts_of(text):
        return tuple(sorted(counts.items()))
    with suppress(ValueError):
        return float(text)  # 56 and 56.0
    words = re.sub(r"[\s\[\](),.]+", " ", text).strip().casefold()
    numbers = words.split()
    if numbers and all(re.fullmatch(r"-?\d+", one) for one in numbers):
        values = tuple(map(int, numbers))
        # a direction and its negative are one
        return max(values, tuple(-v for v in values)) if len(values) == 3 else values
    return words


def _options(q: Question) -> Iterator[Finding]:
    if empty := [x for x in LETTERS if not q.options[x].strip()]:
        yield Finding("option-empty", q.id, f"nothing stands under {', '.join(empty)}")
    numbers = [x for x in LETTERS if isinstance(meaning(q.options[x]), float)]
    if 0 < len(numbers) < len(LETTERS):
        told = f"numbers stand under {', '.join(numbers)} alone"
        yield Finding("option-form", q.id, f"its options are of different forms: {told}")
    meanings: dict[object, str] = {}
    for letter in LETTERS:
        what = meaning(q.options[letter])
        if what in meanings:
            yield Finding("option-twice", q.id, f"{meanings[what]} and {letter} say the same")
        meanings.setdefault(what, letter)


def _pictures(q: Question, root: Path, card: Card) -> Iterator[Finding]:
    wanted = card.n_views(q.qtype)
    if len(q.image_paths) != wanted:
        yield Finding("picture-count", q.id, f"{len(q.image_paths)} pictures, not {wanted}")
    scenes = [q.scene_id] if isinstance(q.scene_id, str) else q.scene_id
    if q.qtype == "Q5" and len(scenes) != 2:
        yield Finding("scenes", q.id, f"a pair of structures names {len(scenes)} scene")
    if q.qtype != "Q5" and len(scenes) != 1:
        yield Finding("scenes", q.id, f"{len(scenes)} scenes; one was expected")
    for scene in scenes:
        if not _ANONYMOUS.fullmatch(scene):
            yield Finding("scene-name", q.id, f"the scene id {scene!r} is not anonymous")
    per_scene = max(1, len(q.image_paths) // max(1, len(scenes)))
    for k, path in enumerate(q.image_paths):
        parts = _PICTURE.fullmatch(path)
        if not parts or ".." in path:
            yield Finding("picture-path", q.id, f"{path!r} is not scenes/SCENE/VIEW.png")
            continue
        scene = scenes[min(k // per_scene, len(scenes) - 1)]
        if parts["scene"] != scene:
            yield Finding("picture-scene", q.id, f"{path} is no picture of the scene {scene}")
        if k >= len(q.view_ids) or parts["view"] != q.view_ids[k]:
            yield Finding("picture-view", q.id, f"{path} is not the view that view_ids tells")
        if not (root / IMAGES / path).is_file():
            yield Finding("picture-missing", q.id, f"{path} is not there")
    if len(set(q.image_paths)) < len(q.image_paths):
        yield Finding("picture-twice", q.id, "one picture is shown twice")


def _text(q: Question, card: Card) -> Iterator[Finding]:
    applicable = q.meta.get("text_applicable")
    expected = q.qtype not in card.without_text
    if applicable is not expected:
        yield Finding(
            "text-applicable", q.id, f"meta.text_applicable is {applicable}, not {expected}"
        )
    if expected and not q.text_repr.strip():
        yield Finding("text-missing", q.id, "text_repr is empty")
    if not expected and q.text_repr.strip():
        yield Finding("text-given", q.id, "text_repr answers a question that no text may ask")
