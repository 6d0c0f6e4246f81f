"""Every setting of the questions, each with the value that the card states or leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

from rc_hpc.benchmark.records import STRATA
from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Options, at_least, names, opt

#: Questions of each stratum in the released benchmark: shares of any other size.
QUOTAS = dict(zip(STRATA, (100, 100, 60, 60, 100, 96, 100, 100), strict=True))
#: Of 50 pairs of structures that differ, how many differ in what.
MUTATIONS = {"exchange": 13, "deletion": 12, "stretch": 13, "polymorph": 12}
#: Letters are balanced, and so are halves and quarters within a stratum: numbers are multiples.
UNIT = 4
#: Questions in all at least: two such multiples a stratum.
LEAST = UNIT * len(STRATA) * 2


def _total(flag: str, value: int) -> None:
    if value % UNIT or value < LEAST:
        raise UsageError(f"{flag} must be a multiple of {UNIT}, {LEAST} or more: {value}")


def _share(flag: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise UsageError(f"{flag} must lie between 0 and 1: {value:g}")


@dataclass(frozen=True)
class QuestionOptions(Options):
    """What questions are asked.

    Attributes
    ----------
    questions
        In all, a multiple of `UNIT`, `LEAST` or more; strata have the shares of `QUOTAS`.
    per_structure, per_difficulty
        Questions of one type, and of one difficulty of Q2, of a base structure at most; 0: the
        card's 4 and 2, and of a larger benchmark as many as it needs.
    mini
        Questions of each stratum in the subset.
    visible_count
        Share of an atom that one of the pictures must show for it to be counted (Q1a).
    visible_mark, visibility
        Share of a marked atom that must be visible (Q2, Q3): on the ``mean`` of the eight
        candidate views, in ``all`` of them, or in ``any``; in each case also in one of the
        pictures shown, and, where a letter marks it (Q3), in all of them.
    least_letter
        Height of the letter of a mark (Q3) at least, px.
    least_displayed
        Atoms of a scene that are counted or compared (Q1a, Q3) at least.
    count_gap
        Between options of Q1a, relative to the smaller.
    distance_margin, projected_margin
        Between the two distances of Q3, relative to the longer; the same in the first picture.
    near, far
        The longer of the two over the shorter: up to `near` it is longer by less than 50 %, from
        `far` by more.
    system_symprec
        At which spglib names the crystal system again, Å.
    first_views, second_views
        Of a question, and of the other structure in a pair.
    option_sets
        Sets of wrong options drawn for each question, of which one is taken.
    """

    questions: int = opt(
        716,
        f"questions in all, a multiple of {UNIT}, {LEAST} or more",
        metavar="N",
        check=_total,
        caption="{} questions",
    )
    per_structure: int = opt(
        0,
        "questions of one type of a base structure at most",
        metavar="N",
        check=at_least(0),
        told="4; of more than 716 questions, as few as do",
    )
    per_difficulty: int = opt(
        0,
        "questions of one difficulty of Q2 of a base structure at most",
        metavar="N",
        check=at_least(0),
        told="2; of more than 716 questions, as few as do",
    )
    mini: int = opt(25, "questions of a stratum in the subset", metavar="N", check=at_least(1))
    visible_count: float = opt(
        0.5,
        "share of every counted atom that one of the pictures shows (Q1a)",
        metavar="SHARE",
        check=_share,
    )
    visible_mark: float = opt(
        0.7, "share of a marked atom that is visible (Q2, Q3)", metavar="SHARE", check=_share
    )
    visibility: str = opt(
        "mean",
        "over the eight candidate views, for marked atoms",
        choices=("mean", "all", "any"),
    )
    least_letter: float = opt(
        8.0, "height of a letter on an atom (Q3) at least", metavar="PX", check=at_least(0)
    )
    least_displayed: int = opt(
        8, "atoms of a scene that are counted or compared at least", metavar="N", check=at_least(2)
    )
    count_gap: float = opt(
        0.08, "between options of Q1a, of the smaller", metavar="SHARE", check=_share
    )
    distance_margin: float = opt(
        0.15, "between the distances of Q3, of the longer", metavar="SHARE", check=_share
    )
    projected_margin: float = opt(
        0.05, "the same in the first picture", metavar="SHARE", check=_share
    )
    near: float = opt(1.4, "longer by less than 50 % up to this ratio (Q3)", metavar="RATIO")
    far: float = opt(1.6, "longer by more than 50 % from this ratio on (Q3)", metavar="RATIO")
    system_symprec: float = opt(
        0.01, "at which the crystal system is named again", metavar="ANGSTROM"
    )
    first_views: tuple[str, ...] = opt(
        ("v00", "v01", "v02"), "views of a question", parse=names, metavar="VIEW,VIEW,VIEW"
    )
    second_views: tuple[str, ...] = opt(
        ("v03", "v04", "v05"),
        "views of the other structure of a pair",
        parse=names,
        metavar="VIEW,VIEW,VIEW",
    )
    option_sets: int = opt(
        32, "sets of wrong options drawn for each question", metavar="N", check=at_least(1)
    )

    def most(self, qtype: str) -> int:
        """Questions of a type of one structure at most; of Q2, of one of its difficulties."""
        asked = self.per_difficulty if qtype == "Q2" else self.per_structure
        larger = self.questions > sum(QUOTAS.values())
        return asked or (self.questions if larger else 2 if qtype == "Q2" else 4)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 / (1 - self.distance_margin) < self.near < 1.5 < self.far:
            raise UsageError(
                f"--near {self.near:g} and --far {self.far:g} must lie on both sides of 1.5, and "
                f"--near above what --distance-margin {self.distance_margin:g} leaves"
            )


def quotas(options: QuestionOptions, systems: int) -> dict[str, int]:
    """Questions of each stratum; they add up to all.

    Parameters
    ----------
    systems
        Crystal systems of the base structures: Q4 asks for each equally often.

    Raises
    ------
    UsageError
        There are so few questions that a stratum would have none.
    """
    whole = sum(QUOTAS.values())
    step = lcm(UNIT, systems)
    systems_asked = max(step, round(options.questions * QUOTAS["Q4"] / whole / step) * step)
    left = (options.questions - systems_asked) // UNIT
    others = {name: share for name, share in QUOTAS.items() if name != "Q4"}
    exact = {name: left * share / (whole - QUOTAS["Q4"]) for name, share in others.items()}
    units = {name: int(share) for name, share in exact.items()}
    missing = left - sum(units.values())
    for name in sorted(units, key=lambda name: units[name] - exact[name])[:missing]:
        units[name] += 1
    wanted = {name: UNIT * units.get(name, 0) for name in STRATA} | {"Q4": systems_asked}
    if empty := [name for name, number in wanted.items() if not number]:
        raise UsageError(
            f"--questions {options.questions}: too few for {systems} crystal systems, none are "
            f"left for {', '.join(empty)}; ask for more"
        )
    return wanted
