"""The training job from its options to an exit code, on every process."""

from __future__ import annotations

import os
import sys

from rc_hpc.core.door import Talk, setup_logging
from rc_hpc.core.errors import Exit
from rc_hpc.core.lazy import resolve
from rc_hpc.engine.options import CodedWorkOptions
from rc_hpc.parallel.launch import limit_threads
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.parallel.state import RunState
from rc_hpc.parallel.torch_ranks import Ranks, choose_device, place
from rc_hpc.training.networks import libraries
from rc_hpc.training.options import TrainingOptions


def start(options: TrainingOptions, work: CodedWorkOptions, talk: Talk) -> int:
    """Train, and tell how it went; all processes together."""
    where = place()
    setup_logging(talk, where.rank)
    os.environ.setdefault("OMP_NUM_THREADS", os.environ.get("SLURM_CPUS_PER_TASK", "1"))
    limit_threads()  # before torch and numpy read them
    with RunState(work.state, "training", work.output, rank=where.rank) as state:
        device = _prepare(options, where)
        with StopSignal() as stop, Ranks(where, device) as ranks:
            state.begin()
            run = resolve("rc_hpc.training.run:run_training")
            tables, failed = run(options, work, ranks, device, stop, state)
            code = Exit.FAILURES if failed else Exit.CLEAN
            if tables is None:
                code = max(ranks.gather(stop.exit_code))
        if tables is None:
            state.stopped(code)
        else:
            state.done(code)
    if where.rank == 0 and not talk.quiet:
        _tell(tables, work, stop)
    return code


def _prepare(options: TrainingOptions, where):
    """The torch device of this process, with torch set up as the options want it."""
    deterministic = options.recipe.deterministic
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch, *_ = libraries()
    device = choose_device(options.device, where)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"].split(",")[0]))
    torch.use_deterministic_algorithms(deterministic)
    torch.backends.cudnn.benchmark = not deterministic
    return device


def _tell(tables: list | None, work: CodedWorkOptions, stop: StopSignal) -> None:
    if tables is None:
        by = stop.name or "another process"
        print(f"rc_hpc: stopped by {by}, saved: go on with --resume", file=sys.stderr)
    elif not tables:
        print(f"{work.output}: finished already")
    else:
        resolve("rc_hpc.report.tables:show")(tables, "terminal")
