"""The family of tests that are corrected together: a data file, and the adjusted values of all."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rc_hpc.answers.arms import RELEASED_ARMS, PredictionFile
from rc_hpc.core.errors import UsageError
from rc_hpc.core.text import parse_toml
from rc_hpc.stats import statistics

if TYPE_CHECKING:
    import pandas as pd


@lru_cache(maxsize=1)
def released() -> dict[str, Any]:
    """The released study's family, as ``data/family.toml`` lists it."""
    file = resources.files("rc_hpc.ladder").joinpath("data", "family.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def family() -> tuple[dict, ...]:
    """The tests of the released study's family."""
    return tuple(released()["test"])


def read_family(path: Path) -> dict[str, Any]:
    """A family from a file of the same form.

    Raises
    ------
    UsageError
        Not such a file; says what is wrong with which test.
    """
    try:
        content = parse_toml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"--family {path}: cannot be read ({error})") from error
    tests = content.get("test")
    if not isinstance(tests, list) or not tests:
        raise UsageError(f"--family {path}: holds no tests: give one [[test]] or more")
    for number, test in enumerate(tests, 1):
        try:
            test["name"].strip()
            test.setdefault("vectors", False)
            p_value(test)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                f"--family {path}: test {number} cannot be computed ({error!r}): give name, test "
                "(sign, fisher, spearman or kruskal-wallis) and its inputs"
            ) from error
    return content


def fingerprint(files: Iterable[PredictionFile]) -> str:
    """SHA-256 of what the released pixel and coordinate files among these predict."""
    lines = [
        "|".join((file.kind, file.model, file.convention, p.material_id, str(p.pred)))
        for file in files
        if file.arm in RELEASED_ARMS and file.kind in ("pixels", "coordinates")
        for p in file.predictions
    ]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def caption(content: dict[str, Any]) -> str:
    """What a caption says of a family."""
    title = content.get("title", "{n} tests").format(n=len(content["test"]))
    note = f"; {content['note']}" if content.get("note") else ""
    return f"{title}, Benjamini-Hochberg over all of them{note}"


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
