"""Small pixel files and splits for the tests of training."""

import importlib.util
import json
import sys
from pathlib import Path

import h5py
import numpy as np

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.store.arrays import new_arrays

ROOT = Path(__file__).parents[2]
VIEWS = ("one", "two")
# 28 training structures of 2 views, 4 in each class; a quarter held out: 42 pictures, 6 steps of 7.
QUICK = [
    "--model",
    "test_vit",
    "--weights",
    "random",
    "--device",
    "cpu",
    "--batch-size",
    "7",
    "--holdout",
    "0.25",
    "--epochs",
    "3",
    "--lr",
    "0.003",
    "--progress",
    "none",
    "-q",
]


def job():
    """The module jobs/train_pixels.py."""
    if "train_pixels" not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            "train_pixels", ROOT / "jobs" / "train_pixels.py"
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules["train_pixels"] = module
        spec.loader.exec_module(module)
    return sys.modules["train_pixels"]


def content(output):
    """Content hash of a result."""
    with h5py.File(output) as h5:
        return h5.attrs["content_hash"]


def write_pixels(path, n=42, size=32, seed=5):
    """Pictures whose grey tells the class, with noise; ids ``s0``, ``s1``, ..."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % len(CRYSTAL_SYSTEMS)
    base = 20 + 30 * labels[:, None, None, None, None]
    pictures = np.clip(base + rng.normal(0, 6, (n, len(VIEWS), size, size, 3)), 0, 255).astype(
        np.uint8
    )
    with new_arrays(
        path, "pixels", "Test", {"options": "{}", "options_hash": "", "input_hash": ""}, {}
    ) as file:
        file.add("structures/id", [f"s{k}" for k in range(n)], "1", "Ids.", ("structure",))
        file.add("protocol/view", VIEWS, "1", "Views.", ("view",))
        file.reserve(
            "pixels",
            pictures.shape,
            np.uint8,
            "1",
            "Pixels.",
            ("structure", "view", "row", "column", "colour"),
        )[...] = pictures
    return path


def write_split(folder, n_train=28, n_eval=14, formulas=()):
    """Training structures first, then those of the evaluation; `formulas` of the first of all."""
    folder.mkdir()
    rows = [
        {"material_id": f"s{k}", "crystal_system": CRYSTAL_SYSTEMS[k % 7]}
        for k in range(n_train + n_eval)
    ]
    for row, formula in zip(rows, formulas, strict=False):
        row["formula"] = formula
    for name, part in (("train", rows[:n_train]), ("eval", rows[n_train:])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    return folder
