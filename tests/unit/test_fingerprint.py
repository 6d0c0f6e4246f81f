"""Fingerprints of code: what changes them and what does not."""

import pytest

from rc_hpc.core.fingerprint import tree_digest

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
