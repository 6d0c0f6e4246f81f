"""What a model is shown of a question, and nothing else.

`prompt_view` is the only way from a record to a prompt: it takes the question, its options and
what the arm attaches. `prompt_text` sees that view and never the record.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from string import Template

from rc_hpc.benchmark.letters import ARMS
from rc_hpc.benchmark.records import LETTERS, Question

#: Version of the prompts, for every row of answers: replies depend on every word.
VERSION = "mv-1"
IMAGE, TEXT, NO_IMAGE = ARMS


@dataclass(frozen=True)
class PromptView:
    """All that a model may see of a question.

    Attributes
    ----------
    question
        Its text.
    options
        Texts by letter.
    attachments
        Paths of the pictures in groups, one a structure; a text alone in the arm text; empty.
    """

    question: str
    options: Mapping[str, str]
    attachments: tuple[tuple[str, ...], ...] | str = field(default=())

    @property
    def pictures(self) -> tuple[str, ...]:
        """Paths of the pictures, in order."""
        if isinstance(self.attachments, str):
            return ()
        return tuple(path for group in self.attachments for path in group)


def prompt_view(question: Question, arm: str) -> PromptView | None:
    """What an arm shows of a question; None where the arm does not ask it."""
    if arm == TEXT:
        if not question.text_applicable:
            return None
        return PromptView(question.question, dict(question.options), question.text_repr)
    return PromptView(
        question.question, dict(question.options), question.groups if arm == IMAGE else ()
    )


def prompt_text(view: PromptView, version: str = VERSION) -> str:
    """The whole text that is sent; pictures follow it, in order and without names."""
    options = "\n".join(f"{letter}. {view.options[letter]}" for letter in LETTERS)
    return Template(_words(version)["prompt"].strip()).substitute(
        question=view.question.strip(), options=options, attached=attachment_text(view, version)
    )


def attachment_text(view: PromptView, version: str = VERSION) -> str:
    """What the prompt says of what is attached; the structure itself in the arm text."""
    words = _words(version)
    attached = words["nothing"]
    if isinstance(view.attachments, str):
        attached = Template(words["text"]).substitute(text=view.attachments.strip())
    elif len(view.attachments) > 1:
        attached = Template(words["groups"]).substitute(groups=_groups(view.attachments))
    elif view.pictures:
        n = len(view.pictures)
        attached = Template(words["pictures" if n > 1 else "picture"]).substitute(n=n)
    return attached.strip()


def _groups(groups: tuple[tuple[str, ...], ...]) -> str:
    """Which images show which structure."""
    lines, first = [], 1
    for number, group in enumerate(groups, 1):
        last = first + len(group) - 1
        lines.append(f"Structure {number}: images {first}-{last}")
        first = last + 1
    return "\n".join(lines)


@cache
def _words(version: str) -> dict[str, str]:
    name = f"data/prompts_{version.replace('-', '_')}.toml"
    return tomllib.loads(resources.files("rc_hpc.benchmark").joinpath(name).read_text("utf-8"))


#: What meta may call by a name that no model may see.
_NAMING = re.compile(r"structure|mineral|name|prototype|aflow|space|scene|source|file|path")


def forbidden(question: Question) -> set[str]:
    """Words of a record that no prompt may hold: names of structures, ids of scenes, files.

    Texts of the options, and what is the question itself, are no such words.
    """
    scenes = question.scene_id
    words = {question.structure, *question.image_paths}
    words |= {scenes} if isinstance(scenes, str) else set(scenes)
    for key, value in question.meta.items():
        if _NAMING.search(key.lower()):
            words |= set(_leaves(value))
    shown = {question.question, *question.options.values()}
    # words of a letter or two (elements) stand in every text
    return {word for word in words if len(word) > 2 and word not in shown}


def leaks(question: Question, text: str) -> list[str]:
    """Forbidden words of a question that stand in a text, whole and in any case; sorted."""
    folded = text.casefold()
    found = []
    for word in forbidden(question):
        pattern = rf"(?<![^\W_]){re.escape(word.casefold())}(?![^\W_])"
        if re.search(pattern, folded):
            found.append(word)
    return sorted(found)


def _leaves(value) -> list[str]:
    """All texts within a value of JSON."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for one in value for leaf in _leaves(one)] if isinstance(value, list) else []
