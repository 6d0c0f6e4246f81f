"""What a merge of packed structures settles: repeated ids."""

from __future__ import annotations

from rc_hpc.kinds.common.beside import Beside
from rc_hpc.store.duplicates import resolve_duplicates


class Origins(Beside):
    """Hooks of packing."""

    resolve = staticmethod(resolve_duplicates)
