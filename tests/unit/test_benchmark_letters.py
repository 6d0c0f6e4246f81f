"""Letters are read strictly, and prompts hold what the three allowed fields hold."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from package_cases import as_rows, question, questions

from rc_hpc.benchmark.letters import ARMS, FOUR_LETTERS, strict_letter
from rc_hpc.benchmark.package import question_of
from rc_hpc.benchmark.prompts import VERSION, PromptView, leaks, prompt_text, prompt_view
from rc_hpc.benchmark.records import LETTERS

SYSTEMS = ("cubic", "tetragonal", "hexagonal", "trigonal")
PAIRS = ("A-B longer by less", "A-B longer by more", "A-C longer by less", "A-C longer by more")
WAYS = ("[100]", "[110]", "[1-10]", "[111]")
COUNTS = ("12", "14", "16", "18")
FORMULAS = ("Na4 Cl4", "Na4 Cl4 ", "B", "A")


@pytest.mark.parametrize(
    ("reply", "letter", "choices"),
    [
        ("B", "B", SYSTEMS),
        ("(b).", "B", SYSTEMS),
        ("**C**", "C", SYSTEMS),
        ("[ANSWER]D[/ANSWER]", "D", SYSTEMS),
        ("It looks cubic at first.\n[ANSWER] d [/answer]", "D", SYSTEMS),
        ("[ANSWER]B", "B", SYSTEMS),
        ("First A, then\nAnswer: B", "B", SYSTEMS),
        ("ANSWER: (B)", "B", SYSTEMS),
        ("So **Answer:** is\n**Final answer: C**", "C", SYSTEMS),
        ("My answer is D.", "D", SYSTEMS),
        (r"Answer: $\boxed{\text{A}}$", "A", SYSTEMS),
        ("Answer: B. tetragonal", "B", SYSTEMS),
        ("Answer: B) Tetragonal.", "B", SYSTEMS),
        ("trigonal", "D", SYSTEMS),
        ("[ANSWER]trigonal[/ANSWER]", "D", SYSTEMS),
        ("[ANSWER]letter[/ANSWER] is the form, so [ANSWER]A[/ANSWER]", "A", SYSTEMS),
        ("[ANSWER]A[/ANSWER]\nAnswer: A", "A", SYSTEMS),
        ("<think>A? B?\nAnswer: C</think>[ANSWER]D[/ANSWER]", "D", SYSTEMS),
        ("A-B longer by more", "B", PAIRS),
        ("Answer: A-C longer by less", "C", PAIRS),
        ("D. A-C longer by more", "D", PAIRS),
        ("Answer: [1-10]", "C", WAYS),
        ("[110]", "B", WAYS),
        # after a word for an answer, or at the reply's beginning, in any of their forms
        ("A) 12", "A", COUNTS),
        ("(A) 12.", "A", COUNTS),
        ("A 12", "A", COUNTS),
        ("A (12)", "A", COUNTS),
        ("12 (A)", "A", COUNTS),
        ("Answer: B (14)", "B", COUNTS),
        ("**Answer: B (14)**", "B", COUNTS),
        ("Answer: B) 14", "B", COUNTS),
        ("Answer: B = 14", "B", COUNTS),
        ("Answer: [B] 14", "B", COUNTS),
        ("Answer: 14 (B)", "B", COUNTS),
        ("Answer:\nB", "B", COUNTS),
        ("I count them.\n**Answer:**\n\n**B) 14**", "B", COUNTS),
        ("Option: C", "C", COUNTS),
        ("Option C", "C", COUNTS),
        ("Choice: C) 16", "C", COUNTS),
        ("Correct answer: B", "B", COUNTS),
        ("The correct option is B.", "B", COUNTS),
        ("So, the answer is option B", "B", COUNTS),
        ("Best answer - B", "B", COUNTS),
        ("Option A: 12\nOption B: 14\nOption C: 16\nOption D: 18\nAnswer: C", "C", COUNTS),
        ("Answer: A? It has 12.\nAnswer: B", "B", COUNTS),
        ("Answer: C [1-10]", "C", WAYS),
        ("Answer: C. [1-10]", "C", WAYS),
        ("C ([1-10])", "C", WAYS),
        # none, or two
        ("Option A: 12\nOption B: 14\nOption C: 16\nOption D: 18", None, COUNTS),
        ("Answer: B (16)", None, COUNTS),
        ("Answer: B (A)", None, COUNTS),
        ("Answer: 14 (A)", None, COUNTS),
        ("Answer: A\nNo, wait.\nAnswer: B", None, COUNTS),
        ("Answer: A\nOption: B", None, COUNTS),
        ("Answer:\nA\nCorrect answer: B", None, COUNTS),
        ("Answer:\nA or B", None, COUNTS),
        ("Answer: A\nB", None, COUNTS),
        ("Option: A, B", None, COUNTS),
        ("Option C is wrong", None, COUNTS),
        ("Options: C", None, COUNTS),
        ("The correct answer is not B", None, COUNTS),
        ("A 14", None, COUNTS),
        ("A) 12\nB) 14", None, COUNTS),
        ("", None, SYSTEMS),
        ("I cannot see any image.", None, SYSTEMS),
        ("I'm sorry, I can't help with that.", None, SYSTEMS),
        ("A cubic cell, so none of them", None, SYSTEMS),
        ("A or B", None, SYSTEMS),
        ("E", None, SYSTEMS),
        ("Answer: A or B", None, SYSTEMS),
        ("Answer: none", None, SYSTEMS),
        ("Answer:", None, SYSTEMS),
        ("Answer: B\nThough it could be something else.", None, SYSTEMS),
        ("Answer: B. trigonal", None, SYSTEMS),
        ("[ANSWER]A[/ANSWER] or [ANSWER]B[/ANSWER]", None, SYSTEMS),
        ("[ANSWER]A[/ANSWER]\nAnswer: D", None, SYSTEMS),
        ("[ANSWER]A[/ANSWER] no: [ANSWER]neither[/ANSWER]", None, SYSTEMS),
        ("[ANSWER]letter[/ANSWER]", None, SYSTEMS),
        ("<think>Answer: B", None, SYSTEMS),
        ("A-B", None, PAIRS),
        ("Na4 Cl4", None, FORMULAS),  # two options read alike
    ],
)
def test_one_letter_or_none(reply, letter, choices):
    assert strict_letter(reply, choices) == letter
    assert FOUR_LETTERS.read(reply, choices=choices) == letter


@given(st.text(max_size=60), st.sampled_from(LETTERS))
def test_a_tag_at_the_end_is_read_whatever_stands_before(before, letter):
    if "[" in before or "answer" in before.lower() or "<" in before or "◁" in before:
        return
    if before.lstrip().lower().startswith("analysis"):
        return
    assert strict_letter(f"{before}\n[ANSWER]{letter}[/ANSWER]", SYSTEMS) == letter


@given(st.text(alphabet="ABCD[]/ANSWER:\n <>.*()abcd", max_size=80))
def test_what_is_read_is_a_letter(reply):
    assert strict_letter(reply, SYSTEMS) in (*LETTERS, None)


HEADS = (
    "Answer: ",
    "Final answer: ",
    "Correct answer: ",
    "The answer is ",
    "Answer:\n",
    "Option: ",
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(HEADS),
            st.integers(0, 3),
            st.sampled_from(("{}", "{} ({})", "({}) {}", "**{}**")),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_no_reply_that_answers_with_two_letters_is_read(told):
    said = [head + form.format(LETTERS[place], COUNTS[place]) for head, place, form in told]
    places = {place for head, place, _ in told if head != "Option: " or told[-1][0] == "Option: "}
    found = strict_letter("\nso\n".join(said), COUNTS)
    assert found == (LETTERS[places.pop()] if len(places) == 1 else None)


def test_a_long_reply_takes_no_time():
    for reply in (
        "A" + " " * 10**6 + "x",
        "*" * 10**6,
        "x " * 10**6 + "(",
        "Answer:" + "* " * 10**6,
    ):
        assert strict_letter(reply, COUNTS) is None


def test_a_view_holds_three_fields():
    assert [field.name for field in dataclasses.fields(PromptView)] == [
        "question",
        "options",
        "attachments",
    ]
    one = question("Q3", 0)
    image, text, nothing = (prompt_view(one, arm) for arm in ARMS)
    assert image.pictures == tuple(one.image_paths) and not text.pictures + nothing.pictures
    assert text.attachments == one.text_repr and nothing.attachments == ()
    assert {prompt_text(view).split("\n\n")[0] for view in (image, text, nothing)} == {one.question}
    assert prompt_view(question("Q1a", 0), "text") is None


SECRET = {
    "structure": "rutile-of-the-hills",
    "scene_id": "s0123456789",
    "image_paths": ["scenes/s0123456789/v00.png"] * 3,
    "meta": {
        "base_structure": "rutile-of-the-hills",
        "text_applicable": True,
        "depth_trap": True,
        "mineral_name": "Anatase",
        "space_group": {"symbol": "P4_2/mnm"},
        "other_structures": ["halite"],
    },
}


@pytest.mark.parametrize("stratum", ["Q1b", "Q2_hard", "Q3", "Q4", "Q5", "Q6"])
def test_prompts_hold_nothing_that_is_forbidden(stratum):
    """Not by value: no word of a forbidden field is anywhere in what is sent."""
    row = as_rows([question(stratum, 0)])[0] | SECRET
    if stratum == "Q5":
        row["scene_id"], row["image_paths"] = ["s0123456789", "sfedcba"], row["image_paths"] * 2
    one = question_of(row, "here")
    for arm in ARMS:
        sent = prompt_text(prompt_view(one, arm))
        assert not leaks(one, sent), arm
        folded = sent.lower()
        for word in ("rutile", "s0123456789", "sfedcba", ".png", "anatase", "p4_2", "halite"):
            assert word not in folded
        other = one.options["A" if one.answer != "A" else "B"]
        told = dataclasses.replace(one, answer="D", answer_text=other, meta={}, structure="x")
        again = prompt_view(told, arm)
        if again is not None:  # a prompt does not change with what it must not hold
            assert prompt_text(again) == sent


def test_leaks_are_found():
    one = question_of(as_rows([question("Q3", 0)])[0] | SECRET, "here")
    assert leaks(one, "this is Rutile-of-the-Hills, or anatase") == [
        "Anatase",
        "rutile-of-the-hills",
    ]
    assert leaks(one, "see scenes/s0123456789/v00.png") == [
        "s0123456789",
        "scenes/s0123456789/v00.png",
    ]
    assert not leaks(one, "Anatases and xs0123456789x")


def test_prompts_as_they_are_sent():
    """Word for word: a change makes another version."""
    assert VERSION == "mv-1"
    pair = question("Q5", 0)
    assert prompt_text(prompt_view(pair, "image")) == (
        "What has changed?\n\nA. nothing\nB. two elements\nC. the cell\nD. the atoms\n\n"
        "The images belong to the question, in this order:\n"
        "Structure 1: images 1-3\nStructure 2: images 4-6\n\n"
        "Choose one option in any case. End with one line of this form, with one letter from A "
        "to D:\n[ANSWER]letter[/ANSWER]"
    )
    assert "The structure as text:\nLattice of 0\nNa 0.0 0.0 0.0 [A]\n\n" in prompt_text(
        prompt_view(pair, "text")
    )
    assert "no image and no coordinates" in prompt_text(prompt_view(pair, "no-image"))
    assert "The image belongs" in prompt_text(prompt_view(question("Q6", 0), "image"))
    assert "The 3 images belong" in prompt_text(prompt_view(question("Q4", 0), "image"))


def test_prompts_of_all_questions_are_json():
    for one in questions():
        for arm in ARMS:
            view = prompt_view(one, arm)
            assert (view is None) == (arm == "text" and not one.text_applicable)
            if view is not None:
                assert json.loads(json.dumps(prompt_text(view)))
