"""Tables of a noise sweep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rc_hpc.kinds.common.tables import Maker, conditions_of, make, status_maker
from rc_hpc.kinds.noise import frames, rests
from rc_hpc.kinds.noise.counts import NoiseCounts
from rc_hpc.kinds.noise.options import NoiseOptions
from rc_hpc.report.tables import DIGITS_P, Table
from rc_hpc.symmetry.statistical import DOUBT

TABLES = (
    Maker(
        "noise",
        "Centroid noise, crystal system: R1 by sigma, the mean over the seeds, their range, and "
        "intervals for which each structure is one trial, Wilson's and a bootstrap over "
        "structures; readings that are right, wrong, or undecided, for the chi-squares do not "
        f"exclude a lower system at {DOUBT:g}; given are cameras, exact lattice, species, number "
        "of atoms and sigma; other granularities; pictures read with more and with fewer atoms "
        "than there are, or without a label; position errors, the mean of the pictures' medians "
        "and the largest",
        lambda counts: frames.by_sigma(counts.sets(), counts.axes),
    ),
    Maker(
        "crossings",
        "sigma at which R1 falls below 0.95, linear between the sigmas of the sweep, of the mean "
        "over the seeds, with a bootstrap over structures, and of single seeds (inf: at none of "
        "them); largest kappa of a pair; "
        "gain: largest standard deviation of a position per sigma; released: the released "
        "record's, on its 210 structures",
        lambda counts: frames.crossings(counts.sets(), counts.axes),
    ),
    Maker(
        "systems",
        "What the exact lattice alone tells, whose metric is read without any atom, and R1 of the "
        "readings, by crystal system",
        lambda counts: rests.by_system(counts.sets(), counts.axes),
    ),
    Maker(
        "near-symmetric",
        "R1 of the near-symmetric crystals, whose space group changes over the sweep of "
        "tolerances (0.001 to 0.1 Å), and of the others; Wilson intervals, a structure one trial",
        lambda counts: rests.near_symmetric(counts.sets(), counts.axes),
    ),
    Maker(
        "never-right",
        "Structures whose crystal system is wrong in every seed, and how many of them are "
        "near-symmetric",
        lambda counts: rests.never_right(counts.sets(), counts.axes),
    ),
    Maker(
        "displaced",
        lambda counts: (
            "Cells of more than one atom with every atom displaced by "
            f"{counts.options.get('displace', 0):g} Å (option displace; 0: none were read), read "
            "all the same as the crystal system that they no longer have"
        ),
        lambda counts: rests.displaced(counts.sets(), counts.axes),
    ),
    Maker(
        "paired",
        "Structures right in more than half of the seeds under one arm and not under the other, "
        "with the exact sign test, two-sided",
        lambda counts: frames.paired(counts.sets(), counts.axes),
        DIGITS_P,
    ),
    Maker(
        "kappa",
        "Conditioning by camera pair, and of all views together: angle between the view lines, "
        "kappa, and by what 20000 random errors of unit length grew, at most and in the mean "
        "square",
        lambda counts: frames.pairs(counts.axes),
        conditional=False,
    ),
    Maker(
        "conditioning",
        "Distribution of kappa over the camera pairs, and the gain of all views together",
        lambda counts: frames.spread(counts.axes),
        conditional=False,
    ),
    Maker(
        "budgets",
        "Noise budgets, 5th percentile and median over the structures; record: (d - tau) / "
        "(2 kappa), d the smallest distance between drawn atoms of one species; certain: error of "
        "every centroid up to which no position can be mistaken for a neighbour's; probable: "
        "sigma up to which none is with probability 0.95",
        lambda counts: frames.budgets(counts.sets(), counts.axes),
    ),
    Maker(
        "aligned",
        "Lattice-aligned cameras: structures with a lattice vector (coefficients up to 3) along "
        "the camera, those of whose drawn atoms it shows two of one species at one place, and the "
        "places at which all their atoms are seen",
        lambda counts: frames.aligned(counts.sets(), counts.axes),
    ),
    status_maker(),
)


def tables(counts: NoiseCounts, names: Iterable[str]) -> list[Table]:
    """The tables of these names."""
    conditions = conditions_of(NoiseOptions, counts, *_reading(counts.options))
    return make(TABLES, conditions, counts, names)


def _reading(options: dict[str, Any]) -> list[str]:
    """Where the errors come from, and how labels are found."""
    record = "record" in options["rules"]
    others = any(rule != "record" for rule in options["rules"])
    told = [
        "errors one stream per seed through all structures, as released"
        if record
        else "errors by structure, seed and view"
    ]
    if others:
        whose = "labels of other rules than record" if record else "labels"
        told.append(f"{whose}: {options['labeller']}")
    return told
