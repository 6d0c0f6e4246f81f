"""The asking command: runs, files, resuming, other readings, the ladder."""

import functools
import json
import re

import h5py
import numpy as np
import pytest
import xarray
from query_cases import KEY, journal, make_crystals, runner
from vlm_stub import Stub, chat, error, pictures_of

from rc_hpc.answers.file import read_answers
from rc_hpc.answers.predictions import find_files, read_predictions
from rc_hpc.answers.scoring import stored_predictions
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.kinds.renders.manifest import read_manifest
from rc_hpc.ladder.__main__ import main as ladder
from rc_hpc.parallel.progress import Progress
from rc_hpc.query_vlm import main
from rc_hpc.tables import main as print_tables

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def crystals(tmp_path_factory):
    return make_crystals(tmp_path_factory.mktemp("crystals"))


@pytest.fixture
def query(crystals, tmp_path, monkeypatch):
    return runner(crystals, tmp_path, monkeypatch)


def test_a_run_and_all_its_files(query, tmp_path, crystals, capsys):
    arms = ("pixels", "coordinates", "question-only", "formula-only", "extraction")
    prices = tmp_path / "prices.toml"
    prices.write_text(
        'currency = "EUR"\n["m"]\ninput_per_million = 1.0\noutput_per_million = 10.0\n'
    )
    with Stub(faults=0.2, key=KEY) as stub:
        assert (
            query(
                "--arms",
                ",".join(arms),
                "--samples",
                "2",
                "--prices",
                str(prices),
                "--temperature",
                "0.7",
                "--extra",
                '{"top_p": 0.9}',
                stub=stub,
            )
            == 0
        )
    assert sum(stub.replied.values()) == 80

    tables, attributes = read_answers(tmp_path / "a.h5")
    samples = tables["samples"]
    order = list(
        zip(
            samples["structure"].tolist(),
            samples["arm"].tolist(),
            samples["sample"].tolist(),
            strict=True,
        )
    )
    assert len(order) == len(set(order)) == 80 and len(set(samples["key"])) == 80
    assert (attributes["currency"], attributes["requests_lost_in_flight"]) == (
        "EUR",
        0,
    ) and json.loads(attributes["options"])["parameters"] == {
        "model": "m",
        "temperature": 0.7,
        "top_p": 0.9,
    }
    known = ~np.isnan(samples["tokens_in"])
    assert (
        0 < known.sum() < 80
        and np.allclose(samples["cost"][known], 2e-4)
        and np.isnan(samples["cost"][~known]).all()
    )
    assert (
        set(samples["model"]) == {"resolved-model-2"}
        and (samples["n_attempts"] >= 1).all()
        and all(map(json.loads, samples["attempts"]))
    )

    for number, arm in enumerate(arms[:4]):
        file = read_predictions(tmp_path / "a.predictions" / f"{arm}.json")
        assert (file.kind, file.k, file.scored) == (arm, 2, True) and [
            p.material_id for p in file.predictions
        ] == tables["structures"]["id"].tolist()
        assert file.cell == {"pixels": "conventional", "coordinates": "conventional"}.get(
            arm, "none"
        )
        rows = tables["predictions"]["arm"] == tables["arms"]["arm"][number]
        assert (
            tables["arms"]["n_correct"][number]
            == file.n_correct
            == tables["predictions"]["correct"][rows].sum()
        )
        votes = tables["predictions"]["votes"][rows]
        assert [dict(p.votes) for p in file.predictions] == [
            {CRYSTAL_SYSTEMS[i]: int(n) for i, n in enumerate(row) if n} for row in votes
        ]
    assert len(json.loads((tmp_path / "a.emitted.json").read_text())) == 8
    drawn = read_manifest(crystals / "renders.h5").drawing
    assert drawn["convention"] == "C1" and drawn["protocol"]["tiling"] == [2, 2, 2]
    again = stored_predictions(tmp_path / "a.h5")
    for file in [read_predictions(path) for path in find_files([tmp_path / "a.predictions"])]:
        (same,) = (one for one in again if one.kind == file.kind)
        wanted = drawn if file.kind == "pixels" else None
        assert file.details.get("pictures") == same.details.get("pictures") == wanted

    with h5py.File(crystals / "renders.h5") as manifest:
        names = set(manifest["pictures/file"].asstr()[()])
    bodies = [json.loads(raw) for raw in stub.bodies]
    shown = [
        pictures_of(body) for body in bodies if isinstance(body["messages"][0]["content"], list)
    ]
    files = {(crystals / "renders" / name).read_bytes() for name in names}
    assert shown and all(len(pictures) == 5 and set(pictures) <= files for pictures in shown)
    assert all(
        body["temperature"] == 0.7
        and body["top_p"] == 0.9
        and body.keys() == {"model", "temperature", "top_p", "messages", "stream"}
        for body in bodies
    )

    capsys.readouterr()
    assert (
        ladder(
            [
                str(tmp_path / "a.predictions"),
                "--structures",
                str(crystals / "packed.h5"),
                "--table",
                "ladder",
            ]
        )
        == 0
    )
    told = capsys.readouterr().out
    assert "R4 only" in told
    assert (
        ladder(
            [
                str(tmp_path / "a.h5"),
                "--structures",
                str(crystals / "packed.h5"),
                "--table",
                "ladder",
            ]
        )
        == 0
    )
    assert capsys.readouterr().out == told
    assert (
        ladder(
            [
                str(tmp_path / "a.h5"),
                "--structures",
                str(crystals / "packed.h5"),
                "--figures",
                str(tmp_path / "figures"),
                "-q",
            ]
        )
        == 0
    )
    assert (tmp_path / "figures" / "leaderboard.pdf").exists()
    assert (
        print_tables([str(tmp_path / "a.h5")]) == 1
        and "rc_hpc.ladder reads them" in capsys.readouterr().err
    )
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in everything


def test_the_file_explains_itself(query, tmp_path):
    with Stub() as stub:
        assert query(stub=stub) == 0
    with h5py.File(tmp_path / "a.h5") as h5:
        found = []
        h5.visititems(
            lambda path, item: found.append(item) if isinstance(item, h5py.Dataset) else None
        )
        assert (
            all(item.attrs["units"] and item.attrs["description"] for item in found)
            and len(found) > 50
        )
        assert h5py.check_enum_dtype(h5["samples/outcome"].dtype)["empty_by_length"] == 2
    for group in ("structures", "samples", "predictions", "arms", "questions"):
        assert xarray.open_dataset(tmp_path / "a.h5", group=group, engine="h5netcdf").sizes


def test_resuming_pays_for_nothing_twice_and_may_add(query, tmp_path):
    with Stub() as stub:
        assert query("--samples", "1", stub=stub) == 0 and stub.n == 8
        assert query("--samples", "1", stub=stub) == 2  # there is a finished output
        assert query("--samples", "1", "--resume", stub=stub) == 0 and stub.n == 8
        assert (
            query("--samples", "2", "--arms", "pixels,formula-only", "--resume", stub=stub) == 0
            and stub.n == 32
        )
        assert query("--temperature", "1", "--resume", stub=stub) == 1 and stub.n == 32
        assert query("--samples", "1", "--overwrite", stub=stub) == 0 and stub.n == 40
    assert (tmp_path / "a.journal.jsonl.1").is_file() and len(journal(tmp_path)) == 8


def test_failures_are_recorded_gated_and_asked_again(query, crystals, tmp_path):
    broken = {"on": True}
    with h5py.File(crystals / "packed.h5") as packed:
        size = packed["structures/n_atoms"][0]

    def answer(body, number):
        if broken["on"] and f"Atoms in the cell: {size}\n" in body["messages"][0]["content"]:
            return 400, {}, error("context length exceeded")
        return chat("ANSWER: cubic")

    with Stub(answer) as stub:
        arguments = ["--arms", "coordinates,question-only", "--samples", "1"]
        first = query(*arguments, stub=stub, pictures=False)
        tables, _ = read_answers(tmp_path / "a.h5")
        failed = int((tables["samples"]["outcome"] == 3).sum())
        assert (
            failed > 0
            and first == 3
            and not tables["arms"]["scored"][0]
            and tables["arms"]["scored"][1]
        )
        assert tables["arms"]["why_unscored"][0].startswith("api errors") and tables["arms"][
            "n"
        ].tolist() == [8, 8]
        file = read_predictions(tmp_path / "a.predictions" / "coordinates.json")
        assert file.scored is False and len(file.predictions) == 8 and file.api_errors == failed
        assert query(*arguments, "--resume", stub=stub, pictures=False) == 3 and stub.n == 16
        broken["on"] = False
        assert (
            query(*arguments, "--resume", "--retry-failed", stub=stub, pictures=False) == 0
            and stub.n == 16 + failed
        )
    assert read_predictions(tmp_path / "a.predictions" / "coordinates.json").scored


def test_the_two_parsers_and_parsing_again(query, tmp_path, capsys):
    with Stub(lambda body, number: chat("ANSWER: hexagonal, not cubic")) as stub:
        assert query("--samples", "1", stub=stub) == 0
    tables, _ = read_answers(tmp_path / "a.h5")
    assert (
        set(tables["samples"]["answer_line"]) == {6}
        and set(tables["samples"]["last_mention"]) == {7}
        and tables["arms"]["n_parsers_agree"].tolist() == [0]
    )
    before = (tmp_path / "a.predictions" / "pixels.json").read_bytes()
    for parser, label in (("last-mention", "cubic"), ("answer-line", "hexagonal")):
        assert (
            main(
                ["parse", str(tmp_path / "a.h5"), "--parser", parser, "-o", str(tmp_path / parser)]
            )
            == 0
        )
        file = read_predictions(tmp_path / parser / "pixels.json")
        assert {p.pred for p in file.predictions} == {label} and file.details["parser"] == parser
    assert (tmp_path / "answer-line" / "pixels.json").read_bytes() == before
    assert main(["parse", str(tmp_path / "a.journal.jsonl"), "-o", str(tmp_path / "x")]) == 1


def test_extraction_then_answers_from_it(query, tmp_path, crystals):
    def answer(body, number):
        text = body["messages"][0]["content"]
        if isinstance(text, list):
            return chat("I cannot see any." if number == 0 else "Na 0 0 0\nCl 0.5 0.5 0.5")
        assert (
            "Na 0.00000 0.00000 0.00000\nCl 0.50000 0.50000 0.50000" in text and "alpha = " in text
        )
        return chat("ANSWER: cubic")

    with Stub(answer) as stub:
        assert query("--arms", "extraction", "--samples", "1", "--concurrency", "1", stub=stub) == 0
        assert "#" in json.loads(stub.bodies[0])["messages"][0]["content"][0]["text"]
        assert (
            query(
                "--arms",
                "answer-from-text",
                "--emitted",
                str(tmp_path / "a.emitted.json"),
                stub=stub,
                output="b.h5",
                pictures=False,
            )
            == 0
        )
    tables, _ = read_answers(tmp_path / "b.h5")
    assert (
        tables["samples"]["outcome"] == 5
    ).sum() == 3 and stub.n == 8 + 21  # nothing to ask about is a miss, not a row less
    file = read_predictions(tmp_path / "b.predictions" / "answer-from-text.json")
    assert len(file.predictions) == 8 and file.losses.unanswered == 1 and not file.scored


def test_a_missing_picture_is_told_before_anything_is_sent(query, crystals, tmp_path, capsys):
    victim = next((crystals / "renders").iterdir())
    data = victim.read_bytes()
    victim.unlink()
    try:
        with Stub() as stub:
            assert query(stub=stub) == 1 and stub.n == 0
    finally:
        victim.write_bytes(data)
    assert victim.name in capsys.readouterr().err


def test_progress_tells_rate_spend_and_time_left(crystals, tmp_path, capsys, monkeypatch):
    often = functools.partialmethod(Progress.__init__, quiet_s=0.0)
    monkeypatch.setattr(Progress, "__init__", often)
    prices = tmp_path / "prices.toml"
    prices.write_text('["m"]\ninput_per_million = 1e4\noutput_per_million = 0\n')
    with Stub(lambda body, number: chat(), latency_s=0.01) as stub:
        arguments = [
            str(crystals / "packed.h5"),
            "-o",
            str(tmp_path / "a.h5"),
            "--arms",
            "formula-only",
            "--model",
            "m",
            "--base-url",
            stub.url,
            "--prices",
            str(prices),
            "--progress",
            "plain",
        ]
        assert main(arguments) == 0
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"24/24 replies \(100 %\), [\d.]+/s, [\d:]+ elapsed, 0 failed, 24 USD, \d+ at once",
        lines[-1],
    ) and any(" left, " in line for line in lines)
