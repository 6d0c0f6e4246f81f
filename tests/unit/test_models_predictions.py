"""Prediction files: what is read, what is refused, and the released ones recounted."""

import dataclasses
import json

import pytest
from model_cases import IDS, SAMPLES, content, made_file, read_together, reread, write

from rc_hpc.answers.extractions import read_extractions
from rc_hpc.answers.predictions import (
    find_files,
    parse_predictions,
    read_predictions,
    to_json,
)
from rc_hpc.answers.votes import TIE_RULES, leaders, score, winner
from rc_hpc.core.errors import RcError


def test_written_files_read_back():
    for file in (
        made_file(),
        made_file("no-image control (TEXT)", unparseable=1, api_errors=2),
        made_file("R3 coordinates-as-text", unparseable=1, api_errors=0, scored=True),
        made_file("render_convention_sweep render convention", convention="C9"),
        made_file("coordinates", details={"cell": "conventional", "run": "a"}),
    ):
        assert reread(file) == file
        assert list(content(file)["predictions"][3]["votes"]) == [
            "hexagonal",
            "trigonal",
        ]  # the tie's order survives


def test_counts_losses_and_gates():
    file = made_file(api_errors=1)
    assert file.n_correct == 3 and file.losses == dataclasses.replace(
        file.losses, n=6, k=3, api_errors=1, lost_samples=5, unanswered=1
    )
    assert file.why_unscored() == "api errors above 5 %, unanswered structures above 5 %"
    answered = made_file(samples=(*SAMPLES[:5], ("cubic", None, None)))
    assert (
        answered.why_unscored() == ""
        and answered.why_unscored(samples=True) == "lost samples above 5 %"
    )
    assert dataclasses.replace(answered, scored=False).why_unscored() == "its file says so"
    assert made_file(scored=True).why_unscored() == "unanswered structures above 5 %"


def test_cells_and_kinds():
    assert (made_file().kind, made_file().cell) == ("pixels", "conventional")
    assert (made_file("R3 coordinates-as-text").kind, made_file("R3 coordinates-as-text").cell) == (
        "coordinates",
        "stored",
    )
    ours = made_file("coordinates", details={"cell": "conventional"})
    assert (ours.kind, ours.cell) == ("coordinates", "conventional")


def spoil(change):
    spoiled = content()
    change(spoiled)
    return spoiled


REFUSALS = {
    "no keys": (lambda d: d.clear(), "lacks K, arm, micro, n, predictions"),
    "misspelt gate": (lambda d: d.update(unparsable=0), "unknown keys unparsable"),
    "unknown row key": (
        lambda d: d["predictions"][1].update(vote={}),
        r"prediction 2 \(id-1\) has unknown keys vote",
    ),
    "bool as number": (lambda d: d.update(K=True), "K is True"),
    "unknown arm": (lambda d: d.update(arm="guesses"), "unknown arm 'guesses'"),
    "our arm without a cell": (lambda d: d.update(arm="coordinates"), "rc_hpc.cell"),
    "repeated id": (lambda d: d["predictions"][1].update(material_id="id-0"), "repeated ids: id-0"),
    "no id": (lambda d: d["predictions"][2].pop("material_id"), "prediction 3 lacks material_id"),
    "no votes": (lambda d: d["predictions"][2].pop("votes"), "lacks votes"),
    "atoms for votes": (
        lambda d: (d["predictions"][2].pop("votes"), d["predictions"][2].update(n_atoms_emitted=4)),
        "id-2 has no votes",
    ),
    "unknown label": (lambda d: d["predictions"][0].update(truth="Cubic"), "'Cubic' is none of"),
    "votes of nobody": (
        lambda d: d["predictions"][0].update(votes={"cubic": 0}),
        "whole numbers above 0",
    ),
    "votes above K": (lambda d: d["predictions"][0].update(votes={"cubic": 4}), "K = 3"),
    "pred against votes": (
        lambda d: d["predictions"][0].update(pred="trigonal"),
        "does not follow from its votes",
    ),
    "pred without votes": (
        lambda d: d["predictions"][5].update(pred="trigonal"),
        "does not follow from its votes",
    ),
    "cut short": (lambda d: d["predictions"].pop(), "n is 6, its predictions give 5"),
    "other accuracy": (lambda d: d.update(micro=0.9), "micro is 0.9, its predictions give 0.5"),
    "other gate count": (
        lambda d: d.update(unparseable=0),
        "unparseable is 0, its predictions give 1",
    ),
    "more errors than calls": (lambda d: d.update(api_errors=19), "19 of 18 calls"),
    "row of another kind": (
        lambda d: d["predictions"].__setitem__(0, "cubic"),
        "prediction 1 is a JSON str",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_name_the_file_and_the_fault(case):
    change, message = REFUSALS[case]
    with pytest.raises(RcError, match=rf"^some.json: .*{message}"):
        parse_predictions(spoil(change), "some.json")


@pytest.mark.parametrize("text", ["[]", "{", "", '{"arm": "x", "arm": "y"}'])
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(RcError, match=r"other.json"):
        read_predictions(tmp_path / "other.json")
    with pytest.raises(RcError, match=r"absent.json: cannot be read"):
        read_predictions(tmp_path / "absent.json")


def test_nothing_is_written_that_would_be_refused():
    with pytest.raises(RcError, match=r"rc_hpc.cell"):
        to_json(made_file("coordinates"))


def test_two_runs_of_one_thing_are_not_mixed(tmp_path):
    write(tmp_path / "a.json", made_file())
    write(tmp_path / "b.json", made_file("frontier zero-shot"))
    with pytest.raises(
        RcError, match=r"b.json: maker/model pixels conventional is already in .*a.json"
    ):
        read_together([tmp_path])
    write(tmp_path / "b.json", made_file(model="another"))
    assert [file.model for file in read_together([tmp_path, tmp_path / "a.json"])] == [
        "maker/model",
        "another",
    ]


def test_files_of_two_benchmarks_are_not_mixed(tmp_path):
    write(tmp_path / "a.json", made_file())
    write(tmp_path / "b.json", made_file(model="another", truths=("hexagonal",) * 6))
    with pytest.raises(RcError, match=r"b.json: id-0 is hexagonal here and cubic in .*a.json"):
        read_together([tmp_path])


def test_missing_structures_are_named():
    assert [p.material_id for p in made_file().rows(IDS[::-1])] == list(IDS[::-1])
    with pytest.raises(RcError, match=r"made up: 2 of 3 structures are missing: mp-1, mp-2"):
        made_file().rows(["id-0", "mp-1", "mp-2"])


def test_an_empty_folder_is_named(tmp_path):
    with pytest.raises(RcError, match=r"no .json files"):
        find_files([tmp_path])


def test_extractions(tmp_path):
    path = tmp_path / "emitted.json"
    path.write_text(
        json.dumps([{"material_id": "a", "emitted": [["Fe", 0, 0.5, 1]]}, {"material_id": "b"}])
    )
    assert read_extractions(path) == {"a": [("Fe", 0.0, 0.5, 1.0)], "b": []}
    for broken, message in (
        ({"a": 1}, "JSON list"),
        ([{"material_id": "a"}] * 2, "a is there twice"),
        ([{"material_id": "a", "emitted": [["Fe", 0, 0]]}], "is no atom"),
        ([{"material_id": "a", "emitted": [["Fe", 0, 0, True]]}], "is no atom"),
        ([{"material_id": "a", "emitted": [["Fe", 0, 0, float("nan")]]}], "is no atom"),
    ):
        path.write_text(json.dumps(broken))
        with pytest.raises(RcError, match=message):
            read_extractions(path)


@pytest.mark.data
def test_released_files_recount(shared):
    expected = json.loads((shared / "expected" / "models.json").read_text())["prediction_files"]
    files = read_together([shared / "data" / "records" / "predictions"])
    assert len(files) == len(expected) == 68
    for file in files:
        record = expected[file.source.rpartition("/")[2]]
        assert (file.n_correct, len(file.predictions), file.losses.unanswered, file.api_errors) == (
            record["k"],
            record["n"],
            record["pred_none"],
            record["api_errors"],
        )
        if file.kind == "answer-from-text":
            continue
        assert all(p.pred == winner(p.votes) for p in file.predictions)  # the tie rule `first`
        assert sum(len(leaders(p.votes)) > 1 for p in file.predictions) == record["ties"]
        totals = {
            rule: sum(score(p.votes, p.truth, rule) for p in file.predictions) for rule in TIE_RULES
        }
        assert (totals["first"], totals["wrong"], totals["any"]) == (
            record["k"],
            record["k_ties_wrong"],
            record["k_ties_any"],
        )
        assert totals["expected"] == pytest.approx(record["k_ties_expected"], abs=0.006)
        seen = {str(n): 0 for n in record["votes_per_structure"]}
        for p in file.predictions:
            seen[str(sum(p.votes.values()))] += 1
        assert seen == record["votes_per_structure"]


@pytest.mark.data
def test_released_gates(shared):
    files = read_together([shared / "data" / "records" / "predictions"])
    unscored = {(file.kind, file.model) for file in files if file.why_unscored()}
    assert unscored == {
        ("coordinates", "qwen/qwen2.5-vl-72b-instruct"),
        ("question-only", "openai/gpt-4.1-mini"),
        ("question-only", "x-ai/grok-4.5"),
        ("question-only", "google/gemini-2.5-flash"),
    }
    by_sample = {
        (file.kind, file.model) for file in files if file.why_unscored(samples=True)
    } - unscored
    assert by_sample == {
        ("question-only", "z-ai/glm-4.6v"),
        ("question-only", "google/gemini-3.6-flash"),
    }
    lost = {
        file.model: file.losses.lost_samples
        for file in files
        if (file.kind, file.model) in by_sample
    }
    assert lost == {"z-ai/glm-4.6v": 54, "google/gemini-3.6-flash": 33}
