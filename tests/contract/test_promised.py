"""Commands, files and names that users rely on are there."""

import copy
import json

from promised import FILE, broken, joined, offered

PROMISED = json.loads(FILE.read_text(encoding="utf-8"))


def test_what_is_promised_is_offered():
    assert broken(PROMISED, offered()) == []


def test_what_is_offered_is_promised():
    """What is new was added to the list, by ``python tests/promised.py``."""
    assert broken(offered(), PROMISED) == []


def test_a_broken_promise_is_named():
    now = copy.deepcopy(PROMISED)
    del now["columns"]["census"]["cells/certified"]
    now["columns"]["packed"]["structures/lattice"] = "f8, nm"
    now["options"]["census"].remove("--delta")
    now["names"]["ceiling"].append("more")
    assert sorted(broken(PROMISED, now)) == [
        "/columns/census/cells/certified: gone",
        f"/columns/packed/structures/lattice: f8, nm, promised "
        f"{PROMISED['columns']['packed']['structures/lattice']}",
        "/options/census: --delta gone",
    ]
    assert joined(PROMISED, now)["names"]["ceiling"] == now["names"]["ceiling"]
    assert broken(PROMISED, joined(PROMISED, now)) == []
