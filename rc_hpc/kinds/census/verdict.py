"""A census in a sentence or two that a person can quote, and what its words mean."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.core.errors import Status

if TYPE_CHECKING:
    from rc_hpc.kinds.census.counts import CensusCounts

#: What the words of the reference table mean, one line each.
GLOSSARY = {
    "R0": "share of structures whose conventional cell has the label of the cell as read",
    "R1": "share whose reconstruction from the cameras has the true label, no model asked",
    "certified": "no phantom at delta: the most that the pictures allow is the structure itself, "
    "and no other crystal with as many atoms of each species has these pictures",
    "unique": "no other crystal of this lattice has these pictures, with whatever number of atoms",
    "quarantined": "the true label itself is doubtful: it changes with the tolerance, or the "
    "source claims another",
    "phantom": "a point where rays of several cameras meet and no atom is",
}
#: The same of molecules, which have no lattice.
GLOSSARY_OF_MOLECULES = {
    word: meaning.replace("crystal of this lattice", "molecule").replace("crystal", "molecule")
    for word, meaning in GLOSSARY.items()
    if word not in ("R0", "quarantined")
}


def verdict(counts: CensusCounts) -> str:
    """What the census says, a line, then the words of `GLOSSARY` that its table uses."""
    lines = [sentence(counts)]
    if counts.followed.less:
        lines.append(
            f"Phantoms of {counts.followed.less} structures with very many candidates were "
            f"followed less far than {counts.options['delta_max']:g} Å, in all up to "
            f"{counts.followed.shortest:.3g} Å (structures/delta_max)."
        )
    used = (
        {"R1"}
        | ({"R0"} if counts.labels.cells else set())
        | ({"certified"} if counts.subsets.full is not None else set())
    )
    if unique_of(counts) is not None:
        used.add("unique")
    if counts.n_quarantined or counts.n_dropped:
        used.add("quarantined")
    glossary = GLOSSARY if counts.labels.cells else GLOSSARY_OF_MOLECULES
    lines += [f"{word}: {meaning}." for word, meaning in glossary.items() if word in used]
    return "\n".join(lines)


def sentence(counts: CensusCounts) -> str:
    """What the cameras determine, of the headline set of structures."""
    name, tally = next(iter(counts.sets().items()))
    n, subsets = int(tally.n), counts.subsets
    options = counts.options
    drawn = prod(options["protocol"]["tiling"])
    cells = "one cell drawn" if drawn == 1 else f"{drawn} cells drawn"
    conditions = f"delta {options['delta']:g} Å"
    if counts.labels.cells:
        conditions = f"{cells}, {conditions}"
    noun = f"{counts.labels.structure}s"
    refused = sum(rows for status, (rows, *_) in counts.status.items() if status != Status.ok.name)
    aside = [f"{refused} refused"] if refused else []
    if name == "without quarantined" and counts.n_quarantined:
        aside.append(f"{counts.n_quarantined} quarantined left out")
    conditions = "; ".join([conditions, *aside])
    if n == 0:
        return f"No {counts.labels.structure} was computed ({conditions})."
    if subsets.full is None:
        read = tally.correct[0, subsets.labelled]
        least, most = read.min(), read.max()
        said = (
            f"On {len(read)} view subsets the oracle reads {_range(least, most)} of {n} "
            f"{noun} rightly ({conditions})."
        )
    else:
        full = subsets.full
        said = (
            f"With all {subsets.sizes[full]} cameras the oracle reads {tally.correct[0, full]} of "
            f"{n} {noun} rightly ({conditions}); {tally.certified[full]} are certified"
        )
        unique = unique_of(counts)
        said += "." if unique is None else f", {unique} unique."
    pairs = np.flatnonzero((subsets.sizes == 2) & subsets.labelled)
    if len(pairs) > 1:
        right = tally.correct[0, pairs]
        weakest = [subsets.names[pair] for pair in pairs[right == right.min()]]
        if right.min() == right.max():
            said += f" Every pair of cameras: {right.min()} of {n}."
        else:
            pair = "pair" if len(weakest) == 1 else "pairs"
            said += f" Weakest {pair}: {', '.join(weakest)}, {right.min()} of {n}."
    return said


def unique_of(counts: CensusCounts) -> int | None:
    """Structures of the headline set that are unique on all cameras; None where not known."""
    _, tally = next(iter(counts.sets().items()))
    full = counts.subsets.full
    if full is None or tally.n == 0 or tally.unique[full] < 0:
        return None
    return int(tally.unique[full])


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"
