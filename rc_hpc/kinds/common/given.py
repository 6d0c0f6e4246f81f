"""What the oracle of a kind is given beside its options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rc_hpc.symmetry.recorder import NULL_RECORDER, Recorder

#: One structure, or item of the kind's source, to the values of its columns by path, and of its
#: child tables by table and column.
Compute = Callable[[Any], tuple[dict[str, Any], dict[str, dict[str, Any]]]]


@dataclass(frozen=True)
class Given:
    """What the work is done with.

    Attributes
    ----------
    shared
        From the kind's plan.
    recorder
        Notes the structure in flight during native calls.
    output
        The result file; None where there is none.
    """

    shared: Any = None
    recorder: Recorder = NULL_RECORDER
    output: Path | None = None
