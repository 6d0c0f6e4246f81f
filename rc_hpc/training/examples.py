"""From pixels to batches: what a step sees, and in which order, follows from seed and step."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

#: Batches prepared ahead of their use.
AHEAD = 4


@dataclass(frozen=True)
class Examples:
    """Structures with their pictures and labels.

    Attributes
    ----------
    pixels : (m, v, s, s, 3) uint8
        All pictures; may be mapped from a file.
    rows : (n,) int64
        Which of them.
    labels : (n,) int64
        Class of each.
    """

    pixels: np.ndarray
    rows: np.ndarray
    labels: np.ndarray

    @property
    def n_views(self) -> int:
        """Pictures of a structure."""
        return self.pixels.shape[1]

    def __len__(self) -> int:
        """Number of pictures."""
        return len(self.rows) * self.n_views

    def take(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pictures (k, s, s, 3) and labels (k,) of some, numbered structure by structure."""
        structure, view = np.divmod(chosen, self.n_views)
        return self.pixels[self.rows[structure], view], self.labels[structure]


def split_holdout(ids: Sequence[str], labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Mask of the structures held out: `share` of each class, rounded; independent of their order.

    Returns
    -------
    (n,) bool
    """
    held = np.zeros(len(ids), bool)
    rng = np.random.default_rng([seed, 0])
    for label in np.unique(labels):
        members = sorted(np.flatnonzero(labels == label).tolist(), key=lambda row: ids[row])
        held[rng.permutation(members)[: round(share * len(members))]] = True
    return held


def steps_per_epoch(n: int, batch_size: int) -> int:
    """Batches of an epoch."""
    return -(-n // batch_size)


def epoch_batches(n: int, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """The pictures 0 to n - 1 in a new order, in equal batches up to one."""
    order = np.random.default_rng([seed, 1, epoch]).permutation(n)
    return np.array_split(order, steps_per_epoch(n, batch_size))


def prefetched(
    examples: Examples, batches: Sequence[np.ndarray]
) -> Generator[tuple[np.ndarray, np.ndarray]]:
    """`Examples.take` of each batch, prepared by a thread while the network computes."""
    ready: queue.Queue = queue.Queue(AHEAD)
    done = threading.Event()

    def fill() -> None:
        try:
            for batch in batches:
                prepared = examples.take(batch)
                while not done.is_set():
                    try:
                        ready.put(prepared, timeout=0.1)
                        break
                    except queue.Full:
                        continue
                if done.is_set():
                    return
        except BaseException as error:  # noqa: BLE001 - handed to the reader
            ready.put(error)

    thread = threading.Thread(target=fill, daemon=True)
    thread.start()
    try:
        for _ in batches:
            prepared = ready.get()
            if isinstance(prepared, BaseException):
                raise prepared
            yield prepared
    finally:
        done.set()
        thread.join()
