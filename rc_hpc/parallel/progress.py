"""How far the work is: a bar on a terminal, plain lines in a batch job's log."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any, Self, TextIO

from rc_hpc.parallel.state import RunState

MODES = ("auto", "bar", "plain", "none")
#: Columns of a terminal that reports none.
_COLUMNS = 80


class Progress:
    """Shows rows done, rate, time left and failures; only on rank 0.

    Parameters
    ----------
    total_rows
        Rows in all; None where the source is a stream.
    unit
        What a row is, in the plural.
    mode
        ``bar``; ``plain``: one line every `interval_s`, at every 5 % if that is not within
        `quiet_s` of the last one, and at the end;
        ``none``; ``auto``: bar on a terminal, else plain.
    stream
        Default: standard error.
    rank
        Only rank 0 shows anything.
    initial
        Rows done by earlier runs: they count for the percentage, not for the rate.
    interval_s
        Longest silence of plain mode while rows come in, s.
    quiet_s
        Shortest time between lines of plain mode, s: a short run has few.
    clock
        Returns seconds.
    state
        Is told too how far the work is, in every mode.
    """

    def __init__(
        self,
        total_rows: int | None,
        unit: str = "structures",
        mode: str = "auto",
        stream: TextIO | None = None,
        rank: int = 0,
        initial: int = 0,
        interval_s: float = 30.0,
        quiet_s: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
        state: RunState | None = None,
    ):
        if mode not in MODES:
            raise ValueError(f"progress mode {mode!r}: use one of {', '.join(MODES)}")
        self.stream = stream or sys.stderr
        self.total, self.unit, self.initial = total_rows, unit, initial
        self._interval, self._quiet, self._clock = interval_s, quiet_s, clock
        self._state = state or RunState(None, "")
        if mode == "auto":
            mode = "bar" if self.stream.isatty() else "plain"
        self.mode = mode if rank == 0 else "none"
        self._messages = rank == 0
        self._rows = self._failures = 0
        self._note = ""
        self._start = self._last = clock()
        self._shown = (-1, -1)
        self._step = self._twentieth()
        self._bar = self._make_bar() if self.mode == "bar" else None

    def _make_bar(self):
        from tqdm import tqdm

        return tqdm(
            total=self.total,
            initial=self.initial,
            unit=f" {self.unit}",
            file=self.stream,
            mininterval=0.2,
            **self._width(),
        )

    def _width(self) -> dict[str, Any]:
        """How wide the bar is: as the terminal, or as most where that does not tell."""
        try:
            known = os.get_terminal_size(self.stream.fileno()).columns > 0
        except (OSError, ValueError, AttributeError):
            known = True  # no file of the system's: tqdm knows best
        return {"dynamic_ncols": True} if known else {"ncols": _COLUMNS}

    def update(self, rows: int, failures: int = 0, note: str = "") -> None:
        """Tell the rows done so far in this run, how many of them failed, and a note to show."""
        self._rows, self._failures, self._note = rows, failures, note
        self._state.far(self.initial + rows, self.total, self.unit)
        if self._bar is not None:
            if failures or note:
                self._bar.set_postfix_str(
                    ", ".join(filter(None, (f"{failures} failed" if failures else "", note))),
                    refresh=False,
                )
            self._bar.update(self.initial + rows - self._bar.n)
        elif self.mode == "plain":
            step = self._twentieth()
            silence = self._clock() - self._last
            if silence >= self._interval or (step > self._step and silence >= self._quiet):
                self._step = step
                self._line()

    def message(self, text: str) -> None:
        """Write a line (rank 0, in every mode) without tearing the bar."""
        if self._bar is not None:
            self._bar.write(text, file=self.stream)
        elif self._messages:
            self._write(text)

    def close(self) -> None:
        """Show the final state; may be called again."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        elif self.mode == "plain" and self._shown != (self._rows, self._failures):
            self._line()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _twentieth(self) -> int:
        return 20 * (self.initial + self._rows) // self.total if self.total else 0

    def _line(self) -> None:
        self._last = self._clock()
        self._shown = (self._rows, self._failures)
        done, elapsed = self.initial + self._rows, self._last - self._start
        rate = self._rows / elapsed if elapsed > 0 else 0.0
        if self.total is None:
            parts = [f"{done} {self.unit}"]
        else:
            percent = 100 * done // self.total if self.total else 100
            parts = [f"{done}/{self.total} {self.unit} ({percent} %)"]
        if rate > 0:
            parts.append(f"{rate:.3g}/s" if rate < 100 else f"{rate:.0f}/s")
        if self.total is None or done >= self.total:
            parts.append(f"{_duration(elapsed)} elapsed")
        elif rate > 0:
            parts.append(f"{_duration((self.total - done) / rate)} left")
        parts.append(f"{self._failures} failed")
        if self._note:
            parts.append(self._note)
        self._write(", ".join(parts))

    def _write(self, line: str) -> None:
        self.stream.write(line + "\n")
        self.stream.flush()


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
