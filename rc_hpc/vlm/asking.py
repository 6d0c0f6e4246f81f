"""Asking itself: journal, client and pool, from conditions to a tally."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence

from rc_hpc.core.door import Talk
from rc_hpc.core.vocabulary import Outcome
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.parallel.state import RunState
from rc_hpc.vlm.client import Client, Patience
from rc_hpc.vlm.connection import Connection
from rc_hpc.vlm.journal import Journal
from rc_hpc.vlm.limiter import Budget, Limiter
from rc_hpc.vlm.options import AskingOptions, QueryOptions
from rc_hpc.vlm.outputs import Outputs
from rc_hpc.vlm.pool import Tally, Terms, run
from rc_hpc.vlm.prices import Price
from rc_hpc.vlm.questions import Question, Request, requests
from rc_hpc.vlm.results import Conditions


async def ask_all(
    questions: Sequence[Question],
    connection: Connection,
    conditions: Conditions,
    identity: dict,
    options: QueryOptions,
    work: AskingOptions,
    talk: Talk,
    stop: StopSignal,
    state: RunState,
) -> Tally:
    """Ask all questions that have no reply in the journal; every reply is kept there.

    Parameters
    ----------
    identity
        What the replies of the journal have in common.
    """
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    whom, pace = (connection.endpoint, connection.url, connection.key), options.pace
    samples, parameters = options.questions.samples, conditions.parameters
    journal = Journal(Outputs(work.output).journal, identity, work.resume)

    def left() -> Iterator[Request]:
        return left_to_ask(requests(questions, samples, parameters), journal, work.retry_failed)

    def open_client(halted) -> Client:
        return Client(*whom, parameters, limiter, patience, halted)

    try:
        if (lost := len(journal.contents.lost)) and not talk.quiet:
            print(
                f"rc_hpc: {lost} requests were in flight when an earlier run died: "
                "they are asked again, and may have been billed",
                file=sys.stderr,
            )
        limiter = Limiter(pace.concurrency, requests=Budget(pace.rpm), tokens=Budget(pace.tpm))
        patience = Patience(
            pace.attempts,
            pace.connect_timeout,
            pace.read_timeout,
            wait_s=pace.max_wait,
            answer_bytes=int(pace.max_answer * 1e6),
        )
        price = conditions.price
        total = sum(question.prompt is not None for question in questions) * samples
        done = total - sum(1 for _ in left())
        with Progress(total, "replies", work.progress, initial=done, state=state) as progress:
            return await run(
                left(),
                pace.concurrency,
                open_client,
                journal,
                Terms(price, pace.max_spend, pace.grace),
                lambda: stop.requested,
                lambda tally: progress.update(tally.done, tally.failed, _note(tally, price)),
            )
    finally:
        await journal.close()


def _note(tally: Tally, price: Price | None) -> str:
    spent = f"{tally.tokens_in + tally.tokens_out} tokens"
    if price or tally.spent:
        spent = f"{tally.spent:.4g} {price.currency if price else 'spent'}"
    return f"{spent}, {tally.limit} at once"


def left_to_ask(
    every: Iterator[Request], journal: Journal, retry_failed: bool
) -> Iterator[Request]:
    """Requests without a final record.

    What was given up is asked again, what was rejected only on demand.
    """
    again = {None, Outcome.gave_up} | ({Outcome.request_error} if retry_failed else set())
    return (request for request in every if journal.outcome(request.key) in again)
