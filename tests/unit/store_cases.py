"""Made-up rows for the store's tests: the content of a row follows from its key alone."""

import hashlib

import numpy as np

from rc_hpc.core.constants import SWEEP
from rc_hpc.core.errors import Status
from rc_hpc.kinds.census.schema import CENSUS
from rc_hpc.kinds.packed.schema import PACKED
from rc_hpc.store.batch import empty_batch, empty_children, filled, shape_of
from rc_hpc.store.parts import PartStore
from rc_hpc.store.schema import TEXT

DIMS = {
    "packed": {"setting": len(SWEEP)},
    "census": {"setting": len(SWEEP), "subset": 26, "view": 5},
}
OPTIONS = '{"delta": 0.01, "merge": "dominance"}'


def identity(options=OPTIONS, **more):
    return {
        "options": options,
        "options_hash": hashlib.sha256(options.encode()).hexdigest(),
        "input_hash": "ab" * 32,
        **more,
    }


def store(folder, schema=PACKED, **more):
    return PartStore(folder, schema, DIMS[schema.kind], identity(**more))


def _values(column, rng, n, dims):
    shape = shape_of(column, n, dims)
    if column.dtype == TEXT:
        return np.array([f"Å {value}" for value in rng.integers(1 << 40, size=n)], dtype=object)
    if isinstance(column.dtype, type):
        return rng.choice([int(member) for member in column.dtype], size=shape).astype(np.uint8)
    dtype = np.dtype(column.dtype)
    if dtype.kind == "f":
        return rng.normal(size=shape)
    return rng.integers(0, 2 if dtype.kind == "b" else 100, size=shape).astype(dtype)


def batch_of(keys, schema=PACKED):
    """Batch and children of rows given as (id, duplicate, sha256)."""
    dims = DIMS[schema.kind]
    batch, children = empty_batch(schema, len(keys), dims), empty_children(schema, dims)
    pieces = {table: [] for table in children}
    for row, key in enumerate(keys):
        seed = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "little")
        rng = np.random.default_rng(seed)
        for column in schema.main:
            batch[column.path][row] = _values(column, rng, 1, dims)[0]
        (
            batch["structures/id"][row],
            batch["structures/duplicate"][row],
            batch["structures/sha256"][row],
        ) = key
        batch["structures/status"][row] = Status.ok
        batch["structures/message"][row] = ""
        for table, columns in schema.children.items():
            n = int(rng.integers(0, 4))
            piece = {column.path: _values(column, rng, n, dims) for column in columns}
            piece["structure"] = np.full(n, row, dtype=np.int64)
            pieces[table].append(piece)
    for table, columns in schema.children.items():
        for column in columns:
            parts = [filled(column, 0, dims), *(piece[column.path] for piece in pieces[table])]
            children[table][column.path] = np.concatenate(parts)
    return batch, children


def numbers_of(keys, all_keys):
    """Numbers of rows in a source whose rows are sorted."""
    order = {key: number for number, key in enumerate(sorted(set(all_keys)))}
    return [order[key] for key in keys]


def keys_of(ids):
    return [(id_, 0, hashlib.sha256(id_.encode()).hexdigest()) for id_ in ids]


STATIC = {
    "settings/sweep": (
        np.ones((len(SWEEP), 2)),
        "1",
        "Tolerances of the sweep.",
        ("setting", "parameter"),
    ),
    "vocabulary/bravais": (["none", "aP", "mP"], "1", "Bravais lattices.", ("bravais",)),
}
CENSUS_STATIC = {
    "settings/sweep": STATIC["settings/sweep"],
    "protocol/view": (list("abcde"), "1", "Names of the views.", ("view",)),
    "protocol/rotation": (
        np.tile(np.eye(3), (5, 1, 1)),
        "1",
        "Rotation of each view.",
        ("view", "vector", "xyz"),
    ),
    "subsets/mask": (np.arange(26, dtype=np.uint32), "1", "Views of each subset.", ("subset",)),
}
SCHEMA_STATIC = {"packed": STATIC, "census": CENSUS_STATIC}
BOTH = (PACKED, CENSUS)
