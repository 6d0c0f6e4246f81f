"""What the ladder is read from: the files of its options, read, checked, aligned by structure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.answers.arms import FROZEN, PredictionFile
from rc_hpc.answers.predictions import check_together, find_files, read_predictions
from rc_hpc.answers.scoring import stored_predictions
from rc_hpc.answers.task import SEVEN_SYSTEMS, Task
from rc_hpc.answers.votes import sample_accuracy, score
from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.ids import read_ids
from rc_hpc.ladder import inputs as ladder_inputs
from rc_hpc.ladder import pictures, shares
from rc_hpc.ladder.options import LadderOptions
from rc_hpc.ladder.readings import Readings, check_readings, read_scores
from rc_hpc.ladder.rungs import Rungs

#: Reading of the votes beside the tie rules.
PER_SAMPLE = "per sample"
#: Group of the structures whose listed cell is as large as the drawn one.
SAME_SIZE = "stored cell of conventional size"


class Missing(Exception):
    """A table cannot be made: the message says which input it needs."""


def _read(path: Path, task: Task) -> list[PredictionFile]:
    """The predictions of one file, of one arm or of many."""
    if path.suffix in (".h5", ".hdf5"):
        return stored_predictions(path, task=task)
    return [read_predictions(path, task)]


class Evidence:
    """The files of the options, read and aligned; what is expensive is read when it is needed.

    Parameters
    ----------
    options
    task
        What the models were asked.
    """

    def __init__(self, options: LadderOptions, task: Task = SEVEN_SYSTEMS):
        self.options = options
        self.task = task
        paths = find_files(options.predictions)
        self.files = [file for path in paths for file in _read(path, task)]
        check_together(self.files)
        if options.labels is not None:
            ladder_inputs.check_labels(options.labels, self.files, task)
        self.convention = pictures.chosen_convention(self.files, options.convention)
        self.ids = ladder_inputs.common_ids(
            [f for f in self.files if f.kind in ladder_inputs.ALIGNED and self._in_ladder(f)]
        )
        truths = {p.material_id: p.truth for file in self.files for p in file.predictions}
        self.truths = np.array([truths[id_] for id_ in self.ids], dtype=str)
        #: What the pixel files record of their pictures, and how many of them record nothing.
        self.drawing, self.unrecorded = pictures.drawing_of(list(self.of("pixels").values()))
        #: Options of each census by the name of its ceiling.
        self.census_options: dict[str, dict[str, Any]] = {}
        #: What is proved of each structure by the name of its ceiling, where anything can be.
        self.certified: dict[str, np.ndarray] = {}
        #: Readings of the pictures by the name of their rung.
        self.readings: dict[str, Readings] = {}
        self.ceilings = self._ceilings() | self._read_ceilings()

    def _in_ladder(self, file: PredictionFile) -> bool:
        """Whether a file shows the ladder's pictures, or none."""
        return file.convention == (self.convention if file.kind == "pixels" else "")

    def _ceilings(self) -> dict[str, np.ndarray]:
        ceilings: dict[str, np.ndarray] = {}
        for path in self.options.census:
            found = ladder_inputs.read_ceiling(path, self.ids, self.truths)
            if found.name in ceilings:
                raise UsageError(
                    f"{path}: a second census of {found.name}; give one census per delta"
                )
            pictures.check_ceiling(path, found.options, self.drawing)
            ceilings[found.name] = found.determined
            self.certified[found.name] = found.certified
            self.census_options[found.name] = found.options
        return ceilings or {"all": np.ones(len(self.ids), bool)}

    def _read_ceilings(self) -> dict[str, np.ndarray]:
        for path in self.options.scores:
            found = read_scores(path, self.ids, self.truths)
            if found.name in self.readings:
                raise UsageError(
                    f"{path}: second scores of {found.name}; give one file per level of knowledge"
                )
            check_readings(found, self.convention, self.drawing, self.census_options)
            self.readings[found.name] = found
            self.certified[found.name] = found.certified
        return {name: found.right for name, found in self.readings.items()}

    def of(self, kind: str, cell: str | None = None) -> dict[str, PredictionFile]:
        """Files of an arm by model, those of the ladder's pictures alone."""
        return {
            f.model: f
            for f in self.files
            if f.kind == kind and self._in_ladder(f) and cell in (None, f.cell)
        }

    def r3_cells(self) -> list[str]:
        """Cells that coordinate arms have shown, in file order."""
        return list(dict.fromkeys(f.cell for f in self.files if f.kind == "coordinates"))

    def rungs(self, cell: str, reading: str | None = None) -> Rungs:
        """R3 on one cell and R4 of the models that have both.

        Parameters
        ----------
        reading
            A tie rule, or `PER_SAMPLE`; by default the predictions as they stand.
        """
        r4, r3 = self.of("pixels"), self.of("coordinates", cell)
        models = [model for model in r4 if model in r3]
        if not models:
            others = {f.convention or FROZEN for f in self.files if f.kind == "pixels"}
            choice = ", ".join(sorted(others)) if others and not r4 else ""
            raise Missing(
                "needs a pixel and a coordinate file of one model"
                + f" (choose pictures with --convention: {choice})" * bool(choice)
            )
        reasons = [self.unscored(r4[model]) or self.unscored(r3[model]) for model in models]
        pixels, coordinates = (
            np.array([self._credit(files[m], reading) for m in models]) for files in (r4, r3)
        )
        return Rungs(tuple(models), pixels, coordinates, tuple(reasons))

    def _credit(self, file: PredictionFile, reading: str | None = None) -> list:
        if reading in (None, self.task.ties[0]):
            return [p.correct for p in file.rows(self.ids)]
        if reading == PER_SAMPLE:
            return [sample_accuracy(p.counts, p.truth, file.k) for p in file.rows(self.ids)]
        return [score(p.counts, p.truth, reading) for p in file.rows(self.ids)]

    def correct(self, files: Iterable[PredictionFile]) -> np.ndarray:
        """Correctness (m, n) of these files."""
        rows = [self._credit(file) for file in files]
        return np.array(rows, dtype=bool).reshape(-1, len(self.ids))

    def unscored(self, file: PredictionFile) -> str:
        """Why a file's row is not scored, else empty."""
        return file.why_unscored(self.options.gate_samples)

    def told(self) -> list[str]:
        """What a caption says of the pictures, and of the cells that R3 listed."""
        return [*self._pictures_told(), *self.cells_differ]

    def _pictures_told(self) -> list[str]:
        told = []
        if self.drawing is not None:
            told.append(
                f"pictures {self.drawing['convention']}: {pictures.told(self.drawing['protocol'])}"
            )
        if self.unrecorded:
            census = next(iter(self.census_options.values()), None)
            told.append(
                f"{self.unrecorded} pixel files do not record their pictures"
                + (f"; the census is of {pictures.told(census['protocol'])}" if census else "")
            )
        return told

    @cached_property
    def cells_differ(self) -> list[str]:
        """One sentence for each cell that R3 listed and the pictures do not show."""
        shown = {file.cell for file in self.of("pixels").values()}
        if not shown:
            return []
        what = " and ".join(sorted(shown))
        return [self._difference(cell, what) for cell in self.r3_cells() if shown != {cell}]

    def _difference(self, cell: str, shown: str) -> str:
        text = f"R3 lists the {cell} cell, the pictures show the {shown} one"
        try:
            same = self.atoms_ratio == 1
            rungs = self.rungs(cell).only_scored()
        except Missing:
            return text
        ceiling = next(iter(self.ceilings.values()))
        split = []
        for mask, where in ((same, "the two are of one size"), (~same, "not")):
            p, s, _ = rungs.on(mask).parts(ceiling[mask])
            residual, other = shares.dominant(p, s)
            n = int(residual.sum() + other.sum())
            split.append(f"{int(residual.sum())} of {n} models where {where} ({int(mask.sum())})")
        return f"{text}: residual-dominant are {', '.join(split)}"

    @cached_property
    def atoms_ratio(self) -> np.ndarray:
        """Atoms of the conventional cell over those of the stored one, (n,)."""
        columns = self.crystals.columns
        return np.asarray(columns["n_atoms"] / columns["n_atoms_stored"])

    @cached_property
    def _structures(self) -> Path:
        path = self.options.structures or next(iter(self.options.census), None)
        if path is None:
            raise Missing("needs the cells: --structures or --census")
        if not self.ids:
            raise Missing("needs pixel or coordinate files")
        return path

    @cached_property
    def crystals(self) -> ladder_inputs.Crystals:
        """The evaluation structures."""
        return ladder_inputs.read_crystals(self._structures, self.ids)

    @cached_property
    def training(self) -> ladder_inputs.Crystals:
        """The training structures, in the order of training."""
        path = self.options.train
        if path is None:
            raise Missing("needs the training structures: --train")
        ids = read_ids(path, "--train")
        if len(set(ids)) < len(ids):
            raise UsageError(f"--train {path}: an id is there twice; give each structure once")
        if overlap := set(ids) & set(self.ids):
            raise RcError(
                f"{path}: {min(overlap)} is an evaluation structure; train on others only"
            )
        return ladder_inputs.read_crystals(self._structures, ids)
