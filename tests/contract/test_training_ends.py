"""Trainings that go wrong: numbers that are none, damaged checkpoints, splits that leak."""

import importlib.util
import json

import h5py
import pytest
from training_cases import QUICK, content, job, write_pixels, write_split

from rc_hpc.core.errors import Exit, RcError
from rc_hpc.training import checkpoints, run, seeds
from rc_hpc.training.loop import NotFinite

missing = [
    name for name in ("torch", "torchvision", "timm") if importlib.util.find_spec(name) is None
]
pytestmark = pytest.mark.skipif(
    bool(missing), reason=f"{', '.join(missing)} not installed: pip install 'rc_hpc[train]'"
)
ONE = [*QUICK, "--epochs", "1"]


@pytest.fixture(scope="module")
def pixels(tmp_path_factory):
    return str(write_pixels(tmp_path_factory.mktemp("pixels") / "pixels.h5"))


@pytest.fixture(scope="module")
def data(pixels, tmp_path_factory):
    return [pixels, "--split", str(write_split(tmp_path_factory.mktemp("split") / "split"))]


def test_a_loss_that_is_no_number_stops_the_seed_and_scores_nothing(data, tmp_path, capsys):
    output = tmp_path / "nan.h5"
    request = [*data, *QUICK, "--lr", "1e30", "-o", str(output)]
    assert job().main(request) == Exit.FATAL
    err = capsys.readouterr().err
    assert "seed 23: the loss was no finite number after" in err and "lower --lr" in err
    assert not output.exists() and not (tmp_path / "nan" / "predictions").exists()
    # the mark is kept: the seed is not trained again
    assert job().main([*request, "--resume"]) == Exit.FATAL
    state = checkpoints.load_checked(tmp_path / "nan.h5.parts" / "seed-23.pt")
    assert set(state) == {"diverged"}


def test_other_seeds_are_scored_and_the_result_tells(data, tmp_path, monkeypatch, capsys):
    def train(network, train_set, holdout, recipe, seed, control, state):
        if seed == 24:
            raise NotFinite(7, "the loss was no finite number")
        return whole(network, train_set, holdout, recipe, seed, control, state)

    whole, output = seeds.train, tmp_path / "run.h5"
    monkeypatch.setattr(seeds, "train", train)
    stale = tmp_path / "run" / "predictions" / "seed-24-votes.json"
    stale.parent.mkdir(parents=True)
    stale.write_text("{}")
    request = [*data, *ONE[:-2], "--epochs", "1", "--seeds", "23,24", "-o", str(output)]
    request.remove("-q")
    assert job().main(request) == Exit.FAILURES
    out, err = capsys.readouterr()
    told = "seed 24: the loss was no finite number after 7 steps, so that it is not scored"
    assert told in err and told in " ".join(out.split())
    with h5py.File(output) as h5:
        assert h5["seed"][()].tolist() == [23] and h5["evaluation/n_correct"].shape == (1, 2)
        assert json.loads(h5.attrs["diverged"])[0]["seed"] == 24
    names = sorted(path.name for path in stale.parent.iterdir())
    assert names == ["seed-23-mean-logit.json", "seed-23-votes.json"]
    assert job().main([*request, "--resume"]) == Exit.FAILURES


def test_a_checkpoint_is_read_whole_or_not_at_all(tmp_path):
    import torch

    path = tmp_path / "seed.pt"
    checkpoints.save_checked(path, {"step": 3, "weights": torch.arange(1000.0)})
    whole = path.read_bytes()
    assert checkpoints.load_checked(path)["step"] == 3
    checkpoints.save(path, {"step": 4})  # as 0.1.0 wrote it
    assert checkpoints.load_checked(path)["step"] == 4
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for damaged in (flipped, whole[:500], whole[:20], b"", b"PK"):
        path.write_bytes(damaged)
        with pytest.raises(RcError, match="cannot be read"):
            checkpoints.load_checked(path)


def test_a_damaged_checkpoint_costs_its_seed_only(data, tmp_path, monkeypatch, capsys):
    clean, output = tmp_path / "clean.h5", tmp_path / "run.h5"
    request = [*data, *ONE, "--seeds", "23,24"]
    request.remove("-q")
    assert job().main([*request, "-o", str(clean)]) == 0

    def fails(*_):
        raise RcError("no space")

    monkeypatch.setattr(run, "write_results", fails)
    assert job().main([*request, "-o", str(output)]) == Exit.FATAL
    monkeypatch.undo()
    path = tmp_path / "run.h5.parts" / "seed-23.pt"
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 1
    path.write_bytes(whole)
    trained, train = [], seeds.train
    monkeypatch.setattr(seeds, "train", lambda *a: trained.append(a[4]) or train(*a))
    assert job().main([*request, "-o", str(output), "--resume"]) == 0
    assert trained == [23] and content(output) == content(clean)
    assert "seed-23.pt: cannot be read" in (err := capsys.readouterr().err)
    assert "this seed starts anew" in err


def test_a_split_that_leaks_is_refused_unless_the_result_says_so(pixels, tmp_path, capsys):
    formulas = [f"Na{k + 1}Cl" for k in range(28)] + ["Cl2Na4", "KBr"]
    split = write_split(tmp_path / "split", formulas=formulas)
    request = [pixels, "--split", str(split), *ONE[:-2], "--epochs", "1"]
    request += ["-o", str(tmp_path / "run.h5")]
    request.remove("-q")
    assert job().main(request) == Exit.USAGE
    err = capsys.readouterr().err
    assert "1 formulas are on both sides: Na2Cl" in err and "--allow-leakage" in err
    assert job().main([*request, "--allow-leakage"]) == 0
    assert "LEAKAGE: 1 formulas are on both sides" in " ".join(capsys.readouterr().out.split())
    told = {"formulas_on_both_sides": ["Na2Cl"], "without_formula": 12}
    with h5py.File(tmp_path / "run.h5") as h5:
        assert json.loads(h5.attrs["leakage"]) == told
    file = json.loads((tmp_path / "run" / "predictions" / "seed-23-votes.json").read_text())
    assert file["rc_hpc"]["leakage"] == told
