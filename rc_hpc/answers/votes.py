"""From the samples of one structure to a verdict, and from a file's losses to its gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: What a tie for the most votes is worth. `first`: the tied label seen first in sample order
#: decides (the released rule); `wrong`: a tie is a miss; `expected`: one over the number of tied
#: labels where the truth is among them; `any`: right where the truth is among them.
TIE_RULES = ("first", "wrong", "expected", "any")


def count_votes(samples: Sequence[str | None]) -> dict[str, int]:
    """Votes of the samples in order; labels come in the order in which they were first seen.

    That order is all that the tie rule `first` needs, so it must survive storage.
    """
    votes: dict[str, int] = {}
    for label in samples:
        if label is not None:
            votes[label] = votes.get(label, 0) + 1
    return votes


def leaders(votes: Mapping[str, int]) -> tuple[str, ...]:
    """Labels with the most votes, in the order of `votes`; several are a tie, none is no answer."""
    most = max(votes.values(), default=0)
    return tuple(label for label, count in votes.items() if count == most)


def winner(votes: Mapping[str, int], ties: str = "first") -> str | None:
    """The prediction; None where no sample could be read, or where the rule `wrong` meets a tie."""
    tied = leaders(votes)
    return None if not tied or (ties == "wrong" and len(tied) > 1) else tied[0]


def score(votes: Mapping[str, int], truth: str, ties: str = "first") -> float:
    """Credit of one structure, from 0 to 1.

    Parameters
    ----------
    votes
        Label to count, in the order in which the labels were first seen.
    ties
        One of `TIE_RULES`.
    """
    tied = leaders(votes)
    if truth not in tied:
        return 0.0
    if ties == "any" or len(tied) == 1:
        return 1.0
    return {"first": float(tied[0] == truth), "wrong": 0.0, "expected": 1 / len(tied)}[ties]


def sample_accuracy(votes: Mapping[str, int], truth: str, k: int) -> float:
    """Share of the k samples of one structure that are right; a lost sample is wrong."""
    return votes.get(truth, 0) / k


@dataclass(frozen=True, slots=True)
class Gates:
    """What a row that is scored may have lost at most, as shares.

    Attributes
    ----------
    api_errors
        Of the calls.
    unanswered
        Of the structures: those without any readable answer.
    lost_samples
        Of the samples; a gate on request only, as the released study has none: a row can lose
        many of them while each structure still has an answer.
    """

    api_errors: float = 0.05
    unanswered: float = 0.05
    lost_samples: float = 0.05


#: Those of the released study.
GATES = Gates()


@dataclass(frozen=True, slots=True)
class Losses:
    """What was asked and what was lost, by call, by sample and by structure.

    Attributes
    ----------
    n
        Structures, the denominator whatever was lost.
    k
        Samples asked of each.
    api_errors
        Calls that failed; None where the file does not say.
    lost_samples
        Samples without a readable answer; failed calls are among them.
    unanswered
        Structures without any readable answer.
    """

    n: int
    k: int
    api_errors: int | None
    lost_samples: int
    unanswered: int

    @property
    def api_error_rate(self) -> float:
        """Failed calls of all calls; NaN where the file does not say."""
        return float("nan") if self.api_errors is None else _rate(self.api_errors, self.n * self.k)

    @property
    def lost_sample_rate(self) -> float:
        """Lost samples of all samples."""
        return _rate(self.lost_samples, self.n * self.k)

    @property
    def unanswered_rate(self) -> float:
        """Structures without an answer, of all structures."""
        return _rate(self.unanswered, self.n)

    def failed_gates(self, gates: Gates = GATES, samples: bool = False) -> tuple[str, ...]:
        """The gates that fail, in words: those whose rate is above the allowed one.

        Parameters
        ----------
        samples
            Also gate lost samples.
        """
        rates = [
            ("api errors", self.api_error_rate, gates.api_errors),
            ("unanswered structures", self.unanswered_rate, gates.unanswered),
        ]
        if samples:
            rates.append(("lost samples", self.lost_sample_rate, gates.lost_samples))
        return tuple(
            f"{name} above {100 * allowed:g} %" for name, rate, allowed in rates if rate > allowed
        )


def _rate(count: int, n: int) -> float:
    return count / n if n else 0.0
