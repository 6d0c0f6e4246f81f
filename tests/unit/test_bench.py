"""The measurements run, and the report reads what they write; no time is judged here."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rc_hpc.parallel.launch import child_environment

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(monkeypatch):
    """The bench folder as a package."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: importlib.import_module(f"bench.{name}")


def run(program, *arguments):
    """Output of a program of the bench folder, started as a user starts it."""
    command = [sys.executable, ROOT / "bench" / program, *arguments]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env=child_environment()
    ).stdout


def test_kernel_and_report(tmp_path):
    run(
        "run.py",
        "--records",
        tmp_path,
        "kernel",
        "--prototypes",
        "--every",
        "1",
        "--limit",
        "3",
        "--rounds",
        "1",
        "--repeats",
        "1",
    )
    text = (tmp_path / "kernel.json").read_text(encoding="utf-8")
    assert str(ROOT) not in text and str(tmp_path) not in text
    record = json.loads(text)
    assert record.keys() == {
        "name",
        "date",
        "cpu",
        "cores",
        "load",
        "system",
        "versions",
        "arguments",
        "set",
        "subsets",
        "compared",
        "structures",
    }
    assert len(record["structures"]) == 3
    for row in record["structures"]:
        times = [*row["twin"].values(), *row["kernel"].values()]
        assert all(len(calls) == 1 and min(calls[0]) > 0 for calls in times)
    printed = run("report.py", tmp_path / "kernel.json")
    assert "3 structures (prototypes" in printed
    for variant in record["compared"]:
        assert f"| {variant}" in printed


@pytest.mark.slow
def test_frontier_and_report(tmp_path):
    run(
        "run.py",
        "--records",
        tmp_path,
        "frontier",
        "--prototypes",
        "--every",
        "96",
        "--rounds",
        "1",
    )
    record = json.loads((tmp_path / "frontier.json").read_text(encoding="utf-8"))
    assert (
        record["structures"] == 3
        and record["rounds"][0].keys() == {"all", "full"}
        and len(set(record["deltas"])) == 20
    )
    printed = run("report.py", tmp_path / "frontier.json")
    assert "3 structures (prototypes" in printed and "| all" in printed


@pytest.mark.slow
def test_noise_and_report(tmp_path):
    run("run.py", "--records", tmp_path, "noise", "--prototypes", "--every", "96", "--rounds", "1")
    record = json.loads((tmp_path / "noise.json").read_text(encoding="utf-8"))
    assert record["structures"] == 3 and record["pictures"] == 3 * 2 * 2 * 2
    for run_ in record["rounds"][0].values():
        calls = {row["stage"]: row["calls"] for row in run_["stages"]}
        assert (
            calls["generation: errors and images"] > 0 < calls["correspondence"]
            and calls["label"] == record["pictures"]
        )
    printed = run("report.py", tmp_path / "noise.json")
    assert "3 structures (prototypes" in printed and "| triangulation" in printed


@pytest.mark.parametrize("command", ["census", "pack", "sweep"])
def test_the_stopwatch_finds_what_it_wraps(bench, command):
    stages = bench("stages")
    table = stages.STAGES[command]
    for place in [place for places in table.values() for place in places] + list(
        stages.WHOLE[command].values()
    ):
        module, _, path = place.partition(":")
        found = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
        assert callable(found), place


def test_the_stopwatch_sees_the_work_on_a_structure(tmp_path):
    """Done elsewhere, in a process of its own, it would be no stage."""
    packed, seen = tmp_path / "p.h5", {}
    quiet = ["--progress", "none", "-q"]
    for command, more in (
        ("pack", ["prototypes", "--first", "3", "-o", packed]),
        ("census", [packed, "-o", tmp_path / "c.h5"]),
    ):
        out = tmp_path / f"{command}.json"
        words = [sys.executable, "-m", "bench.stages", out, command, *more, *quiet]
        subprocess.run(words, check=True, cwd=ROOT, env=child_environment())
        rows = json.loads(out.read_text())["stages"]
        seen[command] = {row["stage"]: row["calls"] for row in rows}
    assert seen["pack"]["columns of a structure"] == 3 <= seen["census"]["columns of a structure"]
    assert seen["census"]["geometry: compiled kernels"] >= 3 <= seen["pack"]["spglib in label"]


def test_before_and_after_are_medians_of_what_each_checkout_took(bench):
    from_rounds = {
        "start": [{"empty": 30.0, "filled": 2.0}],
        "kernel": [{"kernel, delta 0.01, horizon 0.01": k, "twin, 0.01": 90.0} for k in (1, 3, 2)],
        "pack once": [8.0],
        "pack copies": [80.0],
        "census once": [{"cpu_s": 6.0, "watched_cpu_s": 6.5, "spglib_cpu_s": 2.0}],
        "census copies": [{"cpu_s": 60.0, "watched_cpu_s": 65.0, "spglib_cpu_s": 20.0}],
        "ranks": [{"1": 60.0, "2": 66.0}],
    }
    sizes = {100: 0.01, 1_000: 0.1, 10_000: 1.0, 100_000: 10.0}
    from_rounds |= {f"grow {n}": [{"cpu_s": cpu, "candidates": 10 * n}] for n, cpu in sizes.items()}
    found = {f"{step}, before": rows for step, rows in from_rounds.items()}
    faster = json.loads(json.dumps(found), parse_float=lambda x: float(x) / 2)
    found |= {step.replace("before", "after"): rows for step, rows in faster.items()}
    rows = {row[0]: row[1:] for row in bench("before").rows(found)}
    compiled = "a first census on an empty kernel cache, beyond a later one, CPU s"
    assert rows[compiled] == [28.0, 14.0, 2.0]
    assert rows["kernel, delta 0.01, horizon 0.01: ms a structure"][0] == 2
    assert rows["growth from the smallest to the largest, exponent"] == pytest.approx([1, 1, 1])
    assert rows["census, over spglib in its labels"] == [3.0, 3.0, 1.0]
    assert rows["pack and census of the copies, CPU s"] == [140.0, 70.0, 2.0]
    assert rows["two ranks: twice the CPU s of one over theirs"][0] == pytest.approx(120 / 66)


def test_the_watch_of_compiling_counts_no_second_twice(bench, monkeypatch):
    module, now = bench("compiling"), [0.0]
    monkeypatch.setattr(module.time, "process_time", lambda: now[0])
    watch = module.Watch()

    def inner():
        now[0] += 5.0

    def outer():
        now[0] += 2.0
        watch.within(lambda: ("f", "lowering"), inner)()
        now[0] += 1.0

    now[0] += 7.0
    watch.within(lambda: ("g", "type inference"), outer)()
    assert watch.by(0) == [(module.REST, 7.0), ("f", 5.0), ("g", 3.0)]
    assert dict(watch.by(1)) == {module.REST: 7.0, "lowering": 5.0, "type inference": 3.0}


def test_the_steps_of_a_large_cell_are_those_of_the_oracle(bench):
    from rc_hpc.geometry.protocol import load_protocol
    from rc_hpc.oracle.geometry import GeometricOracle
    from rc_hpc.structures.synthetic import random_cell

    module, protocol = bench("steps"), load_protocol("frozen")
    oracle = GeometricOracle(protocol, bench("common").all_subsets(5))
    made = module.of_large(oracle, 60)
    cell = random_cell(60, module.SPECIES, 1)
    reading = oracle.run(cell.frac @ cell.lattice, cell.numbers, module.DELTA)
    assert made["candidates"] == reading.enumeration.candidates.gap.size
    assert all(us >= 0 for us in made["us_a_candidate"].values())
    rows = bench("report").steps({"small": [{"atoms": 2, "run": 1.0}], "large": [made]})
    assert "reconstruct_subsets" in rows and "| 60 " in rows


def test_the_stopwatch_counts_no_second_twice(bench, monkeypatch):
    now = [0.0]
    stopwatch = bench("stages").Stopwatch
    monkeypatch.setattr(stopwatch, "_now", lambda self: (now[0], 10 * now[0]))

    def work(seconds):
        now[0] += seconds

    watch = stopwatch()
    inner = watch.timed("inner", work)
    outer = watch.spanned(
        "whole", watch.timed("outer", lambda: (work(1), inner(2), work(4), inner(8)))
    )
    work(16)
    outer()
    rows = {row["stage"]: (row["cpu_s"], row["wall_s"], row["calls"]) for row in watch.stages()}
    assert rows == {"outer": (5, 50, 1), "inner": (10, 100, 2), bench("stages").REST: (16, 160, 0)}
    assert watch.whole["whole"] == [15, 150]


def test_the_endpoint_and_report(tmp_path):
    pytest.importorskip("aiohttp")
    run(
        "run.py",
        "--records",
        tmp_path,
        "endpoint",
        "--rounds",
        "1",
        "--replies",
        "40",
        "--slots",
        "4",
        "--latency-s",
        "0.01",
    )
    record = json.loads((tmp_path / "endpoint.json").read_text(encoding="utf-8"))
    assert {one["kind"] for one in record["runs"]} == {"bare", "waits", "refuses"} and record[
        "limit_per_s"
    ] == 400
    assert all(len(one["resident_mib"]) == 10 for one in record["runs"] if one["kind"] != "bare")
    assert "share of the limit" in run("report.py", tmp_path / "endpoint.json")


def test_the_queue_of_the_scaling_model(bench):
    simulate = bench("queueing").simulate
    costs = np.full(4096, 1e-3)
    for stage in ("pack", "census"):
        assert simulate(stage, costs, costs, 1, 0.0) == pytest.approx(0, abs=1e-9)
        assert abs(simulate(stage, costs, costs, 2, 0.0)) < 0.05
    slow = simulate("census", costs, costs, 16, 1e-2)  # one counter serves 10 ms each
    assert slow > 0.3
    long = costs.copy()
    long[2000] = 10.0
    for told in (long, costs):  # nothing ends before the longest row
        idle = simulate("census", long, told, 64, 0.0)
        assert idle > 1 - long.sum() / (64 * 10.0) - 1e-9


def test_idle_shares_follow_the_measured_rows(bench):
    work = {name: [1e-3, 2e-3] for name in ("pack_row_s", "census_row_s", "believed_row_s")}
    one, many = (bench("queueing").idle_shares(work, 20_000, ranks, 5e-5) for ranks in (2, 1024))
    assert one["rows"] == 20_000 and one["census_work_s"] == pytest.approx(15, rel=0.02)
    assert 0 <= one["census"] < many["census"] < 1
    # A row of 60 s beside 30 s of work: two ranks idle for a quarter of their time at least.
    assert one["unforeseen"] > one["foreseen"] > 0.249


def test_a_piece_is_made_once(bench, tmp_path):
    made = []

    def make():
        made.append(1)
        return {"value": (1, 2)}

    pieces = bench("pieces").Pieces(tmp_path / "work")
    for _ in range(2):
        assert pieces.get("one", make, rows=5) == {"value": [1, 2]}
    assert len(made) == 1
    pieces.get("one", make, rows=6)  # of other rows
    assert len(made) == 2


def test_what_is_there_of_no_rows_is_told_apart(bench):
    each, fixed = bench("model")._line(400, 5.0, 100, 2.0)
    assert each == pytest.approx(4.0) and fixed == pytest.approx(1.0)


def test_terms_of_the_scaling_model(bench):
    model, none = bench("model"), {"pack": 0.0, "census": 0.0, "batches": 40_000}
    steps = ("write_s", "map_s", "fold_s", "assemble_s", "place_s", "hash_s")
    merge = dict.fromkeys(steps, 1e-06)
    merge |= {"file_bytes": 1000.0, "told_bytes": 4.0}
    merge |= {"fixed_assemble_s": 0.0, "largest_block_s": 0.1}
    constants = {
        "start_s": 1.0,
        "pack_s": 0.02,
        "census_s": 0.002,
        "listing": {"find_s": 1e-6, "join_s": 1e-8},
        "reading": {"begin_s": 1e-7, "batch_s": 0.005},
        "packed": merge,
        "census": merge,
    }
    machine = {"open_s": 0, "sync_s": 0, "draw_s": 0, "bandwidth": 1e12, "disk": 1e12}
    one, many = (model.predict(constants, machine, 10**6, ranks, none) for ranks in (1, 1024))
    assert one["efficiency"] > 0.99 and 0.5 < many["efficiency"] < one["efficiency"]
    assert many["pack"]["work"] == pytest.approx(0.02 * 1e6 / 1024)
    assert many["pack"]["assemble"] == one["pack"]["assemble"] == pytest.approx(1.0)
    assert many["census"]["read batches"] == pytest.approx(40_000 / 1024 * 0.005)
    assert many["census"]["make chunks"] == pytest.approx(0.1, rel=0.1)  # of a block
    slower = model.predict(constants, machine | {"disk": 1e8}, 10**6, 1024, none)
    assert slower["first_bottleneck"].endswith("write chunks")
    # what is written, and what is read before
    assert slower["census_s"] - many["census_s"] == pytest.approx(20.0, rel=0.01)


def test_sources_and_report(tmp_path):
    run("run.py", "--records", tmp_path, "sources", "--source", "g2", "--first", "4")
    record = json.loads((tmp_path / "sources.json").read_text(encoding="utf-8"))
    assert record["status"] == [{"status": "ok", "rows": 4, **record["status"][0]}]
    assert {row["views"] for row in record["views"]} == {2, 3, 4, 5}
    told = run("report.py", tmp_path / "sources.json")
    assert "`g2`: 4 ok." in told and "certified, full protocol: 4 of 4." in told


def test_the_readmes_collections_are_those_of_the_records():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())

    def of(name):
        path = ROOT / "bench" / "records" / f"{name}.json"
        record = json.loads(path.read_text(encoding="utf-8"))
        (all_, *_) = [row["structures"] for row in record["reference"]]
        rows = {r["quantity"]: r for r in record["reference"] if r["structures"] == all_}
        ok = next(row["rows"] for row in record["status"] if row["status"] == "ok")
        return record, rows, ok, sum(row["rows"] for row in record["status"])

    record, rows, ok, total = of("encyclopedia")
    full = [rows[f"{name}, full protocol"] for name in ("R1", "certified", "unique")]
    shares = [rows[f"R1, subsets of {n} views"]["fraction"] for n in (2, 3)]
    seconds = sum(part["cpu_s"] for part in record["cost"].values())
    assert (
        f"of {total:,} structures {ok:,} can be used, "
        f"{full[0]['n']:,} of them with a stable label; "
        f"R1 is {shares[0]:.4f} with two views, {shares[1]:.4f} with three, "
        f"{full[0]['fraction']:.0f} with four and five, {full[1]['count']:,} are certified and "
        f"{full[2]['count']:,} unique ({seconds:.0f} s of CPU time)"
    ) in readme
    _, rows, ok, total = of("molecules")
    shares = [rows[f"R1, subsets of {n} views"]["fraction"] for n in (2, 3)]
    assert (
        f"R1 of the {total} molecules of `g2` by point group is {shares[0]:.4f} with two views, "
        f"{shares[1]:.4f} with three"
    ) in readme
