"""Ask a vision-language model about crystals: ``python -m rc_hpc.query_vlm --help``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # this checkout, installed or not

from rc_hpc.query_vlm import main

if __name__ == "__main__":
    sys.exit(main())
