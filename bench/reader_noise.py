"""Pictures as users have them: other conventions, cameras, sizes, spoilt pixels, fewer views.

`noise` draws structures in each condition and reads them knowing the convention and the cameras;
what was done to the pixels afterwards the reader is not told. `views` leaves pictures out, and
holds what is read against what the exact projections of the same cameras determine.
"""

from __future__ import annotations

import argparse
import collections
import io
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.common import environment, rows_so_far, write_rows
from bench.reader_cells import cells, right, tried, whole
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.vocabulary import COLOURS
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.images import conventions
from rc_hpc.images.reference import AseRenderer
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.reader.convention import named
from rc_hpc.symmetry.labels import crystal_system

#: Readings after which the record is written.
SAVED = 20
#: Cameras that `python -m rc_hpc.sweep design` found.
DESIGNED = Path(__file__).parent / "designed.toml"
Spoil = Callable[[np.ndarray, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Condition:
    """How pictures are drawn, and what becomes of them.

    Attributes
    ----------
    kind, value
        What is varied, and how far.
    drawn_px
        Size as drawn.
    size_px
        Size as read.
    convention, protocol
        Names; a protocol may be a file.
    spoil
        What is done to each picture; None: nothing.
    renderer
        What draws; None: the usual one.
    level
        What is known.
    views
        Pictures that are read; 0: all.
    colours
        See `rc_hpc.kinds.readings.options.ReadingsOptions`.
    """

    kind: str
    value: float | str
    drawn_px: int = 768
    size_px: int = 768
    convention: str = "C1"
    protocol: str = "frozen"
    spoil: Spoil | None = None
    renderer: Callable[[], Any] | None = None
    level: str = "K0"
    views: int = 0
    colours: str = COLOURS[0]

    @property
    def name(self) -> str:
        """As rows have it."""
        return f"{self.kind} {self.value}"


def compressed(quality: int) -> Spoil:
    """JPEG at this quality, and back."""

    def spoil(pixels: np.ndarray, _rng: np.random.Generator) -> np.ndarray:
        from PIL import Image

        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "JPEG", quality=quality)
        return np.asarray(Image.open(file).convert("RGB"))

    return spoil


def noisy(sigma: float) -> Spoil:
    """Gaussian noise of each colour of each pixel, grey levels."""

    def spoil(pixels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        moved = pixels + rng.normal(0.0, sigma, pixels.shape)
        return np.asarray(np.clip(np.rint(moved), 0, 255), np.uint8)

    return spoil


def halved(pixels: np.ndarray, _rng: np.random.Generator) -> np.ndarray:
    """Half as wide and high, by Lanczos' filter."""
    from PIL import Image

    image = Image.fromarray(pixels)
    small = image.resize((image.width // 2, image.height // 2), Image.Resampling.LANCZOS)
    return np.asarray(small)


def conditions() -> list[Condition]:
    """What `noise` goes through."""
    made = [
        Condition("convention", name, convention=name, protocol=known.protocol)
        for name, known in conventions.CONVENTIONS.items()
    ]
    # A single cell shows no displacement that tells its lattice.
    made += [Condition("convention", f"{c} K1", convention=c, level="K1") for c in ("C2", "C5")]
    made.append(Condition("cameras", "designed", protocol=str(DESIGNED)))
    made += [Condition("size", px, px, px) for px in (256, 384, 512, 1024, 1536)]
    made.append(Condition("renderer", "ASE", renderer=AseRenderer))
    made += [Condition("JPEG quality", q, spoil=compressed(q)) for q in (95, 85, 75, 60)]
    made.append(Condition("resampled", "1536 to 768", 1536, spoil=halved))
    made += [Condition("noise", s, spoil=noisy(s)) for s in (1, 2, 4)]
    mild = [("noise", s, noisy(s)) for s in (1, 2, 4)] + [("JPEG quality", 95, compressed(95))]
    return made + [
        Condition(f"{kind}, nearest colours", value, spoil=spoil, colours="nearest")
        for kind, value, spoil in mild
    ]


def fewer() -> list[Condition]:
    """What `views` goes through."""
    known = [Condition("views, K0", count, views=count) for count in (5, 4, 3)]
    return known + [Condition("views, K1", count, level="K1", views=count) for count in (3, 2)]


def chosen(asked: argparse.Namespace) -> list:
    """Structures of each crystal system, drawn by the seed."""
    every = cells(asked)
    rng = np.random.default_rng(asked.seed)
    picked = []
    for system in CRYSTAL_SYSTEMS:
        own = [cell for cell in every if crystal_system(int(cell.space_group)) == system]
        order = rng.permutation(len(own))[: asked.each]
        picked += [own[at] for at in sorted(order)]
    return picked


def measured(cell, condition: Condition, seed: int) -> dict[str, Any]:
    """One structure in one condition: a row."""
    rng = np.random.default_rng([seed, *cell.id.encode()])
    convention = named(condition.convention)
    protocol = load_protocol(condition.protocol, convention.tiling)
    used = np.arange(len(protocol.views))
    more: dict[str, Any] = {}
    if condition.views:
        used = np.sort(rng.permutation(used)[: condition.views])
        more["cameras"] = "+".join(protocol.views[at] for at in used)
        more["exact"] = exact(cell, more["cameras"], convention.tiling)
    spoil = condition.spoil
    row = tried(
        cell,
        condition.level,
        condition.drawn_px,
        condition.size_px,
        convention,
        protocol.rotations[used],
        None if spoil is None else lambda pixels: spoil(pixels, rng),
        None if condition.renderer is None else condition.renderer(),
        condition.colours,
    )
    return {"condition": condition.name} | row | more


def exact(cell, cameras: str, tiling: Sequence[int]) -> bool:
    """R1: whether the exact projections on these cameras give the crystal system."""
    import rc_hpc

    found = rc_hpc.ceiling(
        (cell.lattice, cell.positions, np.asarray(cell.numbers)),
        subsets=cameras,
        tiling=",".join(map(str, tiling)),
        quarantine="keep",
    )
    return bool(found.subsets.loc[cameras, "correct_crystal_system"])


def run(asked: argparse.Namespace) -> int:
    """Go through the conditions until the time is up; the record grows."""
    prepare_numba_cache()
    path = asked.records / f"{asked.name}.json"
    arguments = {"seed": asked.seed}
    rows = rows_so_far(path, arguments)
    if rows is None:
        return 2
    done = {(row["condition"], row["id"]) for row in rows}
    wanted = [one for one in asked.conditions() if not asked.only or one.kind in asked.only]
    started = time.monotonic()
    todo = [
        (one, cell) for one in wanted for cell in chosen(asked) if (one.name, cell.id) not in done
    ]
    for number, (condition, cell) in enumerate(todo):
        if time.monotonic() - started > asked.seconds:
            print(f"time is up: {len(todo) - number} readings are left, call it again")
            break
        rows.append(measured(cell, condition, asked.seed))
        if asked.verbose:
            print(json.dumps(rows[-1]), flush=True)
        if number % SAVED == 0:
            _save(path, asked, rows)
    _save(path, asked, rows)
    print(table(path))
    return 0


def _save(path: Path, asked: argparse.Namespace, rows: list[dict]) -> None:
    """Write the record, in the order of the conditions."""
    order = {one.name: at for at, one in enumerate(asked.conditions())}
    rows.sort(key=lambda row: order.get(row["condition"], len(order)))
    record = {"name": asked.name, **environment(), "arguments": {"seed": asked.seed}}
    write_rows(path, record, rows)


def by_condition(rows: Iterable[dict]) -> dict[str, list[dict]]:
    """Rows in order, by their condition."""
    found: dict[str, list[dict]] = {}
    for row in rows:
        found.setdefault(row["condition"], []).append(row)
    return found


def table(path: Path) -> str:
    """What a record holds, as Markdown."""
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    with_exact = any("exact" in row for row in rows)
    lines = [
        f"| condition | n |{' R1 |' * with_exact} R2 | certified | certified and wrong | sites | "
        "CPU s, median | how readings ended |",
        "|---" * (8 + with_exact) + "|",
    ]
    for name, own in by_condition(rows).items():
        wrong = [row["id"] for row in own if row["certified"] and not (right(row) and whole(row))]
        ended = collections.Counter(row["status"] for row in own).most_common()
        seconds = np.median([row["detect_s"] + row["read_s"] for row in own])
        exact_ = f" {sum(row['exact'] for row in own)} |" if with_exact else ""
        lines.append(
            f"| {name} | {len(own)} |{exact_} {sum(map(right, own))} | "
            f"{sum(row['certified'] for row in own)} | {' '.join(wrong) or 0} | "
            f"{sum(map(whole, own))} | {seconds:.1f} | "
            f"{', '.join(f'{status} {count}' for status, count in ended)} |"
        )
    return "\n".join(lines)
