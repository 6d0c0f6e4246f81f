"""An older checkout of this repository and this one, in alternating rounds: what became faster.

``python -m bench.before CHECKOUT WORK [--rounds 3] [--copies 11] [--limit N]``

CPU seconds, summed over all processes of a command, of:

- kernel: all 26 subsets, as ``bench/run.py kernel`` of each checkout measures them;
- grow: cells of 100 to 100,000 atoms, as ``bench.scaling`` of each checkout measures one;
- start: a census of eight structures on an empty kernel cache, and again on a filled one;
- pack, census: from CIF texts to a packed file, and from it to the census, beside spglib's own time
  in the calls that the census makes; of the released structures, else the prototypes, and of
  `--copies` copies of them with ids of their own;
- ranks: the census of the copies by one and by two ranks.

Each measurement of a round is a piece in WORK: stopped and started again, the program goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.common import ROOT, shared_folder, write_record
from bench.end_to_end import child_environment, command, run
from bench.pieces import Pieces
from bench.ranks import mpiexec

SIZES = (100, 1_000, 10_000, 100_000)


@dataclass(frozen=True)
class Tree:
    """A checkout: its name in the record, its folder, and a folder of what it makes."""

    name: str
    root: Path
    made: Path

    def run(self, words: list[str], cache: Path | None = None) -> float:
        """CPU seconds of a program of this checkout, its children included.

        Raises
        ------
        subprocess.CalledProcessError
            It failed; its messages are on standard error.
        """
        return float(run(words, self.root, cache)["cpu_s"])

    def watched(self, module: str, source: Path | str, output: Path) -> dict[str, Any]:
        """CPU seconds of a command, and of spglib in its labels, under the stopwatch."""
        stages = self.made / "stages.json"
        cpu = self.run(command(module, str(source), output, stages))
        rows = json.loads(stages.read_text())["stages"]
        spglib = sum(row["cpu_s"] for row in rows if row["stage"] == "spglib in labels")
        return {"watched_cpu_s": cpu, "spglib_cpu_s": spglib}

    def packed(self, name: str) -> Path:
        """Where this checkout keeps what it packed."""
        return self.made / f"{name}.packed.h5"

    def pack(self, source: Path, name: str) -> float:
        """CPU seconds of packing."""
        return self.run(command("pack", str(source), self.packed(name)))

    def census(self, name: str) -> dict[str, Any]:
        """CPU seconds of a census, plain and under the stopwatch."""
        packed, output = self.packed(name), self.made / "census.h5"
        plain = self.run(command("census", str(packed), output))
        return {"cpu_s": plain} | self.watched("census", packed, output)

    def ranks(self, name: str, short: str) -> dict[str, float]:
        """CPU seconds of a census by one rank and by two, both under the launcher."""
        cpu = {}
        for number in ("1", "2"):
            for source in (short, name):  # ranks may have a kernel cache of their own: filled first
                words = command("census", str(self.packed(source)), self.made / "census.h5")
                cpu[number] = self.run([mpiexec(), "-n", number, *words])
        return cpu

    def kernel(self, every: int) -> dict[str, float]:
        """Milliseconds of CPU of the kernel and of the twin, means over structures."""
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, "bench/run.py", "--records", folder, "kernel"]
            self.run([*words, "--every", str(every), "--rounds", "1"])
            record = json.loads((Path(folder) / "kernel.json").read_text())
        return kernel_means(record)

    def grow(self, size: int) -> dict[str, Any]:
        """One big cell."""
        done = subprocess.run(
            [sys.executable, "-m", "bench.scaling", str(size), "0.01", "0.01", "1"],
            check=True,
            cwd=self.root,
            env=child_environment(self.root),
            text=True,
            stdout=subprocess.PIPE,
        )
        return json.loads(done.stdout)

    def start(self, eight: Path) -> dict[str, float]:
        """CPU seconds of a short census on an empty and on a filled kernel cache."""
        packed, output = self.packed("eight"), self.made / "census.h5"
        if not packed.exists():
            self.pack(eight, "eight")
        with tempfile.TemporaryDirectory() as folder:
            line = command("census", str(packed), output)
            empty, filled = (self.run(line, Path(folder)) for _ in range(2))
        return {"empty": empty, "filled": filled}


def kernel_means(record: dict[str, Any]) -> dict[str, float]:
    """Mean over structures of each kernel's median CPU milliseconds, and of the twin's."""
    found = {}
    for what in ("kernel", "twin"):
        for setting in record["structures"][0][what]:
            medians = [
                sorted(cpu for cpu, _ in row[what][setting])[len(row[what][setting]) // 2]
                for row in record["structures"]
            ]
            found[f"{what}, {setting}"] = 1e3 * sum(medians) / len(medians)
    return found


def sources(work: Path, copies: int, limit: int | None) -> dict[str, Path]:
    """Files of CIF texts: eight structures, all, and `copies` of all under ids of their own."""
    shared = shared_folder()
    if shared is None:
        raise SystemExit("the released structures are not here: set RC_HPC_SHARED")
    entries = json.loads((shared / "data" / "e3" / "structures.json").read_text())
    entries = dict(list(entries.items())[:limit])
    wanted = {
        "eight": dict(list(entries.items())[:8]),
        "once": entries,
        "copies": {f"{key}-{n}": entry for n in range(copies) for key, entry in entries.items()},
    }
    for name, held in wanted.items():
        (work / f"{name}.json").write_text(json.dumps(held), encoding="utf-8")
    return {name: work / f"{name}.json" for name in wanted}


def measure(
    checkout: Path, work: Path, rounds: int, copies: int, limit: int | None
) -> dict[str, Any]:
    """All rows, the older checkout first in even rounds, this one first in odd ones."""
    pieces = Pieces(work / "pieces")
    trees = []
    for name, root in (("before", checkout.resolve()), ("after", ROOT)):
        made = work / name
        made.mkdir(exist_ok=True)
        trees.append(Tree(name, root, made))
    files = sources(work, copies, limit)
    every = 10 if limit is None else 1
    found: dict[str, list[Any]] = {}
    for number in range(rounds):
        for tree in trees if number % 2 == 0 else reversed(trees):
            steps: dict[str, Any] = {"start": partial(tree.start, files["eight"])}
            steps["kernel"] = partial(tree.kernel, every)
            steps |= {f"grow {size}": partial(tree.grow, size) for size in SIZES}
            for name in ("once", "copies"):
                if number == 0 or name == "once":
                    steps[f"pack {name}"] = partial(tree.pack, files[name], name)
                steps[f"census {name}"] = partial(tree.census, name)
            steps["ranks"] = partial(tree.ranks, "copies", "eight")
            for step, make in steps.items():
                piece = f"{number} {tree.name} {step}"
                kept = pieces.get(piece, make, copies=copies, limit=limit)
                found.setdefault(f"{step}, {tree.name}", []).append(kept)
    return found


def rows(found: dict[str, list[Any]]) -> list[list[Any]]:
    """What is measured, before, after, and before over after: from medians of the rounds."""

    def of(step: str, tree: str, key: str = "") -> float:
        kept = found[f"{step}, {tree}"]
        return statistics.median(row[key] if key else row for row in kept)

    def both(name: str, figure: Callable[[str], float]) -> list[Any]:
        before, after = figure("before"), figure("after")
        return [name, before, after, before / after]

    def census(which: str, tree: str) -> float:
        return of(f"census {which}", tree, "cpu_s")

    def over_spglib(which: str, tree: str) -> float:
        return census(which, tree) / of(f"census {which}", tree, "spglib_cpu_s")

    def chain(which: str, tree: str) -> float:
        return of(f"pack {which}", tree) + census(which, tree)

    def two_ranks(tree: str) -> float:
        return 2 * of("ranks", tree, "1") / of("ranks", tree, "2")

    def compiling(tree: str) -> float:
        return of("start", tree, "empty") - of("start", tree, "filled")

    def grown(tree: str) -> float:
        few, many = (of(f"grow {size}", tree, "cpu_s") for size in (SIZES[0], SIZES[-1]))
        return math.log(many / few) / math.log(SIZES[-1] / SIZES[0])

    kernels = [name for name in found["kernel, after"][0] if name.startswith("kernel")]
    made = [both(f"{name}: ms a structure", partial(of, "kernel", key=name)) for name in kernels]
    for name, which in (("", "once"), (" of the copies", "copies")):
        made += [
            both(f"pack{name}, CPU s", partial(of, f"pack {which}")),
            both(f"census{name}, CPU s", partial(census, which)),
            both(f"census{name}, over spglib in its labels", partial(over_spglib, which)),
            both(f"pack and census{name}, CPU s", partial(chain, which)),
        ]
    made += [
        both(f"a cell of {size:,} atoms, CPU s", partial(of, f"grow {size}", key="cpu_s"))
        for size in SIZES
    ]
    return [
        *made,
        both("growth from the smallest to the largest, exponent", grown),
        both("two ranks: twice the CPU s of one over theirs", two_ranks),
        both("a first census on an empty kernel cache, beyond a later one, CPU s", compiling),
        both("start: a census of eight structures, CPU s", partial(of, "start", key="filled")),
    ]


def main(argv: list[str] | None = None) -> int:
    """Measure and write the record."""
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("checkout", type=Path, help="an older checkout of this repository")
    p.add_argument("work", type=Path, help="folder of finished pieces and files")
    p.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    p.add_argument("--copies", type=int, default=11, help="default: %(default)s")
    p.add_argument("--limit", type=int, help="of the released structures, for a trial")
    p.add_argument("--records", type=Path, help="folder of the record; default: WORK")
    args = p.parse_args(argv)
    args.work.mkdir(parents=True, exist_ok=True)
    asked = {
        "measurement": "before",
        "rounds": args.rounds,
        "load_before": [round(x, 2) for x in os.getloadavg()],
    }
    asked |= {"copies": args.copies, "limit": args.limit}
    log = ["git", "log", "-1", "--format=%h of %cs"]
    done = subprocess.run(log, cwd=args.checkout, check=True, text=True, stdout=subprocess.PIPE)
    found = measure(args.checkout, args.work.resolve(), args.rounds, args.copies, args.limit)
    results = {"checkout": done.stdout.strip(), "found": found}
    print(write_record("before", asked, results, args.records or args.work))
    return 0


if __name__ == "__main__":
    sys.exit(main())
