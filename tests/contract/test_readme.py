"""Every command of the README is run: as it stands, or on small inputs where it is long."""

import importlib
import importlib.util
import json
import re
import shlex

import pytest
from census_cases import ROOT, small_crystals, write_json
from vlm_stub import Stub

from rc_hpc.answers.arms import Prediction, PredictionFile
from rc_hpc.answers.predictions import to_json
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import Exit

README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = "python -m "
JOBS = {"jobs/query_vlm.py": "rc_hpc.query_vlm", "jobs/train_pixels.py": "rc_hpc.training"}
#: What makes a command small, by what is in it; the first that fits.
SMALL = {
    "rc_hpc.sweep noise": "--seeds 1 --sigmas 0,0.05",
    "rc_hpc.sweep frontier": "--deltas 0.01,0.15",
    "rc_hpc.sweep design": "--starts 1 --shortlist 1 --seeds 1 --sigmas 0,0.1 --training 4",
    "rc_hpc.split build": "--reserve 1 --train-per-system 3 --eval-per-system 1",
    "rc_hpc.render": "--size 64",
    "rc_hpc.pixels": "--size 32",
    "jobs/train_pixels.py": "--model test_vit --weights random --device cpu --seeds 23 "
    "--epochs 1 --batch-size 4 --allow-leakage",
    "jobs/query_vlm.py": "--samples 1",
}
#: Lines that are not run here, and the file that does it, or holds what they name.
ELSEWHERE = {
    "python3 -m venv .venv && .venv/bin/pip install . &&": "tests/contract/test_wheel.py",
    "python3 -m venv .venv && .venv/bin/pip install '.[test]' &&": ".ci/run",
    "pip install 'rc_hpc[": "setup.cfg",
    "python -m rc_hpc.read ": "tests/unit/test_readings.py",
    "python -m rc_hpc.score ": "tests/unit/test_readings.py",
    "mpiexec -n 8 ": "tests/contract/test_mpi_parallel.py",
    "srun --mpi=pmi2 ": "tests/contract/test_slurm.py",
    ". /path/to/rc_hpc/slurm/site.env": "slurm/site.env.example",
    "sbatch --ntasks=64 /path/to/rc_hpc/slurm/census.sh": "slurm/census.sh",
    "RC_SHARDS=16 sbatch /path/to/rc_hpc/slurm/census_array.sh": "slurm/census_array.sh",
    "sbatch /path/to/rc_hpc/slurm/render.sh": "slurm/render.sh",
    "RC_SHARDS=16 sbatch /path/to/rc_hpc/slurm/benchmark_array.sh": "slurm/benchmark_array.sh",
    "python -m rc_hpc.benchmark build ": "tests/contract/test_benchmark_build.py",
    "python -m rc_hpc.benchmark check ": "tests/unit/test_benchmark_checks.py",
    "python -m rc_hpc.benchmark samples ": "tests/unit/test_benchmark_samples.py",
    "python -m rc_hpc.benchmark determine ": "tests/unit/test_benchmark_baselines.py",
    "python jobs/query_vlm.py questions ": "tests/contract/test_benchmark_kills.py",
    "python -m rc_hpc.benchmark baselines ": "tests/unit/test_benchmark_baselines.py",
    "python -m rc_hpc.benchmark score ": "tests/unit/test_benchmark_baselines.py",
    "python -m rc_hpc.benchmark export ": "tests/unit/test_benchmark_export.py",
    "sbatch /path/to/rc_hpc/slurm/train_resnet.sh": "slurm/train_resnet.sh",
    "vllm serve MODEL": "tests/vlm_stub.py",
}
TRAINING = all(importlib.util.find_spec(name) for name in ("torch", "torchvision", "timm"))


def blocks(language):
    """Code blocks of the README, by the heading that they stand under."""
    found = {}
    for section in re.split(r"^## ", README, flags=re.MULTILINE):
        name = section.partition("\n")[0]
        for block in re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL):
            found[name] = found.get(name, "") + block
    return found


def lines(block):
    """Commands of a block, without comments."""
    stripped = (re.sub(r"\s+#.*$", "", line).strip() for line in block.splitlines())
    return [line for line in stripped if line]


def elsewhere(line):
    return next((file for start, file in ELSEWHERE.items() if line.startswith(start)), None)


def call(line, **replaced):
    """Exit code of one command, run in this process."""
    small = next((more for what, more in SMALL.items() if what in line), "")
    for old, new in replaced.items():
        line = line.replace(old, new)
    words = shlex.split(line)
    assert words[0] == "python", line
    module, args = (words[2], words[3:]) if words[1] == "-m" else (JOBS[words[1]], words[2:])
    found = importlib.import_module(module)
    if not hasattr(found, "main"):
        found = importlib.import_module(f"{module}.__main__")
    return found.main([*args, *shlex.split(small)])


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Folder with what the README's commands read, under the names that it gives them."""
    from rc_hpc.census import main as census
    from rc_hpc.pack import main as pack

    folder = tmp_path_factory.mktemp("readme")
    crystals = small_crystals(28, natoms=4)
    (folder / "structures").mkdir()
    write_json(folder / "all.json", crystals)
    for name in list(crystals)[:6]:
        crystals[name].to(str(folder / "structures" / f"{name}.cif"))
    assert pack([str(folder / "all.json"), "-o", str(folder / "all.h5"), "-q"]) == Exit.CLEAN
    few = folder / "census.packed.h5"
    assert pack([str(folder / "structures"), "-o", str(few), "-q"]) == Exit.CLEAN
    assert census([str(few), "-o", str(folder / "census.h5"), "-q"]) == Exit.CLEAN
    return folder


def predictions_of(folder, census):
    """A pixel and a coordinate file of one model over the structures of a census."""
    import h5py

    with h5py.File(census) as h5:
        ids = h5["structures/id"].asstr()[()].tolist()
        truths = [CRYSTAL_SYSTEMS[k - 1] for k in h5["structures/crystal_system"][()].tolist()]
    folder.mkdir()
    rows = tuple(
        Prediction(id_, truth, truth, {truth: 3}) for id_, truth in zip(ids, truths, strict=True)
    )
    for name, arm in (("pixels", "zero-shot"), ("text", "R3 coordinates-as-text")):
        made = PredictionFile(name, "maker/model", arm, 3, rows)
        (folder / f"{name}.json").write_text(to_json(made), encoding="utf-8")


def test_the_first_table_is_that_of_the_default_census(tmp_path, monkeypatch, capsys):
    from rc_hpc.census import main as census

    monkeypatch.chdir(tmp_path)
    assert census([]) == Exit.CLEAN
    printed = [re.split(r" {2,}", line.strip()) for line in capsys.readouterr().out.splitlines()]
    told = re.search(r"```\nstructures +quantity.*?\n(.*?)```", README, re.DOTALL)[1]
    rows = [re.split(r" {2,}", line.strip()) for line in told.splitlines()]
    assert len(rows) == 5
    for row in rows:
        assert any(set(row) <= set(line) for line in printed), row


def test_every_line_is_run_or_told_where():
    run = {"More than one census", "Training on pixels", "Asking models, and reading the ladder"}
    run |= {"Your own structures", "Which of mine, why, show me", "The released study, read again"}
    for section, block in blocks("sh").items():
        for line in lines(block):
            file = elsewhere(line)
            assert file is not None or section in run, f"{section}: {line}"
            assert file is None or (ROOT / file).is_file(), file
    for module in set(re.findall(r"python -m (rc_hpc[\w.]*\w)", README)):
        assert importlib.util.find_spec(module) is not None, module
    extras = set(re.findall(r"pip install '(?:rc_hpc|\.)\[([\w,]+)\]'", README))
    declared = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    for extra in ",".join(extras).split(","):
        assert re.search(rf"^{extra} =$", declared, re.MULTILINE), extra
    install = "python3 -m venv .venv && .venv/bin/pip install -q '.[test]' && .venv/bin/python -m"
    assert install in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_your_own_structures(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "structures").symlink_to(world / "structures")
    first, *others = lines(blocks("sh")["Your own structures"])
    assert call(first) == Exit.CLEAN and (tmp_path / "mine.h5").is_file()
    assert [line.split(PYTHON)[1] for line in others] == ["rc_hpc.census big.jsonl"] * 2
    (tmp_path / "mine.toml").write_text(blocks("toml")["Your own structures"])
    assert call(f"{first} --protocol mine.toml --overwrite") == Exit.CLEAN


@pytest.mark.slow  # half a minute: design
def test_which_of_mine(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "structures").symlink_to(world / "structures")
    for line in lines(blocks("sh")["Which of mine, why, show me"]):
        assert call(line, **{"quartz.cif": "crystal-000.cif"}) == Exit.CLEAN, line


@pytest.mark.slow  # half a minute: design and frontier
def test_more_than_one_census(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("census.h5", "census.packed.h5"):
        (tmp_path / name).symlink_to(world / name)
    predictions_of(tmp_path / "predictions", world / "census.h5")
    for line in lines(blocks("sh")["More than one census"]):
        assert call(line) == Exit.CLEAN, line


def test_python_blocks(world, tmp_path, monkeypatch):
    from ase.build import bulk

    monkeypatch.chdir(world)
    names = {"atoms": bulk("Si")}
    for block in blocks("python").values():
        exec(block, names)
    assert names["c"].certified
    names["f"].close()


@pytest.mark.slow  # half a minute: torch and three commands
@pytest.mark.skipif(not TRAINING, reason="torch is missing: pip install 'rc_hpc[train]'")
def test_training_on_pixels(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "packed.h5").symlink_to(world / "all.h5")
    for line in lines(blocks("sh")["Training on pixels"]):
        if elsewhere(line) is None:
            for command in line.split(" && "):
                assert call(command) == Exit.CLEAN, command


def test_asking_models(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "structures").symlink_to(world / "structures")
    ask = None
    with Stub() as stub:
        for line in lines(blocks("sh")["Asking models, and reading the ladder"]):
            if line.startswith("ASK="):
                (ask,) = shlex.split(line.removeprefix("ASK="))
            elif elsewhere(line) is None:
                command = line.replace("$ASK", ask or "")
                code = call(command, **{"http://127.0.0.1:8000/v1": stub.url})
                assert code == Exit.CLEAN, command
    made = json.loads((tmp_path / "model.predictions" / "pixels.json").read_text())
    assert made["rc_hpc"]["pictures"]["convention"] == "C1"


def test_the_released_study_names_the_commands_of_its_script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    released = importlib.import_module("bench.released")
    told = lines(blocks("sh")["The released study, read again"])
    commands = (*released.PACKS, *released.COMMANDS.values())
    assert told == [f"{PYTHON}{command}" for command in commands]


@pytest.mark.slow  # ten minutes: the noise sweeps
@pytest.mark.data
@pytest.mark.timeout(7200)
def test_the_released_studys_table_is_that_of_its_script(shared, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    released = importlib.import_module("bench.released")
    study = released.study_of(shared, tmp_path)
    made = released.markdown([make() for make in released.rows(study)])
    assert made in README
