"""Tables of a camera design."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rc_hpc.report.tables import DIGITS, DIGITS_P, Table, collect

if TYPE_CHECKING:
    from rc_hpc.kinds.design.counts import DesignFile

NAMES = ("verdict", "candidates", "held-out", "paired", "phantoms", "cameras", "status")
#: Those that end a run.
SUMMARY = ("verdict", "candidates", "status")


def tables(found: DesignFile, names=NAMES) -> list[Table]:
    """The tables of these names, with captions that say under which conditions they hold."""
    from rc_hpc.kinds.census import frames as ceilings
    from rc_hpc.kinds.design import frames as design

    conditions, delta = _conditions(found), found.options["delta"]

    def verdict():
        what = (
            "Best camera set, by the training structures, against those beside it, on held-out structures: R1, the mean over all sigmas but 0; sigma at which R1 falls below 0.95; "
            "structures with more and with fewer right pictures under the best set, with the exact sign test, two-sided"
        )
        return f"{what} ({conditions}; {DIGITS_P})", design.verdict(found.design)

    def candidates():
        what = (
            "Camera sets: scores of the search, on its structures (cost = geometric_cost (1 + ambiguity + phantom_rate); geometric_cost = gain^2 + 0.1 mean kappa^2; ambiguity: phantoms per atom "
            "at delta 0.5 Å with all cameras; screen length: the shortest that a lattice vector has on a screen); R1, the mean over all sigmas but 0; sigma at which R1 falls below 0.95, held out"
        )
        return f"{what} ({conditions}; {DIGITS})", design.candidates(found.design)

    def held_out():
        what = "Held-out structures: R1 by sigma, crystal system, the mean over the seeds, their range, and a Wilson interval for which each structure is one trial"
        return f"{what} ({conditions}; {DIGITS})", design.by_sigma(found.design)

    def paired():
        what = "Held-out structures right in more than half of the seeds under the best set only or the one beside only, with the exact sign test, two-sided"
        return f"{what} ({conditions}; {DIGITS_P})", design.pairs(found.design)

    def phantoms():
        what = f"Phantoms by acceptance at delta {delta} Å, held-out structures, over all view subsets of each size"
        return f"{what} ({conditions}; {DIGITS})", design.phantoms(found.design)

    def cameras():
        what = (
            "View directions in the frame of the conventional cell; held-out structures with a lattice vector along one of the set's cameras; "
            "the shortest length of a lattice vector on any of its screens"
        )
        return f"{what} ({conditions}; {DIGITS})", design.cameras(found.design)

    def status():
        return (
            "Rows by status, with the first of each; unused structures are ok rows, too (counts exact)",
            ceilings.by_status(found.status),
        )

    makers = dict(
        zip(NAMES, (verdict, candidates, held_out, paired, phantoms, cameras, status), strict=True)
    )
    return collect(makers, names)


def _conditions(found: DesignFile) -> str:
    options, pack, design = found.options, found.options["pack"], found.design
    partial = "" if found.attrs.get("complete_rows", 1) else "; PARTIAL: structures are missing"
    return (
        f"{options['views']} cameras, kept: {', '.join(options['keep']) or 'none'}; search seed {options['seed']}; {len(design.training['correct'])} training structures, "
        f"{found.n_searched} of them searched, {len(design.held_out['correct'])} held out; {options['seeds']} noise seeds; true label at tau {pack['tau']} Å, "
        f"angle tolerance {pack['angle_tolerance']} degrees, of the {options['truth']} cell; quarantine {options['quarantine']}{partial}"
    )
