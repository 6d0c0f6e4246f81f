"""What the README says of the reader is what its records hold."""

import json
import re
from pathlib import Path

from rc_hpc.symmetry.labels import crystal_system

ROOT = Path(__file__).parents[2]


def rows_of(name):
    """Rows of a record of the reader."""
    path = ROOT / "bench" / "records" / "reader" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


def text(name):
    """A file without its line breaks."""
    return re.sub(r"\s+", " ", (ROOT / name).read_text(encoding="utf-8"))


def counted(name):
    """Structures of a record, those of the right system, certified ones, certified wrong ones."""
    rows = rows_of(name)
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
    readme = text("README.md")
    n, right, certified, wrong = counted("reader_read_K0_768")
    assert f"of the {n} evaluation structures {right} right and {certified} certified" in readme
    n, right, certified, others = counted("reader_read_K0_768_train")
    assert f"of the {n:,} others, read once, {right:,} and {certified:,}" in readme
    assert wrong == others == 0 and "no certified reading is wrong" in readme


def test_what_is_said_of_other_crystals_with_the_same_pictures():
    rows = rows_of("reader_equal")
    path = ROOT / "bench" / "records" / "reader" / "reader_equal.json"
    assert json.loads(path.read_text(encoding="utf-8"))["pairs"] == []
    released = sum(row["id"].startswith("mp-") for row in rows)
    far = [row for row in rows if row["hydrogen"] and row["hydrogen"][1] >= 1]
    assert all(row["hydrogen"][4] != row["label"] for row in far)
    readme = text("README.md")
    assert f"of these {released:,} and the {len(rows) - released} prototypes no two do" in readme
    assert f"in {len(far)} of the {len(rows):,} a further hydrogen" in readme
    counts = {
        what: [sum(bool(r[what]) and r[what][1] >= share for r in rows) for share in shares]
        for what, shares in (("hydrogen", (0.2, 0.4, 0.5, 1)), ("further", (0.2, 0.4, 0.5, 1)))
    }
    told = "a hydrogen in {:,} at 0.2, in {} at 0.4, in {} at 0.5 and in {} at 1 sum"
    assert told.format(*counts["hydrogen"]) in text("CHANGELOG.md")
    told = "an atom of the crystal's own elements in {}, {}, {} and {}."
    assert told.format(*counts["further"]) in text("CHANGELOG.md")


def test_true_centres_give_back_every_structure():
    rows = rows_of("reader_rungs")
    assert len(rows) == 210
    for rung in ("visible centres", "all centres", "found centres, told which"):
        assert all(all(row[rung]) for row in rows)
