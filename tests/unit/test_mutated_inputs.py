"""Damaged files of every format end no run, lose no row and are told in a line: see mutator.py."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
import mutator

pytestmark = pytest.mark.long


def test_a_sample_of_damaged_files():
    complaints, done = mutator.run(600, 60)
    assert not complaints, "\n".join(complaints)
    assert done.total() == 60 + done["commands"] and done["commands"] > 9


def test_what_is_wrong_is_found(tmp_path, monkeypatch):
    """Crashes, hangs, lost rows, unexpected errors and unexplained rows are complaints."""
    cases = mutator.Cases(tmp_path)
    numbers = {name: number for number, name in enumerate(cases.names)}

    def complaints(name, read):
        data, _, command = cases.inputs.files[name]
        monkeypatch.setitem(cases.inputs.files, name, (data, read, command))
        return cases.run(numbers[name])

    assert complaints("ids.txt", lambda path: 1 / 0)[0].endswith("division by zero")
    assert complaints("lines.jsonl", lambda path: ["one"])[0].endswith("(lines.jsonl): one")
    monkeypatch.setattr("rc_hpc.structures.listing.line_spans", lambda file: iter(()))
    undone = mutator.Cases(tmp_path / "again")
    assert "rows of" in undone.run(numbers["lines.jsonl"])[0]


@pytest.mark.slow  # 20,000 cases: about 55 minutes of CPU time
@pytest.mark.timeout(14_400)
@pytest.mark.parametrize("first", range(0, 20_000, 2000))
def test_many_damaged_files(first):
    complaints, _ = mutator.run(first, 2000)
    assert not complaints, "\n".join(complaints)
