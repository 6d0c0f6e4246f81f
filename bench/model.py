"""How long pack and census of many structures take on many ranks: each term measured here.

Constants are CPU seconds on this machine: of real structures, and of the parts of their census,
copied under other ids until there are as many rows as asked for. What no machine of one node can
tell, latencies and bandwidths, are parameters. Each constant is a piece, kept in the folder that
`work` names: a run that was stopped goes on there. Run as a program it is one rank of the merge.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.common import ROOT
from bench.end_to_end import command, packed_file, run
from bench.pieces import Pieces
from bench.queueing import SIMULATED, check, idle_shares
from bench.ranks import mpiexec

#: Rows of a batch in packing.
PACKED_TOGETHER = 128
#: What the prediction knows nothing of.
LEFT_OUT = (
    "several nodes and their network, but for the bandwidth given",
    "file systems of many clients, but for the latencies given",
    "structures that crash or reach their CPU budget",
    "cells of more atoms than those measured",
    "the start of the batch system",
)


def measure(
    structures: float = 1.9e6,
    ranks: tuple[int, ...] = (1024,),
    rows: int = 1 << 15,
    counts: tuple[int, ...] = (1, 2, 8),
    packed: Path | None = None,
    work: Path | None = None,
    open_ms: float = 1.0,
    sync_ms: float = 2.0,
    draw_us: float = 50.0,
    bandwidth: float = 2e9,
    disk: float = 1e9,
    rounds: int = 2,
) -> dict:
    """Constants, prediction by term and simulation of the queue.

    Parameters
    ----------
    structures, ranks
        Of the prediction.
    rows
        Real rows that are merged here.
    counts
        Ranks that merge them here: more than there are cores tells of messages only.
    packed
        A packed file; by default the evaluation structures, packed first.
    work
        Folder of the finished pieces; by default one that is removed at the end.
    open_ms, sync_ms, draw_us
        Of opening a file, of bringing one to the disk, and of a draw from the queue.
    bandwidth, disk
        Of messages to one rank and of one file, bytes a second.
    rounds
        Of which medians are taken.
    """
    n, draw_s = int(structures), draw_us / 1e6
    with ExitStack() as stack:
        folder = work or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rc-bench-")))
        pieces = Pieces(folder)
        constants = _constants(pieces, packed, rows, counts, rounds)
        of_rows = {name: constants.pop(name) for name in list(constants) if name.endswith("_row_s")}
        queue = [
            pieces.get(
                f"queue-{count}",
                partial(idle_shares, of_rows, n, count, draw_s),
                n=n,
                draw_s=draw_s,
                work=of_rows,
            )
            for count in sorted({*SIMULATED, *ranks})
        ]
        two = pieces.get(
            "queue-check",
            lambda: check(of_rows, Path(constants["packed_file"]), folder, [mpiexec()], rounds),
            rounds=rounds,
            work=of_rows,
        )
    machine = {
        "open_s": open_ms / 1e3,
        "sync_s": sync_ms / 1e3,
        "draw_s": draw_s,
        "bandwidth": bandwidth,
        "disk": disk,
    }
    costs = np.resize(1e3 * np.array(of_rows["believed_row_s"]), n)
    idle = {row["ranks"]: row | {"batches": _cut(costs, row["ranks"])} for row in queue}
    predicted = [
        predict(constants, machine, n, count, idle[count])
        for count in dict.fromkeys((16, 128, *ranks))
    ]
    for one in predicted:
        show(one)
    del constants["packed_file"]
    return {
        "constants": constants,
        "machine": machine,
        "predicted": predicted,
        "queue": queue,
        "queue_check": two,
        "left_out": list(LEFT_OUT),
    }


# ------------------------------------------------------------------------------ constants


def _constants(
    pieces: Pieces, given: Path | None, rows: int, counts: tuple[int, ...], rounds: int
) -> dict[str, Any]:
    folder = pieces.folder
    census = folder / "census.h5"

    def sample() -> dict[str, str]:
        name, packed, source, more = packed_file(given, folder, True)
        if source:
            run(command("pack", source, packed, None, more))
        run(command("census", str(packed), census))
        return {"set": name, "packed_file": str(packed)}

    found = pieces.get("sample", sample, given=str(given))
    packed = Path(found["packed_file"])
    found["start_s"] = pieces.get("start", lambda: _start(rounds), rounds=rounds)
    found |= pieces.get("work", lambda: _work(packed, rounds), rounds=rounds, given=str(given))
    found["listing"] = pieces.get("listing", lambda: _listing(folder, rows), rows=rows)
    for kind, file in (("packed", packed), ("census", census)):
        found[kind] = pieces.get(
            f"merge-{kind}",
            partial(_merge, folder, kind, file, rows, rounds),
            rows=rows,
            rounds=rounds,
        )
        found[kind]["by_ranks"] = [
            pieces.get(
                f"merge-{kind}-{count}",
                partial(_by_ranks, folder, kind, count),
                rows=rows,
            )
            for count in counts
        ]
        if len({one["content_hash"] for one in found[kind]["by_ranks"]}) > 1:
            raise SystemExit(f"{kind}: the merge depends on the number of ranks")
    merged = folder / "packed-merged.h5"
    found["reading"] = pieces.get("reading", partial(_reading, merged, rounds), rows=rows)
    return found


def _start(rounds: int) -> float:
    """CPU seconds until a rank has imported what it needs, kernels loaded."""
    program = (
        "import time; from rc_hpc.parallel.cache import prepare_numba_cache as p; p();"
        "import rc_hpc.engine.command; from rc_hpc.kinds.census.work import warm;"
        "from rc_hpc.kinds.census.options import CensusOptions as C; warm(C.of());"
        "print(time.process_time())"
    )
    command = [sys.executable, "-c", program]
    done = [
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True) for _ in range(rounds)
    ]
    return float(np.median([float(one.stdout.split()[-1]) for one in done]))


def _work(packed: Path, rounds: int) -> dict[str, Any]:
    """CPU seconds of packing and of the census of each structure that is packed, here.

    And what the queue of a census believes of it.
    """
    from rc_hpc.engine.memory import read_packed
    from rc_hpc.engine.rows import compute_row
    from rc_hpc.kinds.census.options import CensusOptions
    from rc_hpc.kinds.common.given import Given
    from rc_hpc.kinds.packed.oracle import pack_structure
    from rc_hpc.kinds.packed.reader import packed_cell
    from rc_hpc.kinds.packed.schema import STRUCTURES
    from rc_hpc.kinds.registry import KINDS
    from rc_hpc.store.batch import empty_batch
    from rc_hpc.structures.record import Structure

    kind, options = KINDS["census"], CensusOptions.of()
    table = read_packed(packed, options.pack)
    oracle = kind.load("oracle")(options, Given())
    times: dict[str, list[list[float]]] = {"pack": [], "census": []}
    oracle(packed_cell(table.batch, 0, table.child("atoms", 0)))  # loads what is loaded once
    for _ in range(rounds):
        batch = empty_batch(kind.load("schema"), len(table), kind.load("dims")(options))
        for column in STRUCTURES:
            batch[column.path][:] = table.batch[column.path]
        clock = [time.process_time()]
        for row in range(len(table)):
            atoms = table.child("atoms", row)
            cell = partial(packed_cell, batch, row, atoms)
            compute_row(batch, row, cell, oracle, drop=False)
            clock.append(time.process_time())
        times["census"].append(np.diff(clock).tolist())
        clock = [time.process_time()]
        for row in range(len(table)):
            atoms = table.child("atoms", row)
            lattice = table.batch["structures/lattice"][row]
            frac = atoms["position"] @ np.linalg.inv(lattice)
            one = Structure("x", lattice, frac, atoms["number"].astype(np.int32), "", "", "")
            pack_structure(one, options.pack, {})
            clock.append(time.process_time())
        times["pack"].append(np.diff(clock).tolist())
    each = {stage: np.median(rows, axis=0) for stage, rows in times.items()}
    believed = kind.load("costs")(options, None, lambda name: table.batch[f"structures/{name}"])
    return {
        "pack_s": float(each["pack"].mean()),
        "census_s": float(each["census"].mean()),
        "pack_row_s": each["pack"].tolist(),
        "census_row_s": each["census"].tolist(),
        "believed_row_s": (believed / 1e3).tolist(),
    }


def _listing(folder: Path, rows: int) -> dict[str, float]:
    """CPU seconds a line to find where lines begin, and to take all of them."""
    from rc_hpc.structures.shelves import Lines

    path = folder / "lines.jsonl"
    line = json.dumps({"id": "x" * 12, "cif": "data_x " * 100}) + "\n"
    with path.open("w") as file:
        file.writelines([line] * rows)
    shelf = Lines(str(path), "lines", "")
    began = time.process_time()
    begun = shelf.begin()
    part = shelf.part(begun, 0, 1)
    found = time.process_time() - began
    began = time.process_time()
    shelf.join(begun, [part])
    return {"find_s": found / rows, "join_s": (time.process_time() - began) / rows}


def _reading(packed: Path, rounds: int) -> dict[str, float]:
    """CPU seconds of a rank of a census to begin, a row, and to read rows of chunks unread."""
    from rc_hpc.engine.rows import PackedRows
    from rc_hpc.kinds.census.options import CensusOptions
    from rc_hpc.store import layout
    from rc_hpc.store.files import state_of, trust

    options = CensusOptions.of()
    trust(state_of(packed))
    begun, batches = [], []
    for _ in range(rounds):
        began = time.process_time()
        with PackedRows(packed, options.pack) as source:
            _cut(_believed(source), 1024)
            begun.append((time.process_time() - began) / len(source))
            for start in range(0, len(source) - 64, layout.CHUNK_ROWS):
                began = time.process_time()
                source.block(start, start + 64)
                batches.append(time.process_time() - began)
    return {"begin_s": float(np.median(begun)), "batch_s": float(np.median(batches))}


def _believed(source: Any) -> np.ndarray:
    """Milliseconds that a census is believed to take for each row."""
    from rc_hpc.kinds.census.options import CensusOptions
    from rc_hpc.kinds.registry import KINDS

    costs: np.ndarray = KINDS["census"].load("costs")(CensusOptions.of(), None, source.read)
    return costs


def _cut(costs: np.ndarray, ranks: int) -> int:
    """Batches of a census of rows of these predicted times, ms."""
    from rc_hpc.engine.rows import BATCH_MS, BATCH_ROWS, DRAW_MS, DRAWS, WRITE_MS
    from rc_hpc.parallel.shard import guided

    floor = max(WRITE_MS, DRAWS * ranks * DRAW_MS)
    return len(guided(costs, ranks, BATCH_ROWS, BATCH_MS, floor)[1]) - 1


def _merge(folder: Path, kind: str, file: Path, rows: int, rounds: int) -> dict[str, Any]:
    """CPU seconds of writing parts and of each step of their merge, in one process."""
    shutil.rmtree(folder / kind, ignore_errors=True)  # of a run that was stopped here
    store, written = _replicas(folder / kind, kind, file, rows)
    output = folder / f"{kind}-merged.h5"
    # A quarter of the rows, too: what does not grow with them is paid once.
    few = len(written["parts"]) // 4
    quarter = [_steps(store, written["parts"][:few], output) for _ in range(rounds)]
    steps = [_steps(store, written["parts"], output) for _ in range(rounds)]
    found, less = (
        {name: float(np.median([one[name] for one in rows])) for name in rows[0]}
        for rows in (steps, quarter)
    )
    fewer = sum(len(part.rows) for part in written["parts"][:few])
    found["assemble_s"], found["fixed_assemble_s"] = _line(
        rows, found["assemble_s"], fewer, less["assemble_s"]
    )
    size = output.stat().st_size
    return {
        "rows": rows,
        "parts": len(written["parts"]),
        "part_bytes": written["bytes"] / rows,
        "file_bytes": size / rows,
        "write_s": written["cpu_s"] / rows,
        **{
            name: value if name.startswith(("n_", "fixed_", "largest_")) else value / rows
            for name, value in found.items()
        },
    }


def _line(rows: int, seconds: float, fewer: int, less: float) -> tuple[float, float]:
    """Seconds of so many rows without what is there of none, and that."""
    each = max(0.0, seconds - less) / (rows - fewer)
    return each * rows, max(0.0, seconds - each * rows)


def _replicas(folder: Path, kind: str, file: Path, rows: int) -> tuple[Any, dict[str, Any]]:
    from rc_hpc.kinds.packed.reader import RowReader
    from rc_hpc.kinds.registry import KINDS
    from rc_hpc.store.parts import PartStore

    schema = KINDS[kind].load("schema")
    with RowReader(file, schema) as reader:
        batch, children = reader.rows(0, len(reader))
        named = {name for columns in _all(schema) for column in columns for name in column.dims}
        dims = {name: len(reader._h5[name]) for name in named if name in reader._h5}
        identity = {"options": str(reader.attrs["options"]), "total": rows}
    store = PartStore(folder, schema, dims, identity)
    size, parts = 256, []
    rng = np.random.default_rng(1)
    began = time.process_time()
    for start in range(0, rows, size):
        count = min(size, rows - start)
        chosen = np.sort(rng.integers(0, len(batch["structures/id"]), count))
        own = {path: values[chosen] for path, values in batch.items()}
        numbers = start + np.arange(count)
        own["structures/id"] = np.array([f"copy-{number:08d}" for number in numbers], object)
        own["structures/duplicate"] = np.zeros(count, np.int32)
        tables = {}
        for table, columns in children.items():
            first = np.searchsorted(
                columns["structure"], np.arange(len(batch["structures/id"]) + 1)
            )
            sizes = (first[1:] - first[:-1])[chosen]
            taken = np.repeat(first[:-1][chosen], sizes) + _within(sizes)
            tables[table] = {name: values[taken] for name, values in columns.items()}
            tables[table]["structure"] = np.repeat(np.arange(count), sizes)
        parts.append(store.write(own, tables, numbers))
    cpu = time.process_time() - began
    size_bytes = sum(path.stat().st_size for path in folder.glob("*.part"))
    return store, {"parts": parts, "cpu_s": cpu, "bytes": size_bytes}


def _all(schema: Any) -> list[tuple[Any, ...]]:
    return [schema.main, *schema.children.values()]


def _within(sizes: np.ndarray) -> np.ndarray:
    return np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _steps(store: Any, parts: list[Any], output: Path) -> dict[str, float]:
    """CPU seconds of each step of a merge by many ranks, all done here."""
    import pickle

    from rc_hpc.store.duplicates import resolve_duplicates
    from rc_hpc.store.files import hashes_of, unsealed_h5
    from rc_hpc.store.fold import Folder, Spill, block_bytes, blocks_of
    from rc_hpc.store.merge import MEMORY, _Assembly
    from rc_hpc.store.rows import map_rows
    from rc_hpc.store.shared import placeholders, sizes_of

    found: dict[str, float] = {}

    def timed(name: str, function: Callable[[], Any]) -> Any:
        began = time.process_time()
        result = function()
        found[name] = time.process_time() - began
        return result

    timed("scan_s", lambda: [store.look(name) for name in store.names()])
    resolve = resolve_duplicates if store.schema.kind == "packed" else None
    rows = timed("map_s", lambda: map_rows(store, parts, resolve))
    blocks = blocks_of(store, rows)
    spill = Spill(output.with_suffix(".spill"))
    spill.path.unlink(missing_ok=True)
    output.unlink(missing_ok=True)
    told = timed("fold_s", lambda: spill.write(Folder(store, rows, MEMORY), blocks))
    weights = [block_bytes(store, rows, block) for block in blocks]
    # No rank makes less than a block.
    found["largest_block_s"] = found["fold_s"] * max(weights) / sum(weights)
    message = pickle.dumps(told)

    def assemble() -> np.ndarray:
        with unsealed_h5(output) as h5:
            _Assembly(h5, store, rows, {}, {}).fill(placeholders(h5, pickle.loads(message)))
            return np.array(h5.sink.absent, np.int64)

    places = timed("assemble_s", assemble)
    sizes = np.array(sizes_of(told), np.int64)
    timed("place_s", lambda: spill.place(output, sizes, places))
    with output.open("rb") as file:
        timed("hash_s", lambda: hashes_of(file, output.stat().st_size))
    spill.path.unlink()
    found["n_chunks"] = len(sizes)
    found["told_bytes"] = float(len(message))
    return found


def _by_ranks(folder: Path, kind: str, count: int) -> dict[str, Any]:
    """CPU seconds of the same merge by several ranks, each a process under MPI."""
    launch = [mpiexec(), "-n", str(count)]
    program = [sys.executable, "-m", "bench.model", str(folder / kind), kind]
    environ = os.environ | {"RC_BENCH_OUT": str(folder / "out.json")}
    subprocess.run([*launch, *program], cwd=ROOT, check=True, env=environ)
    told: dict[str, Any] = json.loads((folder / "out.json").read_text())
    return told


def one_rank(folder: Path, kind: str) -> None:
    """One rank of a merge; rank 0 writes what all have taken."""
    from mpi4py import MPI

    from rc_hpc.kinds.registry import KINDS
    from rc_hpc.parallel.launch import MpiComm
    from rc_hpc.store.duplicates import resolve_duplicates
    from rc_hpc.store.merge import merge
    from rc_hpc.store.parts import PartStore

    comm = MpiComm(MPI.COMM_WORLD)
    store = PartStore.open(folder, KINDS[kind].load("schema"))
    parts = store.scan() if comm.rank == 0 else []
    comm.barrier()
    began, wall = time.process_time(), time.perf_counter()
    resolve = resolve_duplicates if kind == "packed" else None
    output = folder.with_name(f"{kind}-{comm.size}.h5")
    digest = merge(store, output, {}, {}, resolve=resolve, parts=parts, ranks=comm)
    told = comm.gather(time.process_time() - began)
    if comm.rank == 0:
        found = {
            "ranks": comm.size,
            "cpu_s": told,
            "wall_s": time.perf_counter() - wall,
            "content_hash": digest,
        }
        Path(os.environ["RC_BENCH_OUT"]).write_text(json.dumps(found))


# ----------------------------------------------------------------------------- prediction


def predict(
    constants: dict[str, Any],
    machine: dict[str, float],
    n: int,
    ranks: int,
    idle: dict[str, float],
) -> dict[str, Any]:
    """Seconds by term of packing and census of `n` structures.

    `idle` is of `idle_shares`, with the number of batches of the census.
    """
    pack = _stage(constants, "pack", machine, n, ranks, idle["pack"], n / PACKED_TOGETHER)
    listing = constants["listing"]
    pack["list the source"] = n * (listing["find_s"] / ranks + listing["join_s"])
    pack["list the source"] += n * 16 / machine["bandwidth"]
    batches = idle["batches"]
    census = _stage(constants, "census", machine, n, ranks, idle["census"], batches)
    size, reading = constants["packed"]["file_bytes"] * n, constants["reading"]
    census["check the packed file"] = size / machine["disk"]
    census["check the packed file"] += n * constants["packed"]["hash_s"] / ranks
    census["begin to read"] = n * reading["begin_s"]
    census["read batches"] = max(1.0, batches / ranks) * reading["batch_s"]
    work = {"pack": pack["work"], "census": census["work"]}
    whole = {"pack": sum(pack.values()), "census": sum(census.values())}
    together = sum(whole.values()) - constants["start_s"]
    rest = {
        f"{stage}: {name}": seconds
        for stage, terms in (("pack", pack), ("census", census))
        for name, seconds in terms.items()
        if name != "work"
    }
    return {
        "structures": n,
        "ranks": ranks,
        "pack": pack,
        "census": census,
        "pack_s": whole["pack"],
        "census_s": whole["census"],
        "efficiency": sum(work.values()) / together,
        "efficiency_census": work["census"] / whole["census"],
        "first_bottleneck": max(rest, key=rest.__getitem__),
    }


def _stage(
    constants: dict[str, Any],
    stage: str,
    machine: dict[str, float],
    n: int,
    ranks: int,
    idle: float,
    batches: float,
) -> dict[str, float]:
    merge = constants["packed" if stage == "pack" else "census"]
    work = n * constants[f"{stage}_s"] / ranks
    parts = max(1.0, batches / ranks)
    index = n * 40.0 / machine["bandwidth"]
    size = n * merge["file_bytes"]
    return {
        "start": constants["start_s"],
        "work": work,
        "idle at the end": work * idle / (1 - idle),
        "draws": parts * machine["draw_s"],
        "write parts": n * merge["write_s"] / ranks + parts * machine["sync_s"],
        "send what parts hold": 2 * index,
        "order the rows": n * merge["map_s"],
        "make chunks": max(n * merge["fold_s"] / ranks, merge["largest_block_s"])
        + size / ranks / machine["disk"],
        "tell of chunks": n * merge["told_bytes"] / machine["bandwidth"],
        "assemble": merge["fixed_assemble_s"] + n * merge["assemble_s"],
        "write chunks": machine["open_s"]
        + n * (merge["place_s"] + merge["hash_s"]) / ranks
        + size / machine["disk"],
    }


def show(one: dict[str, Any]) -> None:
    """Print a prediction by term."""
    print(f"\n{one['structures']:,} structures on {one['ranks']:,} ranks, seconds:")
    names = list(dict.fromkeys((*one["pack"], *one["census"])))
    for name in names:
        pack, census = (one[stage].get(name, 0.0) for stage in ("pack", "census"))
        print(f"  {name:24} {pack:10.2f} {census:10.2f}")
    print(f"  {'whole':24} {one['pack_s']:10.2f} {one['census_s']:10.2f}")
    print(
        f"  efficiency {one['efficiency']:.2f} together, {one['efficiency_census']:.2f} of the "
        f"census; first bottleneck: {one['first_bottleneck']}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("kind")
    given = parser.parse_args()
    one_rank(given.folder, given.kind)
