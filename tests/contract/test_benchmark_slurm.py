"""A benchmark as job arrays on a real SLURM of one node."""

import re

import pytest
from slurm_cases import SCRIPTS, Box, needs_slurm

from rc_hpc.benchmark.__main__ import main
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.core.options import declared

NAMES = (
    *("rock salt", "zincblende", "wurtzite", "fluorite", "pyrite", "marcasite", "rutile"),
    *("alpha quartz", "beta quartz", "alpha cristobalite", "AlCl3", "potassium chlorate"),
    *("black phosphorus", "calcite", "graphite 2H"),
)
ASKED = ["--supercells", "2", "--questions", "64", "--mini", "4"]
ASKED += ["--per-structure", "8", "--per-difficulty", "6"]


def test_the_script_knows_every_option_of_what_is_displayed():
    text = (SCRIPTS / "benchmark_array.sh").read_text()
    arm = re.search(r"--draw-seed\|.*?\)\n", text, re.S)[0]
    named = set(re.findall(r"--[a-z-]+", arm))
    assert named == {one.flag for one in declared(DisplaySettings)} | {"--quarantine"}


def on_slurm(test):
    """Decorator of a test that submits jobs."""
    for mark in needs_slurm:
        test = mark(test)
    return test


@on_slurm
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_arrays_give_the_bytes_of_one_process(tmp_path):
    """Some two minutes of one core's work."""
    (tmp_path / "slurm").mkdir()
    box = Box(tmp_path / "slurm")
    (tmp_path / "ids.txt").write_text("\n".join(NAMES))
    source = ["catalogue", "--ids", str(tmp_path / "ids.txt")]
    alone = tmp_path / "alone"
    assert main(["build", *source, *ASKED, "-o", str(alone), "--progress", "none", "-q"]) == 0
    box.control("start")
    try:
        work = tmp_path / "work"
        work.mkdir()
        environ = {"RC_SHARDS": "2", "RC_ARRAY": "--time=10"}
        submitted = ["benchmark_array.sh", *source, "-o", "b", *ASKED]
        told = box.complete(box.submit(work, *submitted, environ=environ))
        end = told.split("then ")[1].split()[0]
        assert box.wait(end, timeout=1200)["JobState"] == "COMPLETED"
    finally:
        box.control("stop")

    def content(root):
        files = (path for path in root.rglob("*") if path.is_file())
        return {str(path.relative_to(root)): path.read_bytes() for path in files}

    assert content(work / "b") == content(alone)
