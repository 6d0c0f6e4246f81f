#!/usr/bin/env python3
"""Command: train networks to read the crystal system off pictures."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rc_hpc.core.old_door import Parser, guarded, setup_logging
from rc_hpc.core.errors import Exit, UsageError
from rc_hpc.parallel.launch import limit_threads
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.training.recipe import AUGMENTATIONS, PRECISIONS, Recipe, check_augmentations

EXAMPLES = """\
  python -m rc_hpc.render packed.h5 -o renders.h5 && python -m rc_hpc.pixels renders.h5 -o pixels.h5
                                                    pictures, decoded once
  python jobs/train_pixels.py pixels.h5 --split split/ --model resnet50 -o resnet50.h5
                                                    one GPU, ImageNet weights from torchvision's hub
  python jobs/train_pixels.py pixels.h5 --split split/ --model vit-s16 --weights file:vit.safetensors --seeds 23,24,25 -o vit.h5
  torchrun --nproc-per-node 4 jobs/train_pixels.py pixels.h5 --split split/ -o resnet50.h5
  srun -K python jobs/train_pixels.py pixels.h5 --split split/ -o resnet50.h5 --resume
                                                    one task for each GPU; no torchrun needed
  python jobs/train_pixels.py small.h5 --split split/ --model test_resnet --weights random --device cpu -o small-run.h5

  FILE.h5 holds logits of every view, learning curves, scores and the environment; beside it the folder FILE
  holds weights, predictions (for python -m rc_hpc.ladder) and figures. USR1 and TERM save a checkpoint and leave with 0: whether the
  run is done is told by FILE.h5. Checkpoints wait in FILE.h5.parts; --resume goes on with them, or begins where there are none.
"""


def numbers(text: str) -> tuple[int, ...]:
    """Comma-separated whole numbers."""
    return tuple(int(part) for part in text.split(","))


def names(text: str) -> tuple[str, ...]:
    """Comma-separated names; ``none`` is no name."""
    return () if text in ("", "none") else tuple(part.strip() for part in text.split(","))


def parser() -> argparse.ArgumentParser:
    """Argument parser of the job."""
    p = Parser("python jobs/train_pixels.py", __doc__, EXAMPLES)
    p.add_argument(
        "pixels", type=Path, metavar="PIXELS", help="pixel file written by python -m rc_hpc.pixels"
    )
    p.add_argument(
        "--split",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder with train.jsonl and eval.jsonl: the released one, or of python -m rc_hpc.split",
    )
    p.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("training.h5"),
        metavar="FILE",
        help="default: %(default)s",
    )
    p.add_argument(
        "--model",
        default="resnet50",
        metavar="NAME",
        help="resnet50 (torchvision; default), vit-s16 (timm's vit_small_patch16_224), any name of timm, torchvision:NAME or timm:NAME",
    )
    p.add_argument(
        "--weights",
        default="hub",
        metavar="WHAT",
        help="hub (default: the library's ImageNet weights), file:PATH, or random; all with a new head",
    )
    p.add_argument(
        "--seeds", type=numbers, default=(23,), metavar="N,N", help="one training each; default: 23"
    )
    p.add_argument("--epochs", type=int, default=8, metavar="N", help="default: %(default)s")
    p.add_argument(
        "--batch-size",
        type=int,
        default=64,
        metavar="N",
        help="pictures of a step, over all processes; default: %(default)s",
    )
    p.add_argument(
        "--lr",
        type=float,
        default=3e-4,
        metavar="RATE",
        help="first learning rate of AdamW; a half cosine brings it to 0, step by step; default: %(default)s",
    )
    p.add_argument(
        "--weight-decay", type=float, default=0.01, metavar="W", help="default: %(default)s"
    )
    p.add_argument(
        "--holdout",
        type=float,
        default=0.1,
        metavar="F",
        help="share of the training structures, of each class, that is held out; default: %(default)s",
    )
    p.add_argument(
        "--holdout-seed",
        type=int,
        default=23,
        metavar="N",
        help="of the hold-out, whatever --seeds; default: %(default)s",
    )
    p.add_argument(
        "--augment",
        type=names,
        default=(),
        metavar="NAME,NAME",
        help=f"{', '.join(AUGMENTATIONS)}; default: none. What alters the geometry, hides atoms or changes their colours is refused",
    )
    p.add_argument(
        "--device",
        choices=("cuda", "cpu"),
        default="cuda",
        help="default: %(default)s; nothing falls back to the CPU by itself",
    )
    p.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="auto",
        help="of autocast; auto (default): float16 with scaled gradients on a GPU, float32 on a CPU",
    )
    p.add_argument(
        "--deterministic",
        action="store_true",
        help="only deterministic GPU algorithms: slower, the same weights every time",
    )
    p.add_argument(
        "--save-every",
        type=int,
        default=0,
        metavar="STEPS",
        help="checkpoints beside those after each epoch; default: none",
    )
    p.add_argument(
        "--resume",
        action="store_true",
        help="go on with earlier work of this output, under the same options and input",
    )
    p.add_argument("--overwrite", action="store_true", help="remove earlier work of this output")
    p.add_argument(
        "--progress",
        choices=("auto", "bar", "plain", "none"),
        default="auto",
        help="default: a bar on a terminal, else plain lines",
    )
    p.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    args = parser().parse(argv)
    os.environ.setdefault("OMP_NUM_THREADS", os.environ.get("SLURM_CPUS_PER_TASK", "1"))
    limit_threads()  # before torch and numpy read them
    from rc_hpc.engine.run import RunOptions
    from rc_hpc.parallel.torch_ranks import Ranks, choose_device, place
    from rc_hpc.report.tables import show
    from rc_hpc.training.networks import check_weights, libraries
    from rc_hpc.training.run import Task, check_seeds, output_folder, run_training
    from rc_hpc.training.split_files import read_split

    where = place()
    setup_logging(args, where.rank)
    check_seeds(args.seeds)
    if args.save_every < 0:
        raise UsageError(f"--save-every {args.save_every}: give 0 or more")
    output_folder(args.output)
    weights, digest = check_weights(args.weights)
    precision = {"auto": "float16" if args.device == "cuda" else "float32"}.get(
        args.precision, args.precision
    )
    if precision == "float16" and args.device == "cpu":
        raise UsageError("--precision float16 is for GPUs: take bfloat16 or float32 on the CPU")
    recipe = Recipe(
        args.model,
        weights,
        digest,
        args.epochs,
        args.batch_size,
        args.lr,
        args.weight_decay,
        args.holdout,
        args.holdout_seed,
        check_augmentations(args.augment),
        precision,
        args.deterministic,
    )
    task = Task(
        args.pixels, read_split(args.split), recipe, args.seeds, args.weights, args.save_every
    )
    run = RunOptions(args.output, args.resume, args.overwrite, None, args.progress)
    if args.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch, *_ = libraries()
    device = choose_device(args.device, where)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"].split(",")[0]))
    torch.use_deterministic_algorithms(args.deterministic)
    torch.backends.cudnn.benchmark = not args.deterministic
    with StopSignal() as stop, Ranks(where, device) as ranks:
        tables = run_training(task, run, ranks, device, stop)
    if where.rank == 0 and not args.quiet:
        if tables is None:
            print(
                f"rc_hpc: stopped by {stop.name or 'another process'}, saved: go on with --resume",
                file=sys.stderr,
            )
        elif not tables:
            print(f"{args.output}: finished already")
        else:
            show(tables, "terminal")
    return Exit.CLEAN


if __name__ == "__main__":
    sys.exit(main())
