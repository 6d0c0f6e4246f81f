"""Scenes without pictures, in which everything is visible, and questions drawn of them."""

from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache

import numpy as np

from rc_hpc.benchmark import display
from rc_hpc.benchmark.bases import base_structure
from rc_hpc.benchmark.catalogue import catalogue_structures
from rc_hpc.benchmark.questions.draw import draw_questions
from rc_hpc.benchmark.questions.options import QuestionOptions
from rc_hpc.benchmark.questions.variants import variants
from rc_hpc.benchmark.settings import DisplaySettings

SETTINGS = DisplaySettings()
#: Of all crystal systems, with two pairs of polymorphs.
NAMES = (
    *("fluorite", "zincblende", "wurtzite", "AlCl3"),
    *("marcasite", "pyrite", "rutile", "alpha quartz"),
)


#: One a crystal system.
SIX = ("fluorite", "nickel arsenide", "AlCl3", "marcasite", "rutile", "alpha quartz")


@cache
def catalogue():
    """Base structures of the catalogue, by name."""
    return {base.name: base for base in catalogue_structures(SETTINGS)}


def base_of(item):
    """Base structure of an item of a source."""
    read = item.read(item, item.blob())
    return base_structure(item.id, read.lattice, read.frac, read.numbers, SETTINGS)


def scenes_of(base, settings=SETTINGS):
    """What is displayed of a structure and its changed ones; every atom is visible as a whole.

    Nothing is projected, so that visibility plays no part: it has tests of its own.
    """
    with everything_visible():
        return display.display(base, settings, variants(base))


@contextmanager
def everything_visible():
    """Within, no atom hides another."""
    before = display.visible_shares
    display.visible_shares = lambda scene, _: np.ones((len(scene.cameras), len(scene.numbers)))
    try:
        yield
    finally:
        display.visible_shares = before


@cache
def world(names=NAMES):
    """Base structures and scenes of these names."""
    bases = [catalogue()[name] for name in names]
    return bases, [scene for base in bases for scene in scenes_of(base)]


@cache
def small_draw(questions=112, names=NAMES, mini=6):
    """Questions of a few structures."""
    options = QuestionOptions(questions=questions, mini=mini)
    with everything_visible():
        return draw_questions(*world(names), options, SETTINGS)


def by_stratum(draw):
    """How many questions each stratum has."""
    return Counter(question.stratum for question in draw.questions)


def rows(draw):
    """Rows of the file of questions, and of the subset's."""
    return [asdict(q) for q in draw.questions], [asdict(q) for q in draw.mini]
