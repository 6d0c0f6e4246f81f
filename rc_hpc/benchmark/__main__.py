"""Command: MV-CrystalBench: builds, checks and scores questions on pictures of crystals."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from rc_hpc.benchmark import baseline_options
from rc_hpc.benchmark.checks import options as checks
from rc_hpc.benchmark.exporting import options as exporting
from rc_hpc.benchmark.sampling import options as sampling
from rc_hpc.benchmark.scoring import options as scoring
from rc_hpc.core.door import Parser, Talk, guarded
from rc_hpc.core.lazy import resolve
from rc_hpc.core.options import Options
from rc_hpc.engine import entry
from rc_hpc.engine.options import PackedSourceOptions, RunOptions
from rc_hpc.kinds.pictures.options import EXAMPLES as BUILD_EXAMPLES
from rc_hpc.kinds.pictures.options import BuildOptions
from rc_hpc.kinds.registry import of_command

EXAMPLES = """\
  python -m rc_hpc.benchmark build -o bench         716 questions on 48 structures, 200 of them mini
  python -m rc_hpc.benchmark check bench            what is wrong with a package
  python jobs/query_vlm.py bench --model M -o m.h5  ask a model, in the arms image,text,no-image
  python -m rc_hpc.benchmark score m.h5 --benchmark bench
"""


class Action(NamedTuple):
    """An action in one process: what it does, its options, examples, and the function."""

    line: str
    options: type[Options]
    examples: str
    does: str


ACTIONS = {
    "score": Action(
        "scores answers: strata, paired differences, intervals over structures",
        scoring.ScoreOptions,
        scoring.EXAMPLES,
        "rc_hpc.benchmark.scoring.run:run",
    ),
    "check": Action(
        "finds what is wrong with a package: files, rows, quotas, leaks, answers, fairness",
        checks.CheckOptions,
        checks.EXAMPLES,
        "rc_hpc.benchmark.checks.run:run",
    ),
    "export": Action(
        "writes a package for inspect_ai, lm-eval or VLMEvalKit",
        exporting.ExportOptions,
        exporting.EXAMPLES,
        "rc_hpc.benchmark.exporting.run:run",
    ),
    "baselines": Action(
        "writes answers of readers without a model: chance, rules, oracle, exact coordinates",
        baseline_options.BaselineOptions,
        baseline_options.EXAMPLES,
        "rc_hpc.assembly.baselines:run",
    ),
    "samples": Action(
        "draws a page of sample questions with their pictures, one of each stratum",
        sampling.SampleOptions,
        sampling.EXAMPLES,
        "rc_hpc.benchmark.sampling.run:run",
    ),
}


def parser() -> Parser:
    """Argument parser that tells of all actions."""
    told = {kind.command.split()[1]: kind.line for kind in of_command("benchmark")}
    told |= {name: action.line for name, action in ACTIONS.items()}
    about = "\n".join([f"{__doc__}\n\nactions:", *(f"  {k:<11}{line}" for k, line in told.items())])
    return Parser("python -m rc_hpc.benchmark", about, EXAMPLES, usage="%(prog)s [-h] ACTION ...")


def build_parser() -> Parser:
    """Argument parser of building a package."""
    about = "Builds a package of the benchmark: scenes, pictures and questions."
    p = Parser("python -m rc_hpc.benchmark build", about, BUILD_EXAMPLES)
    p.add_options(PackedSourceOptions, "what is read", source=("catalogue",))
    p.add_options(BuildOptions, "what is displayed and asked")
    p.add_options(RunOptions, "how the run goes about its work", output=Path("benchmark"))
    p.add_config()
    return p


def action_parser(name: str) -> Parser:
    """Argument parser of an action in one process."""
    action = ACTIONS[name]
    p = Parser(f"python -m rc_hpc.benchmark {name}", f"{action.line}.", action.examples)
    p.add_options(action.options)
    p.add_config()
    return p


def parsers() -> dict[str, Parser]:
    """Parsers by the word that follows the command."""
    serial = {name: action_parser(name) for name in ACTIONS}
    return entry.parsers("benchmark") | {"build": build_parser()} | serial


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if argv[:1] == ["build"]:
        return entry.on_all_ranks(_build, argv[1:])
    if argv and argv[0] in ACTIONS:
        return guarded(_act, argv)
    return entry.main("benchmark", argv, parser())


def _build(argv) -> int:
    asked = build_parser().read(argv)  # before anything heavy is imported: it may be --help
    return resolve("rc_hpc.assembly.build:build")(asked)


def _act(argv) -> int:
    asked = action_parser(argv[0]).read(argv[1:])
    does = resolve("rc_hpc.parallel.compiling:load")(ACTIONS[argv[0]].does)
    return does(asked.make(ACTIONS[argv[0]].options), asked.make(Talk))


if __name__ == "__main__":
    sys.exit(main())
