"""A training run: pixel file and split to networks, logits, predictions, figures; stopped and resumed at any step."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

import rc_hpc
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.files import clean_leftovers, disk_errors, parts_folder, write_whole
from rc_hpc.engine.run import RunOptions
from rc_hpc.images.files import HDF5
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.torch_ranks import Ranks
from rc_hpc.store.arrays import mapped, read_arrays
from rc_hpc.store.claim import Claim
from rc_hpc.store.outputs import check_conditions, check_not_read, check_output
from rc_hpc.store.parts import RECORD
from rc_hpc.training import networks
from rc_hpc.training import results as training_results
from rc_hpc.training.examples import Examples, split_holdout
from rc_hpc.training.loop import Control, Curves, logits_of, train
from rc_hpc.training.recipe import Recipe
from rc_hpc.training.results import SeedResult, Side
from rc_hpc.training.split_files import Split

#: Packages whose version can change a training.
PACKAGES = ("torch", "torchvision", "timm", "numpy")


@dataclass(frozen=True)
class Task:
    """What is trained on what.

    Attributes
    ----------
    pixels
        Pixel file.
    split
        Training and evaluation structures.
    recipe, seeds
    weights
        As given: random, hub or file:PATH.
    save_every
        Steps between checkpoints beside those after each epoch; 0: none.
    """

    pixels: Path
    split: Split
    recipe: Recipe
    seeds: tuple[int, ...]
    weights: str
    save_every: int


@dataclass(frozen=True)
class Pictures:
    """One block of pixels and where each structure lies in it."""

    pixels: np.ndarray
    row: dict[str, int]
    views: tuple[str, ...]
    attrs: dict

    def examples(self, ids, systems, path: Path) -> Examples:
        """Pictures and labels of some structures."""
        missing = [id_ for id_ in ids if id_ not in self.row]
        if missing:
            raise RcError(
                f"{len(missing)} of {len(ids)} structures of {path} have no pictures, the first {missing[0]}: render them and make the pixel file again (python -m rc_hpc.pixels)"
            )
        labels = np.array([CRYSTAL_SYSTEMS.index(system) for system in systems], np.int64)
        return Examples(self.pixels, np.array([self.row[id_] for id_ in ids], np.int64), labels)


def read_pictures(path: Path) -> Pictures:
    """Map a pixel file into memory."""
    found, attrs = read_arrays(path, "pixels", ("structures/id", "protocol/view"))
    return Pictures(
        mapped(path, "pixels", "pixels"),
        {id_: row for row, id_ in enumerate(found["structures/id"])},
        tuple(found["protocol/view"]),
        attrs,
    )


def output_folder(output: Path) -> Path:
    """Where weights, predictions and figures go: beside the output, named like it without the ending."""
    if output.suffix not in HDF5:
        raise UsageError(
            f"-o {output}: its name must end in {' or '.join(HDF5)}; weights and predictions go into a folder named like it without that"
        )
    return output.with_suffix("")


def run_training(task: Task, run: RunOptions, ranks: Ranks, device, stop) -> list | None:
    """Train and score every seed, on all ranks together.

    Returns
    -------
    list of Table
        None where it was stopped; empty where it was finished already.
    """
    folder, parts = output_folder(run.output), parts_folder(run.output)
    pictures = read_pictures(task.pixels)
    identity = _identity(task, pictures, ranks, device)
    claim, problem, finished = None, None, False
    if ranks.rank == 0:
        try:
            check_not_read(run.output, [task.pixels])
            check_output(run.output, run.resume, run.overwrite)
            finished = run.output.exists() and not run.overwrite and _finished(run.output, identity)
            if not finished:
                claim = Claim(parts)
                _open(parts, run, identity)
        except RcError as error:
            problem = error
    problem, finished = ranks.gather((problem, finished))[0]
    if problem is not None:
        if claim is not None:
            claim.release()
        raise problem
    if finished:
        return []
    try:
        done = _Run(task, run, ranks, device, stop, pictures, parts).all_seeds()
        if done is None:
            return None
        tables = []
        if ranks.rank == 0:
            tables = training_results.write(
                run.output, folder, done, task, identity, pictures.views
            )
            shutil.rmtree(parts)
        ranks.barrier()
        return tables
    finally:
        if claim is not None:
            claim.release()


def _identity(task: Task, pictures: Pictures, ranks: Ranks, device) -> dict:
    """What the result depends on; work goes on only where all of it is the same."""
    options = json.dumps({**task.recipe.to_dict(), "seeds": list(task.seeds)}, sort_keys=True)
    return {
        "options": options,
        "options_hash": hashlib.sha256(options.encode()).hexdigest(),
        "input_hash": str(pictures.attrs["content_hash"]),
        "split": {"train": task.split.train.sha256, "eval": task.split.evaluation.sha256},
        "result_versions": {"rc_hpc": rc_hpc.__version__}
        | {name: version(name) for name in PACKAGES},
        "processes": ranks.world,
        "device": device.type,
    }


def _finished(output: Path, identity: dict) -> bool:
    attrs = read_arrays(output, "training", ())[1]
    found = {
        key: value if not isinstance(identity[key], dict) else json.loads(value)
        for key in identity
        if (value := attrs.get(key)) is not None
    }
    check_conditions(output, found, json.loads(json.dumps(identity)))
    return True


def _open(parts: Path, run: RunOptions, identity: dict) -> None:
    """Make the folder of checkpoints ready under the rules of --resume and --overwrite."""
    record = parts / RECORD
    with disk_errors(parts):
        clean_leftovers(parts)
        old = sorted(parts.glob("*.pt"))
        if run.overwrite:
            for path in (*old, record):
                path.unlink(missing_ok=True)
        elif old and not run.resume:
            raise UsageError(
                f"{parts} holds the unfinished work of an earlier run: --resume goes on with it, --overwrite starts anew"
            )
        if old and record.exists() and run.resume:
            before = json.loads(record.read_text(encoding="utf-8"))
            check_conditions(parts, before, json.loads(json.dumps(identity)))
        write_whole(record, json.dumps(identity, sort_keys=True).encode())


class _Run:
    def __init__(
        self,
        task: Task,
        run: RunOptions,
        ranks: Ranks,
        device,
        stop,
        pictures: Pictures,
        parts: Path,
    ):
        self.task, self.run, self.ranks, self.device, self.stop, self.parts = (
            task,
            run,
            ranks,
            device,
            stop,
            parts,
        )
        train_part, recipe = task.split.train, task.recipe
        everything = pictures.examples(train_part.ids, train_part.systems, train_part.path)
        held = split_holdout(train_part.ids, everything.labels, recipe.holdout, recipe.holdout_seed)
        self.train_set, self.holdout = (
            Examples(pictures.pixels, everything.rows[mask], everything.labels[mask])
            for mask in (~held, held)
        )
        evaluation = task.split.evaluation
        self.evaluation = pictures.examples(evaluation.ids, evaluation.systems, evaluation.path)
        ids = np.array(train_part.ids, object)
        self.train_ids = tuple(ids[~held])
        self.sides = {
            "holdout": Side(tuple(ids[held]), self.holdout.labels),
            "evaluation": Side(evaluation.ids, self.evaluation.labels),
        }
        smallest = len(self.train_set) // -(-len(self.train_set) // recipe.batch_size)
        if ranks.world > smallest:
            raise UsageError(
                f"{ranks.world} processes for batches of {smallest} pictures: start fewer, or raise --batch-size"
            )

    def all_seeds(self) -> training_results.Done | None:
        """Results of all seeds; None where it was stopped."""
        found = []
        for seed in self.task.seeds:
            result = self._seed(seed)
            if result is None:
                return None
            found.append(result)
        return training_results.Done(found, self.train_ids, self.sides, self._environment(found))

    def _seed(self, seed: int) -> SeedResult | None:
        import torch

        recipe, ranks = self.task.recipe, self.ranks
        path, state, carried = self.parts / f"seed-{seed}.pt", None, 0.0
        if path.exists():
            state = _load(path)
            if "logits" in state:
                return _result(seed, state)
            carried = state["seconds"]
        torch.manual_seed(seed)
        network = self._network(state)
        start = networks.weights_digest(network) if state is None else state["start"]
        network = ranks.prepare(network)
        began = time.monotonic()
        steps = -(-len(self.train_set) // recipe.batch_size) * recipe.epochs

        def save(found: dict) -> None:
            if ranks.rank == 0:
                _save(
                    path, {**found, "start": start, "seconds": carried + time.monotonic() - began}
                )

        with Progress(
            steps,
            "steps",
            self.run.progress,
            rank=ranks.rank,
            initial=state["step"] if state else 0,
        ) as progress:

            def tell(step: int, line: str) -> None:
                if line:
                    progress.message(line)
                progress.update(step - progress.initial)

            control = Control(
                ranks, self.device, save, self.task.save_every, lambda: self.stop.requested, tell
            )
            curves = train(network, self.train_set, self.holdout, recipe, seed, control, state)
            if curves is None:
                return None
            logits = {
                name: logits_of(network, examples, recipe, control)
                if len(examples)
                else np.empty((0, examples.n_views, len(CRYSTAL_SYSTEMS)), np.float32)
                for name, examples in (("holdout", self.holdout), ("evaluation", self.evaluation))
            }
        done = {
            "network": network.state_dict(),
            "start": start,
            "seconds": carried + time.monotonic() - began,
            "rate": torch.from_numpy(curves.rate),
            "loss": torch.from_numpy(curves.loss),
            "epochs": torch.from_numpy(curves.epochs),
            "logits": {name: torch.from_numpy(values) for name, values in logits.items()},
        }
        if ranks.rank == 0:
            _save(path, done)
        ranks.barrier()
        return _result(seed, done)

    def _network(self, state: dict | None):
        """A new network with its first weights; on a resumed run their place is enough. Rank 0 is first at the hub."""
        weights = "random" if state is not None else self.task.weights
        build = lambda: networks.build(
            self.task.recipe.model, len(CRYSTAL_SYSTEMS), self.evaluation.pixels.shape[2], weights
        )  # noqa: E731
        problem, network = None, None
        for turn in (True, False) if weights == "hub" else (None,):
            if problem is None and turn in (None, self.ranks.rank == 0):
                try:
                    network = build()
                except RcError as error:
                    problem = error
            problem = next(
                (found for found in self.ranks.gather(problem) if found is not None), None
            )
        if problem is not None:
            raise problem
        return network

    def _environment(self, found: list[SeedResult]) -> dict:
        import torch

        device = (
            torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else _processor()
        )
        return {
            "device": device,
            "processes": self.ranks.world,
            "threads": torch.get_num_threads(),
            "cuda": torch.version.cuda or "",
            "seconds": {str(result.seed): round(result.seconds, 2) for result in found},
            "slurm_job": os.environ.get("SLURM_JOB_ID", ""),
        }


def _result(seed: int, state: dict) -> SeedResult:
    curves = Curves(state["rate"].numpy(), state["loss"].numpy(), state["epochs"].numpy())
    return SeedResult(
        seed,
        curves,
        {name: values.numpy() for name, values in state["logits"].items()},
        state["network"],
        state["start"],
        state["seconds"],
    )


def _save(path: Path, state: dict) -> None:
    import torch

    buffer = io.BytesIO()
    torch.save(state, buffer)
    with disk_errors(path):
        write_whole(path, buffer.getbuffer())


def _load(path: Path) -> dict:
    import torch

    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise RcError(
            f"{path}: cannot be read ({type(error).__name__}): --overwrite starts anew"
        ) from error


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(
                line.partition(":")[2].strip() for line in lines if line.startswith("model name")
            )
    except (OSError, StopIteration):
        return "CPU"


def check_seeds(seeds: tuple[int, ...]) -> None:
    """Refuse seeds that are no small whole numbers, or given twice."""
    if len(set(seeds)) < len(seeds) or any(not 0 <= seed < 1 << 20 for seed in seeds):
        raise UsageError(
            f"--seeds {','.join(map(str, seeds))}: give different whole numbers from 0 to {(1 << 20) - 1}"
        )
