"""Command: what happens to the ceilings as one condition is varied?"""

from __future__ import annotations

import sys

from rc_hpc.core.door import Parser
from rc_hpc.engine import entry
from rc_hpc.kinds.registry import of_command

EXAMPLES = """\
  python -m rc_hpc.sweep frontier packed.h5         R1 and certificates over the tolerance delta
  python -m rc_hpc.sweep noise packed.h5            R1 over the noise of the disc centres
  python -m rc_hpc.sweep occlusion packed.h5        R1 where discs hide the centres of others
  python -m rc_hpc.sweep design packed.h5           better cameras, judged on structures that the
                                                    search did not see
  python -m rc_hpc.sweep unique packed.h5           could another crystal have the same pictures?
  python -m rc_hpc.sweep frontier --help            the options of a sweep
  python -m rc_hpc.sweep frontier --resume          go on where a stopped or killed run was
  python -m rc_hpc.sweep status frontier.h5         how far it is (also: merge, validate)
"""


def parser() -> Parser:
    """Argument parser that tells of all sweeps."""
    lines = [f"  {kind.name:<11}{kind.line}" for kind in of_command("sweep")]
    about = f"{__doc__}\n\nsweeps:\n" + "\n".join(lines)
    return Parser("python -m rc_hpc.sweep", about, EXAMPLES, usage="%(prog)s [-h] SWEEP ...")


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return entry.main("sweep", argv, parser())


if __name__ == "__main__":
    sys.exit(main())
