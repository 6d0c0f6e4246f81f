"""What a merge of packed structures settles: repeated ids, and the hash of the input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rc_hpc.kinds.common.beside import Beside
from rc_hpc.store.content import input_hash
from rc_hpc.store.duplicates import resolve_duplicates
from rc_hpc.store.parts import PartStore


class Origins(Beside):
    """Hooks of packing."""

    resolve = staticmethod(resolve_duplicates)

    def attributes(self, store: PartStore) -> dict[str, Any]:
        """Hash of the ids and the bytes that they were read from."""
        return {"input_hash": input_hash(_origins(store))}


def _origins(store: PartStore) -> Iterable[tuple[str, str]]:
    # By place in the stream as well: a row done twice is one row.
    rows: set[tuple[str, str, int]] = set()
    for part in store.good:
        ids, hashes, places = store.columns(
            part, "structures/id", "structures/sha256", "structures/duplicate"
        )
        rows.update(zip(ids, hashes, places.tolist(), strict=True))
    return ((id_, sha256) for id_, sha256, _ in rows)
