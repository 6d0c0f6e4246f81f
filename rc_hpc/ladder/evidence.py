"""What the ladder is read from: the request's files, read, checked and aligned by structure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from rc_hpc.answers.arms import PredictionFile
from rc_hpc.answers.predictions import check_together, find_files, read_predictions
from rc_hpc.answers.scoring import stored_predictions
from rc_hpc.answers.votes import sample_accuracy, score
from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.ladder import inputs as ladder_inputs
from rc_hpc.ladder import rungs as ladder

#: Reading of the votes beside the tie rules.
PER_SAMPLE = "per sample"


class Missing(Exception):
    """A table cannot be made: the message says which input it needs."""


@dataclass(frozen=True)
class Request:
    """What the ladder is asked for.

    Attributes
    ----------
    predictions
        Prediction files, folders of them, and HDF5 files of answers.
    census
        Census files, one per ceiling.
    labels
        File of true crystal systems to check the predictions against.
    structures
        Packed or census file with the cells; by default the first census.
    train
        File of training ids, in the order of training.
    emitted
        File of emitted atoms.
    contrasts
        Pairs of models that are compared within strata.
    gate_samples
        Also leave rows unscored that lost more than 5 % of their samples.
    resamples
        Trials per resampling regime of the shape-free baseline.
    """

    predictions: tuple[Path, ...]
    census: tuple[Path, ...] = ()
    labels: Path | None = None
    structures: Path | None = None
    train: Path | None = None
    emitted: Path | None = None
    contrasts: tuple[tuple[str, str], ...] = ()
    gate_samples: bool = False
    resamples: int = 0


def _read(path: Path) -> list[PredictionFile]:
    """The predictions of one file, of one arm or of many."""
    if path.suffix not in (".h5", ".hdf5"):
        return [read_predictions(path)]
    return stored_predictions(path)


class Evidence:
    """The request's files, read and aligned; what is expensive is read when it is asked for."""

    def __init__(self, request: Request):
        self.request = request
        self.files = [file for path in find_files(request.predictions) for file in _read(path)]
        check_together(self.files)
        if request.labels is not None:
            ladder_inputs.check_labels(request.labels, self.files)
        self.ids = ladder_inputs.common_ids(self.files)
        truths = {p.material_id: p.truth for file in self.files for p in file.predictions}
        self.truths = np.array([truths[id_] for id_ in self.ids], dtype=str)
        self.ceilings = self._ceilings()

    def _ceilings(self) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for path in self.request.census:
            name, determined = ladder_inputs.read_ceiling(path, self.ids, self.truths)
            if name in found:
                raise UsageError(f"{path}: a second census of {name}; give one census per delta")
            found[name] = determined
        return found or {"all": np.ones(len(self.ids), bool)}

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

    def rungs(self, cell: str, reading: str = "first") -> ladder.Rungs:
        """R3 on one cell and R4 of the models that have both, read by a tie rule or per sample."""
        r4, r3 = self.of("pixels"), self.of("coordinates", cell)
        models = [model for model in r4 if model in r3]
        if not models:
            raise Missing("needs a pixel and a coordinate file of one model")
        reasons = [self.unscored(r4[model]) or self.unscored(r3[model]) for model in models]
        return ladder.Rungs(
            tuple(models),
            *(np.array([self._credit(files[m], reading) for m in models]) for files in (r4, r3)),
            tuple(reasons),
        )

    def _credit(self, file: PredictionFile, reading: str) -> list:
        if reading == "first":
            return [p.correct for p in file.rows(self.ids)]
        if reading == PER_SAMPLE:
            return [sample_accuracy(p.votes, p.truth, file.k) for p in file.rows(self.ids)]
        return [score(p.votes, p.truth, reading) for p in file.rows(self.ids)]

    def correct(self, files: Iterable[PredictionFile]) -> np.ndarray:
        """Correctness (m, n) of these files."""
        return np.array([self._credit(file, "first") for file in files], dtype=bool).reshape(
            -1, len(self.ids)
        )

    def unscored(self, file: PredictionFile) -> str:
        """Why a file's row is not scored, else empty."""
        return file.why_unscored(self.request.gate_samples)

    @cached_property
    def _structures(self) -> Path:
        path = self.request.structures or next(iter(self.request.census), None)
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
        if self.request.train is None:
            raise Missing("needs the training structures: --train")
        ids = ladder_inputs.read_ids(self.request.train)
        if overlap := set(ids) & set(self.ids):
            raise RcError(
                f"{self.request.train}: {min(overlap)} is an evaluation structure; train on others only"
            )
        return ladder_inputs.read_crystals(self._structures, ids)
