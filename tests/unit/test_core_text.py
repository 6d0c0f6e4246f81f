"""TOML of anybody, where no error of another kind may come; numbers as text."""

import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rc_hpc.core.text import formatted, parse_toml, rounded_down


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


@pytest.mark.parametrize(
    "value, told",
    [
        (0.136956, "0.136"),
        (0.137, "0.137"),
        (0.36205, "0.362"),
        (2.07, "2.07"),
        (1e-6, "1e-06"),
        (0.0999999, "0.0999"),
        (12.34, "12.3"),
        (0.0, "0"),
        (math.inf, "inf"),
    ],
)
def test_a_bound_is_rounded_down(value, told):
    assert rounded_down(value) == told


@given(st.floats(1e-9, 1e6))
def test_a_rounded_bound_is_below_by_less_than_its_last_digit(value):
    shown = float(rounded_down(value))
    assert value * (1 - 0.0101) <= shown <= value
