"""Markdown tables from the raw records: ``python bench/report.py [RECORD ...]``."""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, however the program is started

import numpy as np
from tabulate import tabulate

from bench.before import rows as changed
from bench.common import RECORDS, median

#: Upper ends of the classes of cell size, atoms.
BINS = (8, 16, 32, 64, 10**9)


def table(rows: list[list], headers: list[str]) -> str:
    """A Markdown table."""
    return tabulate(rows, headers, tablefmt="pipe", disable_numparse=True)


def kernel(record: dict) -> str:
    """Ratios of the twin's time to the kernel's: in all, and by size of the cell."""
    structures = record["structures"]
    n_atoms = np.array([row["n_atoms"] for row in structures])
    twins = {
        delta: np.array([median(row["twin"][delta]) for row in structures])
        for delta in structures[0]["twin"]
    }
    total, by_size = [], []
    for name, delta in record["compared"].items():
        twin = twins[delta]
        own = np.array([median(row["kernel"][name]) for row in structures])
        ratio, wall = twin.sum(axis=0) / own.sum(axis=0)
        each = 1e3 * own[:, 0]
        total.append(
            [
                name,
                f"{1e3 * twin[:, 0].mean():.1f}",
                f"{each.mean():.3f}",
                f"{np.median(each):.3f}",
                f"{each.max():.2f}",
                f"{ratio:.0f}",
                f"{wall:.0f}",
            ]
        )
        low = 0
        for high in BINS:
            inside = (n_atoms > low) & (n_atoms <= high)
            if inside.any():
                label = f"{low + 1} to {high}" if high < BINS[-1] else f"over {low}"
                by_size.append(
                    [
                        name,
                        label,
                        inside.sum(),
                        f"{1e3 * twin[inside, 0].mean():.1f}",
                        f"{each[inside].mean():.3f}",
                        f"{twin[inside, 0].sum() / own[inside, 0].sum():.0f}",
                    ]
                )
            low = high
    head = (
        f"{len(structures)} structures ({record['set']}, each "
        f"{record['arguments']['every']}.), {record['subsets']} view subsets, "
        f"{n_atoms.min()} to {n_atoms.max()} atoms; medians of the rounds, warm, "
        "milliseconds of CPU per structure."
    )
    return "\n\n".join(
        (
            head,
            table(
                total,
                [
                    "kernel",
                    "twin, mean",
                    "kernel, mean",
                    "kernel, median",
                    "kernel, largest",
                    "CPU ratio",
                    "wall ratio",
                ],
            ),
            table(
                by_size,
                ["kernel", "atoms", "structures", "twin, mean", "kernel, mean", "CPU ratio"],
            ),
        )
    )


def twin(record: dict) -> str:
    """CPU time of the kernels in units of the C++ twin's."""
    from bench.twin import ratios

    structures = record["structures"]
    measured = ratios(record)
    different = sum(bool(row[horizon]["unequal"]) for row in structures for horizon in measured)
    rows = [
        [f"delta 0.01 Å, horizon {horizon} Å", f"{kernel:.2f}", f"{oracle:.2f}"]
        for horizon, (kernel, oracle) in measured.items()
    ]
    told = f"{len(structures)} structures ({record['set']}), {record['subsets']} subsets; results "
    return f"{told}{'equal' if not different else f'differ in {different}'}.\n\n" + table(
        rows, ["", "compiled function", "whole oracle call"]
    )


def _stages(runs: list[dict]) -> str:
    """Medians over runs of each stage's time."""
    found = defaultdict(list)
    for one in runs:
        for row in one["stages"]:
            found[row["stage"]].append([row["cpu_s"], row["wall_s"], row["calls"]])
    rows = [[name, *np.median(values, axis=0)] for name, values in found.items()]
    whole = sum(row[1] for row in rows)
    rows = [
        [name, f"{cpu:.3f}", f"{100 * cpu / whole:.1f}", f"{wall:.3f}", f"{calls:.0f}"]
        for name, cpu, wall, calls in sorted(rows, key=lambda row: -row[1])
    ]
    return table(rows, ["stage", "CPU s", "% of CPU", "wall s", "calls"])


def end_to_end(record: dict) -> str:
    """Stages of both commands, and the census against spglib."""
    parts = [f"Structures: {record['set']}; one rank, medians of {len(record['rounds'])} rounds."]
    if record["pack"]:
        parts += ["Packing, one run:", _stages([record["pack"]])]
    watched = [one["watched"] for one in record["rounds"]]
    parts += ["Census of the packed file:", _stages(watched)]
    rows = defaultdict(list)
    for one in record["rounds"]:
        calls = [row for row in one["watched"]["stages"] if row["stage"].startswith("spglib")]
        made = np.array([sum(row[clock] for row in calls) for clock in ("cpu_s", "wall_s")])
        true = np.array([one["true_cells"][clock] for clock in ("cpu_s", "wall_s")])
        whole = {name: np.array(times) for name, times in one["watched"]["whole"].items()}
        whole["command"] = np.array([one["watched"]["cpu_s"], one["watched"]["wall_s"]])
        whole["command, plain"] = np.array([one["plain"]["cpu_s"], one["plain"]["wall_s"]])
        for name, times in whole.items():
            rows[name].append([*times, *(times / made), *(times / (made + true))])
    names = {
        "batches": "batches alone",
        "run": "packed file to merged census",
        "command": "whole command, under the stopwatch",
        "command, plain": "whole command, plain",
    }
    lines = [
        [names[name], *(f"{value:.2f}" for value in np.median(values, axis=0))]
        for name, values in rows.items()
    ]
    parts += [
        "Against spglib: of the calls made (the true cell's label comes packed), and of "
        "every distinct reconstruction once.",
        table(
            lines,
            [
                "census",
                "CPU s",
                "wall s",
                "/ calls made, CPU",
                "wall",
                "/ every distinct one, CPU",
                "wall",
            ],
        ),
    ]
    return "\n\n".join(parts)


def ranks(record: dict) -> str:
    """Speed-up of the census by the number of ranks."""
    counts = sorted({run["ranks"] for run in record["runs"]})
    found = {
        count: {
            "whole command": median(
                [
                    [run["plain"]["cpu_s"], run["plain"]["wall_s"]]
                    for run in record["runs"]
                    if run["ranks"] == count
                ]
            ),
            "packed file to merged census": median(
                [run["whole"]["run"] for run in record["runs"] if run["ranks"] == count]
            ),
            "batches alone": median(
                [run["whole"]["batches"] for run in record["runs"] if run["ranks"] == count]
            ),
        }
        for count in counts
    }
    rows = [
        [
            what,
            count,
            f"{times[0]:.2f}" if what == "whole command" else f"{times[0]:.2f} (rank 0)",
            f"{times[1]:.2f}",
            f"{found[counts[0]][what][1] / times[1]:.2f}",
        ]
        for what in found[counts[0]]
        for count in counts
        for times in [found[count][what]]
    ]
    return "\n\n".join(
        (
            f"Structures: {record['set']}; medians.",
            table(rows, ["census", "ranks", "CPU s", "wall s", "speed-up"]),
        )
    )


def scaling(record: dict) -> str:
    """Seconds and memory of big cells, and the exponents between them."""
    sizes = sorted({row["n_atoms"] for row in record["cells"]})
    rows, medians = [], []
    for size in sizes:
        runs = [row for row in record["cells"] if row["n_atoms"] == size]
        cpu, wall = median([[row["cpu_s"], row["wall_s"]] for row in runs])
        one = runs[0]
        memory = np.median([row["peak_bytes"] - row["before_bytes"] for row in runs])
        medians.append((size, cpu, one["candidates"]))
        rows.append(
            [
                f"{size}",
                f"{cpu:.2f}",
                f"{wall:.2f}",
                one["candidates"],
                f"{1e6 * cpu / one['candidates']:.2f}",
                f"{memory / 2**20:.0f}",
                f"{memory / size:.0f}",
                f"{memory / one['candidates']:.0f}",
            ]
        )
    text = table(
        rows,
        [
            "atoms",
            "CPU s",
            "wall s",
            "candidates",
            "µs a candidate",
            "memory MiB",
            "bytes an atom",
            "bytes a candidate",
        ],
    )
    (n_a, t_a, c_a), (n_b, t_b, c_b) = medians[0], medians[-1]
    if n_a != n_b:
        steps = math.log(n_b / n_a)
        text += (
            f"\n\nExponents between {n_a} and {n_b} atoms: CPU {math.log(t_b / t_a) / steps:.2f}, "
            f"candidates {math.log(c_b / c_a) / steps:.2f}."
        )
    for one in record.get("views", []):
        text += (
            f"\n\n{one['views']} cameras, {one['atoms']} atoms, {one['candidates']} candidates: "
            f"{one['subsets']} subsets, {1e6 * one['cpu_s'] / one['subsets']:.1f} µs each."
        )
    return text


def frontier(record: dict) -> str:
    """What 20 tolerances cost, in censuses of the same subsets, with and without Python's start."""
    rows = []
    start = [record["start"]["cpu_s"], record["start"]["wall_s"]]
    for subsets in record["rounds"][0]:
        times = {
            name: median(
                [
                    [one[subsets][name]["cpu_s"], one[subsets][name]["wall_s"]]
                    for one in record["rounds"]
                ]
            )
            for name in ("census", "frontier")
        }
        ratio, bare = (
            times["frontier"] / times["census"],
            (times["frontier"] - start) / (times["census"] - start),
        )
        rows.append(
            [
                subsets,
                *(f"{times[name][0]:.2f}" for name in times),
                f"{ratio[0]:.2f}",
                f"{ratio[1]:.2f}",
                f"{bare[0]:.2f}",
            ]
        )
    head = (
        f"{record['structures']} structures ({record['set']}), {len(record['deltas'])} "
        f"deltas, default reading, one rank; medians of {len(record['rounds'])} rounds."
    )
    return (
        head
        + "\n\n"
        + table(
            rows,
            [
                "subsets",
                "census, CPU s",
                "frontier, CPU s",
                "CPU ratio",
                "wall ratio",
                "CPU ratio without start",
            ],
        )
    )


def noise(record: dict) -> str:
    """Share of each part of the noise sweep, by reading."""
    arms = list(record["rounds"][0])
    times: dict[str, dict[str, list]] = {arm: defaultdict(list) for arm in arms}
    for one in record["rounds"]:
        for arm, run in one.items():
            for row in run["stages"]:
                times[arm][row["stage"]].append(row["cpu_s"])
    medians = {
        arm: {stage: statistics.median(values) for stage, values in found.items()}
        for arm, found in times.items()
    }
    # What each reading costs, without what the command costs whatever it reads.
    parts = [
        stage for stage in record["parts"] if any(stage in found for found in medians.values())
    ]
    wholes = {arm: sum(found.get(stage, 0.0) for stage in parts) for arm, found in medians.items()}
    rows = [
        [stage, *(f"{100 * medians[arm].get(stage, 0.0) / wholes[arm]:.1f}" for arm in arms)]
        for stage in parts
    ]
    rows.append(
        [
            "all of these, CPU ms a picture set",
            *(f"{1e3 * wholes[arm] / record['pictures']:.2f}" for arm in arms),
        ]
    )
    head = (
        f"{record['structures']} structures ({record['set']}, each "
        f"{record['arguments']['every']}.), {record['pictures']} sets of pictures "
        f"({', '.join(record['protocols'])}; sigma "
        f"{', '.join(f'{s:g}' for s in record['sigmas'])} Å; {record['seeds']} seeds); "
        f"per cent of the CPU time of a reading, medians of {len(record['rounds'])} rounds."
    )
    return "\n\n".join((head, table(rows, ["part", *arms])))


def endpoint(record: dict) -> str:
    """Replies a second by kind of client, against the endpoint's limit, and memory meanwhile."""
    names = {
        "bare": "bare loop, as many at once as the endpoint bears",
        "waits": "rc_hpc, excess requests wait",
        "refuses": "rc_hpc, excess requests get 429",
    }
    rows = []
    for kind, name in names.items():
        runs = [run for run in record["runs"] if run["kind"] == kind]
        rate = float(np.median([run["replies_per_s"] for run in runs]))
        seconds = np.median([run["cpu_s"] for run in runs])
        memory = (
            ["", "", ""]
            if kind == "bare"
            else [" ".join(f"{run['resident_mib'][at]:.0f}" for run in runs) for at in (1, 5, -1)]
        )
        rows.append(
            [
                name,
                f"{rate:.1f}",
                f"{rate / record['limit_per_s']:.3f}",
                f"{1e3 * seconds / record['arguments']['replies']:.1f}",
                *memory,
            ]
        )
    head = (
        f"The endpoint's limit is {record['limit_per_s']:.0f} replies a second; "
        f"{record['arguments']['replies']} replies a round, "
        f"{record['arguments'].get('concurrency', 64)} requests at once at most, medians; resident "
        "memory of each round."
    )
    return (
        head
        + "\n\n"
        + table(
            rows,
            [
                "client",
                "replies a second",
                "share of the limit",
                "CPU ms a reply",
                "MiB at 20 %",
                "at 60 %",
                "at the end",
            ],
        )
    )


def unique(record: dict) -> str:
    """Statuses and readers of one uniqueness sweep, and what it cost beside a census."""
    head = (
        f"{record['set']}, protocol {record['protocol']}, tiling {record['tiling']}, delta "
        f"{record['delta']:g} Å, subsets {record['subsets']}. CPU s: "
        + ", ".join(f"{name} {cost['cpu_s']:.1f}" for name, cost in record["cost"].items())
        + "."
    )
    readers = {(row["views"], row["policy"]): row for row in record["readers"]}
    rules = {
        merge: {row["views"]: row["R1"] for row in rows} for merge, rows in record["rules"].items()
    }
    rows = []
    for row in record["statuses"]:
        reader = readers[row["views"], row["policy"]]
        rows.append(
            [
                row["views"],
                row["policy"],
                row["n"],
                row["forced"],
                row["with_phantoms"],
                row["undetermined"],
                row["unique"] + row["determined"],
                row["unknown"],
                row["inadmissible"],
                row["wrong"],
                f"{reader['R1_guaranteed']:.4f}",
                f"{reader['R1_possible']:.4f}",
                f"{reader['R1_maximal']:.4f}",
                f"{reader['R1_random']:.4f}",
                f"{reader['R1_most_symmetric']:.4f}",
                *(f"{rules[name][row['views']]:.4f}" for name in ("symmetric", "parsimonious")),
                reader["luck"],
                reader["better"],
            ]
        )
    return (
        head
        + "\n\n"
        + table(
            rows,
            [
                "views",
                "policy",
                "cells",
                "forced",
                "phantoms",
                "undetermined",
                "unique, determined",
                "unknown",
                "inadmissible",
                "wrong",
                "R1 guaranteed",
                "with unknown",
                "maximal",
                "random",
                "most symmetric",
                "rule symmetric",
                "rule parsimonious",
                "luck",
                "better",
            ],
        )
    )


def unique_cameras(record: dict) -> str:
    """Cells of two and three views under cameras, one cell or several, and tolerances."""
    rows = [
        [
            row["cameras"],
            row["tiling"],
            f"{row['delta']:g}",
            row["structures"],
            row["views"],
            row["n"],
            row["forced"],
            row["with_phantoms"],
            row["unique"],
            row["determined"],
            row["undetermined"],
            row["unknown"],
            f"{row['cpu_s']:.1f}",
        ]
        for row in record["statuses"]
    ]
    names = ["cameras", "tiling", "delta Å", "structures", "views", "cells", "forced", "phantoms"]
    names += ["unique", "determined", "undetermined", "unknown", "CPU s of the sweep"]
    designs = ", ".join(f"{name} {cost['cpu_s']:.0f}" for name, cost in record["cost"].items())
    head = (
        f"{record['set']}, {record['held_out']} structures that no design saw, atoms of each "
        f"species known. CPU s of the designs: {designs}."
    )
    return head + "\n\n" + table(rows, names)


def killed(record: dict) -> str:
    """Stages undisturbed and killed: time, memory, and whether they ended alike."""
    rows = [
        [
            row["stage"],
            f"{row['cpu_s']:.0f}",
            f"{row['wall_s']:.0f}",
            f"{row['peak_bytes'] / 2**20:.0f}",
            row["kills"],
            row["runs"],
            row["content_hash"][:12],
        ]
        for row in record["stages"]
    ]
    asked, opened = record["arguments"], record["opened"]
    return (
        f"{asked['structures']} synthetic structures on {asked['ranks']} ranks; killed ones at "
        f"most {asked['kills']} times. Of {opened['rows']} rows tables took "
        f"{opened['tables_cpu_s']:.1f} CPU s, figures {opened['figures_cpu_s']:.1f}, "
        f"opening by xarray {opened['xarray_cpu_s']:.1f}. Memory: the most of a process, files "
        "mapped for reading included.\n\n"
        + table(rows, ["stage", "CPU s", "wall s", "MB a process", "kills", "runs", "content"])
    )


def model(record: dict) -> str:
    """Predicted seconds by term, constants, and idle shares of the simulated queue."""
    texts = []
    for one in record["predicted"]:
        names = dict.fromkeys((*one["pack"], *one["census"]))
        rows = [
            [name, *(f"{one[stage].get(name, 0.0):.2f}" for stage in ("pack", "census"))]
            for name in names
        ]
        rows.append(["whole", f"{one['pack_s']:.2f}", f"{one['census_s']:.2f}"])
        texts.append(
            f"{one['structures']} structures on {one['ranks']} ranks: efficiency "
            f"{one['efficiency']:.2f} of both, {one['efficiency_census']:.2f} of the census; first "
            f"bottleneck: {one['first_bottleneck']}.\n\n" + table(rows, ["s", "pack", "census"])
        )
    constants = record["constants"]
    merges = [
        [
            kind,
            count["ranks"],
            f"{sum(count['cpu_s']):.2f}",
            f"{1e6 * sum(count['cpu_s']) / constants[kind]['rows']:.1f}",
        ]
        for kind in ("packed", "census")
        for count in constants[kind]["by_ranks"]
    ]
    texts.append(table(merges, ["merge of", "ranks", "CPU s of all", "µs a row"]))
    queue = [
        [row["ranks"], f"{row['pack_work_s']:.2f}", f"{row['census_work_s']:.2f}"]
        + [f"{100 * row[name]:.1f}" for name in ("pack", "census", "foreseen", "unforeseen")]
        for row in record["queue"]
    ]
    texts.append(
        f"Idle time of the ranks, %, of {record['queue'][0]['rows']} rows, simulated with a draw "
        f"of {1e6 * record['machine']['draw_s']:g} µs; the last two columns with one row of 60 s "
        "in the census, which the queue foresees or not.\n\n"
        + table(
            queue,
            ["ranks", "pack, s a rank", "census", "pack idle", "census", "foreseen", "unforeseen"],
        )
    )
    two = record["queue_check"]
    texts.append(
        f"Two ranks, census of {two['rows']} rows: {100 * two['simulated']:.1f} % idle simulated, "
        + ", ".join(f"{100 * share:.1f}" for share in two["measured"])
        + " % measured."
    )
    texts.append("Left out: " + "; ".join(record["left_out"]) + ".")
    return "\n\n".join(texts)


def sources(record: dict) -> str:
    """A census of a built-in source: statuses, R1 by number of views, certificates, cost."""
    kept = record["reference"][0]["structures"]
    statuses = ", ".join(f"{row['rows']} {row['status']}" for row in record["status"])
    named = {
        row["quantity"]: f"{row['count']} of {row['n']}"
        for row in record["reference"]
        if row["structures"] == kept and row["count"] != ""
    }
    told = [f"`{record['source']}`: {statuses}."]
    told += [
        f"{name}: {named[name]}."
        for name in (
            "quarantined, of all labelled",
            "R0",
            "certified, full protocol",
            "unique, full protocol",
        )
        if name in named
    ]
    rows = [
        [row["views"], row["n"], f"{row['R1']:.4f}", f"{row['R1_min']:.4f}", f"{row['R1_max']:.4f}"]
        for row in record["views"]
        if row["structures"] == kept
    ]
    cost = ", ".join(f"{name} {one['cpu_s']:.0f} s of CPU" for name, one in record["cost"].items())
    return "\n\n".join(
        [
            " ".join(told),
            table(rows, ["views", f"structures ({kept})", "R1, mean", "least", "largest"]),
            f"Cost, compiling left out where the kernels were there: {cost}.",
        ]
    )


def before(record: dict) -> str:
    """An older checkout beside this one."""
    asked = record["arguments"]
    told = [
        [name, *(f"{value:.3g}" for value in values)] for name, *values in changed(record["found"])
    ]
    return (
        f"{record['checkout']} against this one, {asked['rounds']} alternating rounds; copies: "
        f"{asked['copies']} of each structure.\n\n"
        + table(told, ["CPU seconds of all processes", "before", "after", "before / after"])
    )


def compiling(record: dict) -> str:
    """Steps and functions of filling an empty kernel cache."""
    steps = [[row["step"], f"{row['cpu_s']:.1f}"] for row in record["steps"][:6]]
    functions = [[row["function"], f"{row['cpu_s']:.1f}"] for row in record["by_function"][:8]]
    return (
        f"An empty kernel cache is filled in {record['total_cpu_s']:.1f} CPU s: "
        f"{record['functions']} functions, {record['kernels']} of them ours.\n\n"
        + table(steps, ["step", "CPU s"])
        + "\n\n"
        + table(functions, ["function", "CPU s without what it calls"])
    )


def steps(record: dict) -> str:
    """What the time of a small cell is made of, and that of large ones by step."""
    names = [name for name in record["small"][0] if name != "atoms"]
    small = [
        [f"{cell['atoms']}", *(f"{cell[name]:.1f}" for name in names)] for cell in record["small"]
    ]
    told = table(small, ["atoms", *(f"{name}, us" for name in names)])
    if not record["large"]:
        return told
    names = list(record["large"][0]["us_a_candidate"])
    large = [
        [
            f"{cell['atoms']:,}",
            f"{cell['candidates']:,}",
            f"{cell['phantoms']:.2f}",
            f"{sum(cell['us_a_candidate'].values()):.2f}",
            *(f"{cell['us_a_candidate'][name]:.3f}" for name in names),
        ]
        for cell in record["large"]
    ]
    head = ["atoms", "candidates", "share of phantoms", "us a candidate", *names]
    return told + "\n\n" + table(large, head)


def describe(record: dict) -> str:
    """One record as Markdown."""
    machine = (
        f"{record['date']}; {record['cpu']}, {record['cores']} cores, load "
        f"{record['arguments']['load_before'][0]} before and "
        f"{record['load'][0]} after; "
        + ", ".join(f"{name} {version}" for name, version in record["versions"].items())
        + "."
    )
    body = {
        "before": before,
        "compiling": compiling,
        "steps": steps,
        "kernel": kernel,
        "twin": twin,
        "end_to_end": end_to_end,
        "ranks": ranks,
        "scaling": scaling,
        "model": model,
        "killed": killed,
        "frontier": frontier,
        "noise": noise,
        "endpoint": endpoint,
        "unique": unique,
        "unique_cameras": unique_cameras,
        "sources": sources,
    }[record["arguments"]["measurement"]](record)
    return f"## {record['name']}\n\n{machine}\n\n{body}\n"


def main(argv=None) -> int:
    """Print all records, or those named."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument(
        "records", nargs="*", type=Path, help="record files; default: all in bench/records"
    )
    args = p.parse_args(argv)
    for path in args.records or sorted(RECORDS.glob("*.json")):
        print(describe(json.loads(path.read_text(encoding="utf-8"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
