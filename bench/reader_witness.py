"""Two crystals with the same pictures, drawn below each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

#: Pictures that are drawn of one kind of witness at most.
MOST = 3


def witnesses(rows: list[dict[str, Any]], pairs, cells: dict[str, Any], most: int) -> Iterator:
    """What was found: a name, and lattice, numbers and positions of the two crystals."""

    def own(id_: str) -> tuple:
        cell = cells[id_]
        return cell.lattice, np.asarray(cell.numbers, np.int64), cell.positions

    two = [pair for pair in pairs or () if pair[2] <= most and pair[3] != pair[4]]
    for first, second, *_ in two[:MOST]:
        yield f"{first}_{second}", own(first), own(second)
    tried = [
        (row, *one)
        for row in rows
        for one in row["least"].get("tried", ())
        if one[1] <= most and one[2] != row["label"]
    ]
    for row, other, *_ in tried[:MOST]:
        lattice, numbers, positions = own(row["id"])
        site = row["least"]["site"]
        if other:
            changed = numbers.copy()
            changed[site] = other
            yield f"{row['id']}_element_{other}", own(row["id"]), (lattice, changed, positions)
        else:
            keep = np.arange(len(numbers)) != site
            yield f"{row['id']}_without", own(row["id"]), (lattice, numbers[keep], positions[keep])
    for what in ("further", "hydrogen"):
        some = [row for row in rows if row[what]]
        for row in sorted(some, key=lambda one: -one[what][1])[:MOST]:
            element, _, _, _, _, place = row[what]
            lattice, numbers, positions = own(row["id"])
            more = np.append(numbers, element), np.vstack((positions, place))
            yield f"{row['id']}_{what}_{element}", own(row["id"]), (lattice, *more)


def draw(drawings, found: Iterator, folder: Path) -> list[Path]:
    """One PNG a witness: the pictures of the one, of the other, and where they differ."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, *crystals in found:
        first, second = (drawings.pictures(*crystal) for crystal in crystals)
        apart = [
            np.abs(one.astype(int) - other).max(axis=2, keepdims=True).repeat(3, axis=2) > 0
            for one, other in zip(first, second, strict=True)
        ]
        black = [np.where(one, 0, 255).astype(np.uint8) for one in apart]
        whole = np.vstack([np.hstack(row) for row in (first, second, black)])
        paths.append(folder / f"{name}.png")
        Image.fromarray(whole).save(paths[-1])
    return paths
