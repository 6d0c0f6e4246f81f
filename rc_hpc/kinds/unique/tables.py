"""Tables of a uniqueness sweep."""

from __future__ import annotations

from collections.abc import Iterable

from rc_hpc.kinds.common.tables import Maker, conditions_of, make, status_maker
from rc_hpc.kinds.unique import frames
from rc_hpc.kinds.unique.counts import UniqueCounts
from rc_hpc.kinds.unique.options import UniqueOptions
from rc_hpc.kinds.unique.verdict import verdict
from rc_hpc.report.tables import Table

_STATUSES = (
    "forced: every place is the only one on some image point, hence unique under every policy; "
    "the others are unique (one explanation), determined (several, of one crystal system), "
    "undetermined (another system was found), unknown or inadmissible; wrong: unique or "
    "determined, with another system than the true one"
)


def _words(counts: UniqueCounts, text: str) -> str:
    """What a table shows, of molecules in their words."""
    if counts.labels.cells:
        return text
    text = text.replace("crystals", "molecules").replace("crystal system", "point group")
    return text.replace("another system", "another point group").replace("true system", "true one")


TABLES = (
    Maker(
        "unique",
        lambda c: _words(
            c, f"Other crystals with the same pictures, by number of views and policy: {_STATUSES}"
        ),
        lambda c: frames.by_status(c.sets(), c.policies, c.subsets),
        note=verdict,
    ),
    Maker(
        "readers",
        lambda c: (
            f"{c.labels.noun.capitalize()}, R1 by number of views, mean over subsets: "
            "guaranteed to any reader of the policy (unknown cells count as not; possible: as "
            "guaranteed), of the maximal explanation, of one with known counts at random (of those "
            "drawn), and of the most symmetric of the policy; luck: the maximal one is right "
            "though others are not; better: it is wrong though all of the policy are right"
        ),
        lambda c: frames.by_reader(c.sets(), c.policies, c.subsets),
    ),
    Maker(
        "subsets",
        lambda c: _words(c, f"The same by view subset: {_STATUSES}"),
        lambda c: frames.by_subset(c.sets(), c.policies, c.subsets),
    ),
    Maker(
        "reasons",
        "Unknown cells by reason: limit (of explanations that are labelled), conflicts and "
        "seconds (of the solvers), operations (too many), sites (too near to tell symmetries "
        "apart), translations (a finer lattice may have further rotations), places (they do not "
        "explain all points)",
        lambda c: frames.by_reason(c.sets(), c.policies, c.subsets),
        "counts exact",
    ),
    Maker(
        "witness",
        lambda c: (
            f"Two {'crystals' if c.labels.cells else 'molecules'} with the same pictures, "
            "of the smallest structure that has a witness: their labels, the policies that admit "
            "both, the cameras; places, Å, with an atom of the structure or of the witness"
            + (", and the drawn cell" if c.labels.cells else "")
        ),
        lambda c: frames.pair_frame(c.pair),
    ),
    status_maker(),
)


def tables(counts: UniqueCounts, names: Iterable[str]) -> list[Table]:
    """The tables of these names."""
    return make(TABLES, conditions_of(UniqueOptions, counts), counts, names)
