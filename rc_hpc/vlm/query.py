"""The asking command from its options to an exit code."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import rc_hpc
from rc_hpc.answers.arms import PredictionFile
from rc_hpc.answers.scoring import FAILED, Arm
from rc_hpc.answers.task import SEVEN_SYSTEMS, Task
from rc_hpc.benchmark.letters import FOUR_LETTERS
from rc_hpc.benchmark.package import need_folder, package_of
from rc_hpc.core.door import Talk, setup_logging
from rc_hpc.core.errors import Exit, UsageError
from rc_hpc.core.lazy import resolve
from rc_hpc.parallel.signals import StopSignal
from rc_hpc.parallel.state import RunState
from rc_hpc.store.outputs import check_not_read, check_output
from rc_hpc.vlm.connection import connection_of, parameters_of
from rc_hpc.vlm.endpoints import ENDPOINTS
from rc_hpc.vlm.inputs import open_inputs
from rc_hpc.vlm.journal import set_aside
from rc_hpc.vlm.options import AskingOptions, QueryOptions, SubjectOptions
from rc_hpc.vlm.outputs import Outputs
from rc_hpc.vlm.package_inputs import open_package
from rc_hpc.vlm.plan import plan
from rc_hpc.vlm.prices import read_price
from rc_hpc.vlm.questions import Questionnaire
from rc_hpc.vlm.results import Conditions, write_results
from rc_hpc.vlm.secrets import is_secret

log = logging.getLogger("rc_hpc")


def query(subjects: SubjectOptions, options: QueryOptions, work: AskingOptions, talk: Talk) -> int:
    """Ask about crystals, or the questions of a package of the benchmark."""
    setup_logging(talk)
    read = (subjects.source, subjects.pictures, subjects.structures, subjects.emitted)
    _check_output(work, read)
    if package_of(subjects.source):
        need_folder(subjects.source)
    if subjects.source.is_dir():
        asked = options.questions.settled(FOUR_LETTERS.arms, 1)
        options = dataclasses.replace(options, questions=asked)
        return ask(open_package(subjects), FOUR_LETTERS, options, work, talk)
    asked = options.questions.settled(SEVEN_SYSTEMS.arms[:1], 3)
    options = dataclasses.replace(options, questions=asked)
    check_names(options, work, SEVEN_SYSTEMS)  # before the input is read
    inputs = open_inputs(subjects, asked.arms)
    if inputs.left_out and not talk.quiet:
        print(
            f"rc_hpc: {inputs.left_out} structures of {subjects.source} cannot be used "
            "(their status says why) and are left out",
            file=sys.stderr,
        )
    drawing = None if inputs.manifest is None else inputs.manifest.drawing
    return ask(inputs, SEVEN_SYSTEMS, options, work, talk, drawing)


def ask(
    questionnaire: Questionnaire,
    task: Task,
    options: QueryOptions,
    work: AskingOptions,
    talk: Talk,
    drawing: dict | None = None,
) -> int:
    """Ask all questions that have no reply yet, and write what all replies say.

    Parameters
    ----------
    drawing
        What predictions record of their pictures, see `Manifest.drawing`.

    Raises
    ------
    RcError
        The run ended before all was asked, and no signal asked for that.
    """
    asked, who, endpoint = options.questions, options.who, ENDPOINTS[options.who.provider]
    check_names(options, work, task)
    parameters = parameters_of(who, options.request, endpoint)
    price = read_price(options.pace.prices, who.model or "") if options.pace.prices else None
    questions = questionnaire.questions(asked.arms)
    if work.dry_run:
        print(plan(questions, asked, work, parameters, price))
        return Exit.CLEAN
    connection = connection_of(who)
    if is_secret(key := connection.key) and str(key) in json.dumps(parameters):
        raise UsageError(
            "--extra or --model holds a key, and both are written into files: put it into the "
            "variable that --api-key-env names"
        )
    identity = {"provider": who.provider, "parameters": parameters, **questionnaire.identity}
    record = {
        "rc_hpc": rc_hpc.__version__,
        **identity,
        "about": questionnaire.record,
        "asked": options.to_dict(),
        "drawing": drawing,
    }
    parser = work.parser or task.parser
    conditions = Conditions(task, asked, parameters, record, parser, price)
    outputs = Outputs(work.output)
    if talk.quiet and work.progress == "auto":
        work = dataclasses.replace(work, progress="none")
    with RunState(work.state, "query_vlm", work.output) as state:
        state.begin()
        if work.overwrite and (kept := set_aside(outputs.journal)):
            log.warning("the earlier replies are kept in %s", kept)
        with StopSignal() as stop:
            ask_all = resolve("rc_hpc.vlm.asking:ask_all")
            tally = asyncio.run(
                ask_all(
                    questions, connection, conditions, identity, options, work, talk, stop, state
                )
            )
        if tally.problem is not None:
            raise tally.problem
        if tally.stopped:
            state.stopped(stop.exit_code)
            print(
                f"{work.output}: stopped in good order after {tally.done} replies; "
                "the same command with --resume goes on",
                file=sys.stderr,
            )
            return stop.exit_code
        results = write_results(outputs, questionnaire, questions, conditions)
        failed = any(arm.count(*FAILED) for arm, _ in results)
        code = Exit.FAILURES if failed else Exit.CLEAN
        state.done(code)
    if not talk.quiet:
        for arm, file in results:
            print(describe(arm, file, outputs))
    return code


def check_names(options: QueryOptions, work: AskingOptions, task: Task) -> None:
    """Refuse arms and parsers of another task."""
    for flag, names, known in (
        ("--arms", options.questions.arms, task.arms),
        ("--parser", (work.parser or task.parser,), tuple(task.parsers)),
    ):
        if strange := [name for name in names if name not in known]:
            what = flag.strip("-").removesuffix("s")
            raise UsageError(f"{flag}: unknown {what} {strange[0]!r}; known are {', '.join(known)}")


def _check_output(work: AskingOptions, read: Sequence[Path | None]) -> None:
    """Refuse an output that must not be written; a dry run writes none."""
    check_not_read(work.output, read)
    check_output(work.output, work.resume or work.dry_run, work.overwrite, kind="answers")


def describe(arm: Arm, file: PredictionFile | None, outputs: Outputs) -> str:
    """One arm as a line or two."""
    if file is None:
        return (
            f"{outputs.emitted}: atoms of {len(arm.rows)} structures; score them: "
            f"python -m rc_hpc.ladder ... --emitted {outputs.emitted} --structures packed.h5 "
            "--table transplant"
        )
    n, told = len(arm.rows), file.details
    alike, answered = told["parsers_agree"]
    losses = [
        f"{count} {name.replace('_', ' ')}"
        for name, count in told["outcomes"].items()
        if name != "answered" and count
    ]
    failure = arm.commonest_failure()
    return "".join(
        (
            f"{outputs.prediction(arm.name)}: {arm.name}, {file.n_correct}/{n} right",
            f", UNSCORED: {told['why_unscored']}" if told["why_unscored"] else "",
            f"; of {n * arm.k} samples {answered} answered, ",
            f"{told['unparsed_samples']} of them not readable",
            f", {', '.join(losses)}" if losses else "",
            f" (mostly: {failure})" if failure else "",
            f"; the parsers agree on {alike}/{answered}" if len(arm.task.parsers) > 1 else "",
        )
    )
