"""TOML of anybody, where no error of another kind may come; numbers as text."""

import tomllib

import pytest

from rc_hpc.core.text import formatted, parse_toml


@pytest.mark.parametrize(
    "text, told",
    [
        (f"a = {'9' * 500}", "more than 64 bits"),
        (f"a = [{{b = [1, -{1 << 63}1]}}]", "more than 64 bits"),
        (f"a = 0x{'f' * 9000}", ""),
        (f"a = {'9' * 9000}", ""),
        ("a = " + "[" * 100_000, ""),
        ("a = 2001-02-30", ""),
        ("a = ", ""),
    ],
    ids=["decimal", "within", "hexadecimal", "digits", "nested", "date", "none"],
)
def test_what_toml_is_not(text, told):
    with pytest.raises(tomllib.TOMLDecodeError, match=told or None):
        parse_toml(text)


def test_integers_of_64_bits_are_read():
    assert parse_toml(f"a = {2**63 - 1}\nb = -{2**63}") == {"a": 2**63 - 1, "b": -(2**63)}


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (-0.0, ".4f", "0.0000"),
        (-4e-6, "9.5f", "  0.00000"),
        (-6e-6, ".5f", "-0.00001"),
        (-0.0, ".4g", "0"),
        (0.25, ".4g", "0.25"),
        (-float("inf"), ".4f", "-inf"),
    ],
)
def test_no_number_is_a_negative_zero(value, form, text):
    assert formatted(value, form) == text
