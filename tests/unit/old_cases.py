"""Results of version 0.1.0, of every kind: small files that tests read, compare and change."""

import tarfile
from pathlib import Path

import h5py
import numpy as np

ARCHIVE = Path(__file__).parents[1] / "fixtures" / "v0_1_0" / "results.tar.xz"
SWEEPS = ("frontier", "noise", "occlusion", "design")
ROWED = ("packed", "census", *SWEEPS, "renders")
KINDS = (*ROWED, "pixels", "training", "answers")
#: Inputs of the commands that made them.
INPUTS = {
    "ids": "A_cP1_221_a\nAB_tP2_123_a_d\nA_mC4_12_i\nA_cF4_225_a\nbroken\n",
    "held": "A_cF4_225_a\nA_mC4_12_i\n",
    "broken.json": '{"broken": {"cif": "data_broken"}}',
    "axes.toml": """\
[[camera]]
name = "a"
direction = [1.0, 0.0, 0.0]
[[camera]]
name = "b"
direction = [0.0, 1.0, 0.0]
[[camera]]
name = "c"
direction = [0.0, 0.0, 1.0]
""",
}
#: Command and arguments, the output aside, of each kind.
COMMANDS = {
    "packed": ("pack", "prototypes broken.json --ids ids"),
    "census": ("census", "packed.h5 --protocol axes.toml --delta 0.15"),
    "frontier": ("sweep", "frontier packed.h5 --protocol axes.toml --deltas 0.01,0.15"),
    "noise": ("sweep", "noise packed.h5 --protocols axes.toml,frozen --seeds 2 --sigmas 0,0.1"),
    "occlusion": ("sweep", "occlusion packed.h5 --protocol axes.toml --verify strict,excused"),
    "design": (
        "sweep",
        "design packed.h5 --starts 4 --held-out held --search-sample 2 --training 2 --views 3 "
        "--seeds 1 --sigmas 0,0.2 --beside frozen",
    ),
    "renders": ("render", "packed.h5 --protocol axes.toml --size 48"),
    "pixels": ("pixels", "renders.h5 --size 32"),
}
#: Rows of all but the pictures, in their order.
IDS = ["AB_tP2_123_a_d", "A_cF4_225_a", "A_cP1_221_a", "A_mC4_12_i", "broken"]


def unpack(folder):
    """All files: one of each kind, the pictures, a stopped census and its cameras."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def copied(source, target, **chosen):
    """A copy with these places along dimensions, in this order, as in ``structure=[0, 2]``."""
    with h5py.File(source) as old, h5py.File(target, "w") as new:
        new.attrs.update(old.attrs)
        names = []
        old.visititems(
            lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None
        )
        for name in names:
            _copy_dataset(old, new, name, chosen)
        for name in names:
            for axis, dimension in enumerate(old[name].dims):
                if len(dimension):
                    new[name].dims[axis].attach_scale(new[dimension[0].name])
                new[name].dims[axis].label = dimension.label
    return target


def _copy_dataset(old, new, name, chosen):
    dataset = old[name]
    values = dataset[()]
    table = name.split("/")[0]
    dimensions = [dimension.label for dimension in dataset.dims]
    if dataset.is_scale:
        dimensions = [name]
    rows = chosen.get("structure")
    if rows is not None and f"{table}/structure" in old and len(dataset):
        structure = old[f"{table}/structure"][()]
        kept = np.concatenate([np.flatnonzero(structure == row) for row in rows])
        values = values[kept]
        if name == f"{table}/structure":
            values = np.array([rows.index(row) for row in values], np.int64)
    for axis, dimension in enumerate(dimensions):
        if dimension in chosen:
            values = np.take(values, chosen[dimension], axis)
    made = new.create_dataset(name, data=values, dtype=dataset.dtype)
    for key, value in dataset.attrs.items():
        if key not in ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME"):
            made.attrs[key] = value
    if dataset.is_scale:
        made.make_scale(dataset.attrs["NAME"].decode())
