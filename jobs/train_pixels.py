"""Train networks to read the crystal system off pictures: ``python -m rc_hpc.training --help``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # this checkout, installed or not

from rc_hpc.training.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
