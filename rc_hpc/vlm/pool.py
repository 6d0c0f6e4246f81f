"""The run: a bounded pool of workers over a queue of requests, until something ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from rc_hpc.core.errors import RcError
from rc_hpc.core.vocabulary import Outcome
from rc_hpc.vlm.client import Client, Halt
from rc_hpc.vlm.faults import Fault
from rc_hpc.vlm.journal import PAID, Journal
from rc_hpc.vlm.prices import Price, cost, tokens_in, tokens_out
from rc_hpc.vlm.questions import Request

#: So many requests failing one after another, none answered between, end the run.
STRIKES = 20
#: How often stop signals are looked for, s.
_LOOK_S = 0.1


@dataclass
class Tally:
    """How far a run is.

    Attributes
    ----------
    done, failed
        Requests that got a record in this run, and those of them that failed.
    spent
        Cost of this run's replies as far as it is known.
    tokens_in, tokens_out
        As far as endpoints tell.
    stopped
        A signal ended it.
    problem
        Why it ended early, or None.
    limit
        Requests at once at present.
    """

    done: int = 0
    failed: int = 0
    spent: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    stopped: bool = False
    problem: RcError | None = None
    limit: int = 0
    strikes: int = field(default=0, repr=False)

    @property
    def halted(self) -> str:
        """Why nothing more is to be sent, or an empty string."""
        return "a signal" if self.stopped else "a problem" if self.problem else ""


@dataclass(frozen=True)
class Terms:
    """What else ends a run.

    Attributes
    ----------
    price
        To tell what was spent; None where it is not known.
    most_spent
        Stop at this cost; None for no limit.
    grace_s
        After a signal, the longest wait for answers in flight: they are paid for.
    """

    price: Price | None = None
    most_spent: float | None = None
    grace_s: float = 90.0


async def run(
    requests: Iterable[Request],
    workers: int,
    open_client: Callable[[Callable[[], str]], Client],
    journal: Journal,
    terms: Terms,
    stop: Callable[[], bool] = bool,
    tell: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Ask all requests; every record is on the disk before it counts.

    Parameters
    ----------
    requests
        Drawn from as they are needed.
    workers
        Requests at work at most.
    open_client
        Makes the client, given a function that tells whether the run has ended.
    stop
        Whether a signal came.
    tell
        Called after every record.

    Returns
    -------
    Tally
        Its `problem` says why the run ended before all was asked, if anything but a signal did.
    """
    tally = Tally()
    queue: asyncio.Queue[Request | None] = asyncio.Queue(2 * workers)
    client = open_client(lambda: tally.halted)

    async def feed() -> None:
        for request in requests:
            if tally.halted:
                break
            await queue.put(request)
        for _ in range(workers):
            await queue.put(None)

    async def work() -> None:
        while (request := await queue.get()) is not None:
            if tally.halted:
                continue  # empties the queue, so that the feeder comes to its end
            try:
                record = await client.ask(request, partial(journal.sent, request.key))
                await asyncio.shield(journal.append(record))
                _count(tally, record, terms)
                tally.limit = int(client.limiter.limit)
                tell(tally)
            except Halt:
                journal.sent(request.key, back=True)
            except Fault as fault:
                tally.problem = tally.problem or RcError(f"stopped: {fault.message}")
            except RcError as error:
                tally.problem = tally.problem or error

    async with client:
        tasks = [
            asyncio.create_task(feed()),
            *(asyncio.create_task(work()) for _ in range(workers)),
        ]
        await _watch(tasks, tally, stop, terms.grace_s)
    return tally


async def _watch(
    tasks: list[asyncio.Task], tally: Tally, stop: Callable[[], bool], grace_s: float
) -> None:
    """Wait for the tasks; after a signal not longer than the grace."""
    loop, deadline = asyncio.get_running_loop(), None
    try:
        pending = set(tasks)
        while pending:
            done, pending = await asyncio.wait(
                pending, timeout=_LOOK_S, return_when=asyncio.FIRST_EXCEPTION
            )
            for task in done:
                if not task.cancelled():
                    task.result()  # an error of ours must not pass in silence
            if stop() and deadline is None:
                tally.stopped, deadline = True, loop.time() + grace_s
            if deadline is not None and loop.time() > deadline:
                break
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _count(tally: Tally, record: dict, terms: Terms) -> None:
    outcome = Outcome[record["outcome"]]
    tally.done += 1
    tally.tokens_in += tokens_in(record["usage"]) or 0
    tally.tokens_out += tokens_out(record["usage"]) or 0
    tally.spent += cost(record["usage"], terms.price) or 0.0
    if outcome in PAID:
        tally.strikes = 0
    else:
        tally.failed += 1
        tally.strikes += 1
        if tally.strikes >= STRIKES and tally.problem is None:
            tally.problem = RcError(
                f"stopped: {STRIKES} requests failed one after another, the last with: "
                f"{record['message']}"
            )
    if terms.most_spent is not None and tally.spent >= terms.most_spent and tally.problem is None:
        tally.problem = RcError(
            f"stopped: this run has spent {tally.spent:.4g}, the limit of --max-spend; --resume "
            "with another limit goes on"
        )
