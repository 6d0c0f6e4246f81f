"""What a kind of result writes, or needs, beside its file. This one: nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rc_hpc.store.part_file import Part
    from rc_hpc.store.parts import PartStore
    from rc_hpc.store.rows import Resolve


class Beside:
    """Hooks of a run, called on rank 0; kinds that need some derive from this.

    Parameters
    ----------
    output
        The result file.
    """

    #: Settles rows with the same id in a merge.
    resolve: Resolve | None = None

    def __init__(self, output: Path):
        self.output = output

    def check(self, options: Any, *, replace: bool) -> None:
        """Refuse, before any work, what cannot or must not be written.

        Parameters
        ----------
        replace
            Earlier work may be gone on with or replaced.
        """

    def versions(self) -> dict[str, str]:
        """Further packages that the result depends on."""
        return {}

    def begin(
        self, store: PartStore, parts: Sequence[Part], *, fresh: bool, shared: bool
    ) -> set[int]:
        """Make ready; numbers of the rows that are in the parts but must be done again.

        Parameters
        ----------
        fresh
            Earlier work is replaced.
        shared
            Other shards may be at work.
        """
        return set()

    def still_there(self) -> None:
        """Check what belongs to a finished output."""

    def attributes(self, store: PartStore) -> dict[str, Any]:
        """Root attributes of the merged file, from its parts."""
        return {}

    def end(self) -> None:
        """Write what follows from a whole file."""

    def problems(self) -> list[str]:
        """What is wrong beside a valid file, one line each."""
        return []

    def account(self) -> str:
        """What to tell of it at the end of a run."""
        return ""
