"""Fingerprints of code: what changes them and what does not."""

import json

import pytest

from rc_hpc.core import fingerprint
from rc_hpc.core.fingerprint import Remembered, tree_digest

CODE = '''"""Text."""

LIMIT = 1.5
#: Text.
NAME = "covered"


def gap(x, y: float = 0.5):
    """Gap between two views."""
    # text
    return x - y if x < y else LIMIT


class View:
    """A view."""

    count: int = 0
'''


@pytest.fixture
def digest(tmp_path):
    """Digest of a text as a module; each is a file of its own."""
    count = iter(range(100))

    def of(text):
        path = tmp_path / f"module{next(count)}.py"
        path.write_text(text)
        return tree_digest(path)

    return of


@pytest.mark.parametrize(
    "old, new",
    [
        ('"""Text."""\n', ""),
        ("Gap between two views", "Another text"),
        ('    """A view."""\n\n', ""),
        ("    # text\n", ""),
        ("#: Text.\n", "\n\n"),
        ("x - y if x < y else LIMIT", "(\n        x - y\n        if x < y else (LIMIT)\n    )"),
        ('"covered"', "'cov' 'ered'"),
        ("LIMIT = 1.5", "LIMIT=15e-1"),
        ("def gap(x, y: float = 0.5)", "def gap(\n    x,\n    y: float = 0.5,\n)"),
    ],
)
def test_what_says_nothing_to_the_machine_changes_nothing(digest, old, new):
    assert CODE.count(old) == 1
    assert digest(CODE.replace(old, new)) == digest(CODE)


@pytest.mark.parametrize(
    "old, new",
    [
        ("1.5", "1.25"),
        ("1.5", '"1.5"'),
        ("LIMIT = 1.5", "LIMIT = 15"),
        ("count: int = 0", "count: int = False"),
        ("count: int", "count: float"),
        ('"covered"', '"covered "'),
        ('"covered"', 'b"covered"'),
        ("x < y", "x <= y"),
        ("x - y", "y - x"),
        ("0.5", "0.25"),
        ("y: float = 0.5", "*, y: float = 0.5"),
        ("NAME", "NAMES"),
        ("class View:", "class View(int):"),
    ],
)
def test_what_the_machine_does_changes_it(digest, old, new):
    assert CODE.count(old) == 1
    assert digest(CODE.replace(old, new)) != digest(CODE)


def test_what_an_earlier_process_found_is_not_made_again(tmp_path, monkeypatch):
    path, first = tmp_path / "digests.json", Remembered()
    first.read(path)
    found = first.of(CODE.encode(), "module.py")
    first.keep()
    assert json.loads(path.read_text()) == first.found and list(tmp_path.iterdir()) == [path]
    later = Remembered()
    later.read(path)
    monkeypatch.setattr(fingerprint, "_tell", None)
    assert later.of(CODE.encode(), "module.py") == found
    with pytest.raises(TypeError):
        later.of(CODE.replace("1.5", "1.25").encode(), "module.py")


@pytest.mark.parametrize("held", ["", "[1]", '{"a": 1', '{"a": 1}', "\x00"])
def test_a_damaged_file_of_digests_holds_nothing(tmp_path, digest, held):
    path, later = tmp_path / "digests.json", Remembered()
    path.write_text(held)
    later.read(path)
    assert not later.found and later.of(CODE.encode(), "m.py") == digest(CODE)
    later.keep()
    assert json.loads(path.read_text()) == later.found


def test_digests_that_cannot_be_kept_are_found_all_the_same(tmp_path, digest):
    later = Remembered()
    later.read(tmp_path / "missing" / "digests.json")
    assert later.of(CODE.encode(), "m.py") == digest(CODE)
    later.keep()
    assert not list(tmp_path.rglob("digests*"))


def test_another_rule_of_digests_trusts_none_of_the_old(tmp_path, monkeypatch):
    path, first = tmp_path / "digests.json", Remembered()
    first.read(path)
    first.of(CODE.encode(), "m.py")
    first.keep()
    later = Remembered()
    later.read(path)
    later.OWN = b"another rule"
    monkeypatch.setattr(fingerprint, "_tell", lambda tree, words: words.append("other"))
    assert later.of(CODE.encode(), "m.py") not in first.found.values()
