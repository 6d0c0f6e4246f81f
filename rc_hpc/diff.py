"""Command: what changed between two results of one kind: options, code, rows, values."""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser, Talk, guarded
from rc_hpc.core.errors import Exit
from rc_hpc.core.lazy import resolve
from rc_hpc.engine.diff_options import DiffOptions

EXAMPLES = """\
examples:
  python -m rc_hpc.diff before.h5 after.h5          all that changed
  python -m rc_hpc.diff before.h5 after.h5 -q       the exit code only
  python -m rc_hpc.diff before.h5 after.h5 --rtol 1e-9 --atol 1e-12
  python -m rc_hpc.diff before.h5 after.h5 --only cells --ignore cells/point_error --most 20

Any two results of one kind are compared: packed structures, census, sweeps, renders, pixels,
training, answers. Rows are matched by id, view subsets by their cameras, tolerances by their
values, codes by their names. Rows and values make results different; options, code, versions,
types, sources and messages are told, and of these --strict lets options, types, sources and
messages count, too.

Exit codes: 0 equal, 1 different, 2 usage or files that cannot be compared, 130 interrupted."""


def parser() -> Parser:
    """Argument parser of the comparison."""
    p = Parser("python -m rc_hpc.diff", __doc__)
    p.epilog = EXAMPLES
    p.add_options(DiffOptions)
    p.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    asked = parser().read(argv)
    compare, text = map(resolve, ("rc_hpc.engine.diff:compare", "rc_hpc.engine.diff:text"))
    differences = compare(asked.make(DiffOptions))
    if not asked.make(Talk).quiet:
        print(text(differences))
    return Exit.CLEAN if differences.equal else Exit.FATAL


if __name__ == "__main__":
    sys.exit(main())
