"""Every command, from a wheel installed into an environment of its own, in both of its forms."""

import configparser
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import h5py
import pytest

import rc_hpc
from rc_hpc.__main__ import COMMANDS, parsers
from rc_hpc.core.vocabulary import System
from rc_hpc.parallel.launch import child_environment

SOURCES = Path(rc_hpc.__file__).parents[1]
#: What no command may load to print its help.
HEAVY = {"numpy", "numba", "h5py", "pandas", "matplotlib", "scipy", "torch", "spglib", "shtab"}
#: Every command and action, as typed.
TYPED = [f"{name} {word}".strip() for name in COMMANDS for word in parsers(name)]
ASK = "--arms coordinates --model m --base-url http://127.0.0.1:1/v1 --dry-run -o answers.h5"
#: Tiny runs, in this order: later ones read what earlier ones wrote. A search for cameras and a
#: training take long.
RUNS = {
    "pack": "synthetic:3:2 -o packed.h5 -q",
    "pack status": "packed.h5",
    "census": "packed.h5 --subsets full -o census.h5 -q",
    "census validate": "census.h5",
    "sweep frontier": "packed.h5 --subsets full --deltas 0.01,0.1 -o frontier.h5 -q",
    "sweep noise": "packed.h5 --seeds 1 --sigmas 0.1 --protocols frozen -o noise.h5 -q",
    "sweep occlusion": "packed.h5 --subsets full -o occlusion.h5 -q",
    "sweep validate": "frontier.h5",
    "render": "packed.h5 --size 32 --convention C2 -o renders.h5 -q",
    "render status": "renders.h5",
    "pixels": "renders.h5 --size 16 -o pixels.h5 -q",
    "tables": "census.h5 --table reference",
    "figures": "census.h5 --figure systems -o figures",
    "diff": "census.h5 census.h5",
    "split build": "packed.h5 --reserve 1 --train-per-system 1 --eval-per-system 0 -o split",
    "split audit": "split",
    "query_vlm": f"packed.h5 {ASK}",
    "ladder": "predictions.json --census census.h5 --table files",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("wheel")


@pytest.fixture(scope="module")
def wheel(folder):
    """The wheel, built from a copy of the sources."""
    source = folder / "source"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCES / "rc_hpc", source / "rc_hpc", ignore=ignored)
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(SOURCES / name, source)
    pip("wheel", "--no-build-isolation", "-w", folder, source)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(folder, wheel):
    """Folder of the programs of an environment that has only the wheel, and what it needs."""
    env = folder / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
    pip("install", wheel, before=("--python", env / "bin" / "python"))
    # What it needs comes from here; the environment's own folder is looked at first.
    (site,) = env.glob("lib/python*/site-packages")
    (site / "needed.pth").write_text("\n".join(path for path in sys.path if "-packages" in path))
    return env / "bin"


@pytest.fixture(scope="module")
def place(folder):
    """Where the commands are run."""
    (folder / "place").mkdir()
    return folder / "place"


def pip(command, *more, before=()):
    """Run pip on what is here; nothing is downloaded."""
    start = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *before, command]
    subprocess.run([*start, "--no-deps", "--no-index", *more], check=True)


def call(program, *more, cwd=None):
    """Run a program; kernels are not compiled for a few small cells."""
    env = child_environment() | {"NUMBA_DISABLE_JIT": "1", "MPLCONFIGDIR": str(cwd or "")}
    env.pop("PYTHONPATH", None)
    return subprocess.run([program, *more], capture_output=True, text=True, cwd=cwd, env=env)


def in_both_forms(installed, typed):
    """The words of a command line, as a module and as a program."""
    name, *words = typed.split()
    yield installed / "python", "-m", f"rc_hpc.{name}", *words
    yield installed / "rc-hpc", name.replace("_", "-"), *words


def test_the_wheel_is_whole(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {
        path.relative_to(SOURCES).as_posix()
        for path in (SOURCES / "rc_hpc").rglob("*")
        if path.is_file() and path.suffix in (".py", ".toml", ".typed")
    }
    assert sources <= names and "rc_hpc/py.typed" in sources


def test_it_is_the_installed_one(installed, place):
    told = call(installed / "python", "-c", "import rc_hpc; print(rc_hpc.__file__)", cwd=place)
    assert Path(told.stdout.strip()).is_relative_to(installed.parent), told.stderr
    listed = call(installed / "rc-hpc", cwd=place)
    assert listed.returncode == 0
    assert listed.stdout == call(installed / "python", "-m", "rc_hpc", cwd=place).stdout
    for name in COMMANDS:
        assert f"\n  {name} " in listed.stdout


def test_programs_of_earlier_versions_stay(installed, place):
    config = configparser.ConfigParser()
    config.read(SOURCES / "setup.cfg")
    lines = config["options.entry_points"]["console_scripts"].strip().splitlines()
    names = {line.partition(" ")[0] for line in lines}
    assert names >= {
        *("rc-hpc", "rc-pack", "rc-census", "rc-sweep", "rc-render", "rc-tables", "rc-figures"),
        *("rc-ladder", "rc-split", "rc-pixels", "rc-query-vlm"),
    }
    for name in names:
        told = call(installed / name, "--version", cwd=place)
        assert told.stdout == f"rc_hpc {rc_hpc.__version__}\n", told.stderr


@pytest.mark.parametrize("typed", ["", *TYPED, "sweep", "split"])
def test_help_in_both_forms_loads_nothing_heavy(installed, place, typed):
    if not typed:
        forms = [(installed / "python", "-m", "rc_hpc"), (installed / "rc-hpc",)]
    else:
        forms = list(in_both_forms(installed, typed))
    as_module, as_program = (call(*words, "--help", cwd=place) for words in forms)
    assert as_module.returncode == as_program.returncode == 0, as_module.stderr + as_program.stderr
    assert as_module.stdout == as_program.stdout and as_module.stdout.startswith("usage: ")
    if typed.split()[-1:] and typed.split()[-1] in ("status", "merge", "validate"):
        return  # on a file: the parser is where the work is
    program = (
        "import sys; from rc_hpc.__main__ import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print('LOADED', *{name.split('.')[0] for name in sys.modules})"
    )
    told = call(installed / "python", "-c", program, *typed.split(), "--help", cwd=place)
    assert not HEAVY & set(told.stdout.rpartition("LOADED")[2].split())


def test_tiny_runs(installed, place):
    for number, (typed, more) in enumerate(RUNS.items()):
        if typed == "ladder":
            write_predictions(place)
        forms = list(in_both_forms(installed, typed))
        told = call(*forms[number % 2], *more.split(), cwd=place)
        assert told.returncode == 0, f"{typed}\n{told.stdout}\n{told.stderr}"
    assert {"packed.h5", "census.h5", "noise.h5", "pixels.h5"} <= set(os.listdir(place))
    program = (
        "import rc_hpc; many = rc_hpc.ceilings('packed.h5', subsets='full')\n"
        "stored = rc_hpc.open('census.h5')['cells/n_recovered'].values.ravel().tolist()\n"
        "assert many.subsets['n_recovered'].tolist() == stored\n"
        "assert len(rc_hpc.draw(many['synthetic-0-n2-000000'].cell, size=32)) == 5\n"
    )
    told = call(installed / "python", "-c", program, cwd=place)
    assert told.returncode == 0, told.stderr


def write_predictions(place):
    """A model that is right about every structure."""
    with h5py.File(place / "census.h5") as h5:
        ids = h5["structures/id"].asstr()[()]
        truths = [System(code).name for code in h5["structures/crystal_system"][()].tolist()]
    rows = [
        {"material_id": id_, "truth": truth, "pred": truth, "votes": {truth: 3}}
        for id_, truth in zip(ids, truths, strict=True)
    ]
    content = {"arm": "pixels", "K": 3, "n": len(rows), "micro": 1.0, "predictions": rows}
    (place / "predictions.json").write_text(json.dumps(content | {"rc_hpc": {"cell": "none"}}))


def test_completion(installed, place):
    """Bash completes commands, actions, options, their values and files."""
    for shell in ("zsh", "tcsh"):
        told = call(installed / "rc-hpc", "--print-completion", shell, cwd=place)
        assert told.returncode == 0 and "rc-hpc" in told.stdout and "dominance" in told.stdout
    script = call(installed / "rc-hpc", "--print-completion", "bash", cwd=place).stdout
    (place / "completion.bash").write_text(script)
    (place / "my-structures.json").touch()
    asked = {
        "rc-hpc sw": "sweep",
        "rc-hpc sweep noi": "noise",
        "rc-hpc sweep merge --par": "--partial",
        "rc-hpc sweep noise --estim": "--estimators",
        "rc-hpc census stat": "status",
        "rc-hpc census my-": "my-structures.json",
        "rc-hpc census --ids my-": "my-structures.json",
        "rc-hpc census --merge dom": "dominance",
        "rc-hpc split au": "audit",
        "rc-hpc split build --pri": "--prior",
        "rc-hpc query_vlm pars": "parse",
        "rc-hpc tables --format la": "latex",
        "rc-hpc --print-completion z": "zsh",
    }
    lines = ["source completion.bash"]
    for line in asked:
        words = line.split()
        lines += [
            f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; COMPREPLY=()",
            f"_shtab_rc_hpc rc-hpc {words[-1]} {words[-2]}; echo ${{COMPREPLY[*]}}",
        ]
    told = call("bash", "-c", "\n".join(lines), cwd=place)
    assert dict(zip(asked, told.stdout.splitlines(), strict=True)) == asked, told.stderr
