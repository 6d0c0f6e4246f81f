"""Before any structure is computed: is the solver there?"""

from __future__ import annotations

from pathlib import Path

from rc_hpc.kinds.unique.options import UniqueOptions
from rc_hpc.oracle.solving import check_solver


def plan(_packed: Path, options: UniqueOptions) -> tuple[UniqueOptions, None]:
    """The options as they are.

    Raises
    ------
    UsageError
        The solver is not installed.
    """
    check_solver()
    return options, None
