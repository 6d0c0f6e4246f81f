"""What a model is asked about a crystal: structures, their pictures and cells, the questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rc_hpc.answers.arms import released_name
from rc_hpc.answers.extractions import read_extractions
from rc_hpc.answers.task import SEVEN_SYSTEMS, Task
from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.ids import asked_ids
from rc_hpc.engine.options import HDF5
from rc_hpc.kinds.renders.manifest import Manifest, read_manifest
from rc_hpc.vlm.cells import Cells
from rc_hpc.vlm.options import CELLS, PROMPTS, SubjectOptions
from rc_hpc.vlm.pictures import drawn_pictures, own_pictures
from rc_hpc.vlm.prompts import OWN, VERSION, prompt
from rc_hpc.vlm.questions import PictureFile, Question, geometry_text, scattered
from rc_hpc.vlm.records import Subject, read_records

#: Arms that show pictures, and arms that show no cell.
WITH_PICTURES = ("pixels", "extraction")
WITHOUT_CELL = ("question-only", "formula-only")
OWN_FIRST, SHIPPED = PROMPTS


@dataclass
class Inputs:
    """All that questions about crystals are made of; see `rc_hpc.vlm.questions.Questionnaire`.

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
    record
        The options that it was made from.
    """

    subjects: list[Subject]
    left_out: int
    cells: Cells | None
    manifest: Manifest | None
    emitted: dict | None
    cell: str
    own: bool
    image_root: Path
    record: dict

    @property
    def identity(self) -> dict:
        """What replies of one journal have in common; structures and arms may be added to it."""
        prompt = OWN_FIRST if self.own else SHIPPED
        return {"prompt": prompt, "prompts": VERSION, "cell": self.cell}

    def shown(self, arm: str) -> tuple[str, str]:
        """Cell that an arm shows, and the convention of its pictures where that is not C1."""
        cell = "none" if arm in WITHOUT_CELL else "conventional"
        if arm == "coordinates":
            cell = self.cell
        manifest = self.manifest if arm in WITH_PICTURES else None
        convention = "" if manifest is None else manifest.convention
        return cell, released_name(convention)

    def formula(self, id_: str) -> str:
        """Formula, or nothing where no packed file was given."""
        return "" if self.cells is None or id_ not in self.cells.rows else self.cells.formula(id_)

    def questions(self, arms: Sequence[str]) -> list[Question]:
        """Questions of all subjects in all arms.

        They are scattered over the structures; the arms of one stand beside each other.
        """
        by_id = {subject.id: subject for subject in self.subjects}
        return [self.question(by_id[id_], arm) for id_ in scattered(list(by_id)) for arm in arms]

    def question(self, subject: Subject, arm: str) -> Question:
        """One structure in one arm.

        Raises
        ------
        RcError
            Something that it needs is not there.
        """
        pictures: tuple[PictureFile, ...] = ()
        if arm in WITH_PICTURES:
            pictures = self._pictures(subject)
        if self.own and subject.question and self._fits(subject, arm):
            return Question(subject.id, arm, subject.question, OWN, pictures)
        text = self._text(subject.id, arm, len(pictures))
        return Question(subject.id, arm, text, VERSION, pictures)

    def _pictures(self, subject: Subject) -> tuple[PictureFile, ...]:
        if self.manifest is None:
            return own_pictures(subject, self.image_root)
        return drawn_pictures(self.manifest, subject.id)

    def _fits(self, subject: Subject, arm: str) -> bool:
        """Whether a record's own question is one for this arm.

        One that comes without pictures holds coordinates; any other is about pictures, or stands
        without them as the control.
        """
        return arm == "coordinates" if subject.images == () else arm in ("pixels", "question-only")

    def _text(self, id_: str, arm: str, n_pictures: int) -> str | None:
        if arm == "question-only":
            return prompt(arm)
        if arm in WITH_PICTURES:
            return self._text_of_pictures(id_, arm, n_pictures)
        if arm == "formula-only":
            return prompt(arm, formula=self._cells().formula(id_))
        if arm == "coordinates":
            primitive = ", and the cell may be a primitive one of a centred lattice"
            return prompt(
                arm,
                geometry=self._cells().text(id_, self.cell),
                cell={"conventional": "conventional", "stored": "given"}[self.cell],
                primitive=primitive if self.cell == "stored" else "",
            )
        return self._text_of_emitted(id_, arm)

    def _text_of_pictures(self, id_: str, arm: str, n_pictures: int) -> str:
        views: tuple[str, ...] = ()
        tiling: tuple[int, ...] = (1, 1, 1)
        if self.manifest is not None:
            views, tiling = self.manifest.views, self.manifest.tiling
        names = ", ".join(view.replace("_", " ") for view in views)
        outline = "one conventional unit cell"
        if tiling != (1, 1, 1):
            outline = f"a block of {' x '.join(map(str, tiling))} conventional unit cells"
        values = {
            "n_pictures": str(n_pictures),
            "views": f": {names}" if views else "",
            "outline": outline,
        }
        if arm == "extraction":
            values["legend"] = self._legend(id_)
        return prompt(arm, **values)

    def _text_of_emitted(self, id_: str, arm: str) -> str | None:
        if self.emitted is None or id_ not in self.emitted:
            raise RcError(
                f"--emitted: {id_} is not in it; extract its atoms as well, "
                "or leave it out with --ids"
            )
        atoms = self.emitted[id_]
        if not atoms:
            return None
        symbols, positions = [atom[0] for atom in atoms], [atom[1:] for atom in atoms]
        return prompt(arm, geometry=geometry_text(self._cells().lattice(id_), symbols, positions))

    def _cells(self) -> Cells:
        if self.cells is None:
            raise UsageError(
                "this arm needs the structures: give a packed file as SOURCE or with --structures"
            )
        return self.cells

    def _legend(self, id_: str) -> str:
        from ase.data import atomic_numbers
        from ase.data.colors import jmol_colors

        def colour(symbol: str) -> str:
            shade = jmol_colors[min(atomic_numbers[symbol], len(jmol_colors) - 1)]
            return "".join(f"{round(255 * part):02x}" for part in shade)

        symbols = dict.fromkeys(self._cells().symbols(id_))
        return ", ".join(f"{symbol} #{colour(symbol)}" for symbol in symbols)


def open_inputs(options: SubjectOptions, arms: Sequence[str], task: Task = SEVEN_SYSTEMS) -> Inputs:
    """Inputs that the options name.

    Raises
    ------
    RcError
        Something is missing that an arm needs; says with which option it is given.
    """
    source, packed = options.source, options.structures
    if source.suffix in HDF5:
        if packed is not None:
            raise UsageError("--structures is for records in JSON lines: SOURCE is packed already")
        packed = source
    cells = Cells(packed) if packed is not None else None
    if cells is not None and source == packed:
        subjects, left_out = cells.subjects(options.truth)
    else:
        subjects, left_out = read_records(source, task), 0
    subjects = chosen(subjects, options)
    if "answer-from-text" in arms and options.emitted is None:
        raise UsageError(
            "the arm answer-from-text needs --emitted: the atoms that the arm extraction wrote"
        )
    own = options.prompt == OWN_FIRST
    own_coordinates = own and any(one.question and one.images == () for one in subjects)
    if "coordinates" in arms and own_coordinates and options.cell is None:
        raise UsageError(
            f"the questions in {source} hold coordinates: say of which cell with --cell stored "
            "or --cell conventional"
        )
    return Inputs(
        subjects,
        left_out,
        cells,
        read_manifest(options.pictures) if options.pictures is not None else None,
        read_extractions(options.emitted) if options.emitted is not None else None,
        options.cell or CELLS[0],
        own,
        options.image_root or source.parent,
        options.to_dict(),
    )


def chosen(subjects: list[Subject], options: SubjectOptions) -> list[Subject]:
    """The subjects that --ids and --limit leave."""
    if options.ids is not None:
        wanted = set(asked_ids(options.ids, "--ids"))
        if missing := sorted(wanted - {subject.id for subject in subjects}):
            raise UsageError(
                f"--ids {options.ids}: {len(missing)} of {len(wanted)} are not among the usable "
                f"structures of {options.source}: {', '.join(missing[:5])}"
            )
        subjects = [subject for subject in subjects if subject.id in wanted]
    if options.limit is not None:
        chosen = set(scattered([subject.id for subject in subjects])[: options.limit])
        subjects = [subject for subject in subjects if subject.id in chosen]
    if not subjects:
        raise RcError(f"{options.source}: no structure to ask about")
    return subjects
