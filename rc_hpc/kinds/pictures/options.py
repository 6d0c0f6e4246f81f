"""Options of a package of the benchmark."""

from __future__ import annotations

from dataclasses import dataclass

from rc_hpc.benchmark.questions.options import QuestionOptions
from rc_hpc.core.options import Options
from rc_hpc.kinds.scenes.options import ScenesOptions

#: For the help of a build.
EXAMPLES = """\
  python -m rc_hpc.benchmark build -o bench         716 questions on 48 structures, 200 of them mini
  mpiexec -n 8 python -m rc_hpc.benchmark build prototypes --questions 10000 -o large
  python -m rc_hpc.benchmark build --resume -o bench
                                                    go on where a stopped or killed run was
  python -m rc_hpc.benchmark scenes packed.h5 --shard 0/16 -o displays.h5
  python -m rc_hpc.benchmark build displays.h5 --shard 0/16 -o bench
                                                    shares of job arrays; after the first: merge
                                                    displays.h5, after the second: build --resume

  Beside the package lie the packed structures (bench.packed.h5) and all that may be displayed of
  them (bench.displays.h5): the next package of the same structures is made of the latter.
"""


@dataclass(frozen=True)
class BuildOptions(Options):
    """What is displayed, and what is asked of it.

    Attributes
    ----------
    scenes
        Of which questions are drawn.
    questions
        How they are drawn.
    """

    scenes: ScenesOptions = ScenesOptions()
    questions: QuestionOptions = QuestionOptions()
