"""What the benchmark is made of, as data: structures, displayed scenes, cameras, questions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

#: Strata in the order of every table: Q2 is told by its difficulty.
STRATA = ("Q1a", "Q1b", "Q2_easy", "Q2_hard", "Q3", "Q4", "Q5", "Q6")
LETTERS = ("A", "B", "C", "D")
#: What the display of a scene follows.
MODES = ("cell", "supercell", "environment")


@dataclass(frozen=True)
class BaseStructure:
    """A structure of which questions are made.

    Attributes
    ----------
    name
        Unique within a benchmark; the cluster of its intervals. Never shown to a model.
    formula
        Reduced, elements in alphabetical order.
    system
        Crystal system by spglib.
    number
        Space group number.
    lattice : (3, 3) float64
        Rows of the standard conventional cell, Å.
    fractional : (n, 3) float64
        In [0, 1).
    numbers : (n,) int64
        Atomic numbers.
    pairs
        Pairs of atomic numbers, the smaller first, between which bonds are drawn.
    coordination
        Whether questions on coordination are asked of it.
    """

    name: str
    formula: str
    system: str
    number: int
    lattice: np.ndarray
    fractional: np.ndarray
    numbers: np.ndarray
    pairs: tuple[tuple[int, int], ...]
    coordination: bool


@dataclass(frozen=True)
class Variant:
    """A base structure with one thing changed.

    Attributes
    ----------
    mutation
        ``exchange``, ``deletion`` or ``stretch``. (A polymorph is another base structure.)
    detail
        What was changed, unique within the base structure and the mutation: ``Cl-Na``.
    cell
        The changed cell, under the name of the base structure.
    """

    mutation: str
    detail: str
    cell: BaseStructure


@dataclass(frozen=True)
class Camera:
    """A direction from which a scene is drawn, orthographically.

    Attributes
    ----------
    id
        ``v00`` to ``v07``, ``s00`` and so on for strict ones.
    direction : (3,) float64
        Coefficients of the lattice vectors; the viewer looks along its negative.
    rotation : (3, 3) float64
        Rows right, up, towards the viewer: a point x (Å) lies at ``rotation @ x``.
    tilt_degrees
        Rotation about the screen's x axis after looking along the direction; 0: strict.
    """

    id: str
    direction: np.ndarray
    rotation: np.ndarray
    tilt_degrees: float


@dataclass(frozen=True)
class DisplayedScene:
    """The displayed atoms of one structure with what is drawn of them and from where.

    Attributes
    ----------
    id
        Anonymous and without meaning: ``s`` and hexadecimal digits.
    structure
        Name of its base structure.
    mode
        One of `MODES`.
    lattice : (3, 3) float64
        Rows of the conventional cell whose edges are drawn at the origin (of the first repeat
        of a supercell), Å.
    repeats : tuple of 3 ints
        Cells displayed along each axis.
    positions : (n, 3) float64
        Of the displayed atoms, Å.
    numbers : (n,) int64
        Atomic numbers.
    index : (n,) int64
        Of the atom in the base structure (or in the mutated cell) of which each is an image.
    translation : (n, 3) int64
        Lattice translation of that image.
    bonds : (m, 2) int64
        Pairs of displayed atoms, by the 1.10 d_min rule.
    centre
        Displayed atom whose environment is shown; -1 where there is none.
    cameras
        Those of which pictures may exist, in the order of their ids.
    visible : (len(cameras), n) float64
        Share of the pixels of each atom's disc that nothing drawn later covers.
    marks
        Highlighted atoms by their letters or signs: ``{"A": 3}``. Scenes that differ only in
        marks are different scenes.
    label_edges
        Whether the cell's edges carry a, b, c.
    mutation
        What was done to the base structure: ``""``, ``exchange``, ``deletion``, ``stretch``,
        ``polymorph``.
    detail
        Which one of them, as `Variant.detail`.
    px_per_angstrom
        Scale of all its pictures.
    elements
        Atomic numbers of the base structure, ascending: what the colours depend on.
    """

    id: str
    structure: str
    mode: str
    lattice: np.ndarray
    repeats: tuple[int, int, int]
    positions: np.ndarray
    numbers: np.ndarray
    index: np.ndarray
    translation: np.ndarray
    bonds: np.ndarray
    centre: int
    cameras: tuple[Camera, ...]
    visible: np.ndarray
    marks: Mapping[str, int] = field(default_factory=dict)
    label_edges: bool = False
    mutation: str = ""
    detail: str = ""
    px_per_angstrom: float = 0.0
    elements: tuple[int, ...] = ()


@dataclass(frozen=True)
class Question:
    """A row of ``questions.jsonl``, with the card's fields in the card's order.

    Attributes
    ----------
    qtype
        ``Q1a`` ... ``Q6``.
    difficulty
        ``easy`` or ``hard`` in Q2, else ``standard``.
    structure
        Name of the base structure (of the first one in Q5).
    scene_id
        One id, or two in Q5.
    view_ids, image_paths
        In the order in which they are shown; paths below ``images/``, with ``/``.
    options
        Texts by letter.
    answer, answer_text
        Letter, and the text that stands under it.
    meta
        ``base_structure``, ``text_applicable``, ``depth_trap`` and what the stratum adds.
    text_repr
        Lattice, displayed atoms and marks in words; empty where a text does not apply.
    """

    id: str
    qtype: str
    difficulty: str
    structure: str
    scene_id: str | list[str]
    view_ids: list[str]
    image_paths: list[str]
    question: str
    options: dict[str, str]
    answer: str
    answer_text: str
    meta: dict[str, Any]
    text_repr: str

    @property
    def stratum(self) -> str:
        """Its name among `STRATA`."""
        return f"{self.qtype}_{self.difficulty}" if self.qtype == "Q2" else self.qtype

    @property
    def cluster(self) -> str:
        """Base structure (the first of a pair): questions of one are no independent ones."""
        base = self.meta.get("base_structure") or self.structure
        return str(base[0] if isinstance(base, list) else base)

    @property
    def text_applicable(self) -> bool:
        """Whether a text can ask it."""
        return bool(self.meta.get("text_applicable", self.text_repr))

    @property
    def depth_trap(self) -> bool | None:
        """Whether the first view shows the wrong order of the two distances; None but in Q3."""
        trap = self.meta.get("depth_trap")
        return None if trap is None or self.qtype != "Q3" else bool(trap)

    @property
    def sha256(self) -> str:
        """Of everything that the row says."""
        told = json.dumps(self.__dict__, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Paths of the pictures of each structure that is shown: two groups in Q5."""
        paths = tuple(self.image_paths)
        half = len(paths) // 2
        return (paths[:half], paths[half:]) if self.qtype == "Q5" else (paths,)
