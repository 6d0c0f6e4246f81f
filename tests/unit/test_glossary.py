"""Words of the field are explained where they stand, and options of one name are of one form."""

import re

import pytest

from rc_hpc.__main__ import COMMANDS, parsers
from rc_hpc.core.glossary import TERMS
from rc_hpc.core.ids import IDS

HELPS = {
    f"{command} {word}".strip(): parser
    for command in COMMANDS
    for word, parser in parsers(command).items()
}


@pytest.mark.parametrize("name", HELPS)
def test_abbreviations_are_explained(name):
    told = HELPS[name].format_help()
    assert told.rpartition("\n\n")[2].startswith("Exit codes: ")
    above, _, words = told.partition("\nwords:\n")
    explained = set(re.findall(r"\b[A-Z]\d[ab]?\b", words))
    if "taken away: O0 none, O1 those" in " ".join(above.split()):  # in the option's own help
        explained |= {f"O{k}" for k in range(4)}
    if "C1 to C5:" in words:
        explained |= {f"C{k}" for k in range(1, 6)}
    assert set(re.findall(r"\b[A-Z]\d[ab]?\b", above)) <= explained
    for word in ("kappa", "gain", "phantom", "sigma"):
        assert (f"  {word}: " in words) == bool(re.search(rf"\b{word}s?\b", above + words))


def test_a_help_that_uses_none_has_no_list_of_words():
    assert "words:" not in HELPS["render validate"].format_help()
    assert "  stratum: " in HELPS["benchmark score"].format_help()
    assert "  stratum: " not in HELPS["ladder"].format_help()
    assert "  P, S: P = R3 - R4" in HELPS["ladder"].format_help()
    assert "  K0, K1, K2: " in HELPS["read"].format_help()
    assert all(told[0].islower() or told.startswith("P = ") for _, told in TERMS.values())


def test_ids_are_given_in_one_way_everywhere():
    found = {
        name: parser._declared["ids"]
        for name, parser in HELPS.items()
        if "ids" in parser._declared and not parser._declared["ids"].positional
    }
    for name in ("pack", "census", "sweep noise", "read", "render", "export", "query_vlm"):
        assert any(one == name or one.startswith(f"{name} ") for one in found), name
    for name, one in found.items():
        assert (one.help, one.metavar, one.parse) == (IDS, "IDS|FILE", None), name
