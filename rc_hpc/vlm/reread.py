"""Reading stored replies again, by another parser; nothing is sent."""

from __future__ import annotations

from rc_hpc.answers.predictions import to_json
from rc_hpc.answers.scoring import stored_predictions
from rc_hpc.core.door import Talk, setup_logging
from rc_hpc.core.errors import Exit
from rc_hpc.core.files import disk_errors, write_whole
from rc_hpc.vlm.parse_options import ParseOptions


def read_again(options: ParseOptions, talk: Talk) -> int:
    """Write the prediction files of stored answers as another parser reads them."""
    setup_logging(talk)
    files = stored_predictions(options.answers, options.parser)
    with disk_errors(options.output):
        options.output.mkdir(parents=True, exist_ok=True)
    for file in files:
        path = options.output / f"{file.arm}.json"
        write_whole(path, to_json(file).encode())
        alike, answered = file.details["parsers_agree"]
        if not talk.quiet:
            print(
                f"{path}: {file.arm} read by {options.parser}, {file.n_correct}/"
                f"{len(file.predictions)} right; the parsers agree on {alike}/{answered}"
            )
    return Exit.CLEAN
