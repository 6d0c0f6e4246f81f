"""A rank's hand: does structures in a process that may be lost."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from rc_hpc.core.apart import OVERTIME, Apart, Lost, alone
from rc_hpc.core.errors import Status, StructureError
from rc_hpc.symmetry.recorder import Recorder

log = logging.getLogger("rc_hpc")

#: Losses after which a structure is given up.
CRASHES = 2


@dataclass
class _Task:
    """A structure that is to be done."""

    arguments: tuple[Any, ...]
    #: CPU time that it may take, s; 0: any.
    allowed: float
    crashes: int = 0
    #: Why it is given up.
    problem: StructureError | None = None


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
    gather
        See `Apart`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        budget_s: float,
        recorder: Recorder,
        stopped: Callable[[], bool],
        gather: Callable[[list[Any]], Any] = list,
    ):
        self.function, self.budget_s = function, budget_s
        self.recorder, self.stopped, self.gather = recorder, stopped, gather
        self._apart: Apart | None = None

    def __call__(self, *arguments: Any) -> Any:
        """What the function returns; `gather` must be the default.

        Raises
        ------
        StructureError
            `timed_out` or `crashed`: the process was lost.
        Cut
            The run is to stop.
        Exception
            Whatever the function raises.
        """
        ((errors, values),) = self.each([(arguments, 0.0)])
        if errors[0] is not None:
            raise errors[0]
        return values[0]

    def each(
        self, calls: Sequence[tuple[tuple[Any, ...], float]]
    ) -> Iterator[tuple[list[Exception | None], Any]]:
        """What the function returns of several structures, in their order, some at a time.

        A process that is lost takes with it what it had done in the last moment and not told:
        that is done again, by the next one.

        Parameters
        ----------
        calls
            Arguments of each, and what it is predicted to take, s: ten times that is added to
            its budget.

        Yields
        ------
        errors : list
            What each of the next structures raised, or why it was lost; None where there is a
            result.
        values
            `gather` of the results.

        Raises
        ------
        Cut
            The run is to stop.
        """
        budget = self.budget_s
        tasks = [_Task(given, budget + 10 * s if budget else 0.0) for given, s in calls]
        while tasks:
            first = tasks[0]
            if first.problem is not None:
                tasks = tasks[1:]
                yield [first.problem], self.gather([])
                continue
            # What crashed goes alone, and so does not what comes before it.
            doubtful = (k for k, task in enumerate(tasks) if task.crashes or task.problem)
            together = max(1, next(doubtful, len(tasks)))
            if self._apart is None:
                self._apart = Apart(self.function, quiet=True, gather=self.gather)
            asked = [(task.arguments, task.allowed) for task in tasks[:together]]
            try:
                for errors, values in self._apart.calls(asked, self.stopped):
                    tasks = tasks[len(errors) :]
                    yield errors, values
            except Lost as lost:
                self.recorder.forget()
                self._blame(tasks[lost.place], lost)
            finally:
                if not self._apart.pid:
                    self._apart = None

    def _blame(self, task: _Task, lost: Lost) -> None:
        """Give up what was under way when the process was lost, or note that it crashed."""
        problem = self._problem(lost, task.allowed)
        problem.__cause__ = lost
        task.crashes += problem.status == Status.crashed
        if problem.status == Status.timed_out or task.crashes == CRASHES:
            task.problem = problem
        else:
            log.info("native code crashed (%s): the structure is tried again", _name(lost))

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
