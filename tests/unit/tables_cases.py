"""Made-up census files for the tests of the tables."""

import dataclasses
import hashlib

import numpy as np

from rc_hpc.core.constants import SWEEP
from rc_hpc.core.errors import Status
from rc_hpc.core.files import parts_folder
from rc_hpc.core.vocabulary import LabelStatus
from rc_hpc.geometry.protocol import load_protocol, parse_subsets
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.schema import CENSUS
from rc_hpc.kinds.census.work import statics
from rc_hpc.store.batch import empty_batch, empty_children
from rc_hpc.store.merge import merge
from rc_hpc.store.parts import PartStore

LABELS = ("crystal_system", "bravais", "point_group", "space_group")


def options_of(subsets="all", tiling=(1, 1, 1), **more):
    protocol = load_protocol("frozen", tiling)
    return CensusOptions(
        {"name": protocol.name, **protocol.identity()},
        parse_subsets(subsets, protocol.views),
        **more,
    )


def dims_of(options):
    return {
        "setting": len(SWEEP),
        "subset": len(options.subsets),
        "view": len(options.protocol["views"]),
    }


def random_batch(options, n=40, seed=0):
    """n rows, most of them computed, some quarantined, some failed; made from `seed` alone."""
    rng = np.random.default_rng(seed)
    dims = dims_of(options)
    k = dims["subset"]
    batch = empty_batch(CENSUS, n, dims)
    batch["structures/id"][:] = [f"id-{row:03d}" for row in range(n)]
    batch["structures/status"][:] = rng.choice(
        [Status.ok] * 8 + [Status.read_error, Status.quarantined], n
    )
    batch["structures/quarantine"][:] = rng.choice([0, 0, 0, 1, 2], n)
    batch["structures/n_atoms"][:] = rng.integers(1, 30, n)
    for name, top in zip(LABELS, (7, 14, 32, 230), strict=True):
        batch[f"structures/{name}"][:] = rng.integers(1, top + 1, n)
        changed = rng.random(n) < 0.1
        batch[f"structures/{name}_conventional"][:] = np.where(
            changed, 1, batch[f"structures/{name}"]
        )
        batch[f"cells/correct_{name}"][:] = rng.random((n, k)) < 0.8
    bad = batch["structures/status"] != Status.ok
    batch["structures/message"][bad] = [f"row {row} | is bad_100%" for row in np.flatnonzero(bad)]
    cells = {
        "n_recovered": rng.integers(0, 60, (n, k)),
        "n_phantoms": rng.poisson(0.3, (n, k)),
        "n_phantoms_exact": rng.poisson(0.2, (n, k)),
        "n_phantoms_strict": rng.poisson(0.1, (n, k)),
        "near_tie": rng.random((n, k)) < 0.05,
        "certified": rng.random((n, k)) < 0.9,
        "point_error": rng.random((n, k)),
        "atom_error": rng.random((n, k)) * 1e-14,
        "label_status": rng.choice([LabelStatus.labelled] * 9 + [LabelStatus.failed], (n, k)),
    }
    cells["phantom_delta"] = rng.choice(
        [np.inf, 0.0, 1.0], (n, k), p=[0.5, 0.2, 0.3]
    ) * 10.0 ** rng.uniform(-4, 0, (n, k))
    for name, values in cells.items():
        batch[f"cells/{name}"][~bad] = values[~bad]
    for name in LABELS:
        batch[f"cells/correct_{name}"][bad] = False
    return batch


def write_census(output, options, batch, **attrs):
    """Merged census file with the rows of `batch` and no phantoms listed."""
    text, dims = options.to_json(), dims_of(options)
    identity = {
        "options": text,
        "options_hash": hashlib.sha256(text.encode()).hexdigest(),
        "input_hash": "ab" * 32,
        "total": 99,
    }
    store = PartStore(parts_folder(output), CENSUS, dims, identity)
    store.write(batch, empty_children(CENSUS, dims), range(len(batch["structures/id"])))
    merge(store, output, statics(options), attrs)
    return output


def select(batch, rows):
    """The rows of a batch for which `rows` is true."""
    return {path: values[rows] for path, values in batch.items()}


def with_options(options, **changes):
    return dataclasses.replace(options, **changes)
