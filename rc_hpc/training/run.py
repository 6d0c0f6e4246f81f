"""A training run: pixel file and split to networks, logits, predictions, figures.

It may be stopped, or die, at any step, and goes on there.
"""

from __future__ import annotations

import json
import shutil
from importlib.metadata import version
from pathlib import Path

import rc_hpc
from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.files import parts_folder
from rc_hpc.core.fingerprint import code_of
from rc_hpc.engine.options import HDF5, CodedWorkOptions
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.parallel.state import RunState
from rc_hpc.parallel.torch_ranks import Ranks
from rc_hpc.store.arrays import read_arrays
from rc_hpc.store.claim import Claim
from rc_hpc.store.conditions import accepted, check_conditions
from rc_hpc.store.outputs import check_not_read, check_output
from rc_hpc.training import checkpoints
from rc_hpc.training.options import TrainingOptions
from rc_hpc.training.outcome import Leakage
from rc_hpc.training.pixel_files import PixelBlock, read_pixels
from rc_hpc.training.results import write_results
from rc_hpc.training.seeds import Surroundings, Trainer, leakage_of
from rc_hpc.training.split_files import Split, read_split

#: Packages whose version can change a training.
PACKAGES = ("torch", "torchvision", "timm", "numpy")
#: Modules that decide its result.
CODE = (
    "training/examples",
    "training/loop",
    "training/networks",
    "training/scores",
    "parallel/torch_ranks",
)


def output_folder(output: Path) -> Path:
    """Where weights, predictions and figures go: beside the output, named like it without ending.

    Raises
    ------
    UsageError
        The output's name has no such ending.
    """
    if output.suffix not in HDF5:
        raise UsageError(
            f"-o {output}: its name must end in {' or '.join(HDF5)}; weights and predictions go "
            "into a folder named like it without that"
        )
    return output.with_suffix("")


def run_training(
    options: TrainingOptions,
    work: CodedWorkOptions,
    ranks: Ranks,
    device,
    stop: StopSignal,
    state: RunState,
) -> tuple[list | None, bool]:
    """Train and score every seed, on all ranks together.

    Returns
    -------
    list of Table
        None where it was stopped; empty where it was finished already.
    bool
        Whether a seed was not scored because its numbers were no longer finite.
    """
    folder, parts = output_folder(work.output), parts_folder(work.output)
    split, pictures = read_split(options.split), read_pixels(options.pixels)
    check_leakage(options, leakage_of(split))
    identity = _identity(options, split, pictures, ranks, device)
    claim, problem, finished = None, None, False
    if ranks.rank == 0:
        try:
            check_not_read(work.output, [options.pixels])
            check_output(work.output, work.resume, work.overwrite, kind="training")
            finished = work.output.exists() and not work.overwrite
            if finished:
                _check_finished(work, identity)
            else:
                claim = Claim(parts)
                identity = checkpoints.prepare_folder(parts, work, identity)
        except RcError as error:
            problem = error
    problem, finished = ranks.gather((problem, finished))[0]
    if problem is not None:
        if claim is not None:
            claim.release()
        raise problem
    if finished:
        attrs = read_arrays(work.output, "training", ())[1]
        return [], bool(json.loads(attrs.get("diverged", "[]")))
    try:
        surroundings = Surroundings(work.progress, parts, ranks, device, stop, state)
        done = Trainer(options, split, pictures, surroundings).all_seeds()
        if done is None:
            return None, False
        tables = []
        if ranks.rank == 0:
            if others := checkpoints.accepted_code(parts):
                identity["accepted_code"] = others
            tables = write_results(work.output, folder, done, options.recipe, identity, pictures)
            shutil.rmtree(parts)
        ranks.barrier()
        return tables, bool(done.diverged)
    finally:
        if claim is not None:
            claim.release()


def check_leakage(options: TrainingOptions, leakage: Leakage) -> None:
    """Refuse a split whose sides share formulas, unless that is asked for.

    Raises
    ------
    UsageError
    """
    shared = leakage.formulas
    if shared and not options.allow_leakage:
        raise UsageError(
            f"{options.split}: {len(shared)} formulas are on both sides: "
            f"{', '.join(shared[:5])}: what is scored was seen in training. Build another split "
            "(python -m rc_hpc.split build), or say --allow-leakage, which the result records"
        )


def _identity(
    options: TrainingOptions, split: Split, pictures: PixelBlock, ranks: Ranks, device
) -> dict:
    """What the result depends on; work goes on only where all of it is the same."""
    packages = {name: version(name) for name in PACKAGES}
    return {
        "options": options.recipe.to_json(),
        "options_hash": options.recipe.digest(),
        "input_hash": str(pictures.attrs["content_hash"]),
        "split": {"train": split.train.sha256, "eval": split.evaluation.sha256},
        "result_versions": {"rc_hpc": rc_hpc.__version__, **packages},
        "code": code_of(CODE),
        "processes": ranks.world,
        "device": device.type,
    }


def _check_finished(work: CodedWorkOptions, identity: dict) -> None:
    """Refuse a finished output of other conditions."""
    attrs = read_arrays(work.output, "training", ())[1]
    before = {
        key: json.loads(value) if isinstance(identity[key], dict) else value
        for key in identity
        if (value := attrs.get(key)) is not None
    }
    now = accepted(before, identity, work.accept_code)
    check_conditions(work.output, before, checkpoints.plain(now))
