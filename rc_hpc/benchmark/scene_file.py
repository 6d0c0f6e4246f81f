"""Scenes and base structures in files: the tables, and the way back from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.benchmark.records import BaseStructure, Camera, DisplayedScene
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.core.errors import RcError
from rc_hpc.store import layout
from rc_hpc.store.reader import open_ours
from rc_hpc.store.schema import TEXT, Column

#: Kinds of file that hold the tables.
KINDS = ("scenes", "pictures")
_ROW = Column("structure", "i8", "1", "Row of /structures.")
_SCENE = Column("scene", "i4", "1", "Scene of that row, from 0.")

TABLES: dict[str, tuple[Column, ...]] = {
    "bases": (
        _ROW,
        Column("name", TEXT, "1", "Name of the base structure."),
        Column("formula", TEXT, "1", "Reduced, elements in alphabetical order."),
        Column("system", TEXT, "1", "Crystal system by spglib."),
        Column("number", "i2", "1", "Space-group number."),
        Column("lattice", "f8", "angstrom", "Conventional cell, rows.", ("vector", "xyz")),
        Column("coordination", "?", "1", "Whether coordination is asked about."),
    ),
    "base_atoms": (
        _ROW,
        Column("number", "u1", "1", "Atomic number."),
        Column("fractional", "f8", "1", "Fractions of the vectors.", ("vector",)),
    ),
    "base_pairs": (
        _ROW,
        Column("first", "u1", "1", "Atomic number."),
        Column("second", "u1", "1", "Of the element bonded to it."),
    ),
    "scenes": (
        _ROW,
        Column("id", TEXT, "1", "Anonymous id; folder of its pictures."),
        Column("mode", TEXT, "1", "cell, supercell or environment."),
        Column("lattice", "f8", "angstrom", "Cell whose edges are drawn, rows.", ("vector", "xyz")),
        Column("repeats", "i2", "1", "Cells displayed along each vector.", ("vector",)),
        Column("centre", "i4", "1", "Displayed atom of the environment; -1: none."),
        Column("label_edges", "?", "1", "Whether a, b, c stand at the edges."),
        Column("mutation", TEXT, "1", "What was done to the base structure; empty: nothing."),
        Column("detail", TEXT, "1", "Which of such mutations."),
        Column("px_per_angstrom", "f8", "px/angstrom", "Scale of all its pictures."),
    ),
    "views": (
        _ROW,
        _SCENE,
        Column("id", TEXT, "1", "v00 and so on: candidate views; s00 and so on: strict ones."),
        Column("direction", "f8", "1", "Coefficients of the lattice vectors.", ("vector",)),
        Column(
            "rotation",
            "f8",
            "1",
            "Rows right, up, towards the viewer: rotation @ position.",
            ("vector", "xyz"),
        ),
        Column("tilt", "f8", "degree", "About the screen's x axis; 0: none."),
    ),
    "displayed": (
        _ROW,
        _SCENE,
        Column("number", "u1", "1", "Atomic number."),
        Column("position", "f8", "angstrom", "Of the displayed atom.", ("xyz",)),
        Column("index", "i4", "1", "Atom of the cell of which it is an image."),
        Column("translation", "i4", "1", "Lattice translation of the image.", ("vector",)),
    ),
    "drawn_bonds": (
        _ROW,
        _SCENE,
        Column("first", "i4", "1", "Displayed atom."),
        Column("second", "i4", "1", "Displayed atom bonded to it."),
    ),
    "visible": (
        _ROW,
        _SCENE,
        Column("view", "u1", "1", "View of the scene, from 0."),
        Column("atom", "i4", "1", "Displayed atom."),
        Column("share", "f8", "1", "Of the pixels of its disc that nothing painted later covers."),
    ),
    "marks": (
        _ROW,
        _SCENE,
        Column("name", TEXT, "1", "Letter or sign of the mark."),
        Column("atom", "i4", "1", "Displayed atom that is marked."),
    ),
}
#: What a table of scenes gives a scene itself, under the names of its fields.
_PLAIN = ("id", "mode", "mutation", "detail")


def tables_of(base: BaseStructure, scenes: Sequence[DisplayedScene]) -> dict[str, dict[str, Any]]:
    """The tables of one row: a base structure, and scenes of it."""
    owner = np.arange(len(scenes))

    def per_scene(sizes: Iterable[int]) -> np.ndarray:
        return np.repeat(owner, list(sizes))

    def together(parts: Iterable[Any], *shape: int) -> np.ndarray:
        return np.concatenate([np.empty((0, *shape)), *(np.asarray(part) for part in parts)])

    views = [(k, one) for k, scene in enumerate(scenes) for one in scene.cameras]
    marks = [(k, *mark) for k, scene in enumerate(scenes) for mark in sorted(scene.marks.items())]
    atoms = [len(scene.numbers) for scene in scenes]
    shares = [scene.visible.size for scene in scenes]
    return {
        "bases": {
            "name": np.array([base.name], object),
            "formula": np.array([base.formula], object),
            "system": np.array([base.system], object),
            "number": np.array([base.number]),
            "lattice": base.lattice[None],
            "coordination": np.array([base.coordination]),
        },
        "base_atoms": {"number": base.numbers, "fractional": base.fractional},
        "base_pairs": {
            "first": np.array([a for a, _ in base.pairs]),
            "second": np.array([b for _, b in base.pairs]),
        },
        "scenes": {
            **{
                name: np.array([getattr(scene, name) for scene in scenes], object)
                for name in _PLAIN
            },
            "lattice": together([scene.lattice[None] for scene in scenes], 3, 3),
            "repeats": together([[scene.repeats] for scene in scenes], 3),
            "centre": np.array([scene.centre for scene in scenes], int),
            "label_edges": np.array([scene.label_edges for scene in scenes], bool),
            "px_per_angstrom": np.array([scene.px_per_angstrom for scene in scenes], float),
        },
        "views": {
            "scene": np.array([k for k, _ in views], int),
            "id": np.array([one.id for _, one in views], object),
            "direction": together([one.direction[None] for _, one in views], 3),
            "rotation": together([one.rotation[None] for _, one in views], 3, 3),
            "tilt": np.array([one.tilt_degrees for _, one in views], float),
        },
        "displayed": {
            "scene": per_scene(atoms),
            "number": together([scene.numbers for scene in scenes]),
            "position": together([scene.positions for scene in scenes], 3),
            "index": together([scene.index for scene in scenes]),
            "translation": together([scene.translation for scene in scenes], 3),
        },
        "drawn_bonds": {
            "scene": per_scene(len(scene.bonds) for scene in scenes),
            "first": together([scene.bonds[:, 0] for scene in scenes]),
            "second": together([scene.bonds[:, 1] for scene in scenes]),
        },
        "visible": {
            "scene": per_scene(shares),
            "view": together(
                [
                    np.repeat(np.arange(len(s.cameras)), n)
                    for s, n in zip(scenes, atoms, strict=True)
                ]
            ),
            "atom": together(
                [np.tile(np.arange(n), len(s.cameras)) for s, n in zip(scenes, atoms, strict=True)]
            ),
            "share": together([scene.visible.ravel() for scene in scenes]),
        },
        "marks": {
            "scene": np.array([k for k, *_ in marks], int),
            "name": np.array([name for _, name, _ in marks], object),
            "atom": np.array([atom for *_, atom in marks], int),
        },
    }


def read_scenes(path: str | Path) -> list[DisplayedScene]:
    """All scenes of a file, in its order.

    Parameters
    ----------
    path
        ``scenes.h5`` of a package, or what ``python -m rc_hpc.benchmark scenes`` writes.

    Raises
    ------
    RcError
        It is no such file, or is damaged.
    """
    tables = _read(path)
    elements: dict[int, tuple[int, ...]] = {}
    named = dict(zip(tables["bases"]["structure"].tolist(), tables["bases"]["name"], strict=True))
    for row, atoms in _parts(tables["base_atoms"], tables["bases"]["structure"]):
        elements[row] = tuple(sorted(set(atoms["number"].tolist())))
    scenes = tables["scenes"]
    rows = scenes["structure"]
    ordinal = np.arange(len(rows)) - np.searchsorted(rows, rows)
    owners = list(zip(rows.tolist(), ordinal.tolist(), strict=True))
    of = {
        name: _of_scenes(tables[name], owners)
        for name in ("views", "displayed", "drawn_bonds", "visible", "marks")
    }
    found = []
    for k, (row, _) in enumerate(owners):
        views, atoms, bonds, visible, marks = (table[k] for table in of.values())
        cameras = tuple(
            Camera(str(id_), direction, rotation, float(tilt))
            for id_, direction, rotation, tilt in zip(
                *(views[name] for name in ("id", "direction", "rotation", "tilt")), strict=True
            )
        )
        a, b, c = scenes["repeats"][k].tolist()
        found.append(
            DisplayedScene(
                id=str(scenes["id"][k]),
                structure=str(named[row]),
                mode=str(scenes["mode"][k]),
                lattice=scenes["lattice"][k],
                repeats=(a, b, c),
                positions=atoms["position"],
                numbers=atoms["number"].astype(np.int64),
                index=atoms["index"].astype(np.int64),
                translation=atoms["translation"].astype(np.int64),
                bonds=np.column_stack((bonds["first"], bonds["second"])).astype(np.int64),
                centre=int(scenes["centre"][k]),
                cameras=cameras,
                visible=visible["share"].reshape(len(cameras), len(atoms["number"])),
                marks=dict(zip(map(str, marks["name"]), marks["atom"].tolist(), strict=True)),
                label_edges=bool(scenes["label_edges"][k]),
                mutation=str(scenes["mutation"][k]),
                detail=str(scenes["detail"][k]),
                px_per_angstrom=float(scenes["px_per_angstrom"][k]),
                elements=elements[row],
            )
        )
    return found


def read_settings(path: str | Path) -> DisplaySettings:
    """How the scenes of a file were displayed and are drawn.

    Raises
    ------
    RcError
        It is no such file.
    """
    with _opened(path) as h5:
        told = json.loads(h5.attrs["options"])
    return DisplaySettings.from_dict(told.get("scenes", told)["display"])


def read_bases(path: str | Path) -> list[BaseStructure]:
    """The base structures of a file's scenes, each once, in its order."""
    tables = _read(path, ("bases", "base_atoms", "base_pairs"))
    bases = tables["bases"]
    rows = bases["structure"]
    atoms = dict(_parts(tables["base_atoms"], rows))
    pairs = dict(_parts(tables["base_pairs"], rows))
    found: dict[str, BaseStructure] = {}
    for k, row in enumerate(rows.tolist()):
        joined = zip(pairs[row]["first"].tolist(), pairs[row]["second"].tolist(), strict=True)
        base = BaseStructure(
            str(bases["name"][k]),
            str(bases["formula"][k]),
            str(bases["system"][k]),
            int(bases["number"][k]),
            bases["lattice"][k],
            atoms[row]["fractional"],
            atoms[row]["number"].astype(np.int64),
            tuple(joined),
            bool(bases["coordination"][k]),
        )
        found.setdefault(base.name, base)
    return list(found.values())


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    with open_ours(path) as h5:
        if h5.attrs["kind"] not in KINDS:
            raise RcError(
                f"{path}: a {h5.attrs['kind']} file holds no scenes; give scenes.h5 of a package"
            )
        yield h5


def _read(path: str | Path, names: Iterable[str] = tuple(TABLES)) -> dict[str, Any]:
    with _opened(path) as h5:
        return {
            table: {
                column.path: layout.read_rows(h5[f"{table}/{column.path}"])
                for column in TABLES[table]
            }
            for table in names
        }


def _parts(table: Mapping[str, np.ndarray], rows: np.ndarray):
    """Of each row its part of a table."""
    bounds = np.searchsorted(table["structure"], [rows, rows + 1])
    for row, first, last in zip(rows.tolist(), *bounds.tolist(), strict=True):
        yield row, {name: values[first:last] for name, values in table.items()}


def _of_scenes(table: Mapping[str, np.ndarray], owners: list[tuple[int, int]]):
    """Of each scene its part of a table."""
    if not owners:
        return []
    most = max(ordinal for _, ordinal in owners) + 1
    key = table["structure"] * most + table["scene"]
    wanted = np.array([row * most + ordinal for row, ordinal in owners])
    bounds = np.searchsorted(key, [wanted, wanted + 1]).tolist()
    return [
        {name: values[first:last] for name, values in table.items()}
        for first, last in zip(*bounds, strict=True)
    ]
