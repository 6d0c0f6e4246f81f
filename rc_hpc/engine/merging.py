"""Parts of any kind to one file."""

from __future__ import annotations

import json
from pathlib import Path

from rc_hpc.core.errors import RcError
from rc_hpc.core.files import parts_folder
from rc_hpc.core.kind import Kind
from rc_hpc.kinds.common.beside import Beside
from rc_hpc.store.merge import merge
from rc_hpc.store.parts import PartStore, discard


def merge_output(kind: Kind, output: Path, partial: bool = False) -> str:
    """Merge the parts of an output, and remove them where none is missing.

    Returns the content hash.

    Raises
    ------
    RcError
        Rows are missing, unless `partial`; all are.
    """
    schema = kind.load("schema")
    store, whole = _mergeable(output, PartStore.open(parts_folder(output), schema), partial)
    options = kind.load("options").from_dict(json.loads(store.identity["options"]))
    beside: Beside = (kind.load("beside") or Beside)(output)
    attributes = {"complete_rows": int(whole), **beside.attributes(store)}
    if others := store.accepted_code():
        attributes["accepted_code"] = others
    digest = merge(
        store.folder,
        output,
        schema,
        store.dims,
        kind.load("statics")(options),
        attributes,
        resolve=beside.resolve,
        checked=store.good,
    )
    if whole:
        discard(store.folder)
        beside.end()
    return digest


def _mergeable(output: Path, store: PartStore, partial: bool) -> tuple[PartStore, bool]:
    """The parts of an output, and whether no row is missing."""
    total, done = store.identity["total"], len(store.completed())
    if done == 0 or (done < total and not partial):
        cure = "run with --resume" + ("" if done == 0 else " (or merge --partial)")
        raise RcError(f"{output}: {total - done} of {total} structures are not done yet: {cure}")
    return store, done >= total
