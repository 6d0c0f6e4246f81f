"""Do two crystals draw the same pictures? What is looked for, and what is found.

Pictures are the same where the reader's certificate holds them so: in all of them together at
most so many pixels differ by more than so many levels.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import reader_witness
from bench.common import environment, rows_so_far, write_rows
from bench.reader_cells import cells
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.images.fast import FastRenderer
from rc_hpc.kernels.painting import seen_pixels
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.reader.convention import Convention, named
from rc_hpc.reader.drawn import Redrawing
from rc_hpc.reader.records import Knowledge, Limits
from rc_hpc.symmetry.labels import label_cell

LIMITS = Limits()
#: Sites of which no more pixels are seen are taken away, and given other elements.
LITTLE_SEEN = 2000
#: Places for a further atom: spacing in Å, part of the pictures' resolution at which discs are
#: tried, and how many of the best are drawn.
SPACING, COARSE, BEST = 0.25, 1 / 3, 3
#: Distances of a further atom from every other, as shares of the sum of covalent radii.
SHARES = (0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
#: An atom is moved, and a vector made longer, by so many tolerances of the label.
FAR = 2.0
HYDROGEN = 1


class Drawings:
    """Draws crystals by one convention through the frozen cameras."""

    def __init__(self, size: int):
        self.convention: Convention = named("C1")
        self.rotations = load_protocol("frozen").rotations
        self.size = size
        self.renderer = FastRenderer()

    def of(self, cell) -> tuple[Any, list, list[np.ndarray]]:
        """Scene, views and pictures of a cell."""
        numbers = np.asarray(cell.numbers, np.int64)
        scene = self.convention.scene(cell.lattice, numbers, cell.positions)
        views = [self.convention.view(scene, one, self.size) for one in self.rotations]
        return scene, views, [self.renderer.draw(scene, view) for view in views]

    def pictures(self, lattice, numbers, positions) -> list[np.ndarray]:
        """Pictures of a crystal."""
        scene = self.convention.scene(lattice, numbers, positions)
        views = [self.convention.view(scene, one, self.size) for one in self.rotations]
        return [self.renderer.draw(scene, view) for view in views]

    def redrawing(self, pictures: list[np.ndarray]) -> Redrawing:
        """What holds other crystals against these pictures."""
        knowledge = Knowledge("K0", self.rotations, self.size, self.convention)
        return Redrawing(pictures, knowledge, LIMITS.levels)


def signature(pictures: list[np.ndarray]) -> np.ndarray:
    """Pixels of each picture and colour that are at most so bright, (V, 3, 32) int32.

    In steps of one level more than the certificate forgives a pixel.
    """
    from PIL import Image

    step = LIMITS.levels
    counts = np.array([Image.fromarray(one).histogram() for one in pictures]).reshape(-1, 3, 256)
    found: np.ndarray = np.cumsum(counts, axis=2)[:, :, ::step].astype(np.int32)
    return found


def least_differing(one: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Pixels that at least differ between pictures of these signatures, (m,) int64.

    Pixels not brighter than t in the one are not brighter than t and the forgiven levels in the
    other, but for those that differ.

    Parameters
    ----------
    one : (V, 3, T)
    others : (m, V, 3, T)
    """
    more = (one[..., :-1] - others[..., 1:]).max(axis=(2, 3))
    less = (others[..., :-1] - one[..., 1:]).max(axis=(2, 3))
    bound: np.ndarray = np.maximum(np.maximum(more, less), 0).sum(axis=1)
    return bound


def possible_pairs(signatures: np.ndarray) -> Iterator[tuple[int, int]]:
    """Pairs of crystals whose signatures do not tell that their pictures differ."""
    for k in range(len(signatures) - 1):
        left = np.arange(k + 1, len(signatures))
        for views in (slice(0, 1), slice(None)):  # one picture settles most
            bound = least_differing(signatures[k, views], signatures[left, views])
            left = left[bound <= LIMITS.max_pixels]
        yield from ((k, int(other)) for other in left)


def seen_of_sites(scene, views, convention, n_sites: int) -> np.ndarray:
    """Pixels of all pictures in which some copy of each site is seen, (n,) int64."""
    line, total = convention.line_px / 2, np.zeros(n_sites, np.int64)
    for view in views:
        seen, _ = seen_pixels(
            view.order, view.centres, view.radii + line, view.middles, view.halves,
            np.full(len(view.middles), line), np.empty((0, 4)), np.zeros(len(view.radii), bool),
            *view.size,
        )  # fmt: skip
        total += seen.reshape(-1, n_sites).sum(axis=0)
    return total


def group_of(lattice, numbers, positions) -> int:
    """Space group at the certificate's tolerance; 0 where there is none."""
    fractional = positions @ np.linalg.inv(lattice)
    found = label_cell(lattice, fractional, numbers, LIMITS.tau)[0]
    return 0 if found is None else found.number


def little_seen(cell, numbers, seen: np.ndarray, redrawing: Redrawing) -> dict[str, Any]:
    """The site of which least is seen: without it, and with the crystal's other elements."""
    site = int(seen.argmin())
    found: dict[str, Any] = {"site": site, "seen": int(seen[site])}
    if len(numbers) == 1 or seen[site] > LITTLE_SEEN:
        return found
    tried = []
    keep = np.arange(len(numbers)) != site
    tried.append((0, numbers[keep], cell.positions[keep]))
    for other in np.unique(numbers[numbers != numbers[site]]):
        changed = numbers.copy()
        changed[site] = other
        tried.append((int(other), changed, cell.positions))
    found["tried"] = [
        [
            other,
            redrawing.draw(cell.lattice, atoms, places).total,
            group_of(cell.lattice, atoms, places),
        ]
        for other, atoms, places in tried
    ]
    return found


def depths(view, discs: int, size: int) -> np.ndarray:
    """Depth of the disc that each pixel of a coarse picture shows, (size, size); -inf: none."""
    found = np.full((size, size), -np.inf)
    for k in view.order[view.order < discs]:
        (u, v), radius = view.centres[k] * COARSE, view.radii[k] * COARSE
        rows = slice(max(0, int(v - radius)), min(size, int(v + radius) + 2))
        columns = slice(max(0, int(u - radius)), min(size, int(u + radius) + 2))
        i, j = np.ogrid[rows, columns]
        found[rows, columns][(j + 0.5 - u) ** 2 + (i + 0.5 - v) ** 2 <= radius**2] = view.depth[k]
    return found


def hidden_places(cell, scene, views, radius_A: float, line_px: float) -> np.ndarray:
    """Places of the cell (m, 3), Å, whose copies are behind discs in all pictures, as grid."""
    from scipy import ndimage

    lengths = np.linalg.norm(cell.lattice, axis=1)
    axes = [np.arange(0, 1, SPACING / length) for length in lengths]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3) @ cell.lattice
    corners = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]) @ cell.lattice
    n, size = len(scene.discs.numbers), int(views[0].size[0] * COARSE)
    for view in views:
        reach = (radius_A * view.px_per_angstrom + line_px / 2) * COARSE + 0.5
        around = np.arange(-int(reach), int(reach) + 1)
        disc = around[:, None] ** 2 + around**2 <= reach**2
        behind = ndimage.minimum_filter(
            depths(view, n, size), footprint=disc, mode="constant", cval=-np.inf
        )
        for corner in corners:
            seen = (grid + corner) @ view.rotation
            places = (view.origin + view.px_per_angstrom * seen[:, :2] * (1, -1)) * COARSE
            column, row = np.clip(places.astype(np.int64), 0, size - 1).T
            grid = grid[behind[row, column] > seen[:, 2] + 1e-3]
        if not len(grid):
            break
    return grid


def apart(cell, numbers, places: np.ndarray, element: int) -> tuple[np.ndarray, np.ndarray]:
    """Least distance of places from any atom: as a share of covalent radii, and in Å, (m,) each."""
    from ase.data import covalent_radii
    from scipy.spatial import cKDTree

    images = np.array([(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)])
    share, near = np.full(len(places), np.inf), np.full(len(places), np.inf)
    for other in np.unique(numbers):
        atoms = (cell.positions[numbers == other][:, None] + images @ cell.lattice).reshape(-1, 3)
        away = cKDTree(atoms).query(places)[0]
        near = np.minimum(near, away)
        share = np.minimum(share, away / (covalent_radii[other] + covalent_radii[element]))
    return share, near


def further(cell, numbers, scene, views, redrawing: Redrawing, elements) -> list[Any]:
    """The further atom farthest from all others that the pictures do not show.

    Element, distance as a share of covalent radii and in Å, pixels that differ, space group,
    position; empty: none is found.
    """
    convention, best = redrawing.knowledge.convention, []
    for element in elements:
        radius = float(convention.radii_A[element])
        places = hidden_places(cell, scene, views, radius, convention.line_px)
        if not len(places):
            continue
        share, near = apart(cell, numbers, places, element)
        for k in np.argsort(-share)[:BEST]:
            if share[k] >= SHARES[0]:
                best.append((float(share[k]), float(near[k]), int(element), places[k]))
    for share_, near_, element, place in sorted(best, key=lambda one: -one[0])[:BEST]:
        atoms, positions = np.append(numbers, element), np.vstack((cell.positions, place))
        pixels = redrawing.draw(cell.lattice, atoms, positions).total
        if pixels <= LIMITS.max_pixels:
            group = group_of(cell.lattice, atoms, positions)
            where = place.round(4).tolist()
            return [element, round(share_, 3), round(near_, 3), pixels, group, where]
    return []


def moved(cell, numbers, site: int, redrawing: Redrawing) -> dict[str, int]:
    """Pixels that differ at least where the label changes: an atom moved, a vector longer."""
    far = FAR * LIMITS.tau
    fractional = cell.positions @ np.linalg.inv(cell.lattice)
    tried = []
    for way in (*np.eye(3), *-np.eye(3)):
        places = np.array(cell.positions)
        places[site] += far * way
        tried.append(("atom", cell.lattice, places))
    for k in range(3):
        lattice = np.array(cell.lattice)
        lattice[k] *= 1 + far / np.linalg.norm(lattice[k])
        tried.append(("vector", lattice, fractional @ lattice))
    found: dict[str, int] = {}
    for what, lattice, places in tried:
        if group_of(lattice, numbers, places) != cell.space_group_conventional:
            pixels = redrawing.draw(lattice, numbers, places).total
            found[what] = min(found.get(what, pixels), pixels)
    return found


def one(cell, drawings: Drawings, moves: bool) -> tuple[dict[str, Any], np.ndarray]:
    """All that is looked for beside one structure; and the signature of its pictures."""
    numbers = np.asarray(cell.numbers, np.int64)
    scene, views, pictures = drawings.of(cell)
    redrawing = drawings.redrawing(pictures)
    seen = seen_of_sites(scene, views, drawings.convention, len(numbers))
    own = np.unique(numbers)
    row: dict[str, Any] = {
        "id": cell.id,
        "sites": len(numbers),
        "label": int(cell.space_group_conventional),
        "least": little_seen(cell, numbers, seen, redrawing),
        "further": further(cell, numbers, scene, views, redrawing, own),
        "hydrogen": further(cell, numbers, scene, views, redrawing, (HYDROGEN,)),
    }
    if moves:
        row["moved"] = moved(cell, numbers, int(seen.argmin()), redrawing)
    return row, signature(pictures)


def every(asked: argparse.Namespace) -> Iterator[Any]:
    """The structures of all files; an id of a later file that an earlier has is passed over."""
    known: set[str] = set()
    for path in asked.packed:
        for cell in cells(argparse.Namespace(**{**vars(asked), "packed": path})):
            if cell.id not in known:
                known.add(cell.id)
                yield cell


def run(asked: argparse.Namespace) -> int:
    """Look until the time is up; the record grows, and is told."""
    prepare_numba_cache()
    path = asked.records / f"{asked.name or 'equal'}.json"
    kept = path.with_suffix(".npz")
    rows: list[dict[str, Any]] = []
    signatures: list[np.ndarray] = []
    if path.is_file() and kept.is_file():
        before = rows_so_far(path, {"size": asked.size})
        if before is None:
            return 2
        rows = before
        signatures = list(np.load(kept)["signatures"])
    done, started, drawings = {row["id"] for row in rows}, time.monotonic(), Drawings(asked.size)
    whole, everything = True, list(every(asked))
    for number, cell in enumerate(everything):
        if cell.id in done:
            continue
        if time.monotonic() - started > asked.seconds:
            whole = False
            print(f"time is up: {len(rows)} of {len(everything)} structures, call it again")
            break
        row, found = one(cell, drawings, asked.moves > 0 and number % asked.moves == 0)
        rows.append(row)
        signatures.append(found)
        if asked.verbose:
            print(json.dumps(row), flush=True)
    pairs = _pairs(rows, signatures, everything, drawings) if whole else None
    _write(path, asked, rows, pairs)
    np.savez_compressed(kept, signatures=np.array(signatures))
    print("\n".join(told(rows, pairs)))
    if asked.draw:
        shown = reader_witness.witnesses(
            rows, pairs, {cell.id: cell for cell in everything}, LIMITS.max_pixels
        )
        print(*reader_witness.draw(drawings, shown, asked.draw), sep="\n")
    return 0


def _pairs(rows, signatures, everything, drawings: Drawings) -> list[list]:
    """Pairs that signatures leave, drawn: ids, pixels that differ, labels."""
    by_id = {cell.id: cell for cell in everything}
    found = []
    for first, second in possible_pairs(np.array(signatures)):
        one_, other = (by_id[rows[k]["id"]] for k in (first, second))
        redrawing = drawings.redrawing(drawings.of(one_)[2])
        numbers = np.asarray(other.numbers, np.int64)
        pixels = redrawing.draw(other.lattice, numbers, other.positions).total
        labels = (rows[first]["label"], rows[second]["label"])
        found.append([one_.id, other.id, pixels, *labels])
    return found


def _write(path: Path, asked, rows, pairs) -> None:
    record = {"name": path.stem, **environment(), "arguments": {"size": asked.size}}
    write_rows(path, record | {"pairs": pairs}, rows)


def told(rows: list[dict[str, Any]], pairs: list[list] | None) -> list[str]:
    """What the search has found, in words that say no more."""
    n, most = len(rows), LIMITS.max_pixels
    lines = [f"{n} structures; the same: at most {most} pixels differ by over {LIMITS.levels}"]
    if pairs is not None:
        same = [pair for pair in pairs if pair[2] <= most]
        two = [pair for pair in same if pair[3] != pair[4]]
        lines += [
            f"pairs of structures: {n * (n - 1) // 2}, of which signatures leave {len(pairs)}; "
            f"{len(same)} draw the same pictures, {len(two)} of these have two labels",
            *(f"  {pair}" for pair in two[:20]),
        ]
    least = [row["least"] for row in rows]
    tried = [(row, *one_) for row in rows for one_ in row["least"].get("tried", ())]
    same_ = [one_ for one_ in tried if one_[2] <= most]
    other = [one_ for one_ in same_ if one_[3] != one_[0]["label"]]
    lines.append(
        f"site least seen of a structure: {sum(one_['seen'] == 0 for one_ in least)} unseen, "
        f"fewest pixels seen {min((one_['seen'] for one_ in least), default=0)}; without it "
        f"or with another element there: {len({one_[0]['id'] for one_ in tried})} structures "
        f"(at most {LITTLE_SEEN} pixels seen), {len(tried)} drawn: {len(same_)} the same, "
        f"{len(other)} of them with another label"
        + (f", fewest pixels that differ {min(o[2] for o in tried)}" if tried else "")
    )
    for what, words in (("further", "an element of the crystal"), ("hydrogen", "hydrogen")):
        some = [row[what] for row in rows if row[what]]
        counts = [f"{sum(one_[1] >= share for one_ in some)} at {share:g}" for share in SHARES]
        labels = sum(row[what][4] != row["label"] for row in rows if row[what])
        lines.append(
            f"a further atom of {words} that the pictures do not show, at least so many sums of "
            f"covalent radii from every other: {', '.join(counts)}; {labels} with another label"
        )
    for what in ("atom", "vector"):
        pixels = [row["moved"][what] for row in rows if what in row.get("moved", {})]
        missed = sum(count <= most for count in pixels)
        lines.append(
            f"{what} {'moved' if what == 'atom' else 'longer'} by {FAR * LIMITS.tau:g} Å, label "
            f"changed: {len(pixels)} structures, {missed} not noticed, fewest pixels "
            f"{min(pixels, default=0)}"
        )
    return lines
