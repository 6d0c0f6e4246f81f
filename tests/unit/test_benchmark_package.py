"""Packages of the benchmark are read as the card has them, whatever it leaves open."""

import json

import pytest
from package_cases import as_rows, question, questions, write_package

from rc_hpc.benchmark.card import card
from rc_hpc.benchmark.checks.run import check_package
from rc_hpc.benchmark.package import (
    FIELDS,
    picture_path,
    question_of,
    read_manifest,
    read_package,
)
from rc_hpc.benchmark.records import LETTERS, STRATA
from rc_hpc.core.errors import RcError, UsageError


def test_a_package_reads_back(tmp_path):
    made = questions()
    package = read_package(write_package(tmp_path / "p", made))
    assert list(package.questions) == made and list(package.rows) == as_rows(made)
    assert tuple(package.rows[0]) == FIELDS
    assert [one.stratum for one in package.questions[::4]] == list(STRATA)
    assert len(read_package(tmp_path / "p", "mini").questions) == 4
    assert all(
        package.picture(entry).is_file() for one in package.questions for entry in one.image_paths
    )
    manifest = read_manifest(tmp_path / "p")
    assert manifest["questions.jsonl"][0] == package.sha256
    assert manifest["questions.jsonl"][1] == (tmp_path / "p/questions.jsonl").stat().st_size
    assert "manifest.json" not in manifest


TEXTS = ["[100]", "[110]", "[111]", "[210]"]


@pytest.mark.parametrize(
    "options",
    [
        dict(zip(LETTERS, TEXTS, strict=True)),
        dict(zip("abcd", TEXTS, strict=True)),
        TEXTS,
        [list(pair) for pair in zip(LETTERS, TEXTS, strict=True)],
        [{"label": letter, "text": text} for letter, text in zip(LETTERS, TEXTS, strict=True)],
        [{"text": text, "label": letter} for letter, text in zip(LETTERS, TEXTS, strict=True)],
        {"text": TEXTS, "label": list(LETTERS)},
        {"D": "[210]", "C": "[111]", "B": "[110]", "A": "[100]"},
    ],
)
def test_options_in_every_likely_form(options):
    row = as_rows([question("Q6", 0)])[0] | {"options": options}
    read = question_of(row, "here").options
    assert read == dict(zip(LETTERS, TEXTS, strict=True)) and list(read) == list(LETTERS)


@pytest.mark.parametrize(
    ("told", "stratum"),
    [
        ({"qtype": "Q2", "difficulty": "easy"}, "Q2_easy"),
        ({"qtype": "q2", "difficulty": "HARD"}, "Q2_hard"),
        ({"qtype": "Q2-Easy", "difficulty": None}, "Q2_easy"),
        ({"qtype": "q2_hard", "difficulty": "medium"}, "Q2_hard"),
        ({"qtype": "Q1A", "difficulty": ""}, "Q1a"),
        ({"qtype": "Q1_b", "difficulty": "n/a"}, "Q1b"),
        ({"qtype": " q6 "}, "Q6"),
    ],
)
def test_strata_in_every_likely_form(told, stratum):
    row = as_rows([question("Q2_easy", 0)])[0] | told
    assert question_of(row, "here").stratum == stratum


def test_scenes_as_text_or_list():
    row = as_rows([question("Q5", 0)])[0]
    pair = question_of(row, "here")
    assert len(pair.scene_id) == 2 and [len(group) for group in pair.groups] == [3, 3]
    assert pair.groups[0] + pair.groups[1] == tuple(pair.image_paths)
    nested = {key: [row[key][:3], row[key][3:]] for key in ("view_ids", "image_paths")}
    assert question_of(row | nested, "here") == pair
    single = as_rows([question("Q4", 0)])[0]
    assert (
        question_of(single | {"scene_id": [single["scene_id"]]}, "here").scene_id
        == (single["scene_id"])
    )


def test_what_meta_leaves_out_follows_from_the_rest():
    row = as_rows([question("Q3", 0, "salt")])[0]
    bare = question_of(row | {"meta": {}}, "here")
    assert bare.cluster == "salt" and bare.text_applicable and bare.depth_trap is None
    told = question_of(row | {"structure": ["x", "y"], "meta": {"base_structure": ["b", "c"]}}, "")
    assert told.cluster == "b" and told.structure == "x"
    assert question_of(row, "here").depth_trap is True
    assert question("Q1a", 0).text_applicable is False


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"answer": "E"}, "the answer is 'E', none of A, B, C, D"),
        ({"qtype": "Q7"}, "qtype 'Q7' with difficulty 'standard' is none of Q1a"),
        ({"qtype": "Q2"}, "none of"),
        ({"options": {"A": "1", "B": "2"}}, "not one for each of A, B, C, D"),
        ({"options": ["1", "2", "3", "4", "5"]}, "not one for each"),
        ({"options": "ABCD"}, "not one for each"),
        ({"options": 4}, "not one for each"),
        ({"question": 4}, "question is 4, no text"),
        ({"question": None}, "lacks question"),
        ({"image_paths": []}, "no list of texts"),
        ({"image_paths": [3]}, "no list of texts"),
        ({"meta": "x"}, "meta is 'x', no object"),
    ],
)
def test_a_broken_row_is_named(wrong, words):
    row = as_rows([question("Q4", 7)])[0] | wrong
    with pytest.raises(RcError, match="line 8 \\(q4-0007\\)") as told:
        question_of(row, "questions.jsonl, line 8")
    assert words in str(told.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [("{}\n", "lacks id, qtype"), ("[1]\n", "line 1: a JSON list"), ('{"id": "x', "not JSON")],
)
def test_a_broken_file_is_named(tmp_path, text, words):
    write_package(tmp_path, questions(1))
    (tmp_path / "questions.jsonl").write_text(text)
    with pytest.raises(RcError, match="questions.jsonl, line 1") as told:
        read_package(tmp_path)
    assert words in str(told.value)


def test_files_that_are_no_package(tmp_path):
    with pytest.raises(UsageError, match="give the folder of a package"):
        read_package(tmp_path / "nowhere")
    made = questions(1)
    write_package(tmp_path, [*made, made[0]])
    with pytest.raises(RcError, match="the id q1a-0000 is there twice"):
        read_package(tmp_path)
    (tmp_path / "questions.jsonl").write_text("\n")
    with pytest.raises(RcError, match="holds no questions"):
        read_package(tmp_path)
    (tmp_path / "questions.jsonl").write_bytes(b'"\xff"')
    with pytest.raises(RcError, match="UTF-8"):
        read_package(tmp_path)
    with pytest.raises(UsageError, match="'tiny' is no set"):
        read_package(tmp_path, "tiny")


@pytest.mark.parametrize("name", ["questions.jsonl", "manifest.json", "images/x.png"])
def test_a_file_of_a_package_is_no_package(tmp_path, name):
    """The folder is named, also for a file deeper within; other files have none."""
    root = write_package(tmp_path / "p", questions(1))
    (root / "images/x.png").write_bytes(b"")
    for read in (read_package, check_package):
        with pytest.raises(UsageError, match=f"is a file; what is wanted .* give {root}"):
            read(root / name)
    (tmp_path / "list.txt").write_text("")
    with pytest.raises(UsageError, match="is a file; .*rc_hpc.benchmark build"):
        read_package(tmp_path / "list.txt")


def test_pictures_lie_below_their_folder(tmp_path):
    assert picture_path(tmp_path, "scenes/s1/v00.png") == tmp_path / "images/scenes/s1/v00.png"
    for entry in ("../questions.jsonl", "/etc/hostname", "scenes/../../manifest.json"):
        with pytest.raises(RcError, match="is not below"):
            picture_path(tmp_path, entry)


@pytest.mark.parametrize("layout", ["object", "files", "list", "size"])
def test_manifests_of_every_likely_layout(tmp_path, layout):
    entry = {"sha256": "AB" * 32, "bytes": 7}
    content = {
        "object": {"a/b.png": entry},
        "files": {"version": 1, "files": {"a/b.png": entry}},
        "list": [{"path": "a/b.png"} | entry],
        "size": {"files": [{"path": "a/b.png", "sha256": "ab" * 32, "size": 7}]},
    }[layout]
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    assert read_manifest(tmp_path) == {"a/b.png": ("ab" * 32, 7)}


@pytest.mark.parametrize("text", ["{", "3", '{"a": 3}', '{"a": {"sha256": "ab"}}', '["a"]'])
def test_broken_manifests_are_named(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(RcError, match="manifest.json"):
        read_manifest(tmp_path)


def test_the_card_agrees_with_itself():
    """Its numbers, as far as they follow from one another."""
    stated = card()
    for one in (stated.full, stated.mini):
        assert tuple(one.strata) == STRATA and sum(one.strata.values()) == one.rows
        silent = sum(one.strata[stratum] for stratum in stated.without_text)
        assert one.with_text == one.rows - silent
    assert stated.full.per_letter * len(LETTERS) == stated.full.rows
    assert sum(stated.structures.values()) == 48 and len(stated.structures) == 6
    assert stated.per_system * 6 == stated.full.strata["Q4"]
    assert [stated.n_views(qtype) for qtype in ("Q1a", "Q5", "Q6")] == [3, 6, 1]
