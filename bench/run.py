"""Take the measurements: ``python bench/run.py NAME``.

NAME is ``kernel``, ``twin``, ``end_to_end``, ``ranks``, ``scaling``, ``frontier``, ``noise``,
``unique``, ``unique_cameras``, ``sources`` or ``endpoint``; ``scaling --structures N --ranks P``
predicts instead of growing a cell.
Each writes one raw record, with the machine and all versions, into ``bench/records/``;
``python bench/report.py`` makes tables of them. Speed is read as a ratio within one run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, however the program is started

from bench.common import RECORDS, environment, write_record


def parser() -> argparse.ArgumentParser:
    """Argument parser."""
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument(
        "--records",
        type=Path,
        default=RECORDS,
        help="folder of the records; default: bench/records",
    )
    p.add_argument("--name", help="name of the record; default: that of the measurement")
    commands = p.add_subparsers(dest="measurement", required=True)
    kernel = commands.add_parser(
        "kernel", help="all 26 subsets against the plain NumPy twin of the released algorithm"
    )
    kernel.add_argument(
        "--every", type=int, default=5, help="take each N-th structure; default: %(default)s"
    )
    kernel.add_argument("--limit", type=int, help="at most so many structures")
    kernel.add_argument(
        "--repeats",
        type=int,
        default=5,
        help="calls of the kernel per round and structure; default: %(default)s",
    )
    kernel.add_argument(
        "--prototypes",
        action="store_true",
        help="the prototypes, also where the released structures are there",
    )
    twin = commands.add_parser(
        "twin", help="the kernels against the same algorithm in C++, built for it"
    )
    twin.add_argument(
        "--every", type=int, default=3, help="take each N-th structure; default: %(default)s"
    )
    twin.add_argument("--limit", type=int, help="at most so many structures")
    twin.add_argument("--prototypes", action="store_true", help="the prototypes")
    end_to_end = commands.add_parser(
        "end_to_end", help="stages of pack and census, and the census against its spglib calls"
    )
    ranks = commands.add_parser("ranks", help="the census by 1 and 2 ranks")
    ranks.add_argument(
        "--counts", type=int, nargs="+", default=[1, 2], help="numbers of ranks; default: 1 2"
    )
    ranks.add_argument(
        "--label-every",
        action="store_true",
        help="ten times the work from the same file: label every reconstruction",
    )
    for p_file in (end_to_end, ranks):
        p_file.add_argument(
            "--packed",
            type=Path,
            help="a packed file; default: the released structures, else the prototypes, "
            "packed first",
        )
        p_file.add_argument(
            "--evaluation", action="store_true", help="only the 210 evaluation structures"
        )
    scaling = commands.add_parser(
        "scaling", help="cells of 20,000 and 100,000 atoms through the kernel"
    )
    scaling.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=[20_000, 100_000],
        help="atoms; default: 20000 100000",
    )
    scaling.add_argument(
        "--delta-max",
        type=float,
        default=0.01,
        help="horizon of the phantom profile, Å; default: %(default)s",
    )
    scaling.add_argument(
        "--structures",
        type=float,
        help="predict pack and census of so many instead, from each term's constant here",
    )
    scaling.add_argument(
        "--ranks", type=int, nargs="+", default=[1024], help="of the prediction; default: 1024"
    )
    scaling.add_argument(
        "--rows",
        type=int,
        default=1 << 15,
        help="real rows that are merged here, whole chunks; default: 32768",
    )
    scaling.add_argument(
        "--counts",
        type=int,
        nargs="+",
        default=[1, 2, 8],
        help="numbers of ranks that merge them here; default: 1 2 8",
    )
    scaling.add_argument("--packed", type=Path, help="these structures, packed")
    scaling.add_argument(
        "--work", type=Path, help="folder of finished pieces: a run that was stopped goes on there"
    )
    for name, default, what in (
        ("open-ms", 1.0, "time to open a file, ms"),
        ("sync-ms", 2.0, "time to bring a part to the disk, ms"),
        ("draw-us", 50.0, "time of a draw from the queue, microseconds"),
        ("bandwidth", 2e9, "of messages to one rank, bytes a second"),
        ("disk", 1e9, "of one file, bytes a second"),
    ):
        scaling.add_argument(
            f"--{name}", type=float, default=default, help=f"{what}; default: %(default)g"
        )
    frontier = commands.add_parser(
        "frontier", help="the frontier over 20 deltas against one census"
    )
    noise = commands.add_parser("noise", help="the noise sweep: share of each of its parts")
    for p_cells, every in ((frontier, 1), (noise, 7)):
        p_cells.add_argument(
            "--every",
            type=int,
            default=every,
            help="take each N-th structure; default: %(default)s",
        )
        p_cells.add_argument(
            "--prototypes",
            action="store_true",
            help="the prototypes, also where the released structures are there",
        )
    unique = commands.add_parser(
        "unique", help="other crystals with the same pictures: tables of the sweep, and its cost"
    )
    unique.add_argument("--prototypes", action="store_true", help="the prototypes")
    unique.add_argument("--every", type=int, default=1, help="take each N-th structure")
    unique.add_argument("--packed", type=Path, help="these structures, packed; default: all")
    unique.add_argument("--protocol", default="frozen", help="cameras; default: %(default)s")
    unique.add_argument("--tiling", help="repeat the cell, as in 2,2,2")
    unique.add_argument("--delta", type=float, help="up to which a point is on another, Å")
    unique.add_argument("--subsets", default="all", help="view subsets; default: %(default)s")
    unique.add_argument("--policies", default="all", help="policies; default: %(default)s")
    cameras = commands.add_parser(
        "unique_cameras", help="the same under built-in and designed cameras, and with 2x2x2 cells"
    )
    cameras.add_argument("--prototypes", action="store_true", help="the prototypes")
    cameras.add_argument("--every", type=int, default=1, help="take each N-th structure")
    cameras.add_argument("--packed", type=Path, help="these structures, packed; default: all")
    cameras.add_argument(
        "--deltas", type=float, nargs="+", default=[1e-6, 0.01], help="Å; default: 1e-6 0.01"
    )
    cameras.add_argument(
        "--starts", type=int, default=32, help="of the designs; default: %(default)s"
    )
    cameras.add_argument(
        "--sample",
        type=int,
        default=40,
        help="structures that a design looks at; default: %(default)s",
    )
    cameras.add_argument(
        "--tiled-atoms",
        type=int,
        default=16,
        help="atoms of structures that are tiled, at most; default: %(default)s",
    )
    sources = commands.add_parser(
        "sources", help="a census of a built-in source at defaults: aflow, or g2"
    )
    sources.add_argument("--source", default="aflow", help="default: %(default)s")
    sources.add_argument("--first", type=int, help="at most so many structures")
    sources.add_argument("--orientation", help="of molecules")
    endpoint = commands.add_parser(
        "endpoint",
        help="replies a second of the client that asks models, against an endpoint of a "
        "known limit",
    )
    endpoint.add_argument(
        "--replies", type=int, default=960, help="requests of a round; default: %(default)s"
    )
    endpoint.add_argument(
        "--slots",
        type=int,
        default=16,
        help="answers of the endpoint at once; default: %(default)s",
    )
    endpoint.add_argument(
        "--latency-s", type=float, default=0.5, help="time of an answer, s; default: %(default)s"
    )
    endpoint.add_argument(
        "--concurrency",
        type=int,
        default=64,
        help="requests that the client has under way at most; default: %(default)s",
    )
    for command, rounds in (
        (endpoint, 2),
        (kernel, 2),
        (twin, 5),
        (end_to_end, 3),
        (ranks, 3),
        (scaling, 2),
        (frontier, 3),
        (noise, 2),
    ):
        command.add_argument("--rounds", type=int, default=rounds, help="default: %(default)s")
    return p


#: Arguments of the growth with the size of a cell; the others are those of the prediction.
_OF_CELLS = ("sizes", "delta_max", "rounds")


def _which_scaling(args: dict):
    """Growth with the size of a cell, or the prediction for many structures and ranks."""
    from bench import model, scaling

    if args["structures"] is None:
        return "scaling", scaling, {name: args[name] for name in _OF_CELLS}
    own = {name: value for name, value in args.items() if name not in ("sizes", "delta_max")}
    return "model", model, own


def main(argv=None) -> int:
    """Measure and write the record."""
    args = vars(parser().parse_args(argv))
    from rc_hpc.parallel.cache import prepare_numba_cache
    from rc_hpc.parallel.launch import limit_threads

    limit_threads()
    prepare_numba_cache()
    folder, name, measurement = args.pop("records"), args.pop("name"), args.pop("measurement")
    from bench import (
        end_to_end,
        endpoint,
        frontier,
        kernel,
        noise,
        ranks,
        scaling,
        sources,
        twin,
        unique,
        unique_cameras,
    )

    module = {
        "kernel": kernel,
        "twin": twin,
        "end_to_end": end_to_end,
        "ranks": ranks,
        "scaling": scaling,
        "sources": sources,
        "frontier": frontier,
        "noise": noise,
        "endpoint": endpoint,
        "unique": unique,
        "unique_cameras": unique_cameras,
    }[measurement]
    if measurement == "scaling":
        measurement, module, args = _which_scaling(args)
    before = environment()["load"]
    results = module.measure(**args)
    args.pop("work", None)
    if "packed" in args:
        args["packed"] = args["packed"] is not None  # no path in a record
    if "protocol" in args:
        args["protocol"] = Path(args["protocol"]).stem
    path = write_record(
        name or measurement,
        {"measurement": measurement, "load_before": before, **args},
        results,
        folder,
    )
    print(f"{path} written; tables: python bench/report.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
