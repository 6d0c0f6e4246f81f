"""What every reader shares: checks of the numbers, and one way in which a library can fail."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata

import numpy as np

from rc_hpc.core.cells import cell_parameters
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.structures.record import Item, Structure

#: Cells of a smaller volume are degenerate, Å^3; one hydrogen atom takes about 5.
MIN_VOLUME = 1e-3
#: Room for one atom below and above which the units of a cell are wrong, Å^3. Of what is known the
#: least is 1.46 (hydrogen under pressure, in the AFLOW encyclopedia), the most that of one atom in
#: a box of less than 100 Å; nanometres make a thousandth of any volume, picometres a million.
LEAST_ROOM, MOST_ROOM = 0.5, 1e6
#: Coordinates, in cells, and vectors, in Å, beyond this have lost the digits that symmetry needs.
LARGEST = 1e6
#: Angles of a cell are below this in radians.
LARGEST_RADIANS = 3.15
#: What a message says of them.
RADIANS = "are its angles ({:.4g}, {:.4g}, {:.4g}) radians? Write them in degrees"
#: Longest library message that is passed on, characters.
MESSAGE_LENGTH = 300
#: Longest message of ours, characters: it may quote what a file holds.
LONGEST_MESSAGE = 1000
#: Digits in a row that no number needs, and that parsers take very long for.
_ENDLESS = re.compile(r"\d{400}")


def name_of(item: Item) -> str:
    """What messages call the item: its source, and its id where the source does not end in it."""
    return item.source if item.source.endswith(item.id) else f"{item.source}, {item.id}"


def refuse(item: Item, status: Status, message: str) -> StructureError:
    """A `StructureError` whose message starts with the item's name."""
    if len(message) > LONGEST_MESSAGE:
        message = f"{message[: LONGEST_MESSAGE // 2]} ... {message[-LONGEST_MESSAGE // 2 :]}"
    return StructureError(status, f"{name_of(item)}: {message}")


def one_line(text: object) -> str:
    """`text` without line breaks, cut to `MESSAGE_LENGTH` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= MESSAGE_LENGTH else line[: MESSAGE_LENGTH - 3] + "..."


@cache
def version_of(distribution: str) -> str:
    """Installed version of a distribution, as recorded with each structure."""
    return metadata.version(distribution)


@contextmanager
def guarded(item: Item) -> Iterator[list[warnings.WarningMessage]]:
    """Run a library's reader: its warnings are kept off the terminal, its exceptions become one.

    Yields the list that warnings go to. Whatever is raised inside leaves as a
    `StructureError`; the last warning is quoted, since it often says more.
    """
    with warnings.catch_warnings(record=True) as heard, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            yield heard
        except StructureError:
            raise
        except np.linalg.LinAlgError as error:
            raise refuse(
                item,
                Status.singular_cell,
                f"the cell has no volume ({one_line(error)}); correct its vectors",
            ) from error
        except Exception as error:
            hint = f" (warning: {one_line(heard[-1].message)})" if heard else ""
            raise refuse(
                item,
                Status.read_error,
                f"{type(error).__name__}: {one_line(error)}{hint}; "
                "repair the file, or leave it out with --ids",
            ) from error


def text_of(item: Item, blob: bytes, *, cif: bool = False) -> str:
    """The blob as text with ``\\n`` line ends; refuses empty, binary and endless content."""
    if not blob.strip():
        raise refuse(item, Status.empty, "it is empty; write the structure again")
    if b"\0" in blob:
        raise refuse(item, Status.read_error, "it is binary, not text; give the text file")
    text = blob.decode("utf-8-sig", errors="replace")
    for line in text.split("\n") if _ENDLESS.search(text) else ():
        # operations of a CIF, which are refused by their own name
        if not _ENDLESS.search(line) or (cif and re.search("[xyz]", line, re.IGNORECASE)):
            continue
        raise refuse(item, Status.read_error, "it holds a number of 400 digits or more; correct it")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def check_numbers(item: Item, numbers: np.ndarray, what: str) -> None:
    """Refuse a `what` without atoms, or with some that are of no element."""
    if not numbers.size:
        raise refuse(item, Status.empty, f"it holds no atoms; write the {what} again")
    if numbers.min() < 1 or numbers.max() > 118:
        raise refuse(
            item,
            Status.unknown_species,
            "it holds dummy atoms (X); name their elements or remove them",
        )


def build(
    item: Item, blob: bytes, lattice, frac, numbers, *, reader: str, space_group: int = 0
) -> Structure:
    """The `Structure`, once its numbers have passed the checks.

    Parameters
    ----------
    lattice : (3, 3) array_like
        Lattice vectors as rows, Å.
    frac : (n, 3) array_like
        Fractional coordinates.
    numbers : (n,) array_like
        Atomic numbers, 1 to 118.
    reader
        Program and version.
    space_group
        Space-group number the source claims, 0 for none.
    """
    lattice = np.array(lattice, dtype=np.float64)
    frac = np.array(frac, dtype=np.float64).reshape(-1, 3)
    numbers = np.array(numbers, dtype=np.int32).reshape(-1)
    check_numbers(item, numbers, "structure")
    if not np.isfinite(lattice).all():
        raise refuse(item, Status.non_finite, "the cell holds NaN or Inf; correct its numbers")
    if not np.isfinite(frac).all():
        atom = int(np.flatnonzero(~np.isfinite(frac).all(axis=1))[0])
        raise refuse(
            item,
            Status.non_finite,
            f"atom {atom + 1} has a NaN or Inf coordinate; correct its numbers",
        )
    if np.abs(frac).max() > LARGEST:
        atom = int(np.argmax(np.abs(frac).max(axis=1)))
        raise refuse(
            item,
            Status.read_error,
            f"atom {atom + 1} lies {np.abs(frac[atom]).max():.3g} cells away; "
            "correct its coordinates",
        )
    volume = abs(np.linalg.det(lattice))
    if not np.isfinite(volume) or volume < MIN_VOLUME:
        raise refuse(
            item,
            Status.singular_cell,
            f"the cell has a volume of {volume:.3g} Å^3; correct its vectors",
        )
    if np.abs(lattice).max() > LARGEST:
        raise refuse(
            item,
            Status.read_error,
            f"a cell vector has a component of {np.abs(lattice).max():.3g} Å; correct it",
        )
    _check_room(item, lattice, volume / len(numbers))
    return Structure(
        id=item.id,
        lattice=lattice,
        frac=frac,
        numbers=numbers,
        source=item.source,
        reader=reader,
        sha256=hashlib.sha256(blob).hexdigest(),
        source_space_group=space_group,
    )


def _check_room(item: Item, lattice: np.ndarray, room: float) -> None:
    """Refuse a cell whose units are wrong by the volume that an atom has in it, Å^3."""
    if LEAST_ROOM <= room <= MOST_ROOM:
        return
    edges, angles = cell_parameters(lattice)
    cell = "an atom has {:.3g} Å^3 in a cell of {:.4g}, {:.4g} and {:.4g} Å".format(room, *edges)
    if room > MOST_ROOM:
        raise refuse(
            item,
            Status.read_error,
            f"{cell}, more than in any crystal: are its lengths picometres? Write them in Å",
        )
    told = (
        RADIANS.format(*angles)
        if (angles < LARGEST_RADIANS).all()
        else "are its lengths nanometres? Write them in Å"
    )
    raise refuse(item, Status.close_atoms, f"{cell}, less than in any known solid: {told}")


def from_pymatgen(
    item: Item, blob: bytes, structure, *, reader: str, space_group: int = 0
) -> Structure:
    """A pymatgen structure as ours.

    Ordered, every species an element, charges and isotopes dropped.
    """
    from pymatgen.core import Element

    numbers = []
    for index, site in enumerate(structure):
        unknown = [s.symbol for s in site.species if not Element.is_valid_symbol(s.symbol)]
        if unknown:
            raise refuse(
                item,
                Status.unknown_species,
                f"site {index + 1} is {unknown[0]!r}, which is no element; name its element",
            )
        if not site.is_ordered:
            raise refuse(
                item,
                Status.disordered,
                f"site {index + 1} is {one_line(site.species_string)}; give an ordered approximant",
            )
        # Element("D") and Element("T") have Z = 1: isotopes look alike in a picture.
        numbers.append(Element(site.specie.symbol).Z)
    return build(
        item,
        blob,
        structure.lattice.matrix,
        structure.frac_coords,
        numbers,
        reader=reader,
        space_group=space_group,
    )
