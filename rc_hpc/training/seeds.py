"""The networks of a training run, seed after seed; each may be stopped, or die, at any step."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.parallel.state import RunState
from rc_hpc.parallel.torch_ranks import Ranks
from rc_hpc.training import checkpoints, networks
from rc_hpc.training.examples import Examples, split_holdout
from rc_hpc.training.loop import Control, Curves, NotFinite, logits_of, train
from rc_hpc.training.options import TrainingOptions
from rc_hpc.training.outcome import Diverged, Done, Leakage, Scored, SeedResult
from rc_hpc.training.pixel_files import PixelBlock
from rc_hpc.training.split_files import Split
from rc_hpc.training.splits import reduced

log = logging.getLogger("rc_hpc")


@dataclass(frozen=True)
class Surroundings:
    """What surrounds a run.

    Attributes
    ----------
    progress
        See `rc_hpc.parallel.progress.MODES`.
    parts
        Folder of its checkpoints.
    ranks, device
    stop, state
    """

    progress: str
    parts: Path
    ranks: Ranks
    device: Any
    stop: StopSignal
    state: RunState


class Trainer:
    """Trains and scores a network for each seed of a recipe, on all ranks together.

    Raises
    ------
    RcError
        Structures of the split have no pictures.
    UsageError
        More ranks than a batch has pictures.
    """

    def __init__(
        self,
        options: TrainingOptions,
        split: Split,
        pictures: PixelBlock,
        surroundings: Surroundings,
    ):
        self.options, self.around = options, surroundings
        self.leakage = leakage_of(split)
        self.ranks, self.device = surroundings.ranks, surroundings.device
        train_part, recipe = split.train, options.recipe
        everything = pictures.examples(train_part.ids, train_part.systems, train_part.path)
        held = split_holdout(train_part.ids, everything.labels, recipe.holdout, recipe.holdout_seed)
        self.train_set, self.holdout = (
            Examples(pictures.pixels, everything.rows[mask], everything.labels[mask])
            for mask in (~held, held)
        )
        evaluation = split.evaluation
        self.evaluation = pictures.examples(evaluation.ids, evaluation.systems, evaluation.path)
        ids = np.array(train_part.ids, object)
        self.train_ids = tuple(ids[~held])
        self.sides = {
            "holdout": Scored(tuple(ids[held]), self.holdout.labels),
            "evaluation": Scored(evaluation.ids, self.evaluation.labels),
        }
        smallest = len(self.train_set) // -(-len(self.train_set) // recipe.batch_size)
        if self.ranks.world > smallest:
            raise UsageError(
                f"{self.ranks.world} processes for batches of {smallest} pictures: "
                "start fewer, or raise --batch-size"
            )

    def all_seeds(self) -> Done | None:
        """Results of all seeds; None where it was stopped.

        Raises
        ------
        RcError
            No seed was left to score.
        """
        results: list[SeedResult] = []
        diverged: list[Diverged] = []
        for seed in self.options.recipe.seeds:
            result = self._seed(seed)
            if result is None:
                return None
            if isinstance(result, Diverged):
                log.warning("%s", result)
                diverged.append(result)
            else:
                results.append(result)
        if not results:
            raise RcError(
                f"{'; '.join(map(str, diverged))}: nothing is left to score: lower --lr, or look "
                "at the pictures, and start anew with --overwrite"
            )
        environment = self._environment(results)
        return Done(results, self.train_ids, self.sides, environment, tuple(diverged), self.leakage)

    def _checkpoint(self, path: Path) -> dict | None:
        """What a checkpoint holds, on every rank; None where there is none, or a damaged one."""
        state, problem = None, None
        if path.exists():
            try:
                state = checkpoints.load_checked(path)
            except RcError as error:
                problem = str(error)
        states = self.ranks.gather((state is not None, problem))
        if problem := next((one for _, one in states if one), None):
            log.warning("%s: this seed starts anew", problem)
        return state if all(there for there, _ in states) else None

    def _seed(self, seed: int) -> SeedResult | Diverged | None:
        path = self.around.parts / f"seed-{seed}.pt"
        state = self._checkpoint(path)
        if state is not None and "diverged" in state:
            return Diverged(seed, *state["diverged"])
        if state is not None and "logits" in state:
            return _result(seed, state)
        try:
            return self._trained(seed, path, state)
        except NotFinite as error:
            if self.ranks.rank == 0:
                checkpoints.save_checked(path, {"diverged": (error.step, error.what)})
            self.ranks.barrier()
            return Diverged(seed, error.step, error.what)

    def _trained(self, seed: int, path: Path, state: dict | None) -> SeedResult | None:
        """A seed from its start, or from where it was."""
        import torch

        recipe, ranks = self.options.recipe, self.ranks
        carried = state["seconds"] if state else 0.0
        torch.manual_seed(seed)
        network = self._network(state)
        start = networks.weights_digest(network) if state is None else state["start"]
        network = ranks.prepare(network)
        began = time.monotonic()
        steps = -(-len(self.train_set) // recipe.batch_size) * recipe.epochs

        def save(reached: dict) -> None:
            if ranks.rank == 0:
                seconds = carried + time.monotonic() - began
                checkpoints.save_checked(path, {**reached, "start": start, "seconds": seconds})

        with Progress(
            steps,
            "steps",
            self.around.progress,
            rank=ranks.rank,
            initial=state["step"] if state else 0,
            state=self.around.state,
        ) as progress:

            def tell(step: int, line: str) -> None:
                if line:
                    progress.message(line)
                progress.update(step - progress.initial)

            def stopped() -> bool:
                return self.around.stop.requested

            control = Control(ranks, self.device, save, self.options.save_every, stopped, tell)
            curves = train(network, self.train_set, self.holdout, recipe, seed, control, state)
            if curves is None:
                return None
            logits = {
                name: self._logits(network, examples, control)
                for name, examples in (("holdout", self.holdout), ("evaluation", self.evaluation))
            }
        if not all(np.isfinite(values).all() for values in logits.values()):
            raise NotFinite(steps, "the answers were no finite numbers")
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
            checkpoints.save_checked(path, done)
        ranks.barrier()
        return _result(seed, done)

    def _logits(self, network, examples: Examples, control: Control) -> np.ndarray:
        """Logits (n, v, classes) of some examples, of which there may be none."""
        if not len(examples):
            return np.empty((0, examples.n_views, len(CRYSTAL_SYSTEMS)), np.float32)
        return logits_of(network, examples, self.options.recipe, control)

    def _network(self, state: dict | None):
        """A new network with its first weights; on a resumed run their place is enough.

        Rank 0 is first at the hub.
        """
        recipe, size = self.options.recipe, self.evaluation.pixels.shape[2]
        weights = "random" if state is not None else recipe.weights_from
        problem, network = None, None
        for turn in (True, False) if weights == "hub" else (None,):
            if problem is None and turn in (None, self.ranks.rank == 0):
                try:
                    network = networks.build(recipe.model, len(CRYSTAL_SYSTEMS), size, weights)
                except RcError as error:
                    problem = error
            problems = self.ranks.gather(problem)
            problem = next((one for one in problems if one is not None), None)
        if problem is not None:
            raise problem
        return network

    def _environment(self, results: list[SeedResult]) -> dict:
        import torch

        cuda = self.device.type == "cuda"
        return {
            "device": torch.cuda.get_device_name(self.device) if cuda else _processor(),
            "processes": self.ranks.world,
            "threads": torch.get_num_threads(),
            "cuda": torch.version.cuda or "",
            "seconds": {str(result.seed): round(result.seconds, 2) for result in results},
            "slurm_job": os.environ.get("SLURM_JOB_ID", ""),
        }


def leakage_of(split: Split) -> Leakage:
    """Formulas on both sides of a split, as far as it tells formulas."""
    sides = [
        [reduced(formula) for formula in part.formulas if formula]
        for part in (split.train, split.evaluation)
    ]
    n = len(split.train.ids) + len(split.evaluation.ids)
    return Leakage(tuple(sorted(set(sides[0]) & set(sides[1]))), n - sum(map(len, sides)))


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


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(
                line.partition(":")[2].strip() for line in lines if line.startswith("model name")
            )
    except (OSError, StopIteration):
        return "CPU"
