"""What a training leaves: HDF5, weights, prediction files, figures, tables."""

from __future__ import annotations

import json
from pathlib import Path

from rc_hpc.answers.arms import released_name
from rc_hpc.answers.predictions import Prediction, PredictionFile, to_json
from rc_hpc.answers.votes import count_votes, winner
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.files import disk_errors, write_whole
from rc_hpc.report.plot import Origin
from rc_hpc.report.tables import Table
from rc_hpc.training import checkpoints, scores
from rc_hpc.training.figures import write_figures
from rc_hpc.training.outcome import Done, SeedResult
from rc_hpc.training.pixel_files import PixelBlock
from rc_hpc.training.recipe import Recipe
from rc_hpc.training.result_file import write_file
from rc_hpc.training.tables import accuracies, classes


def write_results(
    output: Path,
    folder: Path,
    done: Done,
    recipe: Recipe,
    identity: dict,
    pictures: PixelBlock,
) -> list[Table]:
    """Write everything, the HDF5 file last; returns the tables."""
    with disk_errors(folder):
        (folder / "predictions").mkdir(parents=True, exist_ok=True)
    for lost in done.diverged:
        for path in (folder / f"seed-{lost.seed}.pt", *_files_of(folder, lost.seed)):
            path.unlink(missing_ok=True)  # of an earlier run
    for result in done.seeds:
        checkpoints.save(folder / f"seed-{result.seed}.pt", result.weights)
        for rule in scores.RULES:
            file = _predictions(result, rule, done, recipe, identity, pictures.drawing)
            write_whole(_file_of(folder, result.seed, rule), to_json(file).encode())
    # From what, rather than from the file: that comes last, and says that all is done.
    origin = Origin(f"training on {pictures.path.name}", identity["input_hash"], recipe.to_dict())
    write_figures(folder, done, origin)
    write_file(output, done, identity, pictures.views)
    return [accuracies(done), classes(done)]


def _file_of(folder: Path, seed: int, rule: str) -> Path:
    return folder / "predictions" / f"seed-{seed}-{rule}.json"


def _files_of(folder: Path, seed: int) -> list[Path]:
    return [_file_of(folder, seed, rule) for rule in scores.RULES]


def _predictions(
    result: SeedResult,
    rule: str,
    done: Done,
    recipe: Recipe,
    identity: dict,
    drawing: dict | None,
) -> PredictionFile:
    """One seed's answers; each view is a sample of the vote, the mean logit a single one."""
    logits, side = result.logits["evaluation"], done.sides["evaluation"]
    samples = (
        scores.view_answers(logits) if rule == "votes" else scores.answers(logits, rule)[:, None]
    )
    rows = []
    for id_, truth, codes in zip(side.ids, side.truth, samples, strict=True):
        votes = count_votes([CRYSTAL_SYSTEMS[code] for code in codes])
        rows.append(Prediction(id_, CRYSTAL_SYSTEMS[truth], winner(votes), votes))
    details = {
        "cell": "conventional",
        "rule": rule,
        "seed": result.seed,
        "recipe": json.loads(identity["options"]),
        "pixels_content_hash": identity["input_hash"],
        "split_sha256": identity["split"],
        "start_sha256": result.start,
        "leakage": done.leakage.to_dict(),
    }
    if drawing is not None:
        details["pictures"] = drawing
    name = f"{recipe.model} ({recipe.weights} weights), seed {result.seed}, {rule}"
    return PredictionFile(
        name,
        name,
        "pixels",
        samples.shape[1],
        tuple(rows),
        unparseable=0,
        api_errors=0,
        convention="" if drawing is None else released_name(drawing["convention"]),
        details=details,
    )
