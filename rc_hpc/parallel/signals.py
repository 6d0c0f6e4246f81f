"""Signals that ask for an end in good order."""

from __future__ import annotations

import signal
from typing import Self

from rc_hpc.core.errors import Exit

STOP_SIGNALS = (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT)


class StopSignal:
    """While it is open, USR1, TERM and INT only set a flag, which the driver polls.

    A second INT (Ctrl-C) raises KeyboardInterrupt. The handlers found are put back at the
    end. For the main thread.

    Attributes
    ----------
    requested : bool
        Whether a signal came.
    name : str
        Name of the first one, such as ``SIGTERM``; empty before.
    """

    def __init__(self):
        self.requested = False
        self.name = ""
        self._interrupted = False
        self._before = {}

    @property
    def exit_code(self) -> int:
        """Exit code of a run that it stopped in good order.

        130 where INT came first. TERM and USR1 are for batch jobs: 0, since srun would
        end the other ranks at the first one that leaves with anything else.
        """
        return Exit.INTERRUPTED if self.name == signal.SIGINT.name else Exit.CLEAN

    def _note(self, number, _frame) -> None:
        if number == signal.SIGINT:
            if self._interrupted:
                raise KeyboardInterrupt
            self._interrupted = True
        self.name = self.name or signal.Signals(number).name
        self.requested = True

    def __enter__(self) -> Self:
        for number in STOP_SIGNALS:
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._before.items():
            # None: a handler not set from Python, which cannot be put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._before.clear()
