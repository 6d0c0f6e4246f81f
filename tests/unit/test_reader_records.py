"""What the README says of the reader is what its records hold."""

import json
import re
from pathlib import Path

from rc_hpc.symmetry.labels import crystal_system

ROOT = Path(__file__).parents[2]


def counted(name):
    """Structures of a record, those of the right system, certified ones, certified wrong ones."""
    path = ROOT / "bench" / "records" / "reader" / f"{name}.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert len({row["id"] for row in rows}) == len(rows)
    right = [
        row["numbers"][0] > 0 and crystal_system(row["numbers"][0]) == crystal_system(row["truth"])
        for row in rows
    ]
    whole = [row["missing"] == row["extra"] == 0 for row in rows]
    certified = [row["certified"] for row in rows]
    wrong = [c and not (r and w) for c, r, w in zip(certified, right, whole, strict=True)]
    return len(rows), sum(right), sum(certified), sum(wrong)


def test_the_readmes_figures_are_those_of_the_records():
    readme = re.sub(r"\s+", " ", (ROOT / "README.md").read_text(encoding="utf-8"))
    n, right, certified, wrong = counted("reader_read_K0_768")
    assert f"of the {n} evaluation structures {right} right and {certified} certified" in readme
    n, right, certified, others = counted("reader_read_K0_768_train")
    assert f"of the {n:,} others, read once, {right:,} and {certified:,}" in readme
    assert wrong == others == 0 and "no certified reading is wrong" in readme
