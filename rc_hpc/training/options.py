"""Options of training, of pixel files and of splits."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rc_hpc.core.errors import UsageError
from rc_hpc.core.lazy import resolve
from rc_hpc.core.options import Options, at_least, derived, opt
from rc_hpc.core.vocabulary import FILTERS
from rc_hpc.training.recipe import Recipe
from rc_hpc.training.splits import Caps


@dataclass(frozen=True)
class TrainingOptions(Options):
    """What is trained on what.

    Attributes
    ----------
    pixels, split
        Pixel file, and folder of the split.
    recipe
        What the result depends on beside them.
    device
        cuda or cpu.
    save_every
        Steps between checkpoints beside those after each epoch; 0: none.
    allow_leakage
        Train although training and evaluation share formulas.
    """

    pixels: Path = opt(
        None,
        "pixel file written by python -m rc_hpc.pixels",
        parse=Path,
        metavar="PIXELS",
        positional=True,
        required=True,
        recorded=False,
    )
    split: Path = opt(
        None,
        "folder with train.jsonl and eval.jsonl: the released one, or of python -m rc_hpc.split",
        parse=Path,
        metavar="DIR",
        required=True,
        recorded=False,
    )
    recipe: Recipe = Recipe()
    device: str = opt(
        "cuda",
        "what computes",
        choices=("cuda", "cpu"),
        told="cuda; nothing falls back to the CPU by itself",
        recorded=False,
    )
    save_every: int = opt(
        0,
        "checkpoints beside those after each epoch",
        metavar="STEPS",
        told="none",
        check=at_least(0),
        recorded=False,
    )

    allow_leakage: bool = opt(
        False,
        "train although formulas are on both sides of the split; the result says so",
        recorded=False,
    )

    @classmethod
    def settle(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The precision that the device is for, where none was asked for."""
        recipe, cuda = values["recipe"], values["device"] == "cuda"
        if recipe.precision == "auto":
            recipe = dataclasses.replace(recipe, precision="float16" if cuda else "float32")
        if recipe.precision == "float16" and not cuda:
            raise UsageError("--precision float16 is for GPUs: take bfloat16 or float32 on the CPU")
        return values | {"recipe": recipe}


@dataclass(frozen=True)
class PixelOptions(Options):
    """What is decoded, and how it is reduced.

    Attributes
    ----------
    manifest
        Manifests, their pictures beside them.
    size, filter
        See `rc_hpc.images.pixels.decode`.
    threads
        None: as many as there are cores for this process.
    drawing
        Options of each rendering.
    """

    manifest: tuple[Path, ...] = opt(
        (),
        "manifests written by python -m rc_hpc.render, their pictures beside them",
        parse=Path,
        metavar="RENDERS",
        positional=True,
        many=True,
        required=True,
        recorded=False,
    )
    size: int = opt(224, "width and height", metavar="PX")
    filter: str = opt(
        FILTERS[0],
        f"{', '.join(FILTERS)}; all but nearest average over what they reduce",
        choices=FILTERS,
        metavar="NAME",
    )
    threads: int | None = opt(
        None,
        "threads that decode",
        parse=int,
        metavar="N",
        told="the cores this process may use",
        check=at_least(1),
        recorded=False,
    )
    drawing: tuple[dict, ...] = derived(())


def elements(text: str) -> tuple[str, ...]:
    """Comma-separated symbols of elements.

    Raises
    ------
    UsageError
        One is none.
    """
    known = resolve("ase.data:atomic_numbers")
    symbols = {part.strip() for part in text.split(",")}
    if strange := sorted(name for name in symbols if name not in known or name == "X"):
        raise UsageError(f"{strange[0]!r} is no element: give symbols such as Ti,Mn")
    return tuple(sorted(symbols))


def elements_or_count(text: str) -> tuple[str, ...] | int:
    """The same, or how many are to be drawn."""
    return int(text) if text.isdecimal() else elements(text)


def _prior(like: str) -> Any:
    return opt(
        (),
        like,
        parse=Path,
        many=True,
        metavar="FILE",
        recorded=False,
    )


def _cap(help: str, told: str = "all") -> Any:
    return opt(0, help, metavar="N", told=told, check=at_least(0), recorded=False)


@dataclass(frozen=True)
class BuildOptions(Options):
    """What a split is to be.

    Attributes
    ----------
    packed, output
        File of the structures, and folder of the split.
    reserve
        Elements, or how many of them to draw.
    seed
        Of all draws.
    train_per_system, eval_per_system, per_formula
        Structures of a crystal system on each side, and of a formula, at most; 0: no limit.
    max_atoms
        Atoms of the conventional cell at most; 0: no limit.
    quarantined
        Take structures with an unstable label too.
    prior
        Files of structures that were used before.
    overwrite
        Replace the split in the folder.
    """

    packed: Path = opt(
        None,
        "file written by python -m rc_hpc.pack",
        parse=Path,
        metavar="PACKED",
        positional=True,
        required=True,
        recorded=False,
    )
    output: Path = opt(
        Path("split"), "folder to write", parse=Path, short="-o", metavar="DIR", recorded=False
    )
    reserve: tuple[str, ...] | int = opt(
        None,
        "elements that only evaluation structures hold, or how many to draw",
        parse=elements_or_count,
        metavar="N|A,B,C",
        required=True,
        recorded=False,
    )
    seed: int = opt(23, "of all draws", metavar="N", recorded=False)
    train_per_system: int = _cap("training structures of each crystal system at most")
    eval_per_system: int = _cap("evaluation structures of each crystal system at most")
    per_formula: int = _cap("structures of one formula at most")
    max_atoms: int = _cap("atoms of the conventional cell at most", "all that were packed")
    quarantined: bool = opt(False, "also structures whose label is unstable", recorded=False)
    prior: tuple[Path, ...] = _prior(
        "structures used before: ids one a line, or JSON lines; neither they nor their formulas "
        "are drawn. May be repeated"
    )
    overwrite: bool = opt(False, "replace the split in the folder", kept=False, recorded=False)

    def __post_init__(self):
        super().__post_init__()
        if not 0 <= self.seed < 1 << 63:
            raise UsageError(f"--seed {self.seed}: give a whole number from 0 on")

    @property
    def caps(self) -> Caps:
        """How much is drawn at most."""
        return Caps(self.train_per_system, self.eval_per_system, self.per_formula)


@dataclass(frozen=True)
class AuditOptions(Options):
    """What is said of a split.

    Attributes
    ----------
    split
        Its folder.
    structures
        Packed file, or JSON object of id to ``formula``, for lines without a formula.
    reserve
        Elements; by default those that the folder names.
    prior
        Files of structures that were used before.
    """

    split: Path = opt(
        None,
        "folder with train.jsonl and eval.jsonl",
        parse=Path,
        metavar="DIR",
        positional=True,
        required=True,
        recorded=False,
    )
    structures: Path | None = opt(
        None,
        "formulas of lines that have none: a packed file, or a JSON object of id to an object "
        "with formula",
        parse=Path,
        metavar="FILE",
        recorded=False,
    )
    reserve: tuple[str, ...] = opt(
        (),
        "reserved elements",
        parse=elements,
        metavar="A,B,C",
        told="those in split_meta.json",
        recorded=False,
    )
    prior: tuple[Path, ...] = _prior("as for build")
