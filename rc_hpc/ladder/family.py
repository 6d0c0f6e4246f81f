"""The family of tests that are corrected together: a data file, and the adjusted values of all."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from rc_hpc.stats import statistics

if TYPE_CHECKING:
    import pandas as pd


@lru_cache(maxsize=1)
def _content() -> dict:
    file = resources.files("rc_hpc.ladder").joinpath("data", "family.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def family() -> tuple[dict, ...]:
    """The tests of the released study's family, as ``data/family.toml`` lists them."""
    return tuple(_content()["test"])


def note() -> str:
    """What a caption says of the family."""
    return _content()["note"]


def p_value(test: dict) -> float:
    """p of one test, computed from the inputs in its row."""
    match test["test"]:
        case "sign":
            return statistics.sign_test(*test["counts"])
        case "fisher":
            (a, n_a), (b, n_b) = test["counts"]
            return statistics.fisher(a, n_a, b, n_b)
        case "spearman":
            return statistics.spearman_p(test["rho"], test["n"])
        case "kruskal-wallis":
            return statistics.chi2_p(test["h"], test["df"])
        case other:
            raise ValueError(f"{test['name']}: there is no test {other!r}")


def adjusted(tests: tuple[dict, ...] | None = None) -> pd.DataFrame:
    """All tests of a family by ascending p, with their inputs and Benjamini-Hochberg values.

    Returns
    -------
    DataFrame
        Columns test, kind, inputs, source, rank, p, adjusted_p.
    """
    import pandas as pd

    tests = family() if tests is None else tests
    frame = pd.DataFrame(
        {
            "test": [t["name"] for t in tests],
            "kind": [t["test"] for t in tests],
            "inputs": [_inputs(t) for t in tests],
            "source": ["vectors" if t["vectors"] else "record" for t in tests],
            "p": [p_value(t) for t in tests],
        }
    )
    frame["adjusted_p"] = statistics.benjamini_hochberg(frame["p"])
    frame = frame.sort_values("p", kind="stable", ignore_index=True)
    frame.insert(4, "rank", range(1, len(frame) + 1))
    return frame


def _inputs(test: dict) -> str:
    match test["test"]:
        case "sign":
            return "{}:{}".format(*test["counts"])
        case "fisher":
            return " against ".join(f"{k}/{n}" for k, n in test["counts"])
    return ", ".join(
        f"{key} {value}" for key, value in test.items() if key in ("rho", "n", "h", "df")
    )
