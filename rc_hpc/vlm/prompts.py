"""The prompts that come with rc_hpc: data files of its own wording, one per version."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from string import Template

#: Version used for new runs.
VERSION = "v1"
#: Prompt version of a record that brings its own question.
OWN = "own"


@cache
def _texts(version: str) -> dict[str, str]:
    text = (
        resources.files("rc_hpc.vlm")
        .joinpath(f"data/prompts_{version}.toml")
        .read_text(encoding="utf-8")
    )
    return tomllib.loads(text)


def prompt(arm: str, version: str = VERSION, **values: str) -> str:
    """Text of an arm's prompt with its gaps filled.

    Raises
    ------
    KeyError
        A gap has no value.
    """
    return Template(_texts(version)[arm].strip()).substitute(values)
