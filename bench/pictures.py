"""The picture of the README, and what is read from spoilt pictures.

python bench/pictures.py           SiO2 in P6_222, on the two cameras with most phantoms
python bench/pictures.py reader    R2 over size, compression, noise and views, from the records
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, however the program is started

from ase.spacegroup import crystal
from PIL import Image

from bench import reader_figures
from rc_hpc.census import main as census
from rc_hpc.show import main as show

FOLDER = Path(__file__).parent / "pictures"
#: Enough for flat discs.
COLOURS = 48


def main() -> None:
    """Draw it anew."""
    atoms = crystal(
        ["Si", "O"],
        [(0.5, 0, 0), (0.2, 0.4, 0.5)],
        spacegroup=180,
        cellpar=[5.0, 5.0, 5.46, 90, 90, 120],
    )
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        atoms.write(work / "quartz.cif")
        census([str(work / "quartz.cif"), "-o", str(work / "mine.h5"), "-q"])
        show([str(work / "mine.h5"), "quartz.cif", "-o", str(work / "show")])
        FOLDER.mkdir(exist_ok=True)
        with Image.open(work / "show" / "quartz.cif.mine.png") as drawn:
            small = drawn.convert("RGB").quantize(COLOURS)
        small.save(FOLDER / "phantom.png", optimize=True)


if __name__ == "__main__":
    reader_figures.main() if sys.argv[1:] == ["reader"] else main()
