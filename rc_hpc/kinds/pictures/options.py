"""Options of a package of the benchmark."""

from __future__ import annotations

from dataclasses import dataclass

from rc_hpc.benchmark.questions.options import QuestionOptions
from rc_hpc.core.options import Options
from rc_hpc.kinds.scenes.options import ScenesOptions


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
