"""Reading crystals from pictures: what is read right, what is certified, where it fails.

`read` draws packed structures, finds their discs, reads them knowing only what the level allows,
and holds the readings against the structures. It adds to its record until its time is up, and goes
on there the next time; `table` prints what the records hold. `rungs` gives the reader ever less:
true centres of the visible discs, of all discs, centres that were found. `power` moves one atom of
the truth and counts what the certificate would see. `noise` and `views`: see `bench.reader_noise`.
`released` repeats the released study's own reading beside its record; `equal` looks for other
crystals with the same pictures.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench import detector, reader_controls, reader_equal, reader_noise, reader_released
from bench.common import RECORDS, environment, rows_so_far, write_rows
from bench.reader_cells import cells, right, tried, whole
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.parallel.cache import prepare_numba_cache
from rc_hpc.reader.convention import named
from rc_hpc.symmetry.labels import crystal_system

TOLERANCES = (0.01, 0.02, 0.03, 0.05, 0.1)
#: Atoms from which on structures are of the next size.
SIZES = (1, 9, 17, 33)


def run(asked: argparse.Namespace) -> int:
    """Read until the time is up; the record grows."""
    prepare_numba_cache()
    path = asked.records / f"{asked.name}.json"
    arguments = {"level": asked.level, "size": asked.size, "views": asked.views}
    rows = rows_so_far(path, arguments)
    if rows is None:
        return 2
    done = {row["id"] for row in rows}
    convention, rotations = named("C1"), load_protocol("frozen").rotations
    rotations = rotations[[int(view) for view in asked.views]]
    started = time.monotonic()
    for cell in cells(asked):
        if cell.id in done:
            continue
        if time.monotonic() - started > asked.seconds:
            print(f"time is up: {len(rows)} structures so far, call it again")
            break
        rows.append(tried(cell, asked.level, asked.size, asked.size, convention, rotations))
        if asked.verbose:
            print(json.dumps(rows[-1]), flush=True)
    write_rows(path, {"name": asked.name, **environment(), "arguments": arguments}, rows)
    print(f"{path.name}: {len(rows)} structures")
    return 0


def cause(row: dict) -> str:
    """Where a reading that is not right and whole, or not certified, failed."""
    if row["status"] not in ("read", "uncertified"):
        return row["status"]
    if row["missing"] == row["sites"]:
        return "no lattice of the crystal"
    if not whole(row):
        return "sites missing or extra"
    if not right(row):
        return "label of a whole reading"
    return "whole and right, not certified" if not row["certified"] else ""


def table(asked: argparse.Namespace) -> int:
    """Print what the records hold."""
    for path in sorted(asked.records.glob("reader_read*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        rows = record["rows"]
        print(f"\n## {record['name']}: {record['arguments']}\n")
        print("| | n | system | space group | sites | certified | certified and wrong |")
        print("|---|---|---|---|---|---|---|")
        groups: dict[str, list[dict]] = {"all": rows}
        groups["without triclinic"] = [r for r in rows if r["truth"] > 2]
        for row in rows:
            groups.setdefault(crystal_system(row["truth"]), []).append(row)
        for least, most in itertools.pairwise(SIZES):
            inside = [row for row in rows if least <= row["sites"] < most]
            groups[f"{least} to {most - 1} atoms"] = inside
        groups[f"{SIZES[-1]} atoms and more"] = [row for row in rows if row["sites"] >= SIZES[-1]]
        for name, some in groups.items():
            bad = [r for r in some if r["certified"] and not (right(r) and whole(r))]
            print(
                f"| {name} | {len(some)} | {sum(map(right, some))} | "
                f"{sum(r['numbers'][0] == r['truth'] for r in some)} | {sum(map(whole, some))} | "
                f"{sum(r['certified'] for r in some)} | {len(bad)} |"
            )
        told = [sum(right(row, k) for row in rows) for k in range(len(TOLERANCES))]
        print(f"\nsystem right at symprec {TOLERANCES}: {told}")
        seconds = np.array([[row["detect_s"], row["read_s"]] for row in rows])
        middle, total = np.median(seconds, axis=0), seconds.sum(1)
        print(
            f"CPU s: discs {middle[0]:.2f}, reading {middle[1]:.2f} (medians), in all "
            f"{np.median(total):.2f} median, {total.mean():.2f} mean, {total.max():.1f} largest"
        )
        causes = collections.Counter(filter(None, map(cause, rows)))
        for name, count in causes.most_common():
            ids = [
                f"{row['id']} {crystal_system(row['truth'])} {row['sites']}"
                for row in rows
                if cause(row) == name
            ]
            print(f"{name}: {count} ({', '.join(ids)})")
    for path in (asked.records / f"reader_{what}.json" for what in ("noise", "views")):
        if path.is_file():
            print(f"\n## {path.stem}\n\n{reader_noise.table(path)}")
    return 0


def main() -> int:
    """Read, find discs or print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, default=RECORDS / "reader")
    commands = parser.add_subparsers(dest="what", required=True)
    reads = commands.add_parser("read", help="draw, read, compare")
    reads.add_argument("--views", default="01234", help="cameras, by their numbers from 0")
    reads.add_argument("--level", default="K0", choices=("K0", "K1", "K2"))
    reads.add_argument("--seconds", type=float, default=540.0, help="of a piece of work")
    reads.set_defaults(go=run)
    control = commands.add_parser("rungs", help="where sites are lost, rung by rung")
    control.set_defaults(go=reader_controls.rungs)
    moves = commands.add_parser("power", help="which movements the certificate sees")
    moves.set_defaults(go=reader_controls.power)
    repeats = commands.add_parser("released", help="the released study's reading, repeated")
    repeats.add_argument("--seeds", type=int, default=2, help="of the dropout curve")
    repeats.set_defaults(go=reader_released.run)
    equals = commands.add_parser("equal", help="other crystals with the same pictures")
    equals.add_argument("--seconds", type=float, default=540.0, help="of a piece of work")
    equals.add_argument("--moves", type=int, default=10, help="move an atom of every N-th; 0: none")
    equals.add_argument("--draw", type=Path, metavar="DIR", help="pictures of what is found")
    equals.set_defaults(go=reader_equal.run)
    for one_ in (reads, control, moves, repeats, equals):
        several: dict[str, Any] = {"nargs": "+"} if one_ is equals else {}
        one_.add_argument("packed", type=Path, help="packed structures", **several)
        one_.add_argument("--size", type=int, default=768, help="px")
        one_.add_argument("--every", type=int, default=1, help="take every N-th structure")
        one_.add_argument("--ids", type=Path, help="only the ids in this file")
        one_.add_argument("--name", help="of the record")
        one_.add_argument("-v", "--verbose", action="store_true", help="print every row")
    for what, conditions in (
        ("noise", reader_noise.conditions),
        ("views", reader_noise.fewer),
    ):
        varied = commands.add_parser(what, help=f"read {conditions.__name__} conditions")
        varied.add_argument("packed", type=Path, help="packed structures")
        varied.add_argument("--each", type=int, default=6, help="structures of a crystal system")
        varied.add_argument("--seed", type=int, default=0, help="of their choice, and of noise")
        varied.add_argument("--only", nargs="+", help="kinds of conditions", metavar="KIND")
        varied.add_argument("--seconds", type=float, default=540.0, help="of a piece of work")
        varied.add_argument("--name", default=f"reader_{what}", help="of the record")
        varied.add_argument("-v", "--verbose", action="store_true", help="print every row")
        varied.set_defaults(go=reader_noise.run, conditions=conditions, ids=None, every=1)
    finds = commands.add_parser("detector", help="draw, find the discs, compare")
    finds.add_argument("packed", type=Path, help="packed structures")
    finds.add_argument("--sizes", type=int, nargs="+", default=(384, 768, 1536), help="px")
    finds.add_argument("--ids", type=Path, help="only the ids in this file")
    finds.add_argument("--every", type=int, default=1, help="take every N-th structure")
    finds.add_argument("--most", type=int, default=20, help="structures at most")
    finds.set_defaults(go=detector.run)
    commands.add_parser("table", help="print the records").set_defaults(go=table)
    asked = parser.parse_args()
    if asked.what == "read" and not asked.name:
        views = "" if asked.views == "01234" else f"_views{asked.views}"
        asked.name = f"reader_read_{asked.level}_{asked.size}{views}"
    return int(asked.go(asked))


if __name__ == "__main__":
    sys.exit(main())
