"""Training runs end to end on a small network: stopped, killed, resumed, parallel, refused."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
from functools import partial

import h5py
import numpy as np
import pytest
from training_cases import QUICK, ROOT, VIEWS, content, job, write_pixels, write_split

from rc_hpc.answers.predictions import check_together, find_files, read_predictions
from rc_hpc.core.fingerprint import code_of, fingerprint
from rc_hpc.parallel.launch import child_environment
from rc_hpc.parallel.state import read_state
from rc_hpc.store.conditions import code_fingerprint
from rc_hpc.training import checkpoints
from rc_hpc.training import run as training
from rc_hpc.training.recipe import Recipe

missing = [
    name for name in ("torch", "torchvision", "timm") if importlib.util.find_spec(name) is None
]
pytestmark = pytest.mark.skipif(
    bool(missing), reason=f"{', '.join(missing)} not installed: pip install 'rc_hpc[train]'"
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    return [str(write_pixels(folder / "pixels.h5")), "--split", str(write_split(folder / "split"))]


@pytest.fixture(scope="module")
def clean(data, tmp_path_factory):
    """An undisturbed run of two seeds."""
    output = tmp_path_factory.mktemp("clean") / "run.h5"
    assert job().main([*data, *QUICK, "--seeds", "23,24", "-o", str(output)]) == 0
    return output


def weights(output, seed=23):
    import torch

    return {
        name: tensor.numpy()
        for name, tensor in torch.load(
            output.with_suffix("") / f"seed-{seed}.pt", weights_only=True
        ).items()
    }


def same(one, other):
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name]) for name in one
    )


def test_it_learns_and_tells_everything(clean):
    with h5py.File(clean) as h5:
        assert h5["learning/loss"].shape == (2, 18) and h5["learning/rate"][0] == 0.003
        assert h5["learning/rate"][9] == pytest.approx(0.0015)  # halfway down the cosine
        assert h5["learning/train_loss"][0, -1] < h5["learning/train_loss"][0, 0]
        assert h5["evaluation/logits"].shape == (2, 14, len(VIEWS), 7)
        answer, truth = h5["evaluation/answer"][()], h5["evaluation/truth"][()]
        assert (
            np.array_equal(h5["evaluation/n_correct"][()], (answer == truth).sum(-1))
            and h5["evaluation/n_correct"][0, 0] > 2
        )
        assert np.array_equal(
            answer[:, 0], h5["evaluation/logits"][()].mean(2, dtype=float).argmax(-1)
        )
        assert h5["evaluation/confusion"][()].sum() == 2 * 2 * 14
        assert set(h5["train/id"].asstr()) | set(h5["holdout/id"].asstr()) == {
            f"s{k}" for k in range(28)
        }
        assert len(h5["train/id"]) == 21 and np.array_equal(
            np.bincount(h5["holdout/truth"][()]), np.ones(7)
        )
        undescribed = []
        h5.visititems(
            lambda name, item: (
                undescribed.append(name)
                if isinstance(item, h5py.Dataset)
                and not {"units", "description"} <= set(item.attrs)
                else None
            )
        )
        assert not undescribed
        assert json.loads(h5.attrs["environment"])["threads"] == 1
    assert not same(weights(clean, 23), weights(clean, 24))
    assert not clean.with_name("run.h5.parts").exists()


def test_predictions_are_in_the_ladders_schema(clean):
    paths = find_files([clean.with_suffix("") / "predictions"])
    files = [read_predictions(path) for path in paths]
    check_together(files)
    assert [(file.k, file.kind, file.cell) for file in files] == [
        (1, "pixels", "conventional"),
        (2, "pixels", "conventional"),
    ] * 2
    with h5py.File(clean) as h5:
        assert [file.n_correct for file in files] == h5["evaluation/n_correct"][()].ravel().tolist()


@pytest.mark.parametrize("name", ["learning", "confusion", "reliability"])
def test_figures_are_pictures(clean, name):
    from PIL import Image

    with Image.open(clean.with_suffix("") / f"{name}.png") as image:
        assert len(np.unique(np.asarray(image.convert("L")))) > 3
    assert (clean.with_suffix("") / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    data = (clean.with_suffix("") / f"{name}.csv").read_text().splitlines()
    assert data[0] == f"# figure: {name}" and sum(not line.startswith("#") for line in data) > 6


@pytest.mark.parametrize(
    ("step", "name", "code"),
    [(8, "SIGUSR1", 0), (12, "SIGTERM", 0), (8, "SIGINT", 130)],  # 12 ends the second epoch
)
def test_a_signal_saves_and_leaves_and_the_rest_is_the_same(
    data, clean, tmp_path, monkeypatch, capsys, step, name, code
):
    output, saved, told = tmp_path / "run.h5", [], tmp_path / "state.json"
    save = checkpoints.save_checked

    def interrupted(path, state):
        save(path, state)
        saved.append(state.get("step"))
        if state.get("step") == step and saved.count(step) == 1:
            os.kill(os.getpid(), getattr(signal, name))

    monkeypatch.setattr(checkpoints, "save_checked", interrupted)
    every = ["--save-every", "1"] if step % 6 else []
    request = [*data, *QUICK[:-1], "--seeds", "23,24", "-o", str(output), *every, "--resume"]
    request += ["--state", str(told)]
    assert job().main(request) == code
    assert not output.exists() and name in capsys.readouterr().err
    assert saved[-1] == step + 1
    state = read_state(told)
    assert (state["state"], state["exit_code"], state["done"]) == ("stopped", code, step + 1)
    assert job().main(request) == 0
    state = read_state(told)
    assert (state["state"], state["content_hash"]) == ("done", content(output))
    assert content(output) == content(clean)
    assert same(weights(output), weights(clean)) and same(weights(output, 24), weights(clean, 24))
    assert job().main(request) == 0 and "finished already" in capsys.readouterr().out


def test_options_are_recorded_written_and_read_back(clean, data, tmp_path):
    config, output = tmp_path / "c.toml", tmp_path / "again.h5"
    more = [*QUICK, "--seeds", "23,24", "--resume"]
    assert job().main([*data, *more, "-o", str(clean), "--write-config", str(config)]) == 0
    assert job().main(["--config", str(config), "-o", str(output), "-q", "--progress", "none"]) == 0
    assert content(output) == content(clean)
    with h5py.File(clean) as h5:
        recipe = Recipe.from_dict(json.loads(h5.attrs["options"]))
    assert (recipe.seeds, recipe.epochs, recipe.learning_rate) == ((23, 24), 3, 0.003)
    assert (recipe.weights, recipe.precision) == ("random", "float32")


def test_work_of_other_code_is_joined_only_on_demand(data, tmp_path, monkeypatch, capsys):
    output, save = tmp_path / "run.h5", checkpoints.save_checked
    request = [*data, *QUICK, "-o", str(output), "--resume"]

    def interrupted(path, state):
        save(path, state)
        if state.get("step") == 6:
            os.kill(os.getpid(), signal.SIGUSR1)

    monkeypatch.setattr(checkpoints, "save_checked", interrupted)
    monkeypatch.setattr(training, "code_of", lambda _: {"training/loop.py": "0123456789ab"})
    old = fingerprint({"training/loop.py": "0123456789ab"})
    assert job().main(request) == 0 and not output.exists()
    monkeypatch.undo()
    assert job().main(request) == 1
    assert f"--accept-code {old}" in capsys.readouterr().err
    assert job().main([*request, "--accept-code", old]) == 0
    with h5py.File(output) as h5:
        assert code_fingerprint(h5.attrs) == old
        assert json.loads(h5.attrs["accepted_code"]) == [fingerprint(code_of(training.CODE))]


def forked(run):
    """Process number of a child that leaves with what `run` returns.

    A new interpreter would spend its time on importing torch.
    """
    child = os.fork()
    if child == 0:
        try:
            os._exit(run())
        finally:
            os._exit(99)
    return child


def status(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_killed_in_mid_epoch_it_ends_with_the_same_weights(data, clean, tmp_path, capsys):
    save = checkpoints.save_checked

    def deadly(path, state):
        save(path, state)
        if state["step"] == 9:
            os.kill(os.getpid(), signal.SIGKILL)

    def run():
        checkpoints.save_checked = deadly
        return job().main(request)

    output = tmp_path / "run.h5"
    request = [*data, *QUICK, "--seeds", "23,24", "-o", str(output), "--save-every", "3"]
    assert status(forked(run)) == -signal.SIGKILL
    checkpoint = output.with_name("run.h5.parts") / "seed-23.pt"
    assert checkpoints.load_checked(checkpoint)["step"] == 9 and not output.exists()
    assert job().main(request) == 2 and "--resume" in capsys.readouterr().err
    assert (
        job().main([*request, "--resume", "--epochs", "4"]) == 1
        and "epochs: was 3, now 4" in capsys.readouterr().err
    )
    assert job().main([*request, "--resume"]) == 0
    assert content(output) == content(clean)
    assert same(weights(output), weights(clean))


def test_two_srun_tasks_train_what_one_trains(data, clean, tmp_path):
    output = tmp_path / "run.h5"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def task(rank):
        os.environ.update(
            {
                "SLURM_STEP_NUM_TASKS": "2",
                "SLURM_PROCID": str(rank),
                "SLURM_LOCALID": str(rank),
                "SLURM_STEP_NUM_NODES": "1",
                "SLURM_JOB_ID": "1",
                "MASTER_PORT": str(port),
            }
        )
        return job().main([*data, *QUICK, "--seeds", "23", "-o", str(output)])

    assert [status(child) for child in [forked(partial(task, rank)) for rank in range(2)]] == [0, 0]
    one, two = weights(clean), weights(output)
    for name in one:
        np.testing.assert_allclose(two[name], one[name], atol=2e-4, err_msg=name)
    with h5py.File(output) as h5, h5py.File(clean) as reference:
        assert h5.attrs["processes"] == 2
        np.testing.assert_allclose(h5["learning/loss"][0], reference["learning/loss"][0], atol=2e-4)


@pytest.mark.slow
def test_torchrun_trains_what_one_trains(data, clean, tmp_path):
    output = tmp_path / "run.h5"
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        str(ROOT / "jobs" / "train_pixels.py"),
        *data,
        *QUICK,
        "--seeds",
        "23",
        "-o",
        str(output),
    ]
    environment = child_environment() | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    one, two = weights(clean), weights(output)
    for name in one:
        np.testing.assert_allclose(two[name], one[name], atol=2e-4, err_msg=name)


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--device", "cuda"], 2, "--device cpu"),
        (["--augment", "hflip"], 2, "geometry"),
        (["--augment", "mixup,noise"], 2, "hides or mixes atoms"),
        (["--augment", "sharpen"], 2, "brightness, contrast, noise"),
        (["--precision", "float16"], 2, "bfloat16"),
        (["--model", "no_such_net"], 2, "timm has no"),
        (["--model", "torchvision:no_such_net"], 2, "torchvision has no"),
        (["--weights", "imagenet"], 2, "random, hub or file:PATH"),
        (["--weights", "file:/nowhere/w.pt"], 2, "No such file"),
        (["--seeds", "1,1"], 2, "different"),
        (["--holdout", "0.9"], 2, "0 to 0.5"),
        (["--split", "nowhere"], 2, "train.jsonl"),
        (["-o", "run.out"], 2, ".h5"),
    ],
)
def test_refusals_name_the_cure(data, tmp_path, monkeypatch, capsys, more, code, said):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.chdir(tmp_path)
    assert job().main([*data, *QUICK, *more]) == code
    assert said in capsys.readouterr().err
    assert not list(tmp_path.glob("*.pt")) and not list(tmp_path.glob("*.h5"))


def test_a_run_that_came_to_no_work_may_begin_again_under_other_options(data, tmp_path):
    output = ["-o", str(tmp_path / "run.h5"), "--resume"]
    assert job().main([*data, *QUICK, "--model", "no_such_net", *output]) == 2
    assert job().main([*data, *QUICK, "--epochs", "1", *output]) == 0


def test_structures_without_pictures_are_named(data, tmp_path, capsys):
    split = write_split(tmp_path / "split", 28, 21)
    assert job().main([data[0], "--split", str(split), *QUICK, "-o", str(tmp_path / "run.h5")]) == 1
    assert "7 of 21" in capsys.readouterr().err
