"""Votes, tie rules, gates and parsers of replies."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rc_hpc.answers.parsers import PARSERS, Words
from rc_hpc.answers.task import SEVEN_SYSTEMS
from rc_hpc.answers.votes import (
    TIE_RULES,
    Gates,
    Losses,
    count_votes,
    leaders,
    sample_accuracy,
    score,
    winner,
)
from rc_hpc.core.constants import CRYSTAL_SYSTEMS

words_of_systems = Words(CRYSTAL_SYSTEMS)
answer_line, last_mention = words_of_systems.answer_line, words_of_systems.last_mention
systems = st.sampled_from(CRYSTAL_SYSTEMS)
samples = st.lists(st.none() | systems, max_size=8)
words = st.text(alphabet="abcdefghijklmnopqrstuvwxyz ,.\n", max_size=40).filter(
    lambda text: not any(name in text for name in (*CRYSTAL_SYSTEMS, "answer", "no", "isn"))
)


def test_tie_rules_on_one_tie():
    votes = count_votes(["hexagonal", "trigonal", "trigonal", None, "hexagonal", "cubic"])
    assert votes == {"hexagonal": 2, "trigonal": 2, "cubic": 1} and list(votes) == [
        "hexagonal",
        "trigonal",
        "cubic",
    ]
    assert leaders(votes) == ("hexagonal", "trigonal") and winner(votes) == "hexagonal"
    by_rule = {
        truth: [score(votes, truth, rule) for rule in TIE_RULES]
        for truth in ("hexagonal", "trigonal", "cubic")
    }
    assert by_rule == {
        "hexagonal": [1, 0, 0.5, 1],
        "trigonal": [0, 0, 0.5, 1],
        "cubic": [0, 0, 0, 0],
    }
    assert sample_accuracy(votes, "trigonal", 6) == pytest.approx(2 / 6)


def test_no_valid_sample_is_no_answer_and_wrong():
    assert winner(count_votes([None, None])) is None
    assert all(score({}, name, rule) == 0 for name in CRYSTAL_SYSTEMS for rule in TIE_RULES)
    assert sample_accuracy({}, "cubic", 3) == 0


@given(samples, systems)
def test_rules_are_ordered_and_agree_without_a_tie(given_samples, truth):
    votes = count_votes(given_samples)
    first, wrong, expected, any_ = (score(votes, truth, rule) for rule in TIE_RULES)
    assert wrong <= first <= any_ and wrong <= expected <= any_
    if len(leaders(votes)) == 1:
        assert first == wrong == expected == any_ == (winner(votes) == truth)


@given(samples)
def test_expected_credit_of_all_labels_is_one(given_samples):
    votes = count_votes(given_samples)
    assert sum(score(votes, name, "expected") for name in CRYSTAL_SYSTEMS) == pytest.approx(
        float(bool(votes))
    )


def test_gates():
    by_sample = {"samples": True}
    assert Losses(100, 3, 15, 15, 5).failed_gates(**by_sample) == ()  # 5 % is not above 5 %
    assert Losses(100, 3, 16, 16, 0).failed_gates() == ("api errors above 5 %",)
    assert Losses(100, 3, 0, 16, 0).failed_gates() == ()
    assert Losses(100, 3, 0, 16, 0).failed_gates(**by_sample) == ("lost samples above 5 %",)
    assert Losses(100, 3, None, 18, 6).failed_gates() == ("unanswered structures above 5 %",)
    strict = Gates(api_errors=0, unanswered=1)
    assert Losses(100, 3, 1, 1, 90).failed_gates(strict) == ("api errors above 0 %",)
    assert Losses(100, 3, 0, 290, 100).failed_gates(strict) == ()


@pytest.mark.parametrize(
    ("reply", "answered", "mentioned"),
    [
        ("The edges differ, so it is tetragonal, not cubic.", "tetragonal", "cubic"),
        ("It might be cubic.\nANSWER: tetragonal", "tetragonal", "tetragonal"),
        ("ANSWER: tetragonal\nI considered cubic as well.", "tetragonal", "cubic"),
        ("ANSWER: cubic\nOn reflection:\nANSWER: trigonal", "trigonal", "trigonal"),
        ("**Answer:** Trigonal, not hexagonal", "trigonal", "hexagonal"),
        ("## Final answer\uff1a _orthorhombic_", "orthorhombic", "orthorhombic"),
        ("ANSWER:\n\n**Monoclinic**", "monoclinic", "monoclinic"),
        ("The answer is in the cell. ANSWER: hexagonal or trigonal", None, "trigonal"),
        ("ANSWER: hexagonal or trigonal", None, "trigonal"),
        ("ANSWER: **hexagonal** / trigonal", None, "trigonal"),
        ("ANSWER: hexagonal rather than trigonal", "hexagonal", "trigonal"),
        ("ANSWER: cubic or cubic", "cubic", "cubic"),
        ("ANSWER: either hexagonal or trigonal", None, "trigonal"),
        ("ANSWER: not cubic", None, "cubic"),
        ("ANSWER: the crystal system is triclinic", "triclinic", "triclinic"),
        ("Answer is \\boxed{\\text{Cubic}}", "cubic", "cubic"),
        ("A pseudocubic cell", None, "cubic"),
        ("cubic? tetragonal? cubic!", None, "cubic"),
        ("ANSWER: unknown", None, None),
        ("I cannot see any image.", None, None),
        ("", None, None),
    ],
)
def test_replies(reply, answered, mentioned):
    assert (answer_line(reply), last_mention(reply)) == (answered, mentioned)


CASES = Path(__file__).parents[1] / "cases" / "replies.jsonl"


@pytest.mark.parametrize(
    "case",
    [json.loads(line) for line in CASES.read_text().splitlines()],
    ids=lambda case: case["id"],
)
def test_replies_of_the_cases(case):
    assert SEVEN_SYSTEMS.read(case["text"]) == case["expected"]


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        # reasoning is never the answer
        ("[THINK]Answer: cubic[/THINK]trigonal", "trigonal"),
        ("\u25c1think\u25b7Answer: cubic\u25c1/think\u25b7hexagonal", "hexagonal"),
        ("<thinking>x\nAnswer: cubic", None),
        ("<seed:think>Answer: cubic</seed:think>trigonal", "trigonal"),
        ("&lt;think&gt;Answer: cubic&lt;/think&gt; trigonal", "trigonal"),
        ("<reasoning>Answer: cubic</reasoning><answer>trigonal</answer>", "trigonal"),
        ('<details type="reasoning" done="true">\nAnswer: cubic\n</details>\ntrigonal', "trigonal"),
        ("<|begin_of_thought|>Answer: cubic<|end_of_thought|>trigonal", "trigonal"),
        ("<|START_THINKING|>Answer: cubic<|END_THINKING|>trigonal", "trigonal"),
        (
            "<|channel|>analysis<|message|>Answer: cubic<|end|><|start|>assistant"
            "<|channel|>final<|message|>trigonal",
            "trigonal",
        ),
        ("analysisWe see edges. Answer: cubicassistantfinaltrigonal", "trigonal"),
        ("Analysis of the edges: cubic.", "cubic"),
        ("ANSWER: cubic\n<think>or is it tetragonal?</think>", "cubic"),
        # boxes, tags, headings, JSON
        ("Tetragonal, hm: <|begin_of_box|>cubic<|end_of_box|>", "cubic"),
        ("Tetragonal?\n<answer>\ncubic\n</answer>", "cubic"),
        ("Tetragonal?\n[ANSWER]cubic[/ANSWER] for sure", "cubic"),
        ("Tetragonal?\n<answer>cubic", "cubic"),
        ("ANSWER: $\\boxed{\\mathbf{\\text{Cubic}}}$", "cubic"),
        ("ANSWER: cubic, No. \\boxed{225}", "cubic"),
        ("Tetragonal?\n**Answer**\n\n**cubic**", "cubic"),
        ("Tetragonal?\n### Conclusion\ncubic", "cubic"),
        ("I thought tetragonal. So the answer is cubic.", "cubic"),
        ("Tetragonal? No.\nTherefore, my final answer: cubic", "cubic"),
        ("Tetragonal at first. Answer - cubic", "cubic"),
        ("The answer is in the angles: all are right, so it is cubic", "cubic"),
        ('```json\n{\n  "crystal_system": "Cubic",\n  "not": "tetragonal"\n}\n```', "cubic"),
        ('{"answer": {"crystal_system": "cubic"}, "else": "tetragonal"}', "cubic"),
        ('{"was": "cubic", "answer": null}', None),
        # synonyms
        ("The isometric view shows a hexagonal prism", "hexagonal"),
        ("The crystal is isometric, not rhombohedral.", "cubic"),
        ("ANSWER: trigonal (rhombohedral)", "trigonal"),
        # denials
        ("ANSWER: neither cubic nor tetragonal", None),
        ("ANSWER: not tetragonal or hexagonal", None),
        ("ANSWER: not tetragonal but cubic", "cubic"),
        ("ANSWER: it cannot be cubic", None),
        ("ANSWER: it can't be cubic", None),
        ("ANSWER: anything but cubic", None),
        ("ANSWER: cubic is ruled out", None),
        ("ANSWER: cubic is not possible", None),
        ("ANSWER: cubic? No, tetragonal", "tetragonal"),
        ("ANSWER: rather than hexagonal, trigonal", "trigonal"),
        ("\\boxed{\\text{not cubic}}", None),
        # double answers
        ("ANSWER: cubic, tetragonal", None),
        ("ANSWER: cubic and tetragonal", None),
        ("ANSWER: cubic (or tetragonal)", None),
        ("ANSWER: cubic (tetragonal)", None),
        ("ANSWER: cubic, but possibly tetragonal", None),
        ("ANSWER: cubic\nANSWER: tetragonal", None),
        ("\\boxed{cubic} or \\boxed{tetragonal}", None),
        ('{"answer": ["cubic", "tetragonal"]}', None),
        ("ANSWER: cubic, tetragonal would need another edge", "cubic"),
        ("ANSWER: cubic\nANSWER: cubic", "cubic"),
    ],
)
def test_what_counts_as_an_answer(reply, answer):
    assert SEVEN_SYSTEMS.read(reply) == answer


def test_the_reading_of_the_record_knows_no_synonym_and_no_reasoning():
    read = SEVEN_SYSTEMS.parsers["last-mention"]
    assert read("<think>cubic</think> isometric", ()) == "cubic"
    assert read("ANSWER: rhombohedral", ()) is None


@pytest.mark.parametrize(
    "piece",
    [" .", "_", "answer ", "Answer:\n", "<answer>", "\\boxed{", '"answer": "', "<think>", "not "]
    + ["cubic, ", "cubic or ", "the ", "\n", "[", "is ", "<details ", "isn't ", "a" * 50],
)
def test_no_reply_takes_long(piece):
    began = time.process_time()
    SEVEN_SYSTEMS.read(piece * (50_000 // len(piece)))
    assert time.process_time() - began < 5


@given(st.text())
@example("ANSWER:")
@example("answer is\nanswer:\n")
def test_any_text_gives_a_system_or_none(text):
    for found in SEVEN_SYSTEMS.readings(text).values():
        assert found is None or found in CRYSTAL_SYSTEMS


@given(
    words,
    systems,
    st.sampled_from(
        ["ANSWER: {}", "**Answer**: {}.", "answer = {}", "Final answer: **{}**", "> ANSWER: {} \n"]
    ),
)
def test_both_parsers_read_a_final_answer_line(before, name, line):
    reply = f"{before}\n{line.format(name.capitalize())}"
    assert answer_line(reply) == last_mention(reply) == name


@given(words, systems, systems)
def test_a_denied_name_at_the_end_parts_the_parsers(before, name, denied):
    reply = f"{before} {name}, not {denied}"
    assert last_mention(reply) == denied
    assert answer_line(reply) == name


@given(words, words, st.lists(systems, min_size=2, unique=True))
def test_several_names_without_an_answer_line_are_no_answer(before, after, names):
    assert answer_line(f"{before} {' or '.join(names)} {after}") is None


def test_the_default_parser_comes_first():
    assert (*SEVEN_SYSTEMS.parsers,) == PARSERS == ("answer-line", "last-mention")
    assert SEVEN_SYSTEMS.parser == "answer-line"
