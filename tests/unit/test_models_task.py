"""Tasks beside the seven systems: four letters from reply to file and back, and point groups."""

import dataclasses
import json
import tarfile

import h5py
import pytest
from model_cases import made_file
from old_cases import ARCHIVE

from rc_hpc.answers.file import columns, read_answers, reading_column, write_answers
from rc_hpc.answers.parsers import Words, readers
from rc_hpc.answers.predictions import parse_predictions, read_predictions, to_json
from rc_hpc.answers.scoring import Arm, Row, Sample, stored_predictions
from rc_hpc.answers.task import SEVEN_SYSTEMS, Task
from rc_hpc.benchmark.letters import FOUR_LETTERS, strict_letter
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import RcError
from rc_hpc.core.vocabulary import Outcome, System

CHOICES = ("cubic", "tetragonal", "hexagonal", "trigonal")
#: Truth, replies of two samples, and the reading of each reply.
QUESTIONS = {
    "q-0": ("A", ("[ANSWER]A[/ANSWER]", "A"), ("A", "A")),
    "q-1": ("B", ("<think>A? C?</think>\nAnswer: B.", "tetragonal"), ("B", "B")),
    "q-2": ("C", ("Answer: C", "(D)"), ("C", "D")),
    "q-3": ("D", ("A cubic cell, so none of them", "[ANSWER]A[/ANSWER] Answer: D"), (None, None)),
}


def replies(failed=()):
    """The samples of the questions, as asked; `failed` are ids without any reply."""
    rows = []
    for id_, (truth, texts, _) in QUESTIONS.items():
        outcome = Outcome.gave_up if id_ in failed else Outcome.answered
        read = [
            Sample.read(FOUR_LETTERS, outcome, "" if id_ in failed else text, choices=CHOICES)
            for text in texts
        ]
        rows.append(Row(id_, truth, tuple(read)))
    return Arm("image", "none", "maker/model", 2, tuple(rows), task=FOUR_LETTERS)


def test_letters_are_read_strictly():
    for _, texts, letters in QUESTIONS.values():
        assert tuple(strict_letter(text, CHOICES) for text in texts) == letters


def test_invalid_is_wrong_and_missing_is_not_scored():
    file = replies().predictions("strict")
    assert [p.pred for p in file.predictions] == ["A", "B", None, None]  # a tie is a miss
    assert (file.n_correct, file.losses.unanswered, file.why_unscored()) == (2, 1, "")
    assert file.details["expected_correct"] == 2.5 and file.details["ties"] == "wrong"
    missing = replies(failed=("q-0",)).predictions("strict")
    assert missing.scored is False and missing.why_unscored() == "api errors above 0 %"


def test_predictions_of_letters_are_read_as_letters_only(tmp_path):
    file = replies().predictions("strict")
    path = tmp_path / "letters.json"
    path.write_text(to_json(file))
    assert json.loads(path.read_text())["rc_hpc"]["task"] == {
        "name": "four-letters",
        "labels": ["A", "B", "C", "D"],
    }
    again = read_predictions(path, FOUR_LETTERS)
    assert again == dataclasses.replace(file, source=str(path))
    with pytest.raises(RcError, match="the task 'four-letters' and is read as 'seven-systems'"):
        read_predictions(path)
    with pytest.raises(RcError, match="the task 'seven-systems' and is read as 'four-letters'"):
        parse_predictions(json.loads(to_json(made_file())), "systems.json", FOUR_LETTERS)
    five = dataclasses.replace(FOUR_LETTERS, labels=(*FOUR_LETTERS.labels, "E"))
    with pytest.raises(RcError, match="A, B, C, D, E"):
        read_predictions(path, five)


def stored(path, arm):
    """A file of answers of one arm, with no more than the ladder needs."""
    task, file = arm.task, arm.predictions(arm.task.parser)
    tables = {table: {column.path: [] for column in its} for table, its in columns(task).items()}

    def add(table, **values):
        for name, column in tables[table].items():
            column.append(values.get(name, 0))

    for row, (asked, p) in enumerate(zip(arm.rows, file.predictions, strict=True)):
        where = {"structure": row, "arm": task.arms.index(arm.name)}
        truth, prediction = task.code(asked.truth), task.code(p.pred)
        votes = [p.votes.get(label, 0) for label in task.labels]
        add("structures", id=asked.id, truth=truth, formula="", choices=json.dumps(CHOICES))
        add("predictions", **where, prediction=prediction, votes=votes, correct=p.correct)
        add("questions", **where, prompt="?", prompt_version="own", pictures="")
        for number, sample in enumerate(asked.samples):
            said = {reading_column(name): task.code(x) for name, x in sample.readings.items()}
            texts = dict.fromkeys([c.path for c in columns(task)["samples"] if c.dtype == "text"])
            texts |= {"text": sample.text, "key": f"{row}.{number}"}
            add("samples", **where, **said, **texts, sample=number, outcome=sample.outcome)
    add(
        "arms",
        arm=task.arms.index(arm.name),
        cell=arm.cell,
        convention="",
        k=arm.k,
        why_unscored="",
    )
    told = json.dumps({"parameters": {}, "provider": ""})
    attributes = {"model": arm.model, "parser": task.parser, "options": told}
    write_answers(path, tables, {}, attributes, task)
    return file


def test_a_file_of_letters_reads_back(tmp_path):
    path = tmp_path / "letters.h5"
    file = stored(path, replies())
    with h5py.File(path) as h5:
        assert h5["vocabulary/letter"].asstr()[()].tolist() == ["A", "B", "C", "D"]
        assert h5py.check_enum_dtype(h5["structures/truth"].dtype) == {
            "none": 0,
            "A": 1,
            "B": 2,
            "C": 3,
            "D": 4,
        }
        assert "answer_line" not in h5["samples"] and h5.attrs["task"] == "four-letters"
    (again,) = stored_predictions(path, task=FOUR_LETTERS)
    assert again.predictions == file.predictions and again.task is FOUR_LETTERS
    assert again.details["expected_correct"] == 2.5
    tables, _ = read_answers(path, FOUR_LETTERS)
    assert tables["predictions"]["votes"].tolist()[1:3] == [[0, 2, 0, 0], [0, 0, 1, 1]]
    with pytest.raises(RcError, match="the task 'four-letters' and is read as 'seven-systems'"):
        read_answers(path)


def test_answers_of_version_0_1_0_are_read(tmp_path):
    with tarfile.open(ARCHIVE) as archive:
        archive.extract("answers.h5", tmp_path, filter="data")
    path = tmp_path / "answers.h5"
    tables, attributes = read_answers(path)
    assert "task" not in attributes
    arms, predictions = tables["arms"], tables["predictions"]
    files = stored_predictions(path)
    assert [file.kind for file in files] == ["coordinates", "question-only"]
    for number, file in enumerate(files):
        rows = predictions["arm"] == arms["arm"][number]
        votes = [[p.votes.get(label, 0) for label in CRYSTAL_SYSTEMS] for p in file.predictions]
        assert votes == predictions["votes"][rows].tolist()
        assert [SEVEN_SYSTEMS.code(p.pred) for p in file.predictions] == predictions["prediction"][
            rows
        ].tolist()
        assert (file.n_correct, file.scored) == (arms["n_correct"][number], arms["scored"][number])


def test_the_systems_keep_their_codes():
    assert h5py.check_enum_dtype(h5py.enum_dtype({m.name: int(m) for m in System})) == {
        member.name: int(member) for member in SEVEN_SYSTEMS.codes
    }
    for label in (None, *SEVEN_SYSTEMS.labels):
        assert SEVEN_SYSTEMS.label(SEVEN_SYSTEMS.code(label)) == label
    assert SEVEN_SYSTEMS.chance == 1 / 7


GROUPS = ("C1", "Cs", "C2", "C2v", "C12v", "D∞h", "Td", "Kh")


@pytest.mark.parametrize(
    ("reply", "answered", "mentioned"),
    [
        ("ANSWER: C2v", "C2v", "C2v"),
        ("Answer: d∞h", "D∞h", "D∞h"),
        ("It has a C2 axis and two planes.\nANSWER: C2v, not Td", "C2v", "Td"),
        ("ANSWER: C12v", "C12v", "C12v"),
        ("ANSWER: C22", None, "C2"),
        ("ANSWER: C2 or Cs", None, "Cs"),
        ("Two of them: Kh", "Kh", "Kh"),
    ],
)
def test_point_groups_are_read_as_words(reply, answered, mentioned):
    words = Words(GROUPS)
    assert (words.answer_line(reply), words.last_mention(reply)) == (answered, mentioned)


@pytest.mark.parametrize(
    "change",
    [{"labels": ("A", "a")}, {"labels": ("none",)}, {"labels": ("two words",)}, {"ties": ("any",)}],
)
def test_tasks_that_cannot_be_stored(change):
    task = {"noun": "group", "axis": "group", "truth": "Point group.", "key": "point_group"}
    task |= {"labels": GROUPS, "parsers": readers(GROUPS), "arms": ("pixels",)}
    assert Task("groups", **task).codes["D∞h"] == 6
    with pytest.raises(ValueError, match=r"^groups: "):
        Task("groups", **task | change)
