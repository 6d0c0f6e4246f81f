"""A function in a process of its own, which may hang, crash or be killed while the caller goes on.

Native code and parsers keep the interpreter for as long as a call lasts: no handler of a signal
and no thread can act meanwhile. Only another process can end such a call.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import os
import pickle
import resource
import signal
import sys
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from typing import Any, NoReturn, Self

#: Ends a call that has used up its CPU time. Its default action needs no interpreter.
OVERTIME = signal.SIGPROF
#: What asks a run for an end in good order is for the caller, who then ends this process.
_FOR_CALLER = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
#: Seconds between two looks at whether the caller is to stop.
_POLL_S = 0.1
_PR_SET_PDEATHSIG = 1


class Lost(Exception):
    """The process ended without an answer.

    Attributes
    ----------
    signal
        What ended it; 0 where it left by itself.
    """

    def __init__(self, number: int):
        name = f"signal {signal.Signals(number).name}" if number else "it left"
        super().__init__(f"the process ended without an answer ({name})")
        self.signal = number


class Cut(BaseException):
    """The caller was asked to stop; the call was ended and has no result."""


class Apart:
    """A copy of this process that answers calls of one function, one at a time.

    Use as a context manager, or `close` it. It ends with the thread that made it.

    Parameters
    ----------
    function
        Module level or not: the copy has it already. Arguments and results are pickled.
    memory
        Bytes of address space that it may take; any by default.
    quiet
        What native code writes to standard error is not seen; messages of ours are.
    """

    def __init__(
        self, function: Callable[..., Any], memory: int | None = None, quiet: bool = False
    ):
        mine, its = Pipe()
        with warnings.catch_warnings():
            # threads of other libraries hold nothing that is used here
            warnings.simplefilter("ignore", DeprecationWarning)
            parent = os.getpid()
            self.pid = os.fork()
        if not self.pid:
            mine.close()
            _serve(its, function, parent, memory, quiet)
        its.close()
        self._connection: Connection = mine

    def call(
        self, *arguments: Any, cpu_s: float = 0.0, stopped: Callable[[], bool] = lambda: False
    ) -> Any:
        """What the function returns.

        Parameters
        ----------
        cpu_s
            CPU time that it may take, s; 0: any.
        stopped
            Asked ten times a second whether to give up.

        Raises
        ------
        Lost
            The process ended: `OVERTIME`, a crash, memory. It cannot be called again.
        Cut
            `stopped` said so. It cannot be called again.
        Exception
            Whatever the function raises.
        """
        try:
            self._connection.send_bytes(pickle.dumps((arguments, cpu_s), pickle.HIGHEST_PROTOCOL))
            while not self._connection.poll(_POLL_S):
                if stopped():
                    self.close()
                    raise Cut
            answer = self._connection.recv_bytes()
        except (EOFError, ConnectionError):
            raise Lost(self._end()) from None
        raised, value = pickle.loads(answer)
        if raised:
            raise value
        return value

    def _end(self) -> int:
        self._connection.close()
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0

    def close(self) -> None:
        """End the process; may be called again."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serve(
    connection: Connection,
    function: Callable[..., Any],
    parent: int,
    memory: int | None,
    quiet: bool,
) -> NoReturn:
    """Answer calls until the caller is gone."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before it could be bound to
            os._exit(0)
        for number in _FOR_CALLER:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(OVERTIME, signal.SIG_DFL)
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if quiet:
            _quieten()
        gc.freeze()  # what the caller has is shared, and looked through by nobody
        while True:
            arguments, cpu_s = pickle.loads(connection.recv_bytes())
            signal.setitimer(signal.ITIMER_PROF, cpu_s)
            try:
                answer = False, function(*arguments)
            except Exception as error:  # noqa: BLE001 - it is raised where it was called
                answer = True, error
            signal.setitimer(signal.ITIMER_PROF, 0)
            connection.send_bytes(_pickled(*answer))
    except BaseException:  # noqa: BLE001 - nothing of the caller's code may run here
        os._exit(1)


def _quieten() -> None:
    """Keep standard error for Python alone."""
    own = os.fdopen(os.dup(2), "w", buffering=1, errors="backslashreplace")
    for handler in logging.root.handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
            handler.setStream(own)
    sys.stderr = own
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _pickled(raised: bool, value: Any) -> bytes:
    try:
        data = pickle.dumps((raised, value), pickle.HIGHEST_PROTOCOL)
        if raised:
            pickle.loads(data)  # some exceptions go one way only
        return data
    except Exception as error:  # noqa: BLE001 - whatever cannot be sent
        if not raised:
            value = error
        return pickle.dumps((True, RuntimeError(f"{type(value).__name__}: {value}")))


def alone(
    function: Callable[..., Any],
    *arguments: Any,
    cpu_s: float = 0.0,
    memory: int | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Any:
    """One call of a function in a process of its own: see `Apart.call`."""
    with Apart(function, memory) as apart:
        return apart.call(*arguments, cpu_s=cpu_s, stopped=stopped)
