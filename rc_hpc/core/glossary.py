"""Words of the field that helps use, each with a line: a help that uses one ends with its line."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: Questions of MV-CrystalBench.
QUESTIONS = {
    "Q1a": "how many atoms are displayed",
    "Q1b": "how many of each element the cell holds",
    "Q2": "how many nearest neighbours an atom has; easy: it is shown with them alone, hard: "
    "within a cell",
    "Q3": "which of two distances is the longer, and by how much",
    "Q4": "which crystal system",
    "Q5": "what differs between two structures, if anything does",
    "Q6": "along which lattice direction a picture looks",
}
_ASKED = "; ".join(f"{name} {meaning}" for name, meaning in QUESTIONS.items())
#: What is looked for in a help, and what it means there.
TERMS: Mapping[str, tuple[str, str]] = {
    "phantom": (
        r"phantoms?\b",
        "a point where rays of several cameras meet and no atom is",
    ),
    "delta": (
        r"\bdelta\b",
        "the tolerance, Å: rays that pass each other, or image points, within it are taken to meet",
    ),
    "kappa": (
        r"\bkappa\b",
        "the factor by which a pair of cameras makes the error of its image points an error in "
        "space",
    ),
    "gain": (
        r"\bgain\b",
        "the same of all cameras together: the largest standard deviation of a position per that "
        "of an image point",
    ),
    "sigma": (r"\bsigmas?\b", "standard deviation of the noise of disc centres, Å"),
    "R0": (
        r"\bR0\b",
        "share of structures whose conventional cell has the label of the cell as read",
    ),
    "R1": (r"\bR1\b", "share that is read rightly from exact image points, no model asked"),
    "R2": (
        r"\bR2\b",
        "share that a reader without training reads rightly from the pixels (rc_hpc.read)",
    ),
    "R3": (r"\bR3\b", "share of a model's right answers from the cell as text"),
    "R4": (r"\bR4\b", "share of a model's right answers from pictures"),
    "P, S": (
        r"\bP, S\b",
        "P = R3 - R4 is lost in looking, S = R1 - R3 in reasoning; share = P / (P + S)",
    ),
    "certified": (
        r"\bcertif",
        "of structures: no phantom at delta, so that the maximal reading is the truth; of "
        "readings of pictures: drawn again, it gives the same pictures",
    ),
    "quarantined": (
        r"\bquarantined?\b",
        "the true label itself is doubtful: it changes with the tolerance, or the source claims "
        "another",
    ),
    "K0, K1, K2": (
        r"\bK[012]\b",
        "what a reader of pictures knows beside them: cameras and convention of drawing; lattice, "
        "scales and origins too; elements of all atoms too",
    ),
    "C1 to C5": (
        r"\bC[1-5]\b",
        "ways of drawing: C1 2x2x2 cells, radii 0.5, frozen cameras; C2 one cell; C3 radii 0.22; "
        "C4 off-axis cameras; C5 one cell, radii 0.22",
    ),
    "stratum": (
        r"\bQ[1-6]|(?s:rc_hpc\.benchmark.*\bstrat(?:um|a)\b)",
        f"questions of one type, and of Q2 of one difficulty: {_ASKED}",
    ),
}


def used(text: str) -> dict[str, str]:
    """Words that a text uses, and those that explaining them does, with their meanings."""
    found = {word for word, (pattern, _) in TERMS.items() if re.search(pattern, text)}
    more = {word for word in found if not re.search(re.escape(TERMS[word][1]), text)}
    if more:
        return used("\n".join([text, *(TERMS[word][1] for word in sorted(more))]))
    return {word: told for word, (_, told) in TERMS.items() if word in found}
