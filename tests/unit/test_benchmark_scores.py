"""Scores of answers: by hand on small packages, and by slow twins on drawn ones."""

import dataclasses
import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from package_cases import ASKED, LOST, question, questions, write_answers, write_package

from rc_hpc.benchmark.records import STRATA
from rc_hpc.benchmark.scoring import frames
from rc_hpc.benchmark.scoring.ceilings import Ceiling
from rc_hpc.benchmark.scoring.evidence import Evidence
from rc_hpc.benchmark.scoring.figures import draw_scores, ladder, models
from rc_hpc.benchmark.scoring.options import SEED, TABLES, ScoreOptions
from rc_hpc.benchmark.scoring.run import run
from rc_hpc.benchmark.scoring.tables import MAKERS, make_tables
from rc_hpc.core.door import Talk
from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.report.plot import Given, NothingToDraw
from rc_hpc.report.style import styled
from rc_hpc.stats.clusters import cluster_sums, percentiles, ratio_draws

DRAWS = 400


def evidence(folder, *files, **more):
    return Evidence(ScoreOptions(tuple(files), folder, resamples=DRAWS, **more))


def right(one, number):
    return f"[ANSWER]{one.answer}[/ANSWER]"


def first(one, number):
    return "A"


def right_in(*qtypes):
    """Replies that are right in these types and hold no letter elsewhere."""
    return lambda one, number: one.answer if one.qtype in qtypes else "E"


def cell(frame, column, **where):
    for name, value in where.items():
        frame = frame[frame[name] == value]
    assert len(frame) == 1, (where, frame)
    return frame[column].iloc[0]


# the bootstrap


def slow_draws(sums, sizes, n_resamples, seed):
    """Each draw cluster by cluster, with the numbers of times that the fast one draws them."""
    rng, c = np.random.default_rng(seed), len(sums)
    draws = []
    for times in rng.multinomial(c, [1 / c] * c, n_resamples):
        picked = [place for place in range(c) for _ in range(times[place])]
        assert len(picked) == c
        total = sum(sizes[place] for place in picked)
        draws.append(sum(sums[place] for place in picked) / total if total else np.nan)
    return draws


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=2, max_size=6),
    st.integers(0, 5),
)
@settings(max_examples=25, deadline=None)
def test_draws_are_those_of_the_slow_twin(clusters, seed):
    sums = [min(right, size) for right, size in clusters]
    sizes = [size for _, size in clusters]
    fast = ratio_draws(np.array([sums]).T, np.array([sizes]).T, 60, seed)
    np.testing.assert_allclose(fast[:, 0], slow_draws(sums, sizes, 60, seed))


def test_one_question_a_structure_is_the_binomial():
    """14 of 25 without pictures, as the card reports it of one model, and its interval."""
    sums = np.r_[np.ones(14), np.zeros(11)][:, None]
    interval = percentiles(ratio_draws(sums, np.ones((25, 1)), 100_000, SEED)[:, 0])
    assert (interval.low, interval.high) == (0.36, 0.76)


def test_clusters_widen_the_interval():
    """Five structures of five questions each, all right or all wrong."""
    alone = np.r_[np.ones(15), np.zeros(10)][:, None]
    together = 5.0 * np.array([[1], [1], [1], [0], [0]])
    narrow = percentiles(ratio_draws(alone, np.ones((25, 1)), 20_000, SEED)[:, 0])
    wide = percentiles(ratio_draws(together, np.full((5, 1), 5), 20_000, SEED)[:, 0])
    assert wide.low < narrow.low and narrow.high < wide.high


def test_blocks_of_draws_do_not_matter():
    sums, sizes = np.arange(6.0)[:, None], np.full((6, 1), 5)
    many = ratio_draws(sums, sizes, 20_001, 3)
    assert many.shape == (20_001, 1) and np.isfinite(many).all()
    assert np.array_equal(many[:100], ratio_draws(sums, sizes, 100, 3))


def test_sums_over_clusters():
    values = np.array([[1.0, 2], [3, 4], [5, 6]])
    assert cluster_sums(values, np.array([1, 0, 1]), 2).tolist() == [[3, 4], [6, 8]]
    assert np.isnan(percentiles(np.empty(0))).all()


# scores


@pytest.fixture(scope="module")
def made():
    """Four questions a stratum over three structures, letters in turn."""
    return questions(4)


@pytest.fixture
def package(tmp_path, made):
    return write_package(tmp_path / "package", made, made[:6])


def test_perfect_and_constant_readers(tmp_path, package, made):
    found = evidence(
        package,
        write_answers(tmp_path / "perfect.json", "perfect", "image", made, right),
        write_answers(tmp_path / "constant.json", "constant", "image", made, first),
    )
    frame = frames.accuracy(found)
    assert set(frame["stratum"]) == {*ASKED, frames.ALL, frames.MEAN}
    for stratum in (*ASKED, frames.ALL, frames.MEAN):
        assert cell(frame, "accuracy", model="perfect", stratum=stratum) == 1
        assert cell(frame, "lowboot95", model="perfect", stratum=stratum) == 1
        # letters in turn: one of four is A
        assert cell(frame, "accuracy", model="constant", stratum=stratum) == 0.25
    assert cell(frame, "right", model="constant", stratum=frames.ALL) == 8
    assert cell(frame, "n", model="constant", stratum=frames.ALL) == 32
    assert cell(frame, "base_structures", model="constant", stratum=frames.ALL) == 3


def test_invalid_is_wrong_and_missing_is_no_score(tmp_path, package, made):
    def refuses(one, number):
        return "I cannot help with that." if one.stratum == "Q4" else right(one, number)

    def breaks(one, number):
        return LOST if one.id == "q4-0001" else right(one, number)

    refused = write_answers(tmp_path / "refused.json", "refused", "image", made, refuses)
    broken = write_answers(tmp_path / "broken.json", "broken", "image", made, breaks)
    found = evidence(package, refused, broken)
    told = frames.files(found)
    assert (
        cell(told, "invalid", model="refused") == 4 and cell(told, "missing", model="broken") == 1
    )
    assert cell(told, "unscored", model="refused") == ""
    frame = frames.accuracy(found)
    assert cell(frame, "accuracy", model="refused", stratum="Q4") == 0
    assert cell(frame, "accuracy", model="refused", stratum=frames.ALL) == 28 / 32
    missing = frame[frame["model"] == "broken"]
    assert missing[["accuracy", "lowboot95", "right"]].isna().all(axis=None)
    assert set(missing["unscored"]) == {"1 answer missing"}
    assert cell(missing, "n", stratum="Q4") == 4
    partial = frames.accuracy(evidence(package, broken, allow_partial=True))
    assert cell(partial, "n", stratum="Q4") == 3 and cell(partial, "accuracy", stratum="Q4") == 1
    assert cell(partial, "missing", stratum="Q4") == 1
    assert "answer missing" in cell(partial, "unscored", stratum="Q4")


def test_a_row_that_a_file_lacks_is_missing(tmp_path, package, made):
    """Five of eight answered, as of one model on the card: no score."""
    path = write_answers(tmp_path / "a.json", "m", "image", made[:20], right)
    found = evidence(package, path)
    assert found.package.set_name == "full"
    assert cell(frames.files(found), "missing", model="m") == 12
    assert not found.scored(*found.answers)


def test_text_is_scored_where_text_can_ask(tmp_path, package, made):
    path = write_answers(tmp_path / "t.json", "m", "text", made, right)
    frame = frames.accuracy(evidence(package, path))
    assert set(frame["stratum"]) & {"Q1a", "Q6"} == set()
    assert cell(frame, "n", stratum=frames.ALL) == 24 and not frame["missing"].any()


def test_a_tie_is_a_miss_and_half_in_expectation(tmp_path, package, made):
    def two(one, number):
        return [one.answer, "A" if one.answer != "A" else "B"][number]

    path = write_answers(tmp_path / "two.json", "m", "image", made, two, k=2)
    frame = frames.accuracy(evidence(package, path))
    assert (
        cell(frame, "accuracy", stratum="Q4") == 0 and cell(frame, "expected", stratum="Q4") == 0.5
    )


def test_arms_are_compared_on_the_same_questions(tmp_path, package, made):
    """The text arm asks fewer: the image arm's score there is another than on all."""

    def sees(one, number):
        return right(one, number) if one.qtype in ("Q1a", "Q6", "Q4") else "A"

    image = write_answers(tmp_path / "i.json", "m", "image", made, sees)
    text = write_answers(tmp_path / "t.json", "m", "text", made, right)
    nothing = write_answers(tmp_path / "n.json", "m", "no-image", made, first)
    found = evidence(package, image, text, nothing)
    frame = frames.differences(found)
    assert set(frame["difference_of"]) == {"image - text", "image - no-image", "text - no-image"}
    pair = {"difference_of": "image - text", "stratum": frames.ALL}
    # 24 questions in both; the image arm has Q4 and the A's of the other five strata right
    assert cell(frame, "n", **pair) == 24
    assert cell(frame, "first", **pair) == pytest.approx((4 + 5) / 24)
    assert cell(frame, "difference", **pair) == pytest.approx((4 + 5) / 24 - 1)
    pair["difference_of"] = "image - no-image"
    assert cell(frame, "n", **pair) == 32
    assert cell(frame, "difference", **pair) == pytest.approx((3 * 3) / 32)
    low, high = (cell(frame, name, **pair) for name in ("lowboot95", "highboot95"))
    assert low <= 9 / 32 <= high
    # paired: equal answers differ by nothing in every draw
    pair["stratum"] = "Q3"
    assert [cell(frame, name, **pair) for name in ("lowboot95", "highboot95")] == [0, 0]


def slow_difference(found, one, other, chosen):
    """Paired draws, question by question."""
    clusters = sorted({found.clusters[row] for row in np.flatnonzero(chosen)})
    rng = np.random.default_rng(SEED)
    draws = []
    for times in rng.multinomial(len(clusters), [1 / len(clusters)] * len(clusters), DRAWS):
        total = n = 0
        for cluster, repeats in zip(clusters, times, strict=True):
            for row in np.flatnonzero(chosen & (found.clusters == cluster)):
                total += repeats * (one.expected[row] - other.expected[row])
                n += repeats
        draws.append(total / n)
    return np.percentile(draws, [2.5, 97.5])


def test_differences_are_those_of_the_slow_twin(tmp_path):
    made = questions(9, bases=("a", "b", "c", "d", "e"))
    package = write_package(tmp_path / "package", made)
    luck = np.random.default_rng(4)
    drawn = {
        arm: {one.id: "ABCD"[luck.integers(4)] for one in made} for arm in ("image", "no-image")
    }
    files = [
        write_answers(tmp_path / f"{arm}.json", "m", arm, made, lambda one, _: drawn[arm][one.id])
        for arm in drawn
    ]
    found = evidence(package, *files)
    frame = frames.differences(found)
    for stratum in (*ASKED, frames.ALL):
        chosen = np.ones(len(made), bool) if stratum == frames.ALL else found.strata == stratum
        limits = slow_difference(found, *found.answers, chosen)
        row = frame[frame["stratum"] == stratum].iloc[0]
        np.testing.assert_allclose([row["lowboot95"], row["highboot95"]], limits, atol=1e-12)


def test_mean_of_strata_weighs_strata_alike(tmp_path):
    made = [*questions(1, ("Q4",)), *questions(9, ("Q6",))]
    package = write_package(tmp_path / "package", made)
    told = write_answers(
        tmp_path / "a.json",
        "m",
        "image",
        made,
        right_in("Q4"),
    )
    frame = frames.accuracy(evidence(package, told))
    assert cell(frame, "accuracy", stratum=frames.ALL) == 0.1
    assert cell(frame, "accuracy", stratum=frames.MEAN) == 0.5
    side = frames.models(evidence(package, told))
    assert (side["Q4"].iloc[0], side["Q6"].iloc[0], side[frames.MEAN].iloc[0]) == (1, 0, 0.5)


def test_one_structure_alone_has_no_interval(tmp_path):
    made = questions(4, ("Q4",), bases=("salt",))
    package = write_package(tmp_path / "package", made)
    frame = frames.accuracy(
        evidence(package, write_answers(tmp_path / "a.json", "m", "image", made, right))
    )
    assert (frame["base_structures"] == 1).all() and frame["lowboot95"].isna().all()


def test_traps_apart(tmp_path, package, made):
    def fooled(one, number):
        return "E" if one.depth_trap else one.answer

    frame = frames.traps(
        evidence(package, write_answers(tmp_path / "a.json", "m", "image", made, fooled))
    )
    row = frame.iloc[0]
    assert (row["n_traps"], row["traps"], row["n_plain"], row["plain"]) == (2, 0, 2, 1)
    assert row["difference"] == -1 and row["difference_lowboot95"] == -1


def ceiling_of(found, determined, expected):
    known = np.ones(len(found.questions), bool)
    return Ceiling("exact, 3 views", known, np.asarray(determined), np.asarray(expected, float))


def test_the_ladder_by_hand(tmp_path, package, made):
    """Pictures determine all but Q1b; text is read rightly in Q4 alone; pictures nowhere."""
    image = write_answers(tmp_path / "i.json", "m", "image", made, lambda *_: "E")
    text = write_answers(
        tmp_path / "t.json",
        "m",
        "text",
        made,
        right_in("Q4"),
    )
    found = evidence(package, image, text)
    settled = found.strata != "Q1b"
    found.ceilings = [ceiling_of(found, settled, np.where(settled, 1, 0.5))]
    frame = frames.ladder(found)
    whole = frames.ceilings(found)
    assert cell(whole, "determined", stratum=frames.ALL) == 28 / 32
    assert cell(whole, "expected", stratum=frames.ALL) == 30 / 32
    assert cell(whole, "n", stratum=frames.ALL) == 32 and not whole["unknown"].any()

    def rung(stratum, *columns):
        return [cell(frame, column, stratum=stratum) for column in columns]

    shown = (
        "determined",
        "expected",
        "text",
        "image",
        "lost_reasoning",
        "lost_looking",
        "lost_both",
    )
    assert rung("Q4", *shown) == [1, 1, 1, 0, 0, 1, 1]
    assert rung("Q3", *shown) == [1, 1, 0, 0, 1, 0, 1]
    assert rung("Q1b", *shown) == [0, 0.5, 0, 0, 0.5, 0, 0.5]
    told = rung("Q6", *shown)
    assert told[:2] == [1, 1] and told[3] == 0 and told[6] == 1
    assert np.isnan([told[2], told[4], told[5]]).all()
    assert rung(frames.ALL, "n", "text") == [24, pytest.approx(4 / 24)]  # same questions only
    low, high = rung("Q4", "looking_lowboot95", "looking_highboot95")
    assert (low, high) == (1, 1)


def test_undetermined_questions_apart(tmp_path, package, made):
    path = write_answers(tmp_path / "a.json", "m", "image", made, first)
    found = evidence(package, path)
    settled = np.array([one.answer == "A" for one in made])
    found.ceilings = [ceiling_of(found, settled, np.where(settled, 1, 1 / 3))]
    frame = frames.undetermined(found)
    assert cell(frame, "score", stratum=frames.ALL, determined="yes") == 1
    assert cell(frame, "score", stratum=frames.ALL, determined="no") == 0
    assert cell(frame, "honest_reader", stratum=frames.ALL, determined="no") == pytest.approx(1 / 3)
    assert cell(frame, "n", stratum=frames.ALL, determined="no") == 24


def test_models_against_each_other(tmp_path, package, made):
    files = [
        write_answers(tmp_path / "1.json", "maker/one", "image", made, right),
        write_answers(tmp_path / "2.json", "maker/two", "image", made, first),
    ]
    frame = frames.contrasts(evidence(package, *files))
    assert cell(frame, "difference", stratum=frames.ALL) == 0.75
    assert frame["against"].tolist() == ["maker/two", "maker/two"]


# what is refused, and what is told


def test_the_smallest_set_that_holds_the_answers(tmp_path, package, made):
    path = write_answers(tmp_path / "a.json", "m", "image", made[:6], right)
    assert evidence(package, path).package.set_name == "mini"
    assert evidence(package, path, set_name="full").answers[0].missing.sum() == 26
    whole = write_answers(tmp_path / "b.json", "m", "image", made, right)
    chosen = evidence(package, whole, set_name="mini")
    assert chosen.answers[0].known.sum() == 6


def test_files_of_another_package_are_refused(tmp_path, package, made):
    other = [*made, question("Q4", 99)]
    path = write_answers(tmp_path / "a.json", "m", "image", other, right)
    with pytest.raises(RcError, match="1 of 33 ids are none of .*q4-0099"):
        evidence(package, path)
    turned = dataclasses.replace(made[0], answer="B", answer_text=made[0].options["B"])
    path = write_answers(tmp_path / "a.json", "m", "image", [turned, *made[1:]], right)
    with pytest.raises(RcError, match="q1a-0000 is B there and A in .*two versions"):
        evidence(package, path)
    same = [
        write_answers(tmp_path / name, "m", "image", made, right) for name in ("1.json", "2.json")
    ]
    with pytest.raises(RcError, match="m"):
        evidence(package, *same)


def test_tables_that_cannot_be_made_say_what_they_need(tmp_path, package, made, capsys):
    path = write_answers(tmp_path / "a.json", "m", "image", made, right)
    options = ScoreOptions((path,), package, resamples=DRAWS)
    assert set(MAKERS) == set(TABLES)
    _, missing = make_tables(Evidence(options), TABLES)
    assert missing == {
        "differences": "needs two arms of a model, such as image and text",
        "contrasts": "needs two models in one arm",
        "ceilings": "needs --determined FILE",
        "ladder": "needs --determined FILE",
        "undetermined": "needs --determined FILE",
    }
    assert run(options, Talk()) == 0
    told = capsys.readouterr()
    # what is read first, its sentence, and one line on the rest
    assert told.out.startswith("Expected score, models side by side")
    assert "image: m, scores 1.0000 of 32 questions." in told.out
    assert "Accuracy by stratum" not in told.out and len(told.out.splitlines()) < 12
    assert "table ceilings left out: it needs --determined FILE" in told.err
    assert "table ladder" not in told.err
    assert told.err.count("further tables: accuracy, contrasts, differences, files, ladder") == 1
    assert "400 draws of base structures, seed 20261021" in told.out
    assert run(dataclasses.replace(options, table="all"), Talk()) == 0
    told = capsys.readouterr()
    assert "Accuracy by stratum" in told.out and "further tables" not in told.err
    assert "table ladder left out: it needs --determined FILE" in told.err
    with pytest.raises(UsageError, match="--table ladder needs --determined FILE"):
        run(dataclasses.replace(options, table="ladder"), Talk())


def test_missing_answers_end_with_recorded_failures(tmp_path, package, made, capsys):
    path = write_answers(tmp_path / "a.json", "m", "image", made[:20], right)
    options = ScoreOptions((path,), package, resamples=DRAWS, output=tmp_path / "tables")
    assert run(options, Talk()) == 3
    told = capsys.readouterr()
    assert "12 answers missing: no formal score; --allow-partial" in told.err
    assert (tmp_path / "tables" / "accuracy.txt").is_file()
    assert run(dataclasses.replace(options, allow_partial=True), Talk()) == 3
    assert "PARTIAL" in (tmp_path / "tables" / "accuracy.txt").read_text()


def test_the_sentence_names_the_best_of_each_arm_and_its_weakest_stratum(tmp_path, package, made):
    files = (
        write_answers(tmp_path / "a.json", "better", "image", made, right_in("Q1a", "Q3")),
        write_answers(tmp_path / "b.json", "worse", "image", made, right_in("Q3")),
        write_answers(tmp_path / "t.json", "other", "text", made, first),
    )
    found = evidence(package, *files)
    settled = [question.qtype in ("Q1a", "Q3") for question in made]
    one = Ceiling("points", np.ones(32, bool), np.array(settled), np.where(settled, 1.0, 0.5))
    found.__dict__["ceilings"] = [one]
    (table,), _ = make_tables(found, ["models"])
    assert list(table.frame)[:4] == ["model", "arm", "n", frames.ALL]
    image, text, ceiling = table.note.splitlines()
    assert image.startswith(
        "image: the best of 2, better, scores 0.2500 of 32 questions; weakest: "
    )
    assert image.endswith(", 0.0000.") and text.startswith("text: other, scores ")
    assert ceiling == (
        "Ceiling (points): the pictures determine 8 of 32 answers; drawing evenly among what is "
        "left scores 0.6250."
    )


def test_folders_of_answers(tmp_path, package, made):
    write_answers(tmp_path / "r/i.json", "m", "image", made, right)
    write_answers(tmp_path / "r/t.json", "m", "text", made, right)
    (tmp_path / "r/a.journal.jsonl").write_text("{}\n")
    (tmp_path / "r/notes.md").write_text("no answers\n")
    assert [one.arm for one in evidence(package, tmp_path / "r").answers] == ["image", "text"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(RcError, match="holds no answers"):
        evidence(package, tmp_path / "empty")


# other programs


def inspected(one, text=None, error=None, epoch=1, reason="stop"):
    choice = {"message": {"role": "assistant", "content": text}, "stop_reason": reason}
    return {
        "id": one.id,
        "epoch": epoch,
        "metadata": {"arm": "image"},
        "output": {"choices": [] if text is None else [choice]},
        "error": error and {"message": error},
    }


def test_logs_of_inspect(tmp_path, package, made):
    samples = [inspected(one, f"[ANSWER]{one.answer}[/ANSWER]") for one in made]
    parts = [{"type": "reasoning", "reasoning": "Answer: D"}, {"type": "text", "text": "A"}]
    samples[0] = inspected(made[0], parts)
    samples[1] = inspected(made[1], error="it broke")
    samples[2] = inspected(made[2], "", reason="content_filter")
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"eval": {"model": "maker/m"}, "samples": samples}))
    (one,) = evidence(package, path).answers
    assert (one.model, one.arm) == ("maker/m", "image")
    assert one.right[0] and one.missing[1] and one.invalid[2]
    assert one.right[3:].all() and one.missing.sum() == one.invalid.sum() == 1


def test_epochs_of_inspect_vote(tmp_path, package, made):
    letters = ("A", "B", "B")
    samples = [
        inspected(one, letter, epoch=number)
        for one in made
        for number, letter in enumerate(letters, 1)
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"eval": {"model": "m"}, "samples": samples}))
    (one,) = evidence(package, path).answers
    assert one.file.k == 3 and one.right.sum() == sum(q.answer == "B" for q in made)


def test_samples_of_lm_eval(tmp_path, package, made):
    rows = [
        {
            "doc_id": n,
            "doc": {"id": one.id, "arm": "no-image"},
            "resps": [[one.answer]],
            "filter": f,
        }
        for f in ("none", "strict")
        for n, one in enumerate(made)
    ]
    path = tmp_path / "maker__m" / "samples_mvcb.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (path.parent / "results_2026.json").write_text("{}")
    (one,) = evidence(package, path.parent).answers
    assert (one.model, one.arm, one.file.k) == ("maker/m", "no-image", 1) and one.right.all()


def test_results_of_vlmevalkit(tmp_path, package, made):
    import pandas as pd

    replies = [one.answer for one in made]
    replies[1], replies[2], replies[3] = "Failed to obtain answer via API.", "", "either A or B"
    frame = pd.DataFrame(
        {
            "index": range(len(made)),
            "id": [one.id for one in made],
            "arm": "image",
            "prediction": replies,
        }
    )
    path = tmp_path / "GPT_MV-CrystalBench_image.tsv"
    frame.to_csv(path, sep="\t", index=False)
    (one,) = evidence(package, path).answers
    assert one.model == "GPT" and one.missing.tolist() == [n == 1 for n in range(len(made))]
    assert one.invalid[2] and one.invalid[3] and one.right.sum() == len(made) - 3


@pytest.mark.parametrize("ending", ["jsonl", "csv", "tsv"])
def test_rows_of_ones_own_answers(tmp_path, package, made, ending):
    import pandas as pd

    path = tmp_path / f"mine.{ending}"
    said = [one.answer for one in made]
    said[1], said[2] = None, "no idea"
    rows = pd.DataFrame({"id": [one.id for one in made], "answer": said})
    if ending == "jsonl":
        rows.to_json(path, orient="records", lines=True)
    else:
        rows.to_csv(path, sep="," if ending == "csv" else "\t", index=False)
    (one,) = evidence(package, path).answers
    assert one.model == "mine" and one.missing.tolist() == [n == 1 for n in range(len(made))]
    assert one.invalid[2] and one.right.sum() == len(made) - 2


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", "{", "not JSON"),
        ("a.json", "[1]", "not a prediction file"),
        ("a.json", '{"eval": {}, "samples": []}', "do not name one arm"),
        ("a.jsonl", '{"doc": 3}\n', "line 1: neither an id and an answer nor a sample of lm-eval"),
        ("a.tsv", "id\tarm\nx\timage\n", "has no column prediction"),
        ("a.csv", "id,answer\nx,A\n", "1 of 1 ids are none of"),
        ("a.csv", "id,answer,arm\nx,A,pixels\n", "do not name one arm"),
        ("a.jsonl", '{"id": "x", "answer": "A", "options": {}}\n', "these are the questions"),
        ("a.tsv", "id\tarm\tprediction\nx\tpixels\tA\n", "do not name one arm"),
        ("a.tsv", "id\tarm\tprediction\nx\timage\tA\n", "1 of 1 ids are none of"),
        ("a.h5", "no", "it seems to be text"),
    ],
)
def test_files_that_hold_no_answers_are_named(tmp_path, package, name, text, words):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(RcError, match="a\\.") as told:
        evidence(package, path)
    assert words in str(told.value)


def test_figures_are_drawn(tmp_path, package, made):
    luck = np.random.default_rng(1)
    files = [
        write_answers(
            tmp_path / f"{model}.json",
            f"maker/{model}",
            "image",
            made,
            lambda *_: "ABCD"[luck.integers(4)],
        )
        for model in ("one", "two")
    ]
    options = ScoreOptions(tuple(files), package, resamples=DRAWS, figures=tmp_path / "f")
    assert run(options, Talk(quiet=True)) == 0
    assert {path.name for path in (tmp_path / "f").iterdir()} == {
        "models-alone.pdf",
        "models-alone.png",
        "models-alone.csv",
    }


def test_figures_show_every_reader_once(tmp_path, package, made):
    """An open reader at its expected score, arms without pictures named, pages where needed."""
    files = [
        write_answers(tmp_path / f"{k}.json", f"m{k}", arm, made, lambda *_: "A")
        for k, arm in enumerate(("image", "no-image", "text") * 3)
    ]

    def open_reader(one, number):
        return "ABCD"[number]

    files.append(write_answers(tmp_path / "o.json", "open", "no-image", made, open_reader, k=4))
    found = evidence(package, *files)
    (table,), _ = make_tables(found, ("accuracy",))
    shown = {}
    for page in range(3):
        with styled():
            try:
                figure = models(Given(table.frame), page)
            except NothingToDraw:
                assert page == 2
                continue
        for container in figure.axes[0].containers:
            assert container.get_label() not in shown
            shown[container.get_label()] = container[0].get_xdata()
    named = {f"m{k}{told}" for k, told in enumerate(("", ", no-image", ", text") * 3)}
    assert set(shown) == named | {"open, no-image"}
    assert (shown["open, no-image"] == 0.25).all()
    written, left_out = draw_scores(found, [table], tmp_path / "f")
    assert set(written) == {"models-alone", "models-alone-2"} and not left_out


@pytest.mark.parametrize("n", [1, 2, 4])
def test_no_legend_of_the_ladder_is_cut_off(n):
    rng = np.random.default_rng(2)
    rows = [
        {"model": f"model-{k}", "stratum": stratum, "unscored": "", "reading": "visible 50 %"}
        | dict(zip(("expected", "text", "image"), rng.uniform(0.2, 1, 3), strict=True))
        for k in range(n)
        for stratum in STRATA
    ]
    with styled():
        figure = ladder(Given(pd.DataFrame(rows)))
        figure.savefig(io.BytesIO(), format="png", dpi=figure.dpi)
        (legend,) = figure.legends
        box = legend.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0
    assert len(legend.get_texts()) == 6
