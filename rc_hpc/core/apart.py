"""A function in a process of its own, which may hang, crash or be killed while the caller goes on.

Native code and parsers keep the interpreter for as long as a call lasts: no handler of a signal
and no thread can act meanwhile. Only another process can end such a call.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import mmap
import os
import pickle
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, Pipe
from typing import Any, NoReturn, Self

#: Ends a call that has used up its CPU time. Its default action needs no interpreter.
OVERTIME = signal.SIGPROF
#: What asks a run for an end in good order is for the caller, who then ends this process.
_FOR_CALLER = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
#: Seconds between two looks at whether the caller is to stop.
_POLL_S = 0.1
#: Seconds for which answers wait for further ones, to come over in one message.
_HOLD_S = 0.02
_PR_SET_PDEATHSIG = 1
_PLACE_BYTES = 8


class Lost(Exception):
    """The process ended without an answer.

    Attributes
    ----------
    signal
        What ended it; 0 where it left by itself.
    place
        Of the call under way, among those that had no answer yet.
    """

    def __init__(self, number: int, place: int = 0):
        name = f"signal {signal.Signals(number).name}" if number else "it left"
        super().__init__(f"the process ended without an answer ({name})")
        self.signal, self.place = number, place


class Cut(BaseException):
    """The caller was asked to stop; the call was ended and has no result."""


class Apart:
    """A copy of this process that answers calls of one function.

    Use as a context manager, or `close` it. It ends with the thread that made it.

    Parameters
    ----------
    function
        Module level or not: the copy has it already. Arguments and results are pickled.
    memory
        Bytes of address space that it may take; any by default.
    quiet
        What native code writes to standard error is not seen; messages of ours are.
    gather
        Makes one thing, quick to pickle, of what several calls return; it must not fail.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        memory: int | None = None,
        quiet: bool = False,
        gather: Callable[[list[Any]], Any] = list,
    ):
        mine, its = Pipe()
        #: Place of the call under way, in memory that both processes see.
        self._place = mmap.mmap(-1, _PLACE_BYTES)
        with warnings.catch_warnings():
            # threads of other libraries hold nothing that is used here
            warnings.simplefilter("ignore", DeprecationWarning)
            parent = os.getpid()
            self.pid = os.fork()
        if not self.pid:
            mine.close()
            _serve(its, function, parent, memory, quiet, gather, self._place)
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
        ((errors, values),) = self.calls([(arguments, cpu_s)], stopped)
        if errors[0] is not None:
            raise errors[0]
        return values[0]

    def calls(
        self,
        calls: Sequence[tuple[tuple[Any, ...], float]],
        stopped: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[list[Exception | None], Any]]:
        """Answers of several calls, given in one message, in their order.

        Answers come several at a time: they wait for each other for no more than `_HOLD_S`. Left
        before its end, the process cannot be called again.

        Parameters
        ----------
        calls
            Arguments of each, and the CPU time that it may take, s; 0: any.
        stopped
            Asked ten times a second, and before each answer, whether to give up.

        Yields
        ------
        errors : list
            What each of the next calls raised; None where it returned.
        values
            `gather` of what the others returned.

        Raises
        ------
        Lost, Cut
            See `call`; with `Lost.place`.
        """
        left, message = len(calls), _dumps(calls)
        self._place[:] = bytes(_PLACE_BYTES)
        try:
            self._connection.send_bytes(message)
            while left:
                if stopped():
                    raise Cut
                if self._connection.poll(_POLL_S):
                    errors, values = pickle.loads(self._connection.recv_bytes())
                    left -= len(errors)
                    yield errors, values
        except (EOFError, ConnectionError):
            place = int.from_bytes(self._place[:], "little") - (len(calls) - left)
            raise Lost(self._end(), max(0, place)) from None
        finally:
            if left:
                self.close()

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
    gather: Callable[[list[Any]], Any],
    place: mmap.mmap,
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
            calls = pickle.loads(connection.recv_bytes())
            errors: list[Exception | None] = []
            values: list[Any] = []
            due = time.monotonic() + _HOLD_S
            for at, (arguments, cpu_s) in enumerate(calls):
                place[:] = at.to_bytes(_PLACE_BYTES, "little")
                signal.setitimer(signal.ITIMER_PROF, cpu_s)
                try:
                    values.append(function(*arguments))
                    errors.append(None)
                except Exception as error:  # noqa: BLE001 - it is raised where it was called
                    errors.append(error)
                signal.setitimer(signal.ITIMER_PROF, 0)
                if time.monotonic() >= due or at == len(calls) - 1:
                    connection.send_bytes(_pickled(errors, values, gather))
                    errors, values = [], []
                    due = time.monotonic() + _HOLD_S
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


def _dumps(what: Any) -> bytes:
    return pickle.dumps(what, pickle.HIGHEST_PROTOCOL)


def _pickled(
    errors: list[Exception | None], values: list[Any], gather: Callable[[list[Any]], Any]
) -> bytes:
    sent = [_sendable(error) for error in errors]
    try:
        return _dumps((sent, gather(values)))
    except Exception:  # noqa: BLE001 - whatever cannot be sent
        left = iter(values)
        kept: list[Any] = []
        for at, error in enumerate(sent):
            if error is None:
                value = next(left)
                try:
                    _dumps(value)
                    kept.append(value)
                except Exception as problem:  # noqa: BLE001
                    sent[at] = RuntimeError(f"{type(problem).__name__}: {problem}")
        return _dumps((sent, gather(kept)))


def _sendable(error: Exception | None) -> Exception | None:
    """An error that another process can read: some exceptions go one way only."""
    if error is not None:
        try:
            pickle.loads(_dumps(error))
        except Exception:  # noqa: BLE001 - whatever cannot be sent
            return RuntimeError(f"{type(error).__name__}: {error}")
    return error


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
