"""Some structures of a packed file as a packed file of its own: copied, not labelled again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.files import parts_folder
from rc_hpc.engine.memory import chosen_rows
from rc_hpc.engine.options import RunOptions
from rc_hpc.engine.packing import packed_schema
from rc_hpc.kinds.common.selection import Selection
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.kinds.packed.schema import PACKED
from rc_hpc.kinds.packed.work import dims, statics
from rc_hpc.store.batch import Rows
from rc_hpc.store.claim import Claim
from rc_hpc.store.merge import merge
from rc_hpc.store.outputs import check_not_read, check_output
from rc_hpc.store.parts import PartStore, discard
from rc_hpc.store.reader import open_ours

#: Rows copied at a time.
ROWS = 512
#: What a file was packed under, which its copy keeps.
_KEPT = ("options", "options_hash", "result_versions", "code", "cpu_budget_s")


def places_in(reader: PackedReader, chosen: Selection) -> list[int]:
    """Rows of a packed file that are meant."""
    return chosen.places(reader.ids, str(reader.path))


def copy_chosen(packed: Path, chosen: Selection, output: Path, run: RunOptions) -> None:
    """Write the rows of a packed file that are meant; what is there already is left.

    Raises
    ------
    UsageError
        The output is something else, an id is not there, or nothing is left.
    """
    check_not_read(output, [packed])
    with PackedReader(packed) as reader:
        rows = places_in(reader, chosen)
        options = PackOptions.from_dict(json.loads(reader.attrs["options"]))
        identity = {name: reader.attrs[name] for name in _KEPT if name in reader.attrs}
        told = json.dumps([str(reader.attrs["content_hash"]), rows])
        identity |= {
            "listing_hash": hashlib.sha256(told.encode()).hexdigest(),
            "chosen_of": str(reader.attrs["content_hash"]),
            "total": len(rows),
        }
        check_output(output, True, kind=PACKED.kind)
        if output.exists() and not run.overwrite:
            with open_ours(output, PACKED.kind) as h5:
                if h5.attrs.get("listing_hash") == identity["listing_hash"]:
                    return
            raise UsageError(
                f"{output} holds other structures than are chosen now: --overwrite replaces it, "
                "--packed names another file"
            )
        _copy(reader, rows, options, plain(identity), output)


def plain(identity: dict[str, object]) -> dict[str, object]:
    """Values of attributes as JSON holds them."""
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in identity.items()
    }


def _copy(
    reader: PackedReader,
    rows: list[int],
    options: PackOptions,
    identity: dict[str, object],
    output: Path,
) -> None:
    folder = parts_folder(output)
    claim = Claim(folder)
    try:
        discard(folder)
        store = PartStore(folder, packed_schema(options), dims(options), identity)
        written = 0
        for start in range(0, len(reader), ROWS):
            stop = min(start + ROWS, len(reader))
            its = np.array([row - start for row in rows if start <= row < stop], int)
            if not len(its):
                continue
            chosen = chosen_rows(Rows(*reader.rows(start, stop)), its)
            store.write(chosen.batch, chosen.children, written + np.arange(len(its)))
            written += len(its)
        whole = {"complete_rows": 1, "total": len(rows)}
        if not bool(reader.attrs.get("complete_rows", 1)):
            whole |= {"complete_rows": 0, "total": int(reader.attrs["total"])}
        merge(store, output, statics(options), whole)
        discard(folder)
    except OSError as error:
        raise RcError(f"{output}: cannot be written ({error.strerror}): free space") from error
    finally:
        claim.release()
