"""A uniqueness file in a sentence or two that a person can quote, and what its words mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rc_hpc.core.vocabulary import Known, Uniqueness

if TYPE_CHECKING:
    from rc_hpc.kinds.unique.counts import UniqueCounts

#: What the words mean, one line each.
GLOSSARY = {
    "cell": "a structure under one subset of the cameras",
    "forced": "every place at which rays of all views meet alone explains some image point, so "
    "that no other crystal of this lattice has the pictures",
    "unique": "no other crystal that the policy admits has the pictures; forced cells are, and are "
    "not counted again",
    "determined": "there are others, but all have one crystal system",
    "undetermined": "another of another crystal system was found",
}


def verdict(counts: UniqueCounts) -> str:
    """What the file says, a line, then the words."""
    words = [f"{word}: {told}." for word, told in GLOSSARY.items()]
    if not counts.labels.cells:
        words = [of_molecules(one) for one in words]
    return "\n".join([sentence(counts), *words])


def of_molecules(text: str) -> str:
    """The same words where there is no lattice."""
    text = text.replace("crystal of this lattice", "molecule").replace("crystal system", "group")
    return text.replace("crystal", "molecule").replace("group", "point group")


def sentence(counts: UniqueCounts) -> str:
    """How many cells are unique, determined and undetermined, of the headline set."""
    tally = next(iter(counts.sets().values()))
    if not int(tally.n) or not counts.policies:
        return "No structure was computed."
    wanted = Known.counts.name
    p = counts.policies.index(wanted) if wanted in counts.policies else 0
    told = []
    for size, own in counts.subsets.by_size().items():
        n, forced = int(tally.n) * len(own), int(tally.trivial[own].sum())
        number = {code: int(tally.status[p, code][own].sum()) for code in Uniqueness}
        rest = [
            f"{number[code]} {code.name}"
            for code in (Uniqueness.determined, Uniqueness.undetermined, Uniqueness.unknown)
            if number[code]
        ]
        unique = f"{forced + number[Uniqueness.unique]} of {n} cells unique"
        told.append(f"{size} views: {', '.join([unique, *rest])}")
    return f"Policy {counts.policies[p]}; {'; '.join(told)}."
