"""The source ``aflow``: prototypes of the AFLOW encyclopedia, from the tables that kim-tools ships.

M. J. Mehl et al., Comput. Mater. Sci. 136, S1 (2017); D. Hicks et al., 199, 110450 (2021);
H. Eckert et al., 240, 112988 (2024). The parameters are read in place and never copied; kim-tools
is not imported, since that changes logging.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.structures.record import Item, Structure

#: Where the distribution keeps its entries, a folder each.
_ENTRIES = "kim_tools/aflow_util/aflow_prototype_encyclopedia/data"
#: Shorter than this are images of one site on a special position, fractional.
_SAME = 1e-6
_FILTERS = {"part": "part", "sg": "space_group_number"}
#: Elements of prototypes whose formula names none (H2O, NH4) or not as many as the label.
_GENERIC = ("Al", "B", "C", "F", "Ga", "K", "Li", "Mg", "Na", "O", "P", "S", "Ti")
#: Atoms of a primitive rhombohedral cell in the hexagonal one.
_TRIPLE = 3
#: Trigonal and hexagonal groups.
_HEXAGONAL = range(143, 195)
#: Rhombohedral axes as rows of hexagonal ones, obverse setting.
_RHOMBOHEDRAL = np.array([[2, 1, 1], [-1, 1, 1], [-1, -2, 1]]) / 3


def listing(source: str) -> Callable[[], Iterator[Item]]:
    """What lists ``aflow``, ``aflow:part=1`` or ``aflow:sg=225``.

    Raises
    ------
    UsageError
        Another filter, no such entries, or kim-tools is not installed.
    """
    key, _, text = source.partition(":")[2].partition("=")
    if source != "aflow" and (key not in _FILTERS or not text.isdecimal()):
        raise UsageError(f"{source!r} is not aflow, aflow:part=N or aflow:sg=N")
    paths = _paths()
    if key:
        paths = [path for path in paths if _entry(path)[_FILTERS[key]] == int(text)]
    if not paths:
        raise UsageError(f"{source}: the encyclopedia has no such entries")
    return partial(_items, paths)


def _items(paths: list[Path]) -> Iterator[Item]:
    for path in paths:
        yield Item(path.parent.name, "aflow", path.read_bytes, read_entry)


@cache
def _paths() -> list[Path]:
    """Files of the entries, by their labels."""
    try:
        folder = Path(str(metadata.distribution("kim-tools").locate_file(_ENTRIES)))
    except metadata.PackageNotFoundError:
        folder = Path()
    paths = sorted(folder.glob("*/info.json")) if folder.name == "data" else []
    if not paths:
        raise UsageError(
            "the encyclopedia's tables come with kim-tools, which is missing or lacks them: "
            "pip install 'rc_hpc[aflow]', or, without what kim-tools itself needs, "
            "pip install --no-deps kim-tools"
        )
    return paths


def _entry(path: Path) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(path.read_bytes())
    return entry


def read_entry(item: Item, blob: bytes) -> Structure:
    """Build the conventional cell of an entry.

    Raises
    ------
    StructureError
        Its parameters do not fit its label, or what is built has another size or composition.
    """
    entry = json.loads(blob)
    stoichiometry, pearson, number, words = parse_label(entry["label"])
    values = dict(
        zip(entry["parameter_symbols"], map(float, entry["parameter_values"]), strict=True)
    )
    cell = _cell(values, number)
    names = [name for name in values if name[0] in "xyz" and name[1:].isdecimal()]
    sites, rows = _sites(words), None
    for axes in ("rhombohedral", "hexagonal") if pearson.startswith("hR") else ("hexagonal",):
        table = [_position(axes, number, letter) for letter, _ in sites]
        needed = [f"{v}{place}" for place, row in enumerate(table, 1) for v in _free(row)]
        if rows is None or set(needed) == set(names):
            rows, wanted, used = table, needed, axes
        if set(needed) == set(names):
            break
    assert rows is not None
    if len(wanted) != len(names):
        raise _wrong(item, f"has the parameters {names}, its label needs {wanted}")
    # A misprinted symbol stands at its place all the same.
    own = (
        {name: values[name] for name in wanted}
        if set(wanted) == set(names)
        else dict(zip(wanted, (values[name] for name in names), strict=True))
    )
    elements = _elements(entry["prototype"], len(stoichiometry))
    rotations, translations = _operations(number)
    frac, numbers = [], []
    for place, ((_, species), row) in enumerate(zip(sites, rows, strict=True), 1):
        point = np.array([_value(text, own, place) for text in row])
        if used == "rhombohedral":
            point = point @ _RHOMBOHEDRAL
        orbit = _orbit(point, rotations, translations)
        frac.append(orbit)
        numbers += [elements[species]] * len(orbit)
    structure = Structure(
        id=item.id,
        lattice=cell,
        frac=np.concatenate(frac),
        numbers=np.array(numbers, np.int32),
        source=item.source,
        reader=f"kim-tools {metadata.version('kim-tools')}, AFLOW encyclopedia",
        sha256=hashlib.sha256(blob).hexdigest(),
        source_space_group=number,
    )
    _check(item, structure, pearson, [elements[one] for one in range(len(elements))], stoichiometry)
    return structure


def parse_label(label: str) -> tuple[list[int], str, int, list[str]]:
    """Counts of the species, Pearson symbol, space group, Wyckoff letters of each species.

    ``A3BC2_hP12_194_h_a_f-002`` gives ([3, 1, 2], "hP12", 194, ["h", "a", "f"]).
    """
    formula, pearson, number, *words = label.partition("-")[0].split("_")
    counts = [int(count or 1) for _, count in re.findall(r"([A-Z])(\d*)", formula)]
    return counts, pearson, int(number), words


def _sites(words: list[str]) -> list[tuple[str, int]]:
    """Letter and species of every site, in the order in which parameters are numbered."""
    sites = []
    for species, word in enumerate(words):
        for count, letter in re.findall(r"(\d*)([A-Za-z])", word):
            sites += [(letter, species)] * int(count or 1)
    return sorted(sites)


@cache
def _table() -> dict[str, dict[str, str]]:
    text = resources.files("rc_hpc.structures").joinpath("data/wyckoff.toml").read_text("utf-8")
    return tomllib.loads(text)


def _position(axes: str, number: int, letter: str) -> list[str]:
    """Coordinates of the first representative of a Wyckoff position; ``A`` is the 27th letter."""
    rows = _table()[axes][str(number)].split()
    place = 26 if letter == "A" else ord(letter) - ord("a")
    return rows[place].split(",")


def _free(row: list[str]) -> list[str]:
    """Variables of a position."""
    return [name for name in "xyz" if any(name in text for text in row)]


def _value(text: str, values: dict[str, float], place: int) -> float:
    """A coordinate such as ``-x+1/2``, with the variables of the site at this place."""
    total = 0.0
    for sign, term in re.findall(r"([+-]?)([^+-]+)", text):
        factor, variable = re.fullmatch(r"([\d/]*)([xyz]?)", term).groups()  # type: ignore[union-attr]
        size = float(Fraction(factor)) if factor else 1.0
        value = values[f"{variable}{place}"] if variable else 1.0
        total += (-1 if sign == "-" else 1) * size * value
    return total


def _cell(values: dict[str, float], number: int) -> np.ndarray:
    """Vectors of the conventional cell as rows, Å; what the group fixes is not among the values."""
    from ase.geometry import cellpar_to_cell

    a = values["a"]
    angles = {"alpha": 90.0, "beta": 90.0, "gamma": 120.0 if number in _HEXAGONAL else 90.0}
    lengths = [a, values.get("b/a", 1.0) * a, values.get("c/a", 1.0) * a]
    return np.asarray(
        cellpar_to_cell([*lengths, *(values.get(name, angle) for name, angle in angles.items())])
    )


@cache
def _operations(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Operations of a group: unique axis b, origin choice 2, hexagonal axes."""
    import spglib

    halls = [hall for hall in range(1, 531) if spglib.get_spacegroup_type(hall).number == number]
    chosen = [h for h in halls if spglib.get_spacegroup_type(h).choice in ("2", "H")]
    found = spglib.get_symmetry_from_database((chosen or halls)[0])
    return found["rotations"], found["translations"]


def _orbit(point: np.ndarray, rotations: np.ndarray, translations: np.ndarray) -> np.ndarray:
    """All sites that the operations make of one, (m, 3), fractional in [0, 1)."""
    images = (rotations @ point + translations) % 1
    kept: list[np.ndarray] = []
    for image in images:
        apart = [np.abs((image - other + 0.5) % 1 - 0.5).max() for other in kept]
        if not apart or min(apart) > _SAME:
            kept.append(image)
    return np.array(kept)


def _elements(prototype: str, species: int) -> list[int]:
    """Atomic numbers of the species A, B, ...: the formula's elements in alphabetical order."""
    from ase.data import atomic_numbers

    named = sorted(set(re.findall(r"[A-Z][a-z]?", prototype)))
    known = [atomic_numbers[name] for name in named if atomic_numbers.get(name, 0) > 0]
    if len(known) == len(named) == species:
        return known
    return [atomic_numbers[name] for name in _GENERIC[:species]]


def _check(
    item: Item, structure: Structure, pearson: str, elements: list[int], counts: list[int]
) -> None:
    """What is built has the size and the composition that the label tells."""
    wanted = int(re.sub(r"\D", "", pearson)) * (_TRIPLE if pearson.startswith("hR") else 1)
    if len(structure.numbers) != wanted:
        raise _wrong(item, f"gives {len(structure.numbers)} atoms, its label tells {wanted}")
    each = [int((structure.numbers == element).sum()) for element in elements]
    if [n * sum(counts) for n in each] != [count * wanted for count in counts]:
        raise _wrong(item, f"gives {each} atoms of its species, its label tells {counts}")


def _wrong(item: Item, what: str) -> StructureError:
    return StructureError(
        Status.read_error, f"{item.source} {item.id}: the entry {what}; leave it out"
    )
