"""Parts of any kind to one file."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

from rc_hpc.core.errors import RcError
from rc_hpc.core.files import parts_folder
from rc_hpc.core.kind import Kind
from rc_hpc.kinds.common.beside import Beside
from rc_hpc.parallel.launch import Comm, SerialComm, on_root
from rc_hpc.store.merge import merge
from rc_hpc.store.part_file import Part
from rc_hpc.store.parts import PartStore, discard, done_rows


def merge_output(
    kind: Kind,
    output: Path,
    partial: bool = False,
    comm: Comm | None = None,
    store: PartStore | None = None,
) -> str:
    """Merge the parts of an output, and remove them where none is missing.

    All ranks call it together. Returns the content hash.

    Parameters
    ----------
    comm
        The ranks that share the work; by default this one alone.
    store
        This rank's, with what it has written and, on rank 0, what earlier runs have done: then
        nothing is looked at again.

    Raises
    ------
    RcError
        Rows are missing, unless `partial`; all are.
    """
    comm = comm or SerialComm()
    schema = kind.load("schema")
    if store is None:
        store = PartStore.open(parts_folder(output), schema)
        own = store.scan() if comm.rank == 0 else []
    else:
        own = [*store.good, *store.written]
    gathered = comm.gather(own)
    parts = None if gathered is None else list(chain.from_iterable(gathered))
    whole = on_root(comm, lambda: _whole(output, store, parts or [], partial))
    options = kind.load("options").from_dict(json.loads(store.identity["options"]))
    beside: Beside = (kind.load("beside") or Beside)(output)
    attributes: dict[str, Any] = {}
    if comm.rank == 0:
        attributes = {"complete_rows": int(whole), **beside.attributes(store)}
        if others := store.accepted_code():
            attributes["accepted_code"] = others
    digest = merge(
        store,
        output,
        kind.load("statics")(options) if comm.rank == 0 else None,
        attributes,
        resolve=beside.resolve,
        parts=parts or [],
        ranks=comm,
    )
    if whole and comm.rank == 0:
        discard(store.folder)
        beside.end()
    comm.barrier()
    return digest


def _whole(output: Path, store: PartStore, parts: list[Part], partial: bool) -> bool:
    """Whether no row is missing."""
    total = store.identity["total"]
    done = int(done_rows(parts, total).sum())
    if done == 0 or (done < total and not partial):
        cure = "run with --resume" + ("" if done == 0 else " (or merge --partial)")
        raise RcError(f"{output}: {total - done} of {total} structures are not done yet: {cure}")
    return done >= total
