"""The measurement of spoilt pictures and fewer views: what it varies, and what it tells."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import read_cases as cases

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(monkeypatch):
    """The bench folder as a package."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: importlib.import_module(f"bench.{name}")


def row(condition, id_, status="read", number=225, **more):
    """A row of a record; the truth is 225."""
    whole = {"missing": 0, "extra": 0, "detect_s": 0.5, "read_s": 1.0}
    known = {"id": id_, "truth": 225, "status": status, "certified": status == "read"}
    return {"condition": condition, "numbers": [number] * 5} | known | whole | more


def test_every_condition_has_a_name_of_its_own(bench):
    noise = bench("reader_noise")
    names = [one.name for one in [*noise.conditions(), *noise.fewer()]]
    assert len(set(names)) == len(names)
    assert {"convention C4", "size 1536", "JPEG quality 60", "noise 4", "views, K1 2"} < set(names)
    assert noise.DESIGNED.is_file()


def test_what_is_done_to_pictures(bench):
    noise = bench("reader_noise")
    drawn = cases.made("skew").pictures[0]
    rng = np.random.default_rng(0)
    for sigma in (1, 4):
        moved = noise.noisy(sigma)(drawn, rng).astype(float)[drawn.min(axis=2) > 30] - 0.0
        kept = drawn[drawn.min(axis=2) > 30]
        inside = kept < 200
        assert np.std((moved - kept)[inside]) == pytest.approx(sigma, rel=0.1)
    off = [np.abs(noise.compressed(q)(drawn, rng).astype(int) - drawn).mean() for q in (95, 60)]
    assert 0 < off[0] < off[1]
    assert noise.halved(drawn, rng).shape == (192, 192, 3)


def test_the_choice_follows_the_seed_and_takes_every_system(bench, monkeypatch):
    noise = bench("reader_noise")
    groups = [1, 5, 20, 100, 150, 180, 220] * 5
    every = [SimpleNamespace(id=f"s{k}", space_group=n) for k, n in enumerate(groups)]
    monkeypatch.setattr(noise, "cells", lambda asked: every)
    one, again, other = (
        [cell.id for cell in noise.chosen(SimpleNamespace(seed=seed, each=2))] for seed in (0, 0, 1)
    )
    assert one == again != other and len(set(one)) == 14
    assert sorted(int(id_[1:]) % 7 for id_ in one) == sorted([*range(7)] * 2)


def test_rows_are_told_and_drawn(bench, tmp_path):
    noise, figures = bench("reader_noise"), bench("reader_figures")
    rows = [row(name, id_) for name in ("convention C1", "size 384") for id_ in "abc"]
    rows += [row("JPEG quality 95", id_, "convention", 0, missing=8) for id_ in "abc"]
    rows += [row("noise 1", "a", number=1), row("noise 1", "b", "uncertified", number=225)]
    views = [row("views, K0 4", id_, exact=True) for id_ in "ab"]
    views += [row("views, K1 2", id_, exact=id_ == "a") for id_ in "ab"]
    folder = tmp_path / "reader"
    folder.mkdir()
    for name, some in (("noise", rows), ("views", views)):
        (folder / f"reader_{name}.json").write_text(json.dumps({"rows": some}))
    told = noise.table(folder / "reader_noise.json")
    assert "| JPEG quality 95 | 3 | 0 | 0 | 0 | 0 | 1.5 | convention 3 |" in told
    assert "| noise 1 | 2 | 1 | 1 | a | 2 | 1.5 | read 1, uncertified 1 |" in told
    told = noise.table(folder / "reader_views.json")
    assert "| views, K1 2 | 2 | 1 | 2 | 2 | 0 | 2 |" in told
    for path in figures.draw(tmp_path, tmp_path / "pictures"):
        assert path.stat().st_size > 5_000


def test_a_record_grows_and_is_of_one_seed(bench, tmp_path, monkeypatch, capsys):
    noise = bench("reader_noise")
    cells_ = [SimpleNamespace(id=id_) for id_ in "ab"]
    monkeypatch.setattr(noise, "chosen", lambda asked: cells_)
    read = []

    def measured(cell, condition, seed):
        read.append((condition.name, cell.id))
        return row(condition.name, cell.id, exact=True)

    monkeypatch.setattr(noise, "measured", measured)
    asked = SimpleNamespace(
        records=tmp_path,
        name="r",
        seed=0,
        conditions=noise.fewer,
        only=["views, K1"],
        seconds=9.0,
        verbose=False,
    )
    assert noise.run(asked) == 0
    assert read == [(f"views, K1 {n}", id_) for n in (3, 2) for id_ in "ab"]
    asked.only = None
    assert noise.run(asked) == 0
    assert len(read) == len(set(read)) == 10
    rows = json.loads((tmp_path / "r.json").read_text())["rows"]
    assert [one["condition"] for one in rows[:3]] == ["views, K0 5", "views, K0 5", "views, K0 4"]
    asked.seed = 1
    assert noise.run(asked) == 2
    assert "give another --name" in capsys.readouterr().out
