"""The tables of what needs no model: baselines, strata, granularity, resampling; transplants."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.answers.extractions import read_extractions
from rc_hpc.ladder import baselines, contrasts, resampling, transplant
from rc_hpc.ladder.evidence import Evidence, Missing
from rc_hpc.ladder.inputs import Crystals, read_crystals
from rc_hpc.stats import statistics
from rc_hpc.stats.frames import frame_of
from rc_hpc.stats.intervals import wilson

if TYPE_CHECKING:
    import pandas as pd

CELLS = ("stored", "conventional")
#: Forests by name: what they are given out of all features.
FORESTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "forest, 19 features of the metric": lambda columns: columns,
    "forest, shape-free": baselines.shape_free,
}
_METRIC, _SHAPE_FREE = FORESTS


@lru_cache(maxsize=256)
def _answers(e: Evidence, name: str, cell: str, granularity: str = "crystal system") -> np.ndarray:
    """One forest's answers to the evaluation structures."""
    train, evaluation = (FORESTS[name](_features(side, cell)) for side in (e.training, e.crystals))
    return baselines.forest(train, e.training.labels()[granularity], evaluation)


def _features(crystals: Crystals, cell: str) -> np.ndarray:
    lattices, n_atoms = crystals.cell(cell)
    return baselines.features(lattices, n_atoms, crystals.mass_per_atom)


def _classes(e: Evidence, cell: str = "conventional") -> np.ndarray:
    return baselines.metric_class(e.crystals.cell(cell)[0])


def _sufficient(e: Evidence) -> np.ndarray:
    return baselines.cue_sufficient(_classes(e), e.truths)


def _baselines(e: Evidence):
    sufficient, records = _sufficient(e), []

    def add(baseline: str, cell: str, right: np.ndarray):
        n, count = len(right), int(right.sum())
        low, high = wilson(count, n)
        records.append(
            {
                "baseline": baseline,
                "cell": cell,
                "count": count,
                "n": n,
                "fraction": count / n,
                "low95": low,
                "high95": high,
                "sufficient": int(right[sufficient].sum()),
                "ambiguous": int(right[~sufficient].sum()),
            }
        )

    add("majority", "none", np.asarray(e.truths == baselines.majority(e.truths)[0]))
    for cell in CELLS:
        for tie in ("hexagonal", "trigonal"):
            add(
                f"untrained metric rule, hexagonal or trigonal read as {tie}",
                cell,
                baselines.metric_rule(_classes(e, cell), tie) == e.truths,
            )
    if e.options.train is not None:
        for name in FORESTS:
            for cell in CELLS:
                add(name, cell, _answers(e, name, cell) == e.truths)
    columns = (
        "baseline",
        "cell",
        "count",
        "n",
        "fraction",
        "low95",
        "high95",
        "sufficient",
        "ambiguous",
    )
    trained = (
        f"{baselines.N_TREES} trees, seed {baselines.FOREST_SEED}, "
        f"features rounded to {baselines.DECIMALS} decimals: expect +-1 between versions"
    )
    strata = (
        f"right where the drawn cell's metric is cue sufficient ({int(sufficient.sum())}) "
        f"and where it is ambiguous ({int((~sufficient).sum())})"
    )
    return f"Baselines without pictures; {strata}; {trained}", frame_of(
        records, columns, ("count", "n", "sufficient", "ambiguous")
    )


def _strata(e: Evidence):
    classes, sufficient = _classes(e), _sufficient(e)
    records = [
        {
            "metric_class": name,
            "structures": int((classes == name).sum()),
            "sufficient": int((sufficient & (classes == name)).sum()),
            "ambiguous": int((~sufficient & (classes == name)).sum()),
        }
        for name in sorted(set(classes.tolist()))
    ]
    return (
        "What the metric of the conventional cell tells, and whether it is the true system; "
        f"lengths equal within {baselines.LENGTH_TOLERANCE:g} of the larger, "
        f"angles within {baselines.ANGLE_EQUAL:g} degree",
        frame_of(
            records,
            ("metric_class", "structures", "sufficient", "ambiguous"),
            ("structures", "sufficient", "ambiguous"),
        ),
    )


def _cues(e: Evidence):
    image = e.of("pixels")
    names = [model for model in image if not e.unscored(image[model])]
    if not names:
        raise Missing("needs pixel files")
    rows = [*e.correct(image[name] for name in names)]
    if e.options.train is not None:
        for cell in CELLS:
            names.append(f"{_METRIC}, {cell} cell")
            rows.append(_answers(e, _METRIC, cell) == e.truths)
    frame = contrasts.sufficiency(names, np.array(rows), _sufficient(e))
    return (
        "Accuracy on pictures where the cell's metric tells the system and where it does not; "
        "Fisher's exact p",
        frame,
    )


def _floor(e: Evidence):
    import pandas as pd

    image = e.of("pixels")
    if not image:
        raise Missing("needs pixel files")
    references = {
        "untrained metric rule, conventional cell": baselines.metric_rule(_classes(e)) == e.truths
    }
    if e.options.train is not None:
        for name, cell in ((_SHAPE_FREE, "stored"), (_METRIC, "conventional")):
            references[f"{name}, {cell} cell"] = _answers(e, name, cell) == e.truths
    records = []
    for reference, theirs in references.items():
        for model, right in zip(image, e.correct(image.values()), strict=True):
            pair = contrasts.paired(right, theirs)
            below = statistics.binomial_test(
                pair["first"], pair["n"], pair["second"] / pair["n"], "less"
            )
            records.append({"against": reference, "model": model, **pair, "below_p": below})
    return (
        "Models on pictures (first) against baselines without (second): exact McNemar p, "
        "and the one-sided binomial below_p that takes the baseline's rate as known",
        pd.DataFrame(records),
    )


def _granularity(e: Evidence):
    records = []
    for granularity, labels in e.crystals.labels().items():
        record = {
            "label": granularity,
            "classes": len(set(labels.tolist())),
            "n": len(labels),
            "majority": baselines.majority(labels)[1],
        }
        for name, short in ((_METRIC, "forest"), (_SHAPE_FREE, "shape_free")):
            for cell in CELLS:
                record[f"{short}_{cell}"] = int(
                    (_answers(e, name, cell, granularity) == labels).sum()
                )
        records.append(record)
    names = (
        "classes",
        "n",
        "majority",
        "forest_stored",
        "forest_conventional",
        "shape_free_stored",
        "shape_free_conventional",
    )
    return (
        "Baselines by granularity of the label, trained on that label; "
        "stored and conventional cell",
        frame_of(records, ("label", *names), names),
    )


def _resampling(e: Evidence):
    if not e.options.resamples:
        raise Missing("needs a number of trials: --resamples")
    sides = (e.training, e.crystals)
    pool = resampling.Pool(
        np.concatenate([side.labels()["crystal system"] for side in sides]),
        np.concatenate([side.columns["formula"] for side in sides]).astype(str),
        [elements for side in sides for elements in side.elements],
        np.repeat([False, True], [len(side.rows) for side in sides]),
    )
    records = []
    for cell in CELLS:
        columns = baselines.shape_free(np.concatenate([_features(side, cell) for side in sides]))
        for regime in resampling.REGIMES:
            scores = [
                np.mean(
                    baselines.forest(columns[train], pool.systems[train], columns[test])
                    == pool.systems[test]
                )
                for train, test in resampling.splits(pool, regime, e.options.resamples)
            ]
            records.append(
                {
                    "regime": regime,
                    "cell": cell,
                    "trials": len(scores),
                    "mean": np.mean(scores),
                    "sd": np.std(scores),
                    "lowest": np.min(scores),
                    "highest": np.max(scores),
                }
            )
    frame = frame_of(
        records, ("regime", "cell", "trials", "mean", "sd", "lowest", "highest"), ("trials",)
    )
    return (
        "Shape-free forest under resampling regimes of ours (the released study defines none)",
        frame,
    )


def _emitted(e: Evidence):
    """Emitted and true atoms by id."""
    from ase.data import chemical_symbols

    if e.options.emitted is None or e.options.structures is None:
        raise Missing(
            "needs emitted atoms and the true ones: --emitted and --structures with a packed file"
        )
    lists = read_extractions(e.options.emitted)
    cells = read_crystals(e.options.structures, list(lists)).atoms()
    emitted = {
        id_: transplant.atoms_of([atom[0] for atom in atoms], [atom[1:] for atom in atoms])
        for id_, atoms in lists.items()
    }
    truth = {
        id_: transplant.atoms_of([chemical_symbols[z] for z in numbers], frac)
        for id_, (numbers, frac) in zip(lists, cells, strict=True)
    }
    return emitted, truth


def _transplant(e: Evidence):
    return (
        "Emitted atoms against the conventional cell, "
        f"within {transplant.TOLERANCE:g} (fractional); never read the strict score alone; the "
        f"null deals the lists to other structures, {transplant.REPEATS} times: sd over these",
        transplant.score_all(*_emitted(e)),
    )


def _emission(e: Evidence):
    return "What was emitted, before any matching", transplant.emission(*_emitted(e))


#: Tables by name, in the order in which they are printed.
MAKERS: dict[str, Callable[[Evidence], tuple[str, pd.DataFrame]]] = {
    "baselines": _baselines,
    "strata": _strata,
    "cues": _cues,
    "floor": _floor,
    "granularity": _granularity,
    "resampling": _resampling,
    "transplant": _transplant,
    "emission": _emission,
}
