"""What the README says of the reader and of other crystals is what records hold."""

import json
import re
from pathlib import Path

from rc_hpc.symmetry.labels import crystal_system

ROOT = Path(__file__).parents[2]


RECORDS = ROOT / "bench" / "records"


def rows_of(name):
    """Rows of a record of the reader."""
    return json.loads((RECORDS / "reader" / f"{name}.json").read_text(encoding="utf-8"))["rows"]


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
    path = RECORDS / "reader" / "reader_equal.json"
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


def test_noisy_pictures_of_the_nearest_colours():
    rows = [r for r in rows_of("reader_noise") if r["condition"] == "noise, nearest colours 1"]
    right = sum(
        row["numbers"][0] > 0 and crystal_system(row["numbers"][0]) == crystal_system(row["truth"])
        for row in rows
    )
    told = f"`--colours nearest` reads {right} of {len(rows)} rightly with noise of one grey level"
    assert told in text("README.md") and not any(row["certified"] for row in rows)


def test_true_centres_give_back_every_structure():
    rows = rows_of("reader_rungs")
    assert len(rows) == 210
    for rung in ("visible centres", "all centres", "found centres, told which"):
        assert all(all(row[rung]) for row in rows)


def test_cameras_under_which_other_crystals_have_the_same_pictures():
    path = RECORDS / "unique_cameras.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    two = [row for row in record["statuses"] if row["views"] == 2 and row["unknown"] < 2]

    def found(cameras, delta, tiling="1,1,1", structures=record["held_out"]):
        (row,) = [
            row
            for row in two
            if (row["cameras"], row["delta"], row["tiling"]) == (cameras, delta, tiling)
            and row["structures"] == structures
        ]
        return row["undetermined"], row["n"]

    exact, near = 1e-6, 0.01
    readme = text("README.md")
    worst, n = found("frozen", exact)
    assert f"On {record['held_out']} of the structures that no design saw" in readme
    assert f"exact pictures in {worst} of {n:,} two-view cells under the frozen cameras" in readme
    free = [found(f"free, {asked}", exact)[0] for asked in ("phantoms", "unique")]
    kept = [found(f"axes kept, {asked}", exact)[0] for asked in ("phantoms", "unique")]
    assert found("off-axis", exact)[0] == max(free) == 0 and set(kept) == {worst}
    assert f"again in {worst} where a design keeps the three axes" in readme
    free = {found(f"free, {asked}", near)[0] for asked in ("phantoms", "unique")}
    kept = [found(f"axes kept, {asked}", near)[0] for asked in ("phantoms", "unique")]
    told = (found("frozen", near)[0], found("off-axis", near)[0], *free, *kept)
    assert "Within 0.01 Å it has in {}, {}, {} and {} or {}:".format(*told) in readme
    tiled = record["tiled"]
    both = [found("frozen", exact, tiling, tiled) for tiling in ("2,2,2", "1,1,1")]
    assert f"in {both[0][0]} of {both[0][1]} two-view cells of the {tiled} structures" in readme
    assert f"where one cell has it in {both[1][0]}, and in none" in readme
    assert found("off-axis", exact, "2,2,2", tiled)[0] == 0
