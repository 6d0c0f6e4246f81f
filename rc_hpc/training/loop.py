"""The training of one network: steps, hold-out, checkpoints.

A step's random numbers follow from seed and step.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from rc_hpc.training.examples import Examples, epoch_batches, prefetched, steps_per_epoch
from rc_hpc.training.networks import MEAN, STD
from rc_hpc.training.recipe import Recipe

#: Columns of the learning curve by epoch.
EPOCH = (
    "train_loss",
    "train_accuracy",
    "holdout_loss",
    "holdout_view_accuracy",
    "holdout_accuracy",
)
#: Strength of the augmentations: largest relative change, and noise in units of the full range.
BRIGHTNESS, CONTRAST, NOISE = 0.1, 0.1, 0.02


#: Steps after which losses are looked at, at the latest.
LOOK_EVERY = 50


class NotFinite(Exception):
    """A loss or a logit is no finite number; raised on all ranks alike.

    Attributes
    ----------
    step
        Steps done before.
    what
        What was not finite.
    """

    def __init__(self, step: int, what: str):
        super().__init__(what, step)
        self.step, self.what = step, what


@dataclass(frozen=True)
class Control:
    """What surrounds a training.

    Attributes
    ----------
    ranks
        See `rc_hpc.parallel.torch_ranks.Ranks`.
    device
        torch device.
    save
        Called on every rank with the state, a dictionary that torch can save; only one writes it.
    save_every
        Steps between two saves beside those after each epoch; 0: none.
    stopped
        Whether this rank was asked to stop.
    tell
        Called with the steps done, and the epoch's line or an empty text.
    """

    ranks: Any
    device: Any
    save: Callable[[dict], None]
    save_every: int
    stopped: Callable[[], bool]
    tell: Callable[[int, str], None]


@dataclass(frozen=True)
class Curves:
    """How a network learned.

    Attributes
    ----------
    rate : (steps,) float64
        Learning rate of each step.
    loss : (steps,) float64
        Mean loss of each step's pictures, before the step.
    epochs : (epochs, 5) float64
        `EPOCH` of each; NaN without a hold-out.
    """

    rate: np.ndarray
    loss: np.ndarray
    epochs: np.ndarray


def train(
    network,
    train_set: Examples,
    holdout: Examples,
    recipe: Recipe,
    seed: int,
    control: Control,
    state: dict | None,
) -> Curves | None:
    """Train a network in place, on all ranks together.

    Parameters
    ----------
    state
        What `control.save` was given last; None for a start.

    Returns
    -------
    Curves
        None where it was stopped; the state was saved then.

    Raises
    ------
    NotFinite
        A step's loss.
    """
    return _Training(network, train_set, holdout, recipe, seed, control).run(state)


def logits_of(network, examples: Examples, recipe: Recipe, control: Control) -> np.ndarray:
    """Logits of every picture, on every rank, each rank doing its share.

    Returns
    -------
    (n, v, classes) float32
    """
    import torch

    ranks, parts = control.ranks, []
    network.eval()
    mine = np.arange(len(examples))[ranks.rank :: ranks.world]
    batches = [
        mine[start : start + recipe.batch_size] for start in range(0, len(mine), recipe.batch_size)
    ]
    with torch.inference_mode(), contextlib.closing(prefetched(examples, batches)) as ready:
        for pictures, _ in ready:
            with _autocast(recipe, control.device):
                parts.append(network(_input(pictures, control.device)).float().cpu().numpy())
    network.train()
    whole: np.ndarray | None = None
    for rank, part in enumerate(ranks.gather(np.concatenate(parts) if parts else None)):
        if part is not None:
            if whole is None:
                whole = np.empty((len(examples), part.shape[1]), np.float32)
            whole[rank :: ranks.world] = part
    assert whole is not None, "there are no pictures"
    return whole.reshape(len(examples.rows), examples.n_views, -1)


class _Training:
    def __init__(
        self,
        network,
        train_set: Examples,
        holdout: Examples,
        recipe: Recipe,
        seed: int,
        control: Control,
    ):
        import torch

        self.network, self.train_set, self.holdout, self.recipe, self.seed, self.control = (
            network,
            train_set,
            holdout,
            recipe,
            seed,
            control,
        )
        self.per_epoch = steps_per_epoch(len(train_set), recipe.batch_size)
        self.steps = self.per_epoch * recipe.epochs
        self.optimizer = torch.optim.AdamW(
            network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
        )
        self.scaler = torch.amp.GradScaler(
            control.device.type, enabled=recipe.precision == "float16"
        )
        self.curve = np.zeros((2, self.steps))  # summed loss and hits of each step, over all ranks
        self.recent: list = []  # the same of this rank since the last save, still on the device
        self.epochs = np.full((recipe.epochs, len(EPOCH)), np.nan)
        self.step = 0

    def run(self, state: dict | None) -> Curves | None:
        ranks = self.control.ranks
        if state is not None:
            self._load(state)
        self.wrapped = ranks.wrap(self.network)
        self.network.train()
        while self.step < self.steps:
            if not self._epoch():
                return None
        sizes = self._sizes()
        return Curves(self._rates(), self.curve[0] / sizes, self.epochs)

    def _epoch(self) -> bool:
        """The rest of an epoch; False where it was stopped."""
        ranks, control = self.control.ranks, self.control
        epoch, first = divmod(self.step, self.per_epoch)
        batches = epoch_batches(len(self.train_set), self.recipe.batch_size, self.seed, epoch)[
            first:
        ]
        shares = [np.array_split(batch, ranks.world)[ranks.rank] for batch in batches]
        with contextlib.closing(prefetched(self.train_set, shares)) as ready:
            for batch, (pictures, labels) in zip(batches, ready, strict=False):
                self._one(pictures, labels, len(batch))
                self.step += 1
                stop = ranks.any(control.stopped())
                at_end = self.step % self.per_epoch == 0
                if not at_end:
                    if stop or (control.save_every and self.step % control.save_every == 0):
                        self._save()
                    elif len(self.recent) >= LOOK_EVERY:
                        self._flush()
                    control.tell(self.step, "")
                    if stop:
                        return False
        self._flush()
        ranks.share_buffers(self.network)
        self._measure(epoch)
        self._save()
        control.tell(self.step, self._line(epoch))
        return self.step == self.steps or not stop

    def _one(self, pictures: np.ndarray, labels: np.ndarray, n: int) -> None:
        """One step on this rank's share of a batch of n."""
        import torch
        from torch.nn import functional

        ranks, device = self.control.ranks, self.control.device
        # Dropout and augmentation depend on nothing that came before, so that a resumed run needs
        # no generator's state.
        torch.manual_seed((self.seed << 40) + (self.step << 12) + ranks.rank)
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.learning_rate * _cosine(self.step, self.steps)
        wanted = _sent(torch.from_numpy(labels), device)
        with _autocast(self.recipe, device):
            logits = self.wrapped(_augmented(_input(pictures, device), self.recipe.augment))
            summed = functional.cross_entropy(logits.float(), wanted, reduction="sum")
        self.optimizer.zero_grad(set_to_none=True)
        # The ranks' gradients are averaged: this makes it the mean over the batch, whatever the
        # shares.
        self.scaler.scale(summed * (ranks.world / n)).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        hits = (logits.argmax(1) == wanted).sum()
        self.recent.append(torch.stack([summed.detach().double(), hits.double()]))

    def _flush(self) -> None:
        """Bring the recent steps' numbers into the curve; all ranks together."""
        import torch

        if self.recent:
            mine = torch.stack(self.recent, 1).cpu().numpy()
            first = self.step - mine.shape[1]
            self.curve[:, first : self.step] = np.sum(self.control.ranks.gather(mine), axis=0)
            self.recent = []
            if (broken := ~np.isfinite(self.curve[0, first : self.step])).any():
                raise NotFinite(first + int(broken.argmax()), "the loss was no finite number")

    def _measure(self, epoch: int) -> None:
        steps = slice(epoch * self.per_epoch, (epoch + 1) * self.per_epoch)
        self.epochs[epoch, :2] = self.curve[:, steps].sum(1) / len(self.train_set)
        if len(self.holdout):
            logits = logits_of(self.network, self.holdout, self.recipe, self.control).astype(
                np.float64
            )
            labels = self.holdout.labels
            top = logits.max(-1, keepdims=True)
            log_sum = np.log(np.exp(logits - top).sum(-1)) + top[..., 0]
            self.epochs[epoch, 2] = np.mean(
                log_sum - np.take_along_axis(logits, labels[:, None, None], -1)[..., 0]
            )
            self.epochs[epoch, 3] = np.mean(logits.argmax(-1) == labels[:, None])
            self.epochs[epoch, 4] = np.mean(logits.mean(1).argmax(-1) == labels)

    def _line(self, epoch: int) -> str:
        loss, accuracy, _, _, held = self.epochs[epoch]
        text = (
            f"seed {self.seed}, epoch {epoch + 1} of {self.recipe.epochs}: "
            f"training loss {loss:.4f}, pictures right {accuracy:.4f}"
        )
        return text if math.isnan(held) else f"{text}, held-out structures right {held:.4f}"

    def _sizes(self) -> np.ndarray:
        one = [
            len(batch) for batch in np.array_split(np.arange(len(self.train_set)), self.per_epoch)
        ]
        return np.tile(one, self.recipe.epochs)

    def _rates(self) -> np.ndarray:
        return self.recipe.learning_rate * np.array(
            [_cosine(step, self.steps) for step in range(self.steps)]
        )

    def _save(self) -> None:
        import torch

        self._flush()
        self.control.save(
            {
                "step": self.step,
                "network": self.network.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scaler": self.scaler.state_dict(),
                "curve": torch.from_numpy(self.curve.copy()),
                "epochs": torch.from_numpy(self.epochs.copy()),
            }
        )

    def _load(self, state: dict) -> None:
        self.step = state["step"]
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        self.curve, self.epochs = state["curve"].numpy(), state["epochs"].numpy()


def _cosine(step: int, steps: int) -> float:
    return 0.5 * (1 + math.cos(math.pi * step / steps))


def _autocast(recipe: Recipe, device):
    import torch

    if recipe.precision == "float32":
        return contextlib.nullcontext()
    return torch.autocast(device.type, getattr(torch, recipe.precision))


def _input(pictures: np.ndarray, device):
    """Pictures (k, s, s, 3) uint8 as a network takes them: (k, 3, s, s), ImageNet's statistics.

    Bytes go to the device.
    """
    import torch

    mean, std = _statistics(device)
    return ((_sent(torch.from_numpy(pictures), device).float() / 255 - mean) / std).permute(
        0, 3, 1, 2
    )


def _sent(block, device):
    """A tensor on the device, without waiting for what the device still has to do."""
    return block.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else block


@lru_cache(maxsize=1)
def _statistics(device):
    """ImageNet's channel means and deviations, sent once: each step would wait for the device."""
    import torch

    return torch.tensor(MEAN, device=device), torch.tensor(STD, device=device)


def _augmented(block, names: tuple[str, ...]):
    """Photometric changes of each picture, drawn from torch's generator."""
    import torch

    shape = (len(block), 1, 1, 1)
    if "brightness" in names:
        block = block + BRIGHTNESS * (2 * torch.rand(shape, device=block.device) - 1)
    if "contrast" in names:
        mean = block.mean((1, 2, 3), keepdim=True)
        block = mean + (block - mean) * (
            1 + CONTRAST * (2 * torch.rand(shape, device=block.device) - 1)
        )
    if "noise" in names:
        block = block + NOISE * torch.randn(block.shape, device=block.device)
    return block
