"""A rank's hand: does one structure at a time, in a process that may be lost."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from typing import Any, Self

from rc_hpc.core.apart import OVERTIME, Apart, Lost, alone
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.symmetry.recorder import Recorder

log = logging.getLogger("rc_hpc")

#: Losses after which a structure is given up.
CRASHES = 2


class Hand:
    """Calls a function in a process of its own, renewed when it is lost; use as a context manager.

    spglib and parsers keep the interpreter for their whole call, and native code may crash: the
    structure in hand gets a status that says so, and the run, with all other ranks, goes on.

    Parameters
    ----------
    function
        Does one structure.
    budget_s
        CPU time for one structure, s; 0: any.
    recorder
        What `function` notes the structure in flight with.
    stopped
        Whether the run is to stop: a call under way is ended then.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        budget_s: float,
        recorder: Recorder,
        stopped: Callable[[], bool],
    ):
        self.function, self.budget_s = function, budget_s
        self.recorder, self.stopped = recorder, stopped
        self._apart: Apart | None = None

    def __call__(self, *arguments: Any, expected_s: float = 0.0) -> Any:
        """What the function returns.

        Parameters
        ----------
        expected_s
            What the structure is predicted to take, s: ten times that is added to its budget.

        Raises
        ------
        StructureError
            `timed_out` or `crashed`: the process was lost.
        Cut
            The run is to stop.
        Exception
            Whatever the function raises.
        """
        allowed = self.budget_s + 10 * expected_s if self.budget_s else 0.0
        for last in (False, True):
            if self._apart is None:
                self._apart = Apart(self.function, quiet=True)
            try:
                return self._apart.call(*arguments, cpu_s=allowed, stopped=self.stopped)
            except Lost as lost:
                self._apart = None
                self.recorder.forget()
                problem = self._problem(lost, allowed)
                if last or problem.status == Status.timed_out:
                    raise problem from lost
                log.info("native code crashed (%s): the structure is tried again", _name(lost))
        raise AssertionError("the second loss is raised")

    @staticmethod
    def _problem(lost: Lost, allowed: float) -> StructureError:
        if lost.signal == OVERTIME:
            return StructureError(
                Status.timed_out,
                f"not done after {allowed:g} s of CPU time, and left out; --cpu-budget allows more",
            )
        return StructureError(
            Status.crashed,
            f"native code crashed on this structure twice ({_name(lost)}); it is left out",
        )

    def once(self, function: Callable[..., Any], *arguments: Any, default: Any) -> Any:
        """One call of another function under the same budget; `default` where it fails."""
        try:
            return alone(function, *arguments, cpu_s=self.budget_s, stopped=self.stopped)
        except (Lost, StructureError, OSError):
            return default

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._apart is not None:
            self._apart.close()


def _name(lost: Lost) -> str:
    return signal.Signals(lost.signal).name if lost.signal else "it left"
