"""Made-up prediction files for the tests of the models and the ladder."""

import json
import re

from rc_hpc.answers.arms import Prediction, PredictionFile
from rc_hpc.answers.predictions import (
    check_together,
    find_files,
    parse_predictions,
    read_predictions,
    to_json,
)
from rc_hpc.answers.task import Task
from rc_hpc.answers.votes import Gates, count_votes, winner

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


_LETTER = (r"\[ANSWER\]([A-D])\[/ANSWER\]", r"(?i:answer): ?([A-D])\W*$", r"^\W*([A-D])\W*$")


def strict_letter(text, choices):
    """The one letter that a reply gives, or the one choice that it repeats; two letters are none.

    A letter counts in ``[ANSWER]X[/ANSWER]``, on a last line "Answer: X", or alone; never within
    thoughts.
    """
    text = re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL).strip()
    letters = {letter for pattern in _LETTER for letter in re.findall(pattern, text)}
    letters |= {letter for letter, choice in zip("ABCD", choices, strict=True) if choice == text}
    return letters.pop() if len(letters) == 1 else None


#: A multiple-choice question: an unreadable reply is wrong, a missing one leaves the row unscored.
FOUR_LETTERS = Task(
    name="four-letters",
    noun="letter",
    axis="letter",
    truth="Letter of the right choice.",
    key="answer",
    labels=("A", "B", "C", "D"),
    parsers={"strict": strict_letter},
    arms=("image", "text", "no-image"),
    ties=("wrong", "expected"),
    gates=Gates(api_errors=0, unanswered=1),
    choices=True,
)
