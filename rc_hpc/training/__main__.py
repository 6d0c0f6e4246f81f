"""Command: train networks to read the crystal system off pictures."""

from __future__ import annotations

import sys
from pathlib import Path

from rc_hpc.core.door import Parser, Talk, guarded
from rc_hpc.core.lazy import resolve
from rc_hpc.engine.options import CodedWorkOptions
from rc_hpc.training.options import TrainingOptions

EXAMPLES = """\
  python -m rc_hpc.render packed.h5 -o renders.h5 && python -m rc_hpc.pixels renders.h5 -o pixels.h5
                                                    pictures, decoded once
  python -m rc_hpc.training pixels.h5 --split split/ --model resnet50 -o resnet50.h5
                                                    one GPU, ImageNet weights from torchvision's hub
  python -m rc_hpc.training pixels.h5 --split split/ --model vit-s16 \\
      --weights file:vit.safetensors --seeds 23,24,25 -o vit.h5
  torchrun --nproc-per-node 4 -m rc_hpc.training pixels.h5 --split split/ -o resnet50.h5
  srun -K python -m rc_hpc.training pixels.h5 --split split/ -o resnet50.h5 --resume
                                                    one task for each GPU; no torchrun needed
  python -m rc_hpc.training small.h5 --split split/ --model test_resnet --weights random \\
      --device cpu -o small-run.h5

  FILE.h5 holds logits of every view, learning curves, scores and the environment; beside it the
  folder FILE holds weights, predictions (for python -m rc_hpc.ladder) and figures. USR1, TERM and
  INT save a checkpoint and leave. Checkpoints wait in FILE.h5.parts; --resume goes on with them,
  or begins where there are none. jobs/train_pixels.py is the same command.
"""


def parser() -> Parser:
    """Argument parser of the command."""
    p = Parser("python -m rc_hpc.training", __doc__, EXAMPLES)
    p.add_options(TrainingOptions, "training")
    p.add_options(CodedWorkOptions, "run", output=Path("training.h5"))
    p.add_config()
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, argv)


def _run(argv) -> int:
    asked = parser().read(argv)
    start = resolve("rc_hpc.training.start:start")
    return start(asked.make(TrainingOptions), asked.make(CodedWorkOptions), asked.make(Talk))


if __name__ == "__main__":
    sys.exit(main())
