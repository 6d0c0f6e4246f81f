"""Crystals to ask about, and runs of the asking command."""

import json
from pathlib import Path

from rc_hpc.pack import main as pack
from rc_hpc.query_vlm import main
from rc_hpc.render import main as render

ROOT = Path(__file__).parents[2]
KEY = "sk-very-secret-0123456789"
QUIET = ["--progress", "none", "-q"]


def make_crystals(folder):
    """The folder, with packed.h5 and renders.h5 of eight crystals in it."""
    packed, renders = str(folder / "packed.h5"), str(folder / "renders.h5")
    assert pack(["synthetic:8", "-o", packed, *QUIET]) == 0
    assert render([packed, "-o", renders, "--size", "64", *QUIET]) == 0
    return folder


def runner(crystals, folder, monkeypatch):
    """Runs the command on the packed crystals; output in `folder`."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    def run(*arguments, stub=None, output="a.h5", source="packed.h5", pictures=True):
        request = [str(crystals / source), "-o", str(folder / output), "--model", "m"]
        if pictures:
            request += ["--pictures", str(crystals / "renders.h5")]
        if stub is not None:
            request += ["--base-url", stub.url]
        return main([*request, *arguments, *QUIET])

    return run


def journal(folder):
    """Records of the journal."""
    lines = (folder / "a.journal.jsonl").read_text(encoding="utf-8").splitlines()
    return [entry for entry in map(json.loads, lines) if "key" in entry]
