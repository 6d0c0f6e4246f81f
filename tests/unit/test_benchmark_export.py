"""Packages as other programs take them, and their results scored to the same figures."""

import hashlib
import json
import random

import pandas as pd
import pytest
from package_cases import questions, write_answers, write_package

from rc_hpc.benchmark.__main__ import main
from rc_hpc.benchmark.exporting.options import PROGRAMS, ExportOptions
from rc_hpc.benchmark.exporting.run import run
from rc_hpc.benchmark.letters import ARMS
from rc_hpc.benchmark.package import read_package
from rc_hpc.benchmark.prompts import leaks, prompt_text, prompt_view
from rc_hpc.benchmark.scoring import frames
from rc_hpc.benchmark.scoring.evidence import Evidence
from rc_hpc.benchmark.scoring.options import ScoreOptions
from rc_hpc.core.door import Talk
from rc_hpc.core.errors import RcError, UsageError

MADE = questions(2)
QUIET = Talk(quiet=True)


@pytest.fixture
def package(tmp_path):
    return read_package(write_package(tmp_path / "package", MADE))


def export(package, program, folder, **more):
    assert run(ExportOptions(package.root, program, folder, **more), QUIET) == 0
    return folder


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def reply_to(text):
    """A reply that depends on the prompt alone; some hold no letter."""
    luck = random.Random(hashlib.sha256(text.encode()).digest())
    letter = luck.choice("ABCD")
    return luck.choice([f"[ANSWER]{letter}[/ANSWER]", letter, f"Answer: {letter}", "No idea."])


@pytest.mark.parametrize("program", ["inspect", "lm-eval"])
def test_samples_hold_prompts_and_pictures_without_names(package, tmp_path, program):
    folder = export(package, program, tmp_path / "out")
    for arm in ARMS:
        rows = lines(folder / f"{arm}.jsonl")
        asked = [one for one in MADE if arm != "text" or one.text_applicable]
        assert [row["id"] for row in rows] == [one.id for one in asked]
        for row, one in zip(rows, asked, strict=True):
            assert row["prompt"] == prompt_text(prompt_view(one, arm))
            assert row["target"] == one.answer and row["arm"] == arm
            sent = [(folder / name).read_bytes() for name in row["images"]]
            shown = one.image_paths if arm == "image" else []
            assert sent == [package.picture(entry).read_bytes() for entry in shown]
            assert not leaks(one, json.dumps(row))
    names = {path.name for path in (folder / "images").iterdir()}
    assert names == {f"{n:05d}.png" for n in range(1, len(names) + 1)}
    assert len(names) == len({entry for one in MADE for entry in one.image_paths})
    told = json.loads((folder / "export.json").read_text())
    assert told["package"] == package.sha256 and told["program"] == program
    assert (folder / "LICENSE").is_file()


def test_a_table_of_vlmevalkit_comes_back(package, tmp_path):
    folder = export(package, "vlmevalkit", tmp_path / "out")
    frame = pd.read_csv(folder / "MV-CrystalBench_image.tsv", sep="\t", dtype=str)
    assert frame["id"].tolist() == [one.id for one in MADE]
    assert frame["answer"].tolist() == [one.answer for one in MADE]
    for text, one in zip(frame["image_path"], MADE, strict=True):
        read = [open(path, "rb").read() for path in json.loads(text)]
        assert read == [package.picture(entry).read_bytes() for entry in one.image_paths]
    pair = frame[frame["category"] == "Q5"].iloc[0]
    assert "Structure 2: images 4-6" in pair["question"] and pair["A"] == "nothing"
    text = pd.read_csv(folder / "MV-CrystalBench_text.tsv", sep="\t")
    assert "image_path" not in text and len(text) == 12
    assert "The structure as text:" in text["question"][0]
    frame["prediction"] = frame["answer"]
    results = tmp_path / "GPT4o_MV-CrystalBench_image.tsv"
    frame.drop(columns="image_path").to_csv(results, sep="\t", index=False)
    (one,) = Evidence(ScoreOptions((results,), package.root)).answers
    assert one.right.all() and one.model == "GPT4o"


def accuracies(package, *paths):
    """Accuracy by arm and stratum."""
    found = Evidence(ScoreOptions(tuple(paths), package.root, resamples=200))
    frame = frames.accuracy(found).drop(columns="model")
    return frame.sort_values(["arm", "stratum"]).reset_index(drop=True)


def direct(package, folder):
    """Prediction files of a model that gives the same replies to the same prompts."""
    return [
        write_answers(
            folder / f"{arm}.json",
            "m",
            arm,
            package.questions,
            lambda one, _, arm=arm: reply_to(prompt_text(prompt_view(one, arm))),
        )
        for arm in ARMS
    ]


@pytest.mark.slow  # 25 s, most of it inspect_ai itself
def test_inspect_runs_it_and_its_logs_score_the_same(package, tmp_path, monkeypatch):
    inspect_ai = pytest.importorskip("inspect_ai", reason="rc_hpc[test-benchmark] is not installed")
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    monkeypatch.setenv("INSPECT_LOG_LEVEL", "error")
    folder = export(package, "inspect", tmp_path / "out")
    seen = []

    def mock(messages, tools, tool_choice, config):
        (message,) = messages
        text, *pictures = message.content
        seen.append([picture.image for picture in pictures])
        output = ModelOutput.from_content("mockllm/model", reply_to(text.text))
        output.usage = ModelUsage()  # else it counts tokens, with a table from the internet
        return output

    model = get_model("mockllm/model", custom_outputs=mock)
    logs = []
    for arm, ending in zip(ARMS, ("eval", "json", "eval"), strict=True):
        (log,) = inspect_ai.eval(
            f"{folder / 'mv_crystalbench.py'}@{arm.replace('-', '_')}",
            model=model,
            log_dir=str(tmp_path / "logs"),
            log_format=ending,
            display="none",
        )
        assert log.status == "success"
        logs.append(log.location.removeprefix("file://"))
        right = log.results.scores[0].metrics["accuracy"].value
        ours = accuracies(package, tmp_path / "logs" / logs[-1].rpartition("/")[2])
        whole = ours[ours["stratum"] == frames.ALL].iloc[0]
        # its own reading knows no "Answer: X": what we add it misses
        assert right <= whole["accuracy"]
    assert len(seen) == 44 and {len(pictures) for pictures in seen} == {0, 1, 3, 6}
    same = accuracies(package, *direct(package, tmp_path / "direct"))
    pd.testing.assert_frame_equal(accuracies(package, tmp_path / "logs"), same)


@pytest.mark.slow  # 17 s, most of it lm-eval itself
def test_lm_eval_runs_it_and_its_samples_score_the_same(package, tmp_path):
    pytest.importorskip("lm_eval", reason="lm-eval is not installed")
    from lm_eval.api.model import LM
    from lm_eval.evaluator import simple_evaluate
    from lm_eval.tasks import TaskManager

    folder = export(package, "lm-eval", tmp_path / "out")
    seen = []

    class Mock(LM):
        MULTIMODAL = True

        def generate_until(self, requests, disable_tqdm=False):
            for request in requests:
                text, _, *more = request.args
                pictures = more[0]["visual"] if more else []
                assert text.count("<image>") == len(pictures)
                seen.append(len(pictures))
            bare = [request.args[0].replace("<image>", "").rstrip("\n") for request in requests]
            return [reply_to(text) for text in bare]

        def loglikelihood(self, requests):
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    found = simple_evaluate(
        Mock(),
        tasks=[f"mv_crystalbench_{arm.replace('-', '_')}" for arm in ARMS],
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        log_samples=True,
        bootstrap_iters=0,
    )
    target = tmp_path / "results" / "m"
    target.mkdir(parents=True)
    for task, rows in found["samples"].items():
        text = "".join(json.dumps(row, default=str) + "\n" for row in rows)
        (target / f"samples_{task}.jsonl").write_text(text)
    assert len(seen) == 44 and set(seen) == {0, 1, 3, 6}
    same = accuracies(package, *direct(package, tmp_path / "direct"))
    pd.testing.assert_frame_equal(accuracies(package, target), same)


def test_folders_that_hold_something_are_left_alone(package, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    for program in PROGRAMS:
        with pytest.raises(UsageError, match="name an empty or new folder"):
            run(ExportOptions(package.root, program, tmp_path / "out"), QUIET)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_the_command_says_how_to_start(package, tmp_path, capsys):
    asked = [str(package.root), "--to", "inspect", "--arms", "text", "-o", str(tmp_path / "o")]
    assert main(["export", *asked]) == 0
    told = capsys.readouterr().out
    assert f"inspect eval {tmp_path}/o/mv_crystalbench.py@text --model MODEL" in told
    assert (
        not (tmp_path / "o" / "image.jsonl").exists() and not (tmp_path / "o" / "images").exists()
    )


def _flipped(path):
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_flipped, "is not what manifest.json has the hash of"),
        (lambda path: path.unlink(), "is missing"),
    ],
)
def test_a_picture_that_is_not_the_packages_ends_it_and_leaves_nothing(
    package, tmp_path, harm, words
):
    harm(package.picture(MADE[-1].image_paths[0]))
    (tmp_path / "empty").mkdir()
    for program in PROGRAMS:
        for name in ("new", "empty"):
            with pytest.raises(RcError, match=words):
                export(package, program, tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"package", "empty"}
    assert not any((tmp_path / "empty").iterdir())
    # arms without pictures read none
    export(package, "inspect", tmp_path / "new", arms=("text", "no-image"))
    (package.root / "manifest.json").unlink()
    with pytest.raises(RcError, match="manifest.json: cannot be read"):
        export(package, "inspect", tmp_path / "other")
