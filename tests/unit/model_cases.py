"""Made-up prediction files for the tests of the models and the ladder."""

import json

from rc_hpc.answers.arms import Prediction, PredictionFile
from rc_hpc.answers.predictions import (
    check_together,
    find_files,
    parse_predictions,
    read_predictions,
    to_json,
)
from rc_hpc.answers.votes import count_votes, winner

TRUTHS = ("cubic", "cubic", "hexagonal", "trigonal", "triclinic", "monoclinic")
IDS = tuple(f"id-{number}" for number in range(len(TRUTHS)))
#: Samples of three structures right, one tie that starts wrong, one miss, one without an answer.
SAMPLES = (
    ("cubic", "cubic", "cubic"),
    ("cubic", None, "cubic"),
    ("hexagonal", "trigonal", "hexagonal"),
    ("hexagonal", "trigonal", None),
    ("cubic", "cubic", "cubic"),
    (None, None, None),
)


def made_file(
    arm="zero-shot", model="maker/model", samples=SAMPLES, ids=IDS, truths=TRUTHS, k=3, **more
):
    """A prediction file from samples in order."""
    rows = []
    for id_, truth, given in zip(ids, truths, samples, strict=True):
        votes = count_votes(given)
        rows.append(Prediction(id_, truth, winner(votes), votes))
    return PredictionFile("made up", model, arm, k, tuple(rows), **more)


def content(file=None):
    """The parsed JSON of a file, for a test to spoil."""
    return json.loads(to_json(made_file() if file is None else file))


def write(path, file):
    """Write a prediction file; returns the path."""
    path.write_text(to_json(file), encoding="utf-8")
    return path


def reread(file):
    """The file after writing and reading."""
    return parse_predictions(json.loads(to_json(file)), file.source)


def read_together(paths):
    """All files of these paths, which may stand in one ladder."""
    files = [read_predictions(path) for path in find_files(paths)]
    check_together(files)
    return files
