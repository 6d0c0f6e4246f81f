"""How a pixel network is trained: everything its result depends on beside the pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, at_least, derived, names, opt
from rc_hpc.training.networks import check_weights

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


def _harmless(_, names: tuple[str, ...]) -> None:
    check_augmentations(names)


def numbers(text: str) -> tuple[int, ...]:
    """Comma-separated whole numbers."""
    return tuple(int(part) for part in text.split(","))


def check_seeds(flag: str, seeds: tuple[int, ...]) -> None:
    """Refuse seeds that are no small whole numbers, or given twice."""
    if len(set(seeds)) < len(seeds) or any(not 0 <= seed < 1 << 20 for seed in seeds):
        raise UsageError(
            f"{flag} {','.join(map(str, seeds))}: give different whole numbers from 0 to "
            f"{(1 << 20) - 1}"
        )


def _share(most: float) -> Callable[[str, float], None]:
    def check(flag: str, value: float) -> None:
        if not 0 <= value <= most:
            raise UsageError(f"{flag} {value}: give a share from 0 to {most:g}")

    return check


def _finite(flag: str, value: float) -> None:
    if not 0 <= value < float("inf"):
        raise UsageError(f"{flag} {value}: give a finite number from 0 on")


def _rate(flag: str, value: float) -> None:
    if not 0 < value < float("inf"):
        raise UsageError(f"{flag} {value}: give a finite number above 0")


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
    weights_from
        The weights as they were asked for, where that is a file: file:PATH.
    seeds
        One training each.
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
        float32, or what autocast computes in; auto is settled by the device.
    deterministic
        Ask for torch's deterministic algorithms; on a CPU they are.
    loss, kept, votes
        What is fixed, written out for readers.
    """

    model: str = opt(
        "resnet50",
        "resnet50 (torchvision), vit-s16 (timm's vit_small_patch16_224), any name of timm, "
        "torchvision:NAME or timm:NAME",
        metavar="NAME",
    )
    weights: str = opt(
        "hub",
        "hub (the library's ImageNet weights), file:PATH, or random; all with a new head",
        metavar="WHAT",
    )
    weights_sha256: str = derived("")
    weights_from: str = derived("", recorded=False)
    seeds: tuple[int, ...] = opt(
        (23,), "one training each", parse=numbers, metavar="N,N", check=check_seeds
    )
    epochs: int = opt(8, "times that each picture is seen", metavar="N", check=at_least(1))
    batch_size: int = opt(
        64, "pictures of a step, over all processes", metavar="N", check=at_least(1)
    )
    learning_rate: float = opt(
        3e-4,
        "first learning rate of AdamW; a half cosine brings it to 0, step by step",
        name="lr",
        metavar="RATE",
        check=_rate,
    )
    weight_decay: float = opt(0.01, "of AdamW", metavar="W", check=_finite)
    holdout: float = opt(
        0.1,
        "share of the training structures, of each class, that is held out",
        metavar="F",
        check=_share(0.5),
    )
    holdout_seed: int = opt(23, "of the hold-out, whatever --seeds", metavar="N")
    augment: tuple[str, ...] = opt(
        (),
        f"{', '.join(AUGMENTATIONS)}. What alters the geometry, hides atoms or changes their "
        "colours is refused",
        parse=names,
        metavar="NAME,NAME",
        told="none",
        check=_harmless,
    )
    precision: str = opt(
        "float32",
        "of autocast; auto: float16 with scaled gradients on a GPU, float32 on a CPU",
        asked=PRECISIONS[0],
        choices=PRECISIONS,
    )
    deterministic: bool = opt(
        False, "only deterministic GPU algorithms: slower, the same weights every time"
    )
    loss: str = derived("cross entropy of each view with its structure's label")
    kept: str = derived("the network after the last epoch")
    votes: str = derived("a tie goes to the label of the earliest view in the protocol")

    @classmethod
    def settle(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The kind of weights, and the hash of their file."""
        weights, digest = check_weights(values["weights"])
        return values | {
            "weights": weights,
            "weights_sha256": digest,
            "weights_from": values["weights"],
            "augment": check_augmentations(values["augment"]),
        }
