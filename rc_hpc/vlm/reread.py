"""Reading stored replies again, by another parser; nothing is sent."""

from __future__ import annotations

from pathlib import Path

from rc_hpc.answers.predictions import to_json
from rc_hpc.answers.scoring import stored_predictions
from rc_hpc.answers.task import SEVEN_SYSTEMS, Task
from rc_hpc.benchmark.letters import FOUR_LETTERS
from rc_hpc.core.door import Talk, setup_logging
from rc_hpc.core.errors import Exit
from rc_hpc.core.files import disk_errors, name_a_folder, write_whole
from rc_hpc.core.options import known_name
from rc_hpc.store.opening import open_h5
from rc_hpc.vlm.parse_options import ParseOptions


def read_again(options: ParseOptions, talk: Talk) -> int:
    """Write the prediction files of stored answers as another parser reads them."""
    setup_logging(talk)
    task = task_of(options.answers)
    parser = options.parser or task.parser
    known_name("--parser", parser, tuple(task.parsers))
    files = stored_predictions(options.answers, parser, task)
    name_a_folder(options.output)
    with disk_errors(options.output, run=False):
        options.output.mkdir(parents=True, exist_ok=True)
    for file in files:
        path = options.output / f"{file.arm}.json"
        write_whole(path, to_json(file).encode())
        alike, answered = file.details["parsers_agree"]
        if not talk.quiet:
            print(
                f"{path}: {file.arm} read by {parser}, {file.n_correct}/"
                f"{len(file.predictions)} right; the parsers agree on {alike}/{answered}"
            )
    return Exit.CLEAN


def task_of(path: Path) -> Task:
    """What a file of answers is about; crystals where it does not tell.

    Raises
    ------
    RcError
        No file that can be read.
    """
    with open_h5(path) as h5:
        name = h5.attrs.get("task")
    return FOUR_LETTERS if name == FOUR_LETTERS.name else SEVEN_SYSTEMS
