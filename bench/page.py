"""The report page of many structures: its size, and how soon a browser shows it.

python -m bench.page CENSUS.h5 [--structures 20000] [--shots DIR]

The structures of the file are repeated up to that number, under names of their own and each
stretched by factors of its own, so that no copy compresses by another. Needs playwright and
Debian's chromium.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from rc_hpc.engine.results import kind_of
from rc_hpc.report.page import Section, Structures, assemble

#: Arrays that belong to all structures, and those whose columns are one place each.
_SHARED = ("rotations", "centres", "focal")
_PLACES = {"positions": "atoms", "points": "nPoints"}


def repeated(one: Structures, n: int) -> Structures:
    """The structures again and again, `n` of them or a few more."""
    size = len(one.plain["id"])
    times = -(-n // size)
    plain = dict(one.plain)
    for name, values in one.plain.items():
        if isinstance(values, list) and len(values) == size:
            plain[name] = values * times
    plain["id"] = [f"{id_}~{k}" for k in range(times) for id_ in one.plain["id"]]
    stretch = np.random.default_rng(0).uniform(0.5, 1, (size * times, 3))
    arrays = {}
    for name, values in one.arrays.items():
        if name in _SHARED:
            arrays[name] = values
        elif name in _PLACES:
            many = np.repeat(stretch, np.tile(one.arrays[_PLACES[name]], times), axis=0)
            arrays[name] = np.rint(np.tile(values, times) * many.T).astype(np.uint16)
        else:
            arrays[name] = np.concatenate([values] * times)
    return Structures(plain, arrays)


def main() -> None:
    """Print the measures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("census", type=Path)
    parser.add_argument("--structures", type=int, default=20_000)
    parser.add_argument("--shots", type=Path)
    asked = parser.parse_args()
    many = repeated(kind_of(asked.census).load("page")(asked.census, None), asked.structures)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as started:
        path = Path(name) / "page.html"
        text = assemble("many", [Section("many", "", [], [], {}, structures=many)])
        path.write_text(text, encoding="utf-8")
        opened = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        tab = opened.new_page(viewport={"width": 1300, "height": 900})
        begun = time.perf_counter()
        tab.goto(f"{path.as_uri()}#structures")
        tab.wait_for_selector("body[data-ready=yes]")
        tab.wait_for_selector(".row")
        shown = time.perf_counter() - begun
        begun = time.perf_counter()
        tab.click("#heads button:has-text('phantoms')")
        tab.click("#heads button:has-text('phantoms')")
        sorted_s = (time.perf_counter() - begun) / 2
        if asked.shots:
            asked.shots.mkdir(parents=True, exist_ok=True)
            tab.screenshot(path=asked.shots / "list.png")
            tab.click(".row >> nth=3")
            tab.screenshot(path=asked.shots / "one.png")
        opened.close()
        measures = {
            "structures": len(many.plain["id"]),
            "size_MB": round(len(text.encode()) / 1e6, 2),
            "shown_s": round(shown, 2),
            "sorted_s": round(sorted_s, 2),
        }
        print(json.dumps(measures))


if __name__ == "__main__":
    main()
