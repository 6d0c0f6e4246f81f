"""Tables of a noise file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rc_hpc.report.tables import DIGITS, DIGITS_P, Table, collect, partial_note

if TYPE_CHECKING:
    from rc_hpc.kinds.noise.counts import NoiseCounts

NAMES = ("noise", "crossings", "paired", "kappa", "conditioning", "budgets", "aligned", "status")
#: Those that end a run.
SUMMARY = ("noise", "crossings", "status")


def tables(counts: NoiseCounts, names=NAMES) -> list[Table]:
    """The tables of these names, with captions that say under which conditions they hold."""
    from rc_hpc.kinds.census import frames as ceilings
    from rc_hpc.kinds.noise import frames as noise_sweep

    sets, axes = counts.sets(), counts.axes
    conditions = _conditions(counts)

    def noise():
        what = (
            "Centroid noise, crystal system: R1 by sigma, the mean over the seeds, their range, and a Wilson interval for which each structure is one trial; "
            "other granularities; pictures read with more and with fewer atoms than there are, or without a label; position errors, the mean of the pictures' medians and the largest"
        )
        return f"{what} ({conditions}; {DIGITS})", noise_sweep.by_sigma(sets, axes)

    def crossings():
        what = (
            "sigma at which R1 falls below 0.95, linear between the sigmas of the sweep, of the mean over the seeds and of single seeds (inf: at none of them); largest kappa of a pair; "
            "gain: largest standard deviation of a position per sigma; released: the released record's, on its 210 structures"
        )
        return f"{what} ({conditions}; {DIGITS})", noise_sweep.crossings(sets, axes)

    def paired():
        what = "Structures right in more than half of the seeds under one arm and not under the other, with the exact sign test, two-sided"
        return f"{what} ({conditions}; {DIGITS_P})", noise_sweep.paired(sets, axes)

    def kappa():
        what = "Conditioning by camera pair, and of all views together: angle between the view lines, kappa, and by what 20000 random errors of unit length grew, at most and in the mean square"
        return f"{what} ({DIGITS})", noise_sweep.pairs(axes)

    def conditioning():
        return (
            f"Distribution of kappa over the camera pairs, and the gain of all views together ({DIGITS})",
            noise_sweep.spread(axes),
        )

    def budgets():
        what = (
            "Noise budgets, 5th percentile and median over the structures; record: (d - tau) / (2 kappa), d the smallest distance between drawn atoms of one species; "
            "certain: error of every centroid up to which no position can be mistaken for a neighbour's; probable: sigma up to which none is with probability 0.95"
        )
        return f"{what} ({conditions}; {DIGITS})", noise_sweep.budgets(sets, axes)

    def aligned():
        what = (
            "Lattice-aligned cameras: structures with a lattice vector (coefficients up to 3) along the camera, those of whose drawn atoms it shows two of one species at one place, "
            "and the places at which all their atoms are seen"
        )
        return f"{what} ({conditions}; {DIGITS})", noise_sweep.aligned(sets, axes)

    def status():
        return (
            "Rows by status, with the first of each; only ok rows count elsewhere (counts exact)",
            ceilings.by_status(counts.status),
        )

    makers = dict(
        zip(
            NAMES,
            (noise, crossings, paired, kappa, conditioning, budgets, aligned, status),
            strict=True,
        )
    )
    return collect(makers, names)


def _conditions(counts: NoiseCounts) -> str:
    options, pack = counts.options, counts.options["pack"]
    partial = partial_note(sum(rows for rows, *_ in counts.status.values()), counts.attrs)
    own = any(rule != "record" for rule in options["rules"])
    labels = (
        f"; labels of other rules than record: {options['labeller']}"
        if own and "record" in options["rules"]
        else f"; labels: {options['labeller']}"
        if own
        else ""
    )
    errors = (
        "one stream per seed through all structures, as released"
        if "record" in options["rules"]
        else "by structure, seed and view"
    )
    return (
        f"{counts.axes.seeds} seeds, errors {errors}{labels}; true label at tau {pack['tau']} Å, angle tolerance {pack['angle_tolerance']} degrees, "
        f"of the {options['truth']} cell; quarantine {options['quarantine']}{partial}"
    )
