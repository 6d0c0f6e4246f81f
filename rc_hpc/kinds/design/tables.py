"""Tables of a camera design."""

from __future__ import annotations

from collections.abc import Iterable

from rc_hpc.kinds.common.tables import Maker, conditions_of, make, status_maker
from rc_hpc.kinds.design import frames
from rc_hpc.kinds.design.counts import DesignFile
from rc_hpc.kinds.design.options import DesignOptions
from rc_hpc.report.tables import DIGITS_P, Table

TABLES = (
    Maker(
        "verdict",
        "Best camera set, by the training structures, against those beside it, on held-out "
        "structures: R1, the mean over all sigmas but 0; sigma at which R1 falls below 0.95; "
        "structures with more and with fewer right pictures under the best set, with the exact "
        "sign test, two-sided",
        lambda file: frames.verdict(file.design),
        DIGITS_P,
    ),
    Maker(
        "candidates",
        "Camera sets: scores of the search, on its structures (cost = geometric_cost "
        "(1 + ambiguity + phantom_rate, or loose_rate with --ask unique); geometric_cost = gain^2 "
        "+ 0.1 mean kappa^2; ambiguity: "
        "phantoms per atom at delta 0.5 Å with all cameras; loose: two and three views with a "
        "place that is the only one on no image point; screen length: the shortest that a "
        "lattice vector has on a screen); R1, the mean over all sigmas but 0; sigma at which R1 "
        "falls below 0.95, held out",
        lambda file: frames.candidates(file.design),
    ),
    Maker(
        "held-out",
        "Held-out structures: R1 by sigma, crystal system, the mean over the seeds, their range, "
        "and a Wilson interval for which each structure is one trial",
        lambda file: frames.by_sigma(file.design),
    ),
    Maker(
        "paired",
        "Held-out structures right in more than half of the seeds under the best set only or the "
        "one beside only, with the exact sign test, two-sided",
        lambda file: frames.pairs(file.design),
        DIGITS_P,
    ),
    Maker(
        "phantoms",
        lambda file: (
            f"Phantoms by acceptance at delta {file.options['delta']} Å, held-out "
            "structures, over all view subsets of each size"
        ),
        lambda file: frames.phantoms(file.design),
    ),
    Maker(
        "cameras",
        "View directions in the frame of the conventional cell; held-out structures with a "
        "lattice vector along one of the set's cameras; the shortest length of a lattice vector "
        "on any of its screens",
        lambda file: frames.cameras(file.design),
    ),
    status_maker("unused structures are ok rows, too"),
)


def tables(file: DesignFile, names: Iterable[str]) -> list[Table]:
    """The tables of these names."""
    design = file.design
    sides = (
        f"{len(design.training['correct'])} training structures, {file.n_searched} of them "
        f"searched, {len(design.held_out['correct'])} held out"
    )
    return make(TABLES, conditions_of(DesignOptions, file, sides), file, names)
