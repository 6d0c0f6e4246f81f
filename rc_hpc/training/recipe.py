"""How a pixel network is trained: everything its result depends on beside the pictures."""

from __future__ import annotations

from dataclasses import dataclass

from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options

PRECISIONS = ("auto", "float32", "float16", "bfloat16")
#: Changes of brightness and colour strength that leave every disc where it is.
AUGMENTATIONS = ("brightness", "contrast", "noise")
#: What is refused, and why.
_GEOMETRIC = "it changes the geometry that the label is about"
_HIDING = "it hides or mixes atoms, and the label is about all of them"
_COLOURS = "colours tell the elements"
REFUSED = {
    **dict.fromkeys(
        (
            "hflip",
            "horizontal-flip",
            "vflip",
            "vertical-flip",
            "flip",
            "rotation",
            "rotate",
            "crop",
            "random-crop",
            "resized-crop",
            "random-resized-crop",
            "affine",
            "shear",
            "scale",
            "zoom",
            "translate",
            "translation",
            "perspective",
            "elastic",
            "transpose",
            "autoaugment",
            "randaugment",
            "trivialaugment",
            "augmix",
        ),
        _GEOMETRIC,
    ),
    **dict.fromkeys(("cutout", "random-erasing", "erasing", "cutmix", "mixup", "mosaic"), _HIDING),
    **dict.fromkeys(
        (
            "hue",
            "colorjitter",
            "color-jitter",
            "colourjitter",
            "colour-jitter",
            "grayscale",
            "invert",
            "solarize",
            "posterize",
        ),
        _COLOURS,
    ),
}


def check_augmentations(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, sorted.

    Raises
    ------
    UsageError
        One alters the geometry, hides atoms, or is not known.
    """
    for name in names:
        if reason := REFUSED.get(name.lower().replace("_", "-")):
            raise UsageError(
                f"--augment {name} is refused: {reason}; there are {', '.join(AUGMENTATIONS)}"
            )
        if name not in AUGMENTATIONS:
            raise UsageError(f"--augment {name!r}: choose from {', '.join(AUGMENTATIONS)}")
    return tuple(sorted(set(names)))


@dataclass(frozen=True)
class Recipe(Options):
    """One way of training.

    Attributes
    ----------
    model
        See `rc_hpc.training.networks.resolve`.
    weights
        random, hub, or file.
    weights_sha256
        Of the file; empty for the others.
    epochs
    batch_size
        Pictures of a step at most, over all ranks. The pictures of an epoch are dealt into the
        fewest such batches, of equal size up to one.
    learning_rate, weight_decay
        Of AdamW. The rate falls to 0 along a half cosine, step by step, without warm-up.
    holdout
        Share of the training structures that is not trained on, drawn within each class.
    holdout_seed
        Of that draw: it does not follow the seed of the training.
    augment
        Of `AUGMENTATIONS`; none by default.
    precision
        float32, or what autocast computes in.
    deterministic
        Ask for torch's deterministic algorithms; on a CPU they are.
    loss, kept, votes
        What is fixed, written out for readers.
    """

    model: str
    weights: str
    weights_sha256: str = ""
    epochs: int = 8
    batch_size: int = 64
    learning_rate: float = 3e-4
    weight_decay: float = 0.01
    holdout: float = 0.1
    holdout_seed: int = 23
    augment: tuple[str, ...] = ()
    precision: str = "float32"
    deterministic: bool = False
    loss: str = "cross entropy of each view with its structure's label"
    kept: str = "the network after the last epoch"
    votes: str = "a tie goes to the label of the earliest view in the protocol"

    def __post_init__(self):
        if self.epochs < 1 or self.batch_size < 1:
            raise UsageError(
                f"--epochs {self.epochs} and --batch-size {self.batch_size}: give whole numbers above 0"
            )
        if not (0 < self.learning_rate < float("inf") and 0 <= self.weight_decay < float("inf")):
            raise UsageError(
                f"--lr {self.learning_rate} must be above 0, --weight-decay {self.weight_decay} not below"
            )
        if not 0 <= self.holdout <= 0.5:
            raise UsageError(f"--holdout {self.holdout}: give a share from 0 to 0.5")
        if self.precision not in PRECISIONS[1:]:
            raise UsageError(f"--precision {self.precision!r}: one of {', '.join(PRECISIONS)}")
        check_augmentations(self.augment)
