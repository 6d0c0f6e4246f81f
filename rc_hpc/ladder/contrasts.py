"""Paired contrasts of arms: image-absent control, render conventions, two models by stratum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.stats import statistics
from rc_hpc.stats.frames import frame_of

if TYPE_CHECKING:
    import pandas as pd


def paired(first: np.ndarray, second: np.ndarray) -> dict:
    """Counts of two arms (n,) on the same structures, their discordant pairs, exact McNemar p."""
    first, second = np.asarray(first, bool), np.asarray(second, bool)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    return {
        "n": len(first),
        "first": int(first.sum()),
        "second": int(second.sum()),
        "only_first": only_first,
        "only_second": only_second,
        "p": statistics.sign_test(only_first, only_second),
    }


def question_only(
    models: Sequence[str],
    image: np.ndarray,
    text: np.ndarray,
    unscored: Sequence[str],
    chance: float,
) -> pd.DataFrame:
    """The image-absent control, one row per model, best image accuracy first.

    Parameters
    ----------
    image, text : (m, n) bool
        Correctness with and without the images.
    unscored : (m,)
        Why a row is not scored, else empty; such a row has no test.
    chance
        Share right of answers drawn evenly.

    Returns
    -------
    DataFrame
        With ``p`` for image against text (two-sided), ``text_above_chance_p`` and
        ``image_above_chance_p`` (one-sided binomial).
    """
    records = []
    for name, with_image, without, reason in zip(models, image, text, unscored, strict=True):
        pair = paired(with_image, without)
        record = {
            "model": name,
            "n": pair["n"],
            "image": pair["first"],
            "text": pair["second"],
            "unscored": reason,
        }
        if not reason:
            record |= {
                "image_only": pair["only_first"],
                "text_only": pair["only_second"],
                "p": pair["p"],
                **{
                    f"{what}_above_chance_p": statistics.binomial_test(
                        record[what], pair["n"], chance, "greater"
                    )
                    for what in ("image", "text")
                },
            }
        records.append(record)
    columns = (
        "model",
        "n",
        "image",
        "text",
        "image_only",
        "text_only",
        "p",
        "image_above_chance_p",
        "text_above_chance_p",
        "unscored",
    )
    frame = frame_of(records, columns, ("n", "image", "text", "image_only", "text_only"))
    return frame.sort_values("image", ascending=False, kind="stable", ignore_index=True)


def question_only_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """What the control says over its scored rows, and over all of them for comparison."""
    scored = frame[frame["unscored"] == ""]
    image, text = (
        scored[name].astype(float) / scored["n"].astype(float) for name in ("image", "text")
    )
    rho = statistics.spearman(image, image - text)
    significant = int((scored["p"] < statistics.ALPHA).sum())
    records = [
        {
            "quantity": f"mean accuracy without images, {len(scored)} scored rows",
            "value": text.mean(),
            "n": len(scored),
        },
        {
            "quantity": f"mean accuracy without images, all {len(frame)} rows",
            "value": (frame["text"].astype(float) / frame["n"].astype(float)).mean(),
            "n": len(frame),
        },
        {
            "quantity": f"scored rows in which the images matter at p < {statistics.ALPHA}",
            "count": significant,
            "n": len(scored),
        },
        {
            "quantity": "Spearman rho, accuracy with images against gain by them, "
            f"{len(scored)} scored rows",
            "value": rho.rho,
            "p": rho.p,
            "n": len(scored),
        },
    ]
    return frame_of(records, ("quantity", "count", "n", "value", "p"), ("count", "n"))


def exchangeability(
    names: Sequence[str],
    votes: Sequence[np.ndarray],
    n_resamples: int = 1_000,
    seed: int = statistics.SEED,
) -> pd.DataFrame:
    """Whether the votes of an arm depend on the structure at all.

    Parameters
    ----------
    names : (m,)
    votes
        Per arm an (n, classes) array of vote counts.

    Returns
    -------
    DataFrame
        ``agreement``: share of vote pairs within a structure that agree; ``expected``: the same
        were the votes dealt out at random; ``p``: share of random deals (each structure keeping
        its number of votes) that agree at least as well. A large p: nothing about the structure
        reached the model.
    """
    rng = np.random.default_rng(seed)
    records = []
    for name, counts in zip(names, votes, strict=True):
        counts = np.asarray(counts, np.int64)
        observed, pairs = _agreeing(counts), _pairs(counts.sum(axis=1)).sum()
        total, labels = counts.sum(), counts.sum(axis=0)
        record = {
            "arm": name,
            "votes": int(total),
            "agreement": np.nan,
            "expected": np.nan,
            "p": np.nan,
        }
        if pairs:
            deals = [_agreeing(_deal(labels, counts.sum(axis=1), rng)) for _ in range(n_resamples)]
            record |= {
                "agreement": observed / pairs,
                "expected": _pairs(labels).sum() / _pairs(total),
                "p": (1 + np.sum(np.asarray(deals) >= observed)) / (1 + n_resamples),
            }
        records.append(record)
    return frame_of(records, ("arm", "votes", "agreement", "expected", "p"), ("votes",))


def conventions(
    frozen: Mapping[str, np.ndarray], others: Mapping[tuple[str, str], np.ndarray]
) -> pd.DataFrame:
    """Render conventions against the frozen one, one row per (convention, model).

    ``first`` is the convention, ``second`` the frozen pictures.
    """
    records = [
        {"convention": convention, "model": model, **paired(right, frozen[model])}
        for (convention, model), right in others.items()
    ]
    return frame_of(records, ("convention", "model", *_PAIRED), _PAIRED[:-1])


def by_stratum(
    pairs: Mapping[str, tuple[np.ndarray, np.ndarray]],
    strata: Mapping[str, np.ndarray],
    ceilings: Mapping[str, float],
) -> pd.DataFrame:
    """Paired contrasts within strata of structures, with the headroom that the second arm closes.

    Parameters
    ----------
    pairs
        Correctness (n,) of two arms by the name of their contrast.
    strata
        Masks (n,) by name; empty ones are left out.
    ceilings
        Fractions over all structures by name; each gives a column ``headroom_NAME``.
    """
    records = []
    for name, (first, second) in pairs.items():
        for stratum, mask in strata.items():
            if np.any(mask):
                pair = paired(first[mask], second[mask])
                rates = pair["first"] / pair["n"], pair["second"] / pair["n"]
                closed = {
                    f"headroom_{ceiling}": headroom_closed(*rates, fraction)
                    for ceiling, fraction in ceilings.items()
                }
                records.append({"contrast": name, "stratum": stratum, **pair, **closed})
    return frame_of(
        records,
        ("contrast", "stratum", *_PAIRED, *(f"headroom_{ceiling}" for ceiling in ceilings)),
        _PAIRED[:-1],
    )


def headroom_closed(older: float, newer: float, ceiling: float) -> float:
    """Share of the older arm's shortfall from the ceiling that the newer one makes up.

    All three are fractions.
    """
    return (newer - older) / (ceiling - older) if ceiling != older else float("nan")


def sufficiency(models: Sequence[str], correct: np.ndarray, sufficient: np.ndarray) -> pd.DataFrame:
    """Accuracy where the cell's shape tells the system, and where it does not, one row per model.

    Parameters
    ----------
    correct : (m, n) bool
    sufficient : (n,) bool
    """
    records = []
    for name, right in zip(models, np.asarray(correct, bool), strict=True):
        a, b, n_a, n_b = (
            int(right[sufficient].sum()),
            int(right[~sufficient].sum()),
            int(sufficient.sum()),
            int((~sufficient).sum()),
        )
        records.append(
            {
                "model": name,
                "sufficient": a,
                "of_sufficient": n_a,
                "ambiguous": b,
                "of_ambiguous": n_b,
                "gap": a / n_a - b / n_b if n_a and n_b else np.nan,
                "p": statistics.fisher(a, n_a, b, n_b),
            }
        )
    return frame_of(
        records,
        ("model", "sufficient", "of_sufficient", "ambiguous", "of_ambiguous", "gap", "p"),
        ("sufficient", "of_sufficient", "ambiguous", "of_ambiguous"),
    )


_PAIRED = ("n", "first", "second", "only_first", "only_second", "p")


def _pairs(counts: np.ndarray) -> np.ndarray:
    return counts * (counts - 1) // 2


def _agreeing(counts: np.ndarray) -> int:
    return int(_pairs(counts).sum())


def _deal(labels: np.ndarray, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """All votes shuffled over the structures, as counts."""
    shuffled = rng.permutation(np.repeat(np.arange(len(labels)), labels))
    cells = np.repeat(np.arange(len(sizes)), sizes) * len(labels) + shuffled
    return np.bincount(cells, minlength=len(sizes) * len(labels)).reshape(len(sizes), len(labels))
