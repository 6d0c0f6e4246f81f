"""What a model is asked about: structures, their pictures and their cells, from files to questions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from rc_hpc.answers.extractions import read_extractions
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import RcError, Status, UsageError
from rc_hpc.core.ids import read_ids
from rc_hpc.images.files import picture_folder
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.store.layout import read_rows
from rc_hpc.store.reader import open_ours
from rc_hpc.vlm.prompts import OWN, VERSION, prompt
from rc_hpc.vlm.questions import Picture, Question, geometry_text, scattered, wrapped

#: Arms that show pictures, and arms that need the packed structures.
WITH_PICTURES = ("pixels", "extraction")
WITH_CELLS = ("coordinates", "formula-only", "answer-from-text")


@dataclass(frozen=True, slots=True)
class Subject:
    """A structure to be asked about.

    Attributes
    ----------
    id, truth
    question
        The input's own, or None.
    images
        Picture files that the input names; None where it names none.
    """

    id: str
    truth: str
    question: str | None = None
    images: tuple[str, ...] | None = None


def read_records(path: Path) -> list[Subject]:
    """Subjects of a JSON lines file with ``material_id``, ``crystal_system`` and perhaps ``question`` and ``images``.

    Raises
    ------
    RcError
        Not such a file; names the line.
    """
    found: dict[str, Subject] = {}
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RcError(f"{path}: cannot be read ({error}); check the path") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            id_, truth = entry["material_id"], entry["crystal_system"]
            subject = Subject(
                id_,
                truth,
                entry.get("question"),
                tuple(entry["images"]) if "images" in entry else None,
            )
        except (ValueError, KeyError, TypeError) as error:
            raise RcError(
                f"{path}: line {number}: {type(error).__name__} {error}; give JSON lines with material_id and crystal_system"
            ) from error
        if truth not in CRYSTAL_SYSTEMS or not isinstance(id_, str) or id_ in found:
            reason = (
                f"{id_} is there twice"
                if id_ in found
                else f"crystal_system is {truth!r}, none of {', '.join(CRYSTAL_SYSTEMS)}"
            )
            raise RcError(f"{path}: line {number}: {reason}")
        found[id_] = subject
    if not found:
        raise RcError(f"{path}: holds no records")
    return list(found.values())


class Cells:
    """Cells and labels of a packed file, by id."""

    def __init__(self, path: Path):
        self.path = Path(path)
        with PackedReader(path) as packed:
            self.content_hash = str(packed.attrs["content_hash"])
            read = {
                name: packed.read(f"structures/{name}")
                for name in (
                    "id",
                    "duplicate",
                    "status",
                    "formula",
                    "lattice",
                    "lattice_stored",
                    "crystal_system",
                    "crystal_system_conventional",
                )
            }
            self._atoms = {
                "conventional": (
                    packed.offsets("atoms"),
                    packed.read("atoms/number"),
                    packed.read("atoms/position"),
                ),
                "stored": (
                    packed.offsets("stored_atoms"),
                    packed.read("stored_atoms/number"),
                    packed.read("stored_atoms/frac"),
                ),
            }
        self._columns = read
        self.rows = {id_: row for row, id_ in enumerate(read["id"]) if not read["duplicate"][row]}

    def subjects(self, truth: str) -> tuple[list[Subject], int]:
        """Usable structures with their labels, and how many are left out: unreadable ones, or without a label."""
        codes = self._columns[
            {"stored": "crystal_system", "conventional": "crystal_system_conventional"}[truth]
        ]
        status = self._columns["status"]
        found = [
            Subject(id_, CRYSTAL_SYSTEMS[codes[row] - 1])
            for id_, row in self.rows.items()
            if status[row] == Status.ok and codes[row]
        ]
        return found, len(self.rows) - len(found)

    def row(self, id_: str) -> int:
        """Row of a structure that has a conventional cell."""
        row = self.rows.get(id_)
        if row is None:
            raise RcError(f"{self.path}: {id_} is not in it; pack it as well")
        if self._columns["status"][row] != Status.ok:
            raise RcError(
                f"{self.path}: {id_} has status {Status(self._columns['status'][row]).name} and no cell; leave it out with --ids"
            )
        return row

    def formula(self, id_: str) -> str:
        """Reduced chemical formula."""
        return self._columns["formula"][self.row(id_)]

    def lattice(self, id_: str, cell: str = "conventional") -> np.ndarray:
        """Lattice vectors (3, 3) of the `stored` or the `conventional` cell, Å."""
        return self._columns["lattice" if cell == "conventional" else "lattice_stored"][
            self.row(id_)
        ]

    def symbols(self, id_: str, cell: str = "conventional") -> list[str]:
        """Element symbols of the atoms."""
        from ase.data import chemical_symbols

        offsets, numbers, _ = self._atoms[cell]
        row = self.row(id_)
        return [chemical_symbols[number] for number in numbers[offsets[row] : offsets[row + 1]]]

    def frac(self, id_: str, cell: str = "conventional") -> np.ndarray:
        """Fractional coordinates (n, 3): wrapped in the conventional cell, as they were read in the stored one."""
        offsets, _, values = self._atoms[cell]
        row = self.row(id_)
        values = values[offsets[row] : offsets[row + 1]]
        return (
            values
            if cell == "stored"
            else wrapped(np.linalg.solve(self.lattice(id_).T, values.T).T)
        )

    def text(self, id_: str, cell: str) -> str:
        """The whole cell as text."""
        return geometry_text(self.lattice(id_, cell), self.symbols(id_, cell), self.frac(id_, cell))


class Manifest:
    """Pictures of a rendering run, by id, in the order of its cameras."""

    def __init__(self, path: Path):
        self.path, folder = Path(path), picture_folder(path)
        with open_ours(path, "renders") as h5:
            ids = read_rows(h5["structures/id"])
            columns = {
                name: read_rows(h5[f"pictures/{name}"])
                for name in ("structure", "view", "file", "bytes", "sha256", "size", "convention")
            }
            self.views = tuple(read_rows(h5["protocol/view"]))
            self.tiling = tuple(int(n) for n in h5["protocol/tiling"][()])
        self.convention = str(columns["convention"][0]) if len(columns["convention"]) else "C1"
        self._found: dict[str, list[tuple[int, Picture]]] = {}
        for row, view, file, size, digest, width in zip(
            *(columns[name] for name in ("structure", "view", "file", "bytes", "sha256", "size")),
            strict=True,
        ):
            self._found.setdefault(ids[row], []).append(
                (int(view), Picture(folder / file, digest, int(size), int(width) ** 2))
            )

    def pictures(self, id_: str) -> tuple[Picture, ...]:
        """All pictures of a structure.

        Raises
        ------
        RcError
            Not every camera's picture is there.
        """
        found = sorted(self._found.get(id_, ()), key=lambda entry: entry[0])
        pictures = tuple(picture for _, picture in found)
        if len(pictures) != len(self.views):
            raise RcError(
                f"{self.path}: {id_} has {len(pictures)} of {len(self.views)} pictures: draw it (python -m rc_hpc.render), or leave it out with --ids"
            )
        for picture in pictures:
            if not picture.path.is_file():
                raise RcError(
                    f"{picture.path}: the picture of {id_} is missing: draw the pictures again (python -m rc_hpc.render --overwrite)"
                )
        return pictures


def own_pictures(subject: Subject, root: Path) -> tuple[Picture, ...]:
    """The pictures that a record names, hashed.

    Raises
    ------
    RcError
        It names none, or one cannot be read.
    """
    if not subject.images:
        raise RcError(
            f"{subject.id}: its record names no pictures: give a render manifest with --pictures"
        )
    found = []
    for name in subject.images:
        path = root / name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise RcError(
                f"{path}: the picture of {subject.id} cannot be read ({error.strerror}): name its folder with --image-root, or a manifest with --pictures"
            ) from error
        width, height = (
            (int.from_bytes(data[i : i + 4], "big") for i in (16, 20))
            if data.startswith(b"\x89PNG")
            else (768, 768)
        )
        found.append(Picture(path, hashlib.sha256(data).hexdigest(), len(data), width * height))
    return tuple(found)


@dataclass
class Inputs:
    """All that questions are made of.

    Attributes
    ----------
    subjects
        In the order of the input.
    left_out
        Structures of the input that cannot be used.
    cells, manifest, emitted
        None where they were not given.
    cell
        Cell of the coordinates arm.
    own
        Whether a record's own question is used where it fits.
    image_root
        Folder below which records name their pictures.
    """

    subjects: list[Subject]
    left_out: int
    cells: Cells | None
    manifest: Manifest | None
    emitted: dict | None
    cell: str
    own: bool
    image_root: Path

    @cached_property
    def truths(self) -> dict[str, str]:
        """True crystal system by id."""
        return {subject.id: subject.truth for subject in self.subjects}

    def formula(self, id_: str) -> str:
        """Formula, or nothing where no packed file was given."""
        return "" if self.cells is None or id_ not in self.cells.rows else self.cells.formula(id_)

    def questions(self, arms: Sequence[str]) -> list[Question]:
        """Questions of all subjects in all arms: scattered over the structures, the arms of one beside each other."""
        by_id = {subject.id: subject for subject in self.subjects}
        return [self.question(by_id[id_], arm) for id_ in scattered(list(by_id)) for arm in arms]

    def question(self, subject: Subject, arm: str) -> Question:
        """One structure in one arm.

        Raises
        ------
        RcError
            Something that it needs is not there.
        """
        pictures: tuple[Picture, ...] = ()
        if arm in WITH_PICTURES:
            pictures = (
                self.manifest.pictures(subject.id)
                if self.manifest is not None
                else own_pictures(subject, self.image_root)
            )
        if self.own and subject.question and self._fits(subject, arm):
            return Question(subject.id, arm, subject.question, OWN, pictures)
        return Question(
            subject.id, arm, self._text(subject.id, arm, len(pictures)), VERSION, pictures
        )

    def _fits(self, subject: Subject, arm: str) -> bool:
        """A question that comes without pictures holds coordinates; any other is about pictures, or stands without them as the control."""
        return arm == "coordinates" if subject.images == () else arm in ("pixels", "question-only")

    def _text(self, id_: str, arm: str, n_pictures: int) -> str | None:
        if arm == "question-only":
            return prompt(arm)
        if arm in WITH_PICTURES:
            views, tiling = (
                (self.manifest.views, self.manifest.tiling)
                if self.manifest is not None
                else ((), (1, 1, 1))
            )
            values = {
                "n_pictures": str(n_pictures),
                "views": f": {', '.join(view.replace('_', ' ') for view in views)}"
                if views
                else "",
                "outline": "one conventional unit cell"
                if tiling == (1, 1, 1)
                else f"a block of {' x '.join(map(str, tiling))} conventional unit cells",
            }
            return prompt(
                arm, **values, **({"legend": self._legend(id_)} if arm == "extraction" else {})
            )
        if arm == "formula-only":
            return prompt(arm, formula=self._cells().formula(id_))
        if arm == "coordinates":
            hint = (
                ""
                if self.cell == "conventional"
                else ", and the cell may be a primitive one of a centred lattice"
            )
            return prompt(
                arm,
                geometry=self._cells().text(id_, self.cell),
                cell={"conventional": "conventional", "stored": "given"}[self.cell],
                primitive=hint,
            )
        if id_ not in self.emitted:
            raise RcError(
                f"--emitted: {id_} is not in it; extract its atoms as well, or leave it out with --ids"
            )
        atoms = self.emitted[id_]
        if not atoms:
            return None
        return prompt(
            arm,
            geometry=geometry_text(
                self._cells().lattice(id_),
                [atom[0] for atom in atoms],
                [atom[1:] for atom in atoms],
            ),
        )

    def _cells(self) -> Cells:
        if self.cells is None:
            raise UsageError(
                "this arm needs the structures: give a packed file as SOURCE or with --structures"
            )
        return self.cells

    def _legend(self, id_: str) -> str:
        from ase.data import atomic_numbers
        from ase.data.colors import jmol_colors

        shades = {
            symbol: jmol_colors[min(atomic_numbers[symbol], len(jmol_colors) - 1)]
            for symbol in dict.fromkeys(self._cells().symbols(id_))
        }
        return ", ".join(
            f"{symbol} #{''.join(f'{round(255 * part):02x}' for part in shade)}"
            for symbol, shade in shades.items()
        )


def open_inputs(args, arms: Iterable[str]) -> Inputs:
    """Inputs of the arguments.

    Raises
    ------
    RcError
        Something is missing that an arm needs; says with which option it is given.
    """
    source = Path(args.source)
    packed = args.structures
    if source.suffix in (".h5", ".hdf5"):
        if packed is not None:
            raise UsageError("--structures is for records in JSON lines: SOURCE is packed already")
        packed = source
    cells = Cells(packed) if packed is not None else None
    subjects, left_out = (
        cells.subjects(args.truth) if source == packed else (read_records(source), 0)
    )
    if args.ids is not None:
        wanted = set(read_ids(args.ids, "--ids"))
        if missing := wanted - {subject.id for subject in subjects}:
            raise UsageError(
                f"--ids {args.ids}: {len(missing)} of {len(wanted)} are not among the usable structures of {source}: {', '.join(sorted(missing)[:5])}"
            )
        subjects = [subject for subject in subjects if subject.id in wanted]
    if args.limit is not None:
        chosen = set(scattered([subject.id for subject in subjects])[: args.limit])
        subjects = [subject for subject in subjects if subject.id in chosen]
    if not subjects:
        raise RcError(f"{source}: no structure to ask about")
    if "answer-from-text" in arms and args.emitted is None:
        raise UsageError(
            "the arm answer-from-text needs --emitted: the atoms that the arm extraction wrote"
        )
    own_coordinates = (
        "coordinates" in arms
        and args.prompt == "own"
        and any(s.question and s.images == () for s in subjects)
    )
    if own_coordinates and args.cell is None:
        raise UsageError(
            f"the questions in {source} hold coordinates: say of which cell with --cell stored or --cell conventional"
        )
    return Inputs(
        subjects,
        left_out,
        cells,
        Manifest(args.pictures) if args.pictures is not None else None,
        read_extractions(args.emitted) if args.emitted is not None else None,
        args.cell or "conventional",
        args.prompt == "own",
        args.image_root or source.parent,
    )
