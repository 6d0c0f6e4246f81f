"""What is asked: keys, prompts, cells as text, atom lists in replies, and where they come from."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rc_hpc.answers.extractions import atom_lines, read_extractions
from rc_hpc.answers.parsers import PARSERS
from rc_hpc.answers.scoring import Arm, Row, Sample, emitted
from rc_hpc.answers.task import ARMS, SEVEN_SYSTEMS
from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.vocabulary import Outcome
from rc_hpc.vlm.inputs import open_inputs
from rc_hpc.vlm.options import SubjectOptions
from rc_hpc.vlm.prompts import _texts, prompt
from rc_hpc.vlm.questions import (
    PictureFile,
    Question,
    geometry_text,
    request_key,
    requests,
    scattered,
    wrapped,
)
from rc_hpc.vlm.records import read_records


def test_keys_tell_apart_all_that_matters_and_nothing_else(tmp_path):
    picture = PictureFile(tmp_path / "a.png", "ab" * 32, 10, 100)
    base = Question("id", "pixels", "text", "v1", (picture,))
    parameters = {"model": "m", "temperature": 0.7}
    other = PictureFile(tmp_path / "a.png", "cd" * 32, 10, 100)
    keys = [
        request_key(base, 0, parameters),
        request_key(base, 1, parameters),
        request_key(base, 0, parameters | {"temperature": 0.8}),
        *(
            request_key(Question(*fields), 0, parameters)
            for fields in (
                ("id2", "pixels", "text", "v1", (picture,)),
                ("id", "extraction", "text", "v1", (picture,)),
                ("id", "pixels", "text.", "v1", (picture,)),
                ("id", "pixels", "text", "v1", (other,)),
                ("id", "pixels", "text", "v1", (picture, other)),
                ("id", "pixels", "text", "v1", (other, picture)),
            )
        ),
    ]
    assert len(set(keys)) == len(keys)
    moved = Question(
        "id", "pixels", "text", "v1", (PictureFile(tmp_path / "elsewhere.png", "ab" * 32, 10, 100),)
    )
    assert request_key(moved, 0, dict(reversed(parameters.items()))) == keys[0]


def test_nothing_to_ask_about_is_not_asked():
    found = list(
        requests(
            [
                Question("a", "answer-from-text", None, "v1"),
                Question("b", "answer-from-text", "t", "v1"),
            ],
            2,
            {},
        )
    )
    assert [(r.question.id, r.sample) for r in found] == [("b", 0), ("b", 1)]


def test_a_prefix_of_the_order_is_a_sample():
    ids = [
        f"{system}-{n:03}" for system in "abcdefg" for n in range(30)
    ]  # sorted by class, as eval.jsonl is
    order = scattered(ids)
    assert sorted(order) == ids and scattered(list(reversed(ids))) == order
    assert all(5 <= sum(id_[0] == system for id_ in order[:70]) <= 16 for system in "abcdefg")


def test_every_arm_has_a_prompt_that_ends_as_the_parser_wants():
    assert set(_texts("v1")) == {"version", *ARMS}
    values = {
        "n_pictures": "5",
        "views": "",
        "outline": "one cell",
        "cell": "given",
        "geometry": "G",
        "primitive": "",
        "formula": "NaCl",
        "legend": "Na #112233",
    }
    for arm in ARMS:
        text = prompt(arm, **values)
        assert "$" not in text and text == text.strip()
        if arm != "extraction":
            assert text.splitlines()[-1] == "ANSWER: <crystal system>"
            answered = text.rpartition("<")[0] + "trigonal"
            assert SEVEN_SYSTEMS.readings(answered) == dict.fromkeys(PARSERS, "trigonal")
    with pytest.raises(KeyError):
        prompt("formula-only")


def test_a_cell_as_text():
    lattice = np.array([[3.0, 0, 0], [0, 4.0, 0], [-2.5, 0, 5.0]])
    lines = geometry_text(
        lattice, ["Na", "Cl"], [[0, -1e-9, 0.5], [1 / 3, 0.999999, -0.25]]
    ).splitlines()
    assert (
        lines[0] == "Lattice parameters: a = 3.0000, b = 4.0000, c = 5.5902 angstrom; "
        "alpha = 90.000, beta = 116.565, gamma = 90.000 degrees"
    )
    assert lines[1] == "Atoms in the cell: 2" and lines[3:] == [
        "Na 0.00000 0.00000 0.50000",
        "Cl 0.33333 1.00000 -0.25000",
    ]
    assert wrapped(np.array([-1e-9, 0.999999, -0.25, 1.5])).tolist() == [0, 0, 0.75, 0.5]


@pytest.mark.data
def test_stored_cells_are_the_numbers_that_the_released_texts_show(shared):
    from rc_hpc.structures.sources import iter_items

    with open(shared / "data" / "e3" / "eval_r3_coords.jsonl", encoding="utf-8") as lines:
        questions = {row["material_id"]: row["question"] for row in map(json.loads, lines)}
    same = 0
    for item in iter_items([str(shared / "data" / "e3" / "structures.json")]):
        if item.id in questions:
            from ase.data import chemical_symbols

            read = item.read(item, item.blob())
            text = geometry_text(
                read.lattice, [chemical_symbols[n] for n in read.numbers], read.frac
            )
            theirs = questions[item.id]
            numbers = [
                re.findall(r"-?\d+\.\d+", part)
                for part in (text, theirs[theirs.index("Cell parameters") :])
            ]
            atoms = [
                re.findall(r"^ *([A-Z][a-z]?) -?\d", part, re.MULTILINE) for part in (text, theirs)
            ]
            assert numbers[0] == numbers[1] and atoms[0] == atoms[1], item.id
            same += 1
    assert same == 210


@pytest.mark.parametrize(
    ("line", "atom"),
    [
        ("Na 0.0 0.5 0.25", ("Na", 0, 0.5, 0.25)),
        ("- Cl: 0.5, 0.5, 0.5", ("Cl", 0.5, 0.5, 0.5)),
        ("* **O** (0.1, 0.2, 0.3)", ("O", 0.1, 0.2, 0.3)),
        ("1. Fe 0 0 0 on a corner", ("Fe", 0, 0, 0)),
        ("12) Ti1 1e-2 -.5 1", ("Ti", 0.01, -0.5, 1)),
        ("| Pb | 0.1 | 0.2 | 0.3 |", ("Pb", 0.1, 0.2, 0.3)),
        ("3 Si 0.1 0.2 0.3", ("Si", 0.1, 0.2, 0.3)),
        ("Red 0 0 0", None),
        ("X 0 0 0", None),
        ("Na 0 0", None),
        ("Na 0 0 nan", None),
        ("In all, 3 atoms", None),
        ("", None),
    ],
)
def test_atom_lines(line, atom):
    assert atom_lines(f"Here they are:\n{line}\nDone.") == ([] if atom is None else [atom])


@given(st.text())
def test_any_text_is_read_as_some_list_of_atoms(text):
    for symbol, *numbers in atom_lines(text):
        assert symbol.isalpha() and len(numbers) == 3 and np.isfinite(numbers).all()


def answered(*texts):
    return tuple(Sample.read(SEVEN_SYSTEMS, Outcome.answered, text) for text in texts)


def test_emitted_atoms_go_to_the_reader_of_the_ladder(tmp_path):
    rows = [
        Row("a", "cubic", answered("I see none", "Na 0 0 0\nCl .5 .5 .5")),
        Row("b", "cubic", (Sample.read(SEVEN_SYSTEMS, Outcome.refused, "Na 0 0 0"),)),
    ]
    path = tmp_path / "emitted.json"
    path.write_text(json.dumps(emitted(rows)))
    assert read_extractions(path) == {"a": [("Na", 0, 0, 0), ("Cl", 0.5, 0.5, 0.5)], "b": []}


def test_gates_and_readings_of_an_arm():
    right, sly = (
        answered(*["ANSWER: cubic"] * 3),
        answered("ANSWER: trigonal\nIt is not cubic", "ANSWER: cubic", "trigonal or hexagonal"),
    )
    lost = (
        Sample.read(SEVEN_SYSTEMS, Outcome.gave_up, ""),
        Sample.read(SEVEN_SYSTEMS, Outcome.refused, "cubic"),
        Sample.read(SEVEN_SYSTEMS, Outcome.empty_by_length, ""),
    )
    rows = (
        *(Row(f"r{n}", "cubic", right) for n in range(38)),
        Row("sly", "trigonal", sly),
        Row("lost", "cubic", lost),
    )
    arm = Arm("pixels", "conventional", "m", 3, rows)
    file = arm.predictions("answer-line")
    assert (
        file.n_correct == 39
        and file.scored
        and file.losses.unanswered == 1
        and file.api_errors == 1
    )
    assert (
        file.predictions[-2].votes == {"trigonal": 1, "cubic": 1}
        and file.predictions[-1].pred is None
    )
    told = file.details
    assert (
        told["tied_structures"] == 1
        and told["expected_correct"] == 38.5
        and told["unparsed_samples"] == 1
    )
    assert (
        told["parsers_agree"] == [115, 117]
        and told["outcomes"]["refused"] == 1
        and told["lost_samples"] == 4
    )
    loose = arm.predictions("last-mention")
    assert loose.predictions[-2].votes == {"cubic": 2, "hexagonal": 1} and loose.n_correct == 38
    fewer = (*rows[-20:], Row("lost2", "cubic", lost))
    worse = Arm("pixels", "conventional", "m", 3, fewer).predictions("answer-line")
    assert (
        not worse.scored
        and "unanswered structures" in worse.why_unscored() == worse.details["why_unscored"]
        and len(worse.predictions) == 21
    )


def records(path, *rows):
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


ROW = {"material_id": "a", "crystal_system": "cubic"}


def test_a_question_of_its_own_is_used_where_it_fits(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n....IHDR\0\0\0\x08\0\0\0\x04")
    shown = records(
        tmp_path / "shown.jsonl",
        ROW | {"question": "What do the renders show?", "images": ["a.png"]},
    )
    inputs = open_inputs(SubjectOptions(shown), ["pixels", "question-only"])
    pixels, control = inputs.questions(["pixels", "question-only"])
    assert (pixels.prompt, pixels.prompt_version, pixels.pictures[0].n_pixels) == (
        "What do the renders show?",
        "own",
        32,
    )
    assert (control.prompt, control.pictures) == (pixels.prompt, ())
    assert (
        open_inputs(SubjectOptions(shown, prompt="shipped"), ["pixels"])
        .questions(["pixels"])[0]
        .prompt_version
        == "v1"
    )
    # that question is about pictures: no answer to it is one to coordinates
    with pytest.raises(UsageError, match="--structures"):
        inputs.questions(["coordinates"])

    told = records(tmp_path / "told.jsonl", ROW | {"question": "a = 3, b = 3, c = 3", "images": []})
    with pytest.raises(UsageError, match="--cell stored"):
        open_inputs(SubjectOptions(told), ["coordinates"])
    assert (
        open_inputs(SubjectOptions(told, cell="stored"), ["coordinates"])
        .questions(["coordinates"])[0]
        .prompt
        == "a = 3, b = 3, c = 3"
    )
    with pytest.raises(RcError, match="no pictures"):
        open_inputs(SubjectOptions(told), ["pixels"]).questions(["pixels"])
    (tmp_path / "other.png").write_bytes((tmp_path / "a.png").read_bytes())
    for name in ("../other.png", str(tmp_path / "other.png")):
        records(tmp_path / "out.jsonl", ROW | {"images": [name]})
        outside = SubjectOptions(tmp_path / "out.jsonl", image_root=tmp_path / "below")
        with pytest.raises(RcError, match="nothing outside"):
            open_inputs(outside, ["pixels"]).questions(["pixels"])
    shown.write_text(shown.read_text().replace("a.png", "gone.png"))
    with pytest.raises(RcError, match="--image-root"):
        open_inputs(SubjectOptions(shown), ["pixels"]).questions(["pixels"])


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ({"material_id": "b"}, "b: crystal_system is None"),
        ({"crystal_system": "cubic"}, "line 2: has no material_id"),
        (ROW | {"material_id": "b", "images": "a.png"}, "b: images is no list"),
        (ROW | {"material_id": "b", "question": ["?"]}, "b: question is no text"),
        (ROW, "twice"),
        ({"material_id": "b", "crystal_system": "rhombohedral"}, "rhombohedral"),
        ([1], "crystal_system is None"),
    ],
)
def test_records_that_are_none(tmp_path, row, word):
    with pytest.raises(RcError, match=word):
        read_records(records(tmp_path / "r.jsonl", ROW, row), SEVEN_SYSTEMS)
