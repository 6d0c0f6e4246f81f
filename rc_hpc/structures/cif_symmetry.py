"""What a CIF says of its space group: operations, symbols in the spellings of files, settings.

Operations are taken from the file where it has them. Where it tells a symbol only, they are
spglib's for the setting that the symbol, the Hall symbol or the coordinate-system code names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from rc_hpc.structures.cif_text import MINUS, UNKNOWN, Values, told

OPERATION_NAMES = ("_symmetry_equiv_pos_as_xyz", "_space_group_symop_operation_xyz")
NUMBER_NAMES = ("_space_group_it_number", "_symmetry_int_tables_number")
SYMBOL_NAMES = (
    "_symmetry_space_group_name_h-m",
    "_space_group_name_h-m_alt",
    "_symmetry_space_group_name_h_m",
    "_space_group_name_h-m_ref",
    "_space_group_name_h-m_full",
    "_space_group_name_h-m",
)
HALL_NAMES = ("_space_group_name_hall", "_symmetry_space_group_name_hall")
CODE_NAMES = ("_space_group_it_coordinate_system_code", "_symmetry_it_coordinate_system_code")
#: Longest text of an operation, characters; a longer one is no operation.
LONGEST = 80
NUMBER = r"(?:\d+\.?\d*|\.\d+)"
TERM = re.compile(rf"([+-]?)(?:([xyz])|({NUMBER})(?:/({NUMBER}))?)")
#: Lengths, as a share, and angles, in degrees, that operations may change: cells are rounded.
LENGTH_TOLERANCE, ANGLE_TOLERANCE = 0.01, 1.0
#: Fractional translations are rounded in files.
TRANSLATION_TOLERANCE = 0.005
#: Axes that a group may be told on, by the letter of the setting, and what they ask of a cell.
AXES_IN_WORDS = {
    "H": "hexagonal axes (a = b, alpha = beta = 90, gamma = 120)",
    "R": "rhombohedral axes (a = b = c, alpha = beta = gamma)",
    "a": "unique axis a (beta = gamma = 90)",
    "b": "unique axis b (alpha = gamma = 90)",
    "c": "unique axis c (alpha = beta = 90)",
}
#: Letters after a symbol that name its setting, as the ICSD writes them.
SUFFIXES = {"s": "1", "z": "2", "h": "h", "r": "r"}


class Misfit(ValueError):
    """Operations turn the cell into another one."""


def value_of(values: Values, names: Sequence[str]) -> str:
    """The one value that the first of `names` has; empty where all are unknown."""
    for name in names:
        said = [text for text in values.get(name, []) if text not in UNKNOWN]
        if len(said) > 1:
            raise ValueError(f"{name} has {len(said)} values; keep one")
        if said:
            return said[0].translate(MINUS).strip()
    return ""


def operations_of(values: Values) -> list[str]:
    """Operations that the file lists, in plain spelling; none where it lists none.

    Raises
    ------
    ValueError
        One is not an operation of three-dimensional space, or two lists differ.
    """
    lists = []
    for name in OPERATION_NAMES:
        texts = [text for text in values.get(name, []) if text not in UNKNOWN]
        if texts:
            lists.append([plain(text) for text in texts])
    for other in lists[1:]:
        if {_key(text) for text in other} != {_key(text) for text in lists[0]}:
            raise ValueError("its two lists of symmetry operations differ; keep the right one")
    return lists[0] if lists else []


def _key(operation: str) -> tuple[bytes, tuple[float, ...]]:
    """The same for two spellings of one operation."""
    rotation, shift = matrix_of(operation)
    return rotation.astype(int).tobytes(), tuple(np.round(shift % 1, 3) % 1)


def matrix_of(operation: str) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) and translation (3,) of what `plain` gave."""
    rotation, shift = np.zeros((3, 3)), np.zeros(3)
    for row, part in enumerate(operation.split(",")):
        for sign, axis, above, below in TERM.findall(part):
            factor = -1.0 if sign == "-" else 1.0
            if axis:
                rotation[row, "xyz".index(axis)] = factor
            else:
                shift[row] = factor * float(above) / float(below or 1)
    return rotation, shift


def plain(text: str) -> str:
    """An operation without spaces and capitals, each minus as the sign that programs read."""
    shown = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    fault = f"{shown!r} is no symmetry operation such as 'x, -y, z+1/2'; correct it"
    if len(text) > LONGEST:
        raise ValueError(fault)
    operation = re.sub(r"\s", "", text.translate(MINUS)).lower()
    parts = operation.split(",")
    if len(parts) != 3 or not operation.isascii():
        raise ValueError(fault)
    for part in parts:
        terms = list(TERM.finditer(part))
        whole = "".join(term.group() for term in terms) == part
        signed = all(term[1] for term in terms[1:])
        axes = [term[2] for term in terms if term[2]]
        shifts = [term for term in terms if not term[2]]
        by_zero = any(shift[4] and float(shift[4]) == 0 for shift in shifts)
        if not (whole and signed and axes) or len(set(axes)) < len(axes) or by_zero:
            raise ValueError(fault)
        if len(shifts) > 1:
            raise ValueError(fault)
    return operation


def check_operations(operations: Sequence[str], lattice: np.ndarray) -> None:
    """Refuse operations that the cell does not have, or that make no group.

    Parameters
    ----------
    operations
        Of fractional coordinates, in plain spelling.
    lattice : (3, 3)
        Vectors as rows, Å.

    Raises
    ------
    ValueError
        Says which; a `Misfit` where the cell does not have them.
    """
    rotations, shifts = map(np.array, zip(*map(matrix_of, operations), strict=True))
    matrices = rotations.astype(int)
    if (np.abs(np.abs(np.linalg.det(rotations)) - 1) > 0.5).any():
        raise ValueError("one of its symmetry operations is no rotation of a lattice; correct it")
    lengths, angles = _metric(lattice[None])
    # The images of the lattice vectors: row i of (lattice.T @ R).T is the image of vector i.
    moved_lengths, moved_angles = _metric(np.swapaxes(matrices, 1, 2) @ lattice)
    off = (np.abs(moved_lengths / lengths - 1) > LENGTH_TOLERANCE).any(axis=1)
    off |= (np.abs(moved_angles - angles) > ANGLE_TOLERANCE).any(axis=1)
    if off.any():
        raise Misfit(
            "its symmetry operations do not fit its cell (they turn it into another one); "
            "correct the cell, or give the operations of this setting"
        )
    _check_group(matrices, shifts)


def _metric(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths and angles (degrees) of (n, 3, 3) vectors as rows."""
    lengths = np.linalg.norm(vectors, axis=2)
    units = vectors / lengths[..., None]
    cosines = np.stack(
        [(units[:, i] * units[:, j]).sum(axis=1) for i, j in ((1, 2), (0, 2), (0, 1))]
    )
    return lengths, np.degrees(np.arccos(np.clip(cosines.T, -1, 1)))


def _check_group(matrices: np.ndarray, shifts: np.ndarray) -> None:
    """Refuse a list that lacks the product of two of its operations."""
    codes = _code(matrices)
    rotations = np.unique(codes)
    by_rotation = [shifts[codes == code] for code in rotations]
    most = max(map(len, by_rotation))
    known = np.stack([np.resize(of_one, (most, 3)) for of_one in by_rotation])
    for matrix, shift in zip(matrices, shifts, strict=True):
        products = _code(matrix @ matrices)
        places = np.minimum(np.searchsorted(rotations, products), len(rotations) - 1)
        away = known[places] - (shifts @ matrix.T + shift)[:, None]
        off = np.abs(away - np.rint(away)).max(axis=2).min(axis=1) > TRANSLATION_TOLERANCE
        if (rotations[places] != products).any() or off.any():
            raise ValueError(
                "its symmetry operations make no group: one is missing or mistyped; "
                "complete their list"
            )


def _code(matrices: np.ndarray) -> np.ndarray:
    """One whole number for each matrix of small whole numbers."""
    return (matrices.reshape(-1, 9) + 4) @ 9 ** np.arange(9)


@cache
def _settings() -> dict[str, tuple[tuple[int, str], ...]]:
    """Hall numbers and spglib's names of the settings of each symbol, squashed."""
    import spglib

    exact: dict[str, list[tuple[int, str]]] = {}
    loose: dict[str, list[tuple[int, str]]] = {}
    for hall in range(1, 531):
        kind = spglib.get_spacegroup_type(hall)
        setting = (hall, kind.choice.lower())
        names = {_squash(kind.international_full)}
        names |= {_squash(name) for name in kind.international.split("=")}
        if 3 <= kind.number <= 15:  # P 21/c stands for each of the axes, first that along b
            short = _squash(re.sub(r" 1(?= |$)", "", kind.international_full))
            names -= {_squash(kind.international.split("=")[0]), short}
            loose.setdefault(short, []).append(setting)
        for name in names:
            exact.setdefault(name, []).append(setting)
            for old in _old_names(name, kind.number):
                loose.setdefault(old, []).append(setting)
    return {name: tuple(found) for name, found in (loose | exact).items()}


def _old_names(name: str, number: int) -> set[str]:
    """Spellings from before 1995: C m c a for C m c e, F d 3 m for F d -3 m."""
    if number >= 195:
        return {name.replace("-3", "3")} - {name}
    return {name.replace("e", letter) for letter in "abc"} - {name}


def _squash(symbol: str) -> str:
    return re.sub(r"[\s_()]", "", symbol).lower()


def settings_named(symbol: str, code: str) -> list[int]:
    """Hall numbers of the settings that a Hermann-Mauguin symbol may mean; none if unknown."""
    squashed, _, choice = _squash(symbol).partition(":")
    if squashed not in _settings() and squashed[:-1] in _settings() and squashed[-1] in SUFFIXES:
        squashed, choice = squashed[:-1], SUFFIXES[squashed[-1]]
    settings = _settings().get(squashed, ())
    chosen = [hall for hall, name in settings if choice and name.startswith(choice)]
    if choice and settings and not chosen:
        return []
    coded = [hall for hall, name in settings if code and name.startswith(code.lower())]
    return chosen or coded or [hall for hall, _ in settings]


@cache
def _halls() -> dict[str, int]:
    """Hall numbers of Hall symbols."""
    import spglib

    return {
        _squash_hall(spglib.get_spacegroup_type(hall).hall_symbol): hall for hall in range(1, 531)
    }


def _squash_hall(symbol: str) -> str:
    return re.sub(r"[\s_]+", " ", symbol.replace("=", '"')).strip().lower()


def number_of(hall: int) -> int:
    """Space-group number of a setting."""
    import spglib

    return spglib.get_spacegroup_type(hall).number


def axes_of(hall: int) -> str:
    """The axes of a setting, where its group may be told on several, in words; else empty."""
    import spglib

    return AXES_IN_WORDS.get(spglib.get_spacegroup_type(hall).choice.strip("-123"), "")


def off_axes(hall: int, angles: Sequence[float]) -> int:
    """By how many twentieths of a degree a monoclinic setting's right angles are off."""
    import spglib

    unique = "abc".find(spglib.get_spacegroup_type(hall).choice.strip("-123"))
    return max(round(20 * abs(angles[axis] - 90)) for axis in range(3) if axis != unique)


def said_number(values: Values) -> int:
    """The number that the file states; 0 for none.

    Raises
    ------
    ValueError
        What it states is no number.
    """
    for name in NUMBER_NAMES:
        text = value_of(values, [name])
        if not text:
            continue
        stated = float(told(name, text))
        return int(stated) if stated in range(1, 231) else 0
    return 0


def candidates(values: Values) -> list[int]:
    """Hall numbers of the settings that a file without operations may mean.

    Raises
    ------
    ValueError
        What it says of its group is unknown, or contradicts itself.
    """
    symbol, hall_symbol = value_of(values, SYMBOL_NAMES), value_of(values, HALL_NAMES)
    code, number = value_of(values, CODE_NAMES), said_number(values)
    by_hall = _halls().get(_squash_hall(hall_symbol))
    named = settings_named(symbol, code)
    cure = "add the _space_group_symop_operation_xyz loop"
    if hall_symbol and by_hall is None and not named:
        raise ValueError(f"the Hall symbol {hall_symbol!r} is not known; {cure}")
    if symbol and not named and by_hall is None:
        raise ValueError(
            f"neither symmetry operations nor a known space group ({symbol!r} is none); {cure}"
        )
    if by_hall is not None and (not symbol or not named or by_hall in named):
        named = [by_hall]
    elif by_hall is not None:
        raise ValueError(f"{symbol!r} and the Hall symbol {hall_symbol!r} differ; {cure}")
    if not named and number:
        named = _standard(number, code)
    if named and number and number not in {number_of(hall) for hall in named}:
        raise ValueError(f"space group {symbol or hall_symbol} is not number {number}; {cure}")
    if not named and value_of(values, NUMBER_NAMES):
        raise ValueError(f"neither symmetry operations nor a known space group; {cure}")
    return named


def _standard(number: int, code: str) -> list[int]:
    """Settings of a number alone: the first one's symbol, in each origin or on each axes."""
    import spglib

    halls = [hall for hall in range(1, 531) if number_of(hall) == number]
    if 3 <= number <= 15 and len(halls) == 3:  # one setting for each of the axes
        return halls
    return settings_named(spglib.get_spacegroup_type(halls[0]).international_full, code)


def claimed_number(values: Values) -> int:
    """Space-group number that the file claims, with or without operations.

    P 1 counts as none: programs write it for plain cells.
    """
    number = said_number(values)
    if number > 1:
        return number
    for name in SYMBOL_NAMES:
        settings = settings_named(value_of(values, [name]), "")
        numbers = {number_of(hall) for hall in settings}
        if len(numbers) == 1 and numbers != {1}:
            return numbers.pop()
    hall = _halls().get(_squash_hall(value_of(values, HALL_NAMES)))
    claimed = number_of(hall) if hall else 0
    return claimed if claimed > 1 else 0


def operations_in(hall: int) -> list[str]:
    """Operations of a setting, in the spelling of files."""
    import spglib

    database = spglib.get_symmetry_from_database(hall)
    pairs = zip(database["rotations"], database["translations"], strict=True)
    return [",".join(map(_component, rotation, shift)) for rotation, shift in pairs]


def _component(row: np.ndarray, shift: float) -> str:
    part = Fraction(float(shift)).limit_denominator(24) % 1
    text = "".join(
        f"{'-' if factor < 0 else '+'}{axis}"
        for factor, axis in zip(row, "xyz", strict=True)
        if factor
    )
    return f"{text}+{part}" if part else text
