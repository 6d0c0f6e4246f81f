"""What the ladder is read from: the files of its options, read, checked, aligned by structure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import numpy as np

from rc_hpc.answers.arms import PredictionFile
from rc_hpc.answers.predictions import check_together, find_files, read_predictions
from rc_hpc.answers.scoring import stored_predictions
from rc_hpc.answers.task import SEVEN_SYSTEMS, Task
from rc_hpc.answers.votes import sample_accuracy, score
from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.ids import read_ids
from rc_hpc.ladder import inputs as ladder_inputs
from rc_hpc.ladder.options import LadderOptions
from rc_hpc.ladder.rungs import Rungs

#: Reading of the votes beside the tie rules.
PER_SAMPLE = "per sample"


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
        self.ids = ladder_inputs.common_ids(self.files)
        truths = {p.material_id: p.truth for file in self.files for p in file.predictions}
        self.truths = np.array([truths[id_] for id_ in self.ids], dtype=str)
        self.ceilings = self._ceilings()

    def _ceilings(self) -> dict[str, np.ndarray]:
        ceilings: dict[str, np.ndarray] = {}
        for path in self.options.census:
            name, determined = ladder_inputs.read_ceiling(path, self.ids, self.truths)
            if name in ceilings:
                raise UsageError(f"{path}: a second census of {name}; give one census per delta")
            ceilings[name] = determined
        return ceilings or {"all": np.ones(len(self.ids), bool)}

    def of(self, kind: str, cell: str | None = None) -> dict[str, PredictionFile]:
        """Files of an arm by model, without convention sweeps."""
        return {
            f.model: f
            for f in self.files
            if f.kind == kind and not f.convention and cell in (None, f.cell)
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
            raise Missing("needs a pixel and a coordinate file of one model")
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
