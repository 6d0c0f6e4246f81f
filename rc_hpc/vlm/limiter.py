"""How much may be asked at once: concurrency that the endpoint bears, and budgets per minute."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


class Budget:
    """So many units a minute, evenly: a request that would exceed it waits its turn.

    Parameters
    ----------
    per_minute
        None: no limit.
    clock
        Returns seconds.
    """

    def __init__(self, per_minute: float | None, clock: Callable[[], float] = time.monotonic):
        self._rate = None if per_minute is None else per_minute / 60
        self._clock = clock
        self._free = float("-inf")  # when all that is booked has passed

    def take(self, units: float = 1.0) -> float:
        """Book units; returns the seconds to wait before they may be used.

        About one second's worth may go at once.
        """
        if self._rate is None:
            return 0.0
        now = self._clock()
        start = max(self._free, now - max(0.0, 1.0 - 1 / self._rate))
        self._free = start + units / self._rate
        return max(0.0, start - now)

    def correct(self, units: float) -> None:
        """Book what was used beyond the estimate; negative gives back."""
        if self._rate is not None:
            self._free += units / self._rate


class Limiter:
    """Slots for attempts.

    They are doubled each round until the endpoint first complains, and cut then. After a cut they
    grow by a cubic of the rounds since (as TCP CUBIC does, RFC 9438): fast at first, slowly about
    what they were before the cut, and faster again where the endpoint bears that.

    Parameters
    ----------
    most
        Slots at most.
    start
        Slots in the beginning.
    requests, tokens
        Budgets per minute.

    Attributes
    ----------
    limit : float
        Slots at present.
    in_flight : int
        Slots taken.
    """

    #: Slots left by a cut.
    CUT = 0.8
    #: Rounds of attempts after a cut until there are as many slots as before it.
    RETURN = 3.0

    def __init__(
        self,
        most: int,
        start: int = 8,
        requests: Budget | None = None,
        tokens: Budget | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.most = most
        self.limit = float(min(most, start))
        self.in_flight = 0
        self.cuts = 0
        self._growing = True
        self._before_cut, self._rounds = self.limit, 0.0
        self._clock = clock
        self._requests, self._tokens = requests or Budget(None), tokens or Budget(None)
        self._last_cut = float("-inf")
        self._quiet_until = float("-inf")
        self._free = asyncio.Condition()

    async def enter(self, tokens: float, sleep: Callable) -> float:
        """Wait for a slot, for the end of any pause and for the budgets.

        Returns the time at which it was given.

        Parameters
        ----------
        tokens
            Estimated tokens of the attempt.
        sleep
            Sleeps so many seconds; may raise to give up.
        """
        async with self._free:
            await self._free.wait_for(lambda: self.in_flight < int(self.limit))
            self.in_flight += 1
        try:
            if wait := max(self._requests.take(), self._tokens.take(tokens)):
                await sleep(wait)
            while (wait := self._quiet_until - self._clock()) > 0:
                await sleep(wait)
        except BaseException:
            await self.leave()
            raise
        return self._clock()

    async def leave(self) -> None:
        """Give the slot back."""
        async with self._free:
            self.in_flight -= 1
            self._free.notify_all()

    def succeeded(self, tokens_beyond: float = 0.0) -> None:
        """An attempt got a reply; `tokens_beyond` is what it used beyond the estimate."""
        self._tokens.correct(tokens_beyond)
        if self._growing:
            self.limit = min(self.most, self.limit + 1.0)
            return
        self._rounds += 1 / self.limit
        beyond = (self._rounds / self.RETURN - 1) ** 3
        # One slot a round in any case: where there are few, a share of them is less than one.
        grown = max(self._before_cut * (1 + (1 - self.CUT) * beyond), self.limit + 0.1 / self.limit)
        self.limit = float(min(self.most, grown))

    def complained(self, started: float, wait_s: float | None) -> None:
        """The endpoint said "too much" to an attempt given its slot at `started`.

        Attempts of one round complain together: only those given their slot after the last cut
        cut again.
        With `wait_s` nothing is sent for so long.
        """
        self._growing = False
        now = self._clock()
        if started > self._last_cut:
            self._before_cut, self._rounds = self.limit, 0.0
            self.limit = max(1.0, self.limit * self.CUT)
            self._last_cut = now
            self.cuts += 1
        if wait_s:
            self._quiet_until = max(self._quiet_until, now + wait_s)
