"""What is printed beside numbers is true: conditions in captions, and the price of questions."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rc_hpc.kinds.common.tables import conditions_of
from rc_hpc.kinds.registry import KINDS
from rc_hpc.vlm.options import AskingOptions, QuestionOptions
from rc_hpc.vlm.plan import TYPICAL_REPLY, plan
from rc_hpc.vlm.prices import Price
from rc_hpc.vlm.questions import PictureFile, Question

PACKED = "tau 0.01 Å; angle tolerance 5.0 degrees; cell symprec 0.01 Å"
TIES = "ties at 1e-06 Å"
#: Captions under the options by default.
CAPTIONS = {
    "census": "protocol frozen, 5 views, tiling 1x1x1; delta 0.01 Å; enumeration all-pairs; "
    f"merge dominance; {TIES}; true label: stored cell; quarantine mark; {PACKED}",
    "frontier": f"protocol frozen, 5 views, tiling 1x1x1; {TIES}; true label: stored cell; "
    f"quarantine mark; {PACKED}",
    "occlusion": "protocol frozen, 5 views, tiling 2x2x2; delta 0.01 Å; radii 0.5 of the "
    f"covalent; {TIES}; true label: stored cell; quarantine mark; {PACKED}",
    "design": "5 cameras; kept: none; search seed 0; 3 noise seeds; true label: stored cell; "
    f"quarantine drop; {PACKED}",
    "unique": "protocol frozen, 5 views, tiling 1x1x1; delta 1e-06 Å; true label: stored cell; "
    f"quarantine mark; {PACKED}",
    "determined": "delta 0.01 Å; to the pixel 2.0 px; symprec 0.01 Å",
    "readings": "known K0; exact colours; certified for symprec 0.01 Å; at most 100 pixels off",
    "scores": "sites within 0.1 Å",
    "noise": f"10 seeds; {TIES}; true label: stored cell; quarantine mark; {PACKED}",
}
#: Tables whose numbers do not depend on options that a caption tells.
UNCONDITIONAL = {"noise": {"kappa", "conditioning"}}
#: What changes in a caption with an option.
CHANGES = [
    ("census", {"truth": "conventional"}, "true label: conventional cell"),
    ("census", {"delta": 0.15}, "delta 0.15 Å"),
    ("census", {"enumeration": "anchor"}, "enumeration anchor"),
    ("census", {"merge": "first"}, "merge first"),
    ("census", {"tie": 1e-8}, "ties at 1e-08 Å"),
    ("census", {"quarantine": "keep"}, "quarantine keep"),
    ("census", {"protocol": "off-axis"}, "protocol off-axis, 5 views"),
    ("census", {"tiling": "2,1,1"}, "tiling 2x1x1"),
    ("census", {"tau": 0.02}, "tau 0.02 Å"),
    ("census", {"angle_tolerance": 3.0}, "angle tolerance 3.0 degrees"),
    ("census", {"cell_symprec": 1e-5}, "cell symprec 1e-05 Å"),
    ("frontier", {"truth": "conventional"}, "true label: conventional cell"),
    ("occlusion", {"truth": "conventional"}, "true label: conventional cell"),
    ("occlusion", {"delta": 0.02}, "delta 0.02 Å"),
    ("occlusion", {"radii": 0.4}, "radii 0.4 of the covalent"),
    ("design", {"truth": "conventional"}, "true label: conventional cell"),
    ("design", {"views": 4}, "4 cameras"),
    ("design", {"search_seed": 7}, "search seed 7"),
    ("design", {"seeds": 2}, "2 noise seeds"),
    ("unique", {"delta": 0.01}, "delta 0.01 Å"),
    ("unique", {"truth": "conventional"}, "true label: conventional cell"),
    ("readings", {"knowledge": "K1"}, "known K1"),
    ("readings", {"tau": 0.02}, "symprec 0.02 Å"),
    ("readings", {"max_pixels": 0}, "at most 0 pixels off"),
    ("determined", {"delta_pixels": 1.0}, "to the pixel 1.0 px"),
    ("noise", {"truth": "conventional"}, "true label: conventional cell"),
    ("noise", {"seeds": 3}, "3 seeds"),
]


def caption(kind, **asked):
    """The conditions in the captions of a file of this kind, made under what was asked for."""
    options = KINDS[kind].load("options")
    counts = SimpleNamespace(options=options.of(**asked).to_dict(), attrs={})
    return conditions_of(options, counts)


def test_every_kind_with_tables_is_here():
    assert CAPTIONS.keys() == {kind.name for kind in KINDS.values() if kind.tables}


@pytest.mark.parametrize("kind", CAPTIONS)
def test_captions_tell_the_conditions(kind):
    assert caption(kind) == CAPTIONS[kind]


@pytest.mark.parametrize("kind, asked, told", CHANGES, ids=str)
def test_captions_follow_the_options(kind, asked, told):
    phrases = caption(kind, **asked).split("; ")
    assert any(told in phrase for phrase in phrases)
    assert len(set(CAPTIONS[kind].split("; ")) - set(phrases)) == 1


@pytest.mark.parametrize("kind", CAPTIONS)
def test_tables_tell_conditions_where_they_depend_on_them(kind):
    makers = sys.modules[KINDS[kind].load("tables").__module__].TABLES
    free = {maker.name for maker in makers if not maker.conditional}
    assert free == {"status"} | UNCONDITIONAL.get(kind, set())


def picture(width=768, n_bytes=3000):
    return PictureFile(Path("picture.png"), "0" * 64, n_bytes, width * width)


def test_tokens_and_bytes_of_a_question():
    """Four characters, or 750 pixels, a token; pictures travel as base64."""
    question = Question("mp-149", "pixels", "x" * 403, "v1", (picture(), picture(), picture(224)))
    assert question.n_tokens == 100 + 786 + 786 + 66
    assert question.n_bytes == 403 + 3 * 4000
    assert Question("mp-149", "pixels", None, "v1").n_tokens == 0


def test_prices_are_for_a_million_tokens():
    assert Price(2.0, 10.0).of(500_000, 200_000) == 3.0
    assert Price(2.0, 10.0).of(1_000_000, 0) == 2.0


@pytest.mark.parametrize(
    "parameters, received",
    [({}, TYPICAL_REPLY), ({"max_tokens": 40}, 40), ({"max_completion_tokens": 60}, 60)],
)
def test_a_dry_run_tells_the_bill(tmp_path, parameters, received):
    question = Question("mp-149", "pixels", "x" * 400, "v1", (picture(),) * 5)
    asked = QuestionOptions.of(arms=("pixels",), samples=3)
    work = AskingOptions.of(output=Path(tmp_path / "answers.h5"))
    lines = plan([question], asked, work, parameters, Price(2.0, 10.0, "EUR")).splitlines()
    sent, got = 3 * (100 + 5 * 786), 3 * received
    assert f"  tokens to send, roughly: {sent:,}" in lines
    assert f"  tokens to receive, at most roughly: {got:,}" in lines
    assert f"  cost, at most roughly: {(2 * sent + 10 * got) / 1e6:.4g} EUR" in lines
    assert "  bytes to send: 61,200" in lines
    assert TYPICAL_REPLY == 500
