"""The asking command from parsed arguments to an exit code."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import rc_hpc
from rc_hpc.core.old_door import setup_logging
from rc_hpc.core.errors import Exit, UsageError
from rc_hpc.core.vocabulary import Outcome
from rc_hpc.parallel.progress import Progress
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.vlm.endpoints import ENDPOINTS, Endpoint, is_loopback
from rc_hpc.vlm.inputs import Inputs, open_inputs
from rc_hpc.vlm.journal import Journal, read_journal, set_aside
from rc_hpc.vlm.prompts import VERSION
from rc_hpc.vlm.questions import Question, Request, requests
from rc_hpc.vlm.results import Output, write_results
from rc_hpc.vlm.spend import Price, read_price

log = logging.getLogger("rc_hpc")

#: Tokens of a reply where no limit was given, for estimates.
TYPICAL_REPLY = 500


def query(args) -> int:
    """Run the asking command."""
    setup_logging(args)
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    endpoint = ENDPOINTS[args.provider]
    parameters, price = (
        parameters_of(args, endpoint),
        read_price(args.prices, args.model) if args.prices else None,
    )
    output = Output(args.output)
    _check(args, output)
    inputs = open_inputs(args, args.arms)
    questions = inputs.questions(args.arms)
    if inputs.left_out and not args.quiet:
        print(
            f"rc_hpc: {inputs.left_out} structures of {args.source} cannot be used (their status says why) and are left out",
            file=sys.stderr,
        )
    if args.dry_run:
        return _plan(args, questions, parameters, price, output)
    url = base_url(args, endpoint)
    identity = identity_of(args, parameters, inputs)
    if args.overwrite and (kept := set_aside(output.journal)):
        log.warning("the earlier replies are kept in %s", kept)
    with StopSignal() as stop:
        tally = asyncio.run(
            _ask_all(args, endpoint, url, parameters, questions, identity, price, output, stop)
        )
    if tally.problem is not None:
        raise tally.problem
    if tally.stopped:
        print(
            f"{args.output}: stopped in good order after {tally.done} replies; the same command with --resume goes on",
            file=sys.stderr,
        )
        return Exit.CLEAN
    arms = write_results(
        output, inputs, questions, args.arms, args.samples, parameters, identity, args.parser, price
    )
    if not args.quiet:
        for arm, file in arms:
            print(describe(arm, file, output))
    failed = sum(arm.count(Outcome.request_error, Outcome.gave_up) for arm, _ in arms)
    return Exit.FAILURES if failed else Exit.CLEAN


def parameters_of(args, endpoint: Endpoint) -> dict:
    """Fields of every request but the message: what is not asked for is not there, but for what the dialect demands.

    Raises
    ------
    UsageError
        No model, or a field twice.
    """
    if not args.model:
        raise UsageError(
            "name the model with --model, as the endpoint calls it (a local server lists them under /v1/models)"
        )
    if args.max_tokens and args.max_completion_tokens:
        raise UsageError(
            "--max-tokens and --max-completion-tokens are two names of one thing: give the one that the endpoint takes"
        )
    chosen = {
        "temperature": args.temperature,
        "max_tokens": args.max_tokens,
        "max_completion_tokens": args.max_completion_tokens,
    }
    found = {"model": args.model, **endpoint.defaults} | {
        name: value for name, value in chosen.items() if value is not None
    }
    if args.reasoning is not None:
        found |= endpoint.reasoning(args.reasoning)
    if twice := (found.keys() | {"messages", "stream"}) & args.extra.keys():
        raise UsageError(
            f"--extra sets {', '.join(sorted(twice))}, which has an option of its own or is not to be changed"
        )
    return found | args.extra


def base_url(args, endpoint: Endpoint) -> str:
    """The address to ask, from the option or the environment.

    Raises
    ------
    UsageError
        None, not a web address, or with a secret in it.
    """
    url = args.base_url or os.environ.get(endpoint.url_variable, "")
    if not url:
        raise UsageError(
            f"whom to ask? give --base-url (http://127.0.0.1:8000/v1 for a local server) or set {endpoint.url_variable}"
        )
    try:
        found = urlsplit(url)
        _ = found.port  # raises ValueError where it is none
        usable = found.scheme in ("http", "https") and found.hostname
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"--base-url {url}: give http:// or https://, a host, and usually /v1")
    if found.username or found.password or found.query:
        raise UsageError(
            "--base-url must not carry a password or a key: it is written into files; put the key into the variable that --api-key-env names"
        )
    return url


def key_of(args, endpoint: Endpoint, url: str) -> str | None:
    """The key from the environment; None where there is none, as for local servers.

    Over plain http to another machine only a key whose variable was named goes out.

    Raises
    ------
    UsageError
        A variable was named and is not set.
    """
    name = args.api_key_env or endpoint.key_variable
    key = os.environ.get(name, "").strip()
    if not key and args.api_key_env:
        raise UsageError(f"--api-key-env {name}: that variable is not set")
    if key and not (key.isascii() and key.isprintable()):
        raise UsageError(f"the key in ${name} holds characters that no key has: set it again")
    found = urlsplit(url)
    if key and not args.api_key_env and found.scheme == "http" and not is_loopback(found.hostname):
        log.warning(
            "%s is not encrypted: the key in $%s is not sent; --api-key-env %s sends it all the same",
            url,
            name,
            name,
        )
        return None
    return key or None


def identity_of(args, parameters: dict, inputs: Inputs) -> dict:
    """What replies of one journal have in common; structures, arms and samples may be added to it."""
    return {
        "rc_hpc": rc_hpc.__version__,
        "provider": args.provider,
        "parameters": parameters,
        "prompt": args.prompt,
        "prompts": VERSION,
        "cell": inputs.cell,
    }


def _check(args, output: Output) -> None:
    if args.resume and args.overwrite:
        raise UsageError("--resume and --overwrite contradict each other: give one")
    if args.retry_failed and not args.resume:
        raise UsageError("--retry-failed goes with --resume")
    if args.output.suffix not in (".h5", ".hdf5"):
        raise UsageError(f"-o {args.output}: its name must end in .h5 or .hdf5")
    if not args.output.parent.is_dir():
        raise UsageError(
            f"no folder {args.output.parent} to write {args.output.name} into: make it, or name another file with -o"
        )
    given = [
        Path(path) for path in (args.source, args.pictures, args.structures) if path is not None
    ]
    if any(os.path.realpath(path) == os.path.realpath(args.output) for path in given):
        raise UsageError(f"-o {args.output} is read too: name another file")
    if output.path.exists() and not (args.resume or args.overwrite or args.dry_run):
        raise UsageError(
            f"{output.path} exists: --resume completes it, --overwrite replaces it, -o names another file"
        )


async def _ask_all(
    args, endpoint, url, parameters, questions, identity, price, output: Output, stop: StopSignal
):
    from rc_hpc.vlm.client import Client, Patience
    from rc_hpc.vlm.limiter import Budget, Limiter
    from rc_hpc.vlm.pool import Terms, run

    key = key_of(args, endpoint, url)
    journal = Journal(output.journal, identity, args.resume)
    try:
        left = left_to_ask(questions, args.samples, parameters, journal, args.retry_failed)
        total = sum(question.prompt is not None for question in questions) * args.samples
        n_left = sum(
            1 for _ in left_to_ask(questions, args.samples, parameters, journal, args.retry_failed)
        )
        lost = len(journal.contents.lost)
        if lost and not args.quiet:
            print(
                f"rc_hpc: {lost} requests were in flight when an earlier run died: they are asked again, and may have been billed",
                file=sys.stderr,
            )
        limiter = Limiter(args.concurrency, requests=Budget(args.rpm), tokens=Budget(args.tpm))
        patience = Patience(
            args.attempts, args.connect_timeout, args.read_timeout, wait_s=args.max_wait
        )
        mode = "none" if args.quiet and args.progress == "auto" else args.progress
        with Progress(total, "replies", mode, initial=total - n_left) as progress:
            return await run(
                left,
                args.concurrency,
                lambda halted: Client(endpoint, url, key, parameters, limiter, patience, halted),
                journal,
                Terms(price, args.max_spend, args.grace),
                lambda: stop.requested,
                lambda tally: progress.update(tally.done, tally.failed, _note(tally, price)),
            )
    finally:
        await journal.close()


def _note(tally, price: Price | None) -> str:
    spent = (
        f"{tally.spent:.4g} {price.currency if price else 'spent'}"
        if price or tally.spent
        else f"{tally.tokens_in + tally.tokens_out} tokens"
    )
    return f"{spent}, {tally.limit} at once"


def left_to_ask(
    questions: list[Question], samples: int, parameters: dict, journal: Journal, retry_failed: bool
) -> Iterator[Request]:
    """Requests without a final record: what was given up is asked again, what was rejected only on demand."""
    again = {None, Outcome.gave_up} | ({Outcome.request_error} if retry_failed else set())
    return (
        request
        for request in requests(questions, samples, parameters)
        if journal.outcome(request.key) in again
    )


def _plan(
    args, questions: list[Question], parameters: dict, price: Price | None, output: Output
) -> int:
    """Say what would be asked."""
    known = (
        read_journal(output.journal).places
        if output.journal.exists() and not args.overwrite
        else {}
    )
    every = list(requests(questions, args.samples, parameters))
    left = [request.question for request in every if request.key not in known]
    given = sum(question.n_tokens for question in left)
    got = len(left) * (
        parameters.get("max_tokens") or parameters.get("max_completion_tokens") or TYPICAL_REPLY
    )
    facts = {
        "structures": len({question.id for question in questions}),
        "arms": ", ".join(args.arms),
        "samples of each": args.samples,
        "requests": f"{len(left)}"
        + (
            f" (of {len(every)}; the others have replies in {output.journal})"
            if len(left) < len(every)
            else ""
        ),
        "pictures of a structure": max(
            (len(question.pictures) for question in questions), default=0
        ),
        "bytes to send": f"{sum(question.n_bytes for question in left):,}",
        "tokens to send, roughly": f"{given:,}",
        "tokens to receive, at most roughly": f"{got:,}",
        "cost, at most roughly": f"{price.of(given, got):.4g} {price.currency}"
        if price
        else "not known (give --prices)",
        "parameters": json.dumps(parameters),
    }
    nothing = sum(question.prompt is None for question in questions)
    if nothing:
        facts["structures with nothing to ask about"] = nothing
    print(f"would write {args.output}:")
    for name, value in facts.items():
        print(f"  {name}: {value}")
    return Exit.CLEAN


def describe(arm, file, output: Output) -> str:
    """One arm as a line or two."""
    if file is None:
        return f"{output.emitted}: atoms of {len(arm.rows)} structures; score them: python -m rc_hpc.ladder ... --emitted {output.emitted} --structures packed.h5 --table transplant"
    n, told = len(arm.rows), file.details
    alike, answered = told["parsers_agree"]
    losses = ", ".join(
        f"{count} {name.replace('_', ' ')}"
        for name, count in told["outcomes"].items()
        if name != "answered" and count
    )
    return (
        f"{output.prediction(arm.name)}: {arm.name}, {file.n_correct}/{n} right"
        + (f", UNSCORED: {told['why_unscored']}" if told["why_unscored"] else "")
        + f"; of {n * arm.k} samples {answered} answered, {told['unparsed_samples']} of them not readable"
        + (f", {losses}" if losses else "")
        + (f" (mostly: {failure})" if (failure := arm.commonest_failure()) else "")
        + f"; the parsers agree on {alike}/{answered}"
    )
