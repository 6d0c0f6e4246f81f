"""Whether the explanations of a puzzle have one crystal system, under policies of what is known.

Of each policy the status is *unique* (one explanation), *determined* (several, all of one system),
*undetermined* (two of different systems: a witness was found), *unknown*, or *inadmissible* (no
explanation, or under `physical` not the truth itself).

A crystal is not of system S if it lacks the rotations that make S, or has those of a system that
comes before S (`rc_hpc.oracle.symmetries.MADE_BY`). Both are questions to a solver over a finite
list of operations. Where no explanation lacks an operation that a label surely finds, and none has
one that it may find, all have the label's system: that is the proof of *determined*. An answer is
a witness once the label says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from rc_hpc.core.vocabulary import Known, System, Undecided, Uniqueness
from rc_hpc.oracle.chance import left_over
from rc_hpc.oracle.decision import Budget, Decision
from rc_hpc.oracle.explanations import Puzzle
from rc_hpc.oracle.fewest import fewest
from rc_hpc.oracle.levels import Draws, permuted
from rc_hpc.oracle.rotations import Metric
from rc_hpc.oracle.solving import OutOfBudget, Questions
from rc_hpc.oracle.symmetries import HOLOHEDRY, MADE_BY, Symmetries, TooMany

#: Explanations of one policy that are tried by chance before a solver is asked, and where none
#: comes to an end.
DRAWS, CHANCES = 4, 48
#: Draws of a random explanation before the floor's refusals are given up.
MANY_DRAWS = 8


class Cell:
    """One structure and view subset under all policies.

    Parameters
    ----------
    puzzle
    metric
        Of the drawn lattice.
    label
        System of a choice of places, by spglib.
    own
        System of the truth's places.
    budget, rng
    """

    def __init__(
        self,
        puzzle: Puzzle,
        metric: Metric,
        label: Callable[[np.ndarray], System],
        own: System,
        budget: Budget,
        rng: np.random.Generator,
    ):
        self.puzzle, self.label, self.own = puzzle, label, own
        self.budget, self.rng = budget, rng
        self.metric = metric
        self.known: dict[bytes, System] = {puzzle.key(puzzle.truth): own}
        self.decisions = {policy: Decision(reference=own) for policy in Known}
        self.levels = puzzle.levels
        self.least: dict[int, int] | None = None
        self._trusted: bool | None = None
        self._asked: dict[tuple[tuple[int, int], ...] | None, Questions] = {}

    @cached_property
    def symmetries(self) -> Symmetries:
        """Operations that explanations can have."""
        return Symmetries(self.puzzle, self.metric)

    # ------------------------------------------------------------------ explanations met

    def system_of(self, chosen: np.ndarray) -> System:
        """System of a choice of places, found once.

        By the operations that it has where any label must find these, and the truth's give the
        truth's label; else by the label.
        """
        key = self.puzzle.key(chosen)
        if key not in self.known:
            found = self._by_operations(chosen)
            self.known[key] = self.label(chosen) if found is None else found
        return self.known[key]

    def _by_operations(self, chosen: np.ndarray) -> System | None:
        try:
            if self._trusted is None:
                self._trusted = self.symmetries.system(self.puzzle.truth) in (None, self.own)
            return self.symmetries.system(chosen) if self._trusted else None
        except TooMany:
            self._trusted = False
            return None

    def admits(self, policy: Known, chosen: np.ndarray) -> bool:
        """Whether an explanation is one under a policy."""
        puzzle = self.puzzle
        if policy == Known.fewest:
            return self.least is not None and all(
                np.count_nonzero(chosen & (puzzle.numbers == kind)) == n
                for kind, n in self.least.items()
            )
        if policy != Known.any and not puzzle.has_counts(chosen):
            return False
        return policy != Known.physical or puzzle.is_physical(chosen)

    def consider(self, chosen: np.ndarray, policies) -> System:
        """Take note of an explanation under all policies that admit it."""
        system = self.system_of(chosen)
        if system != System.none and self.puzzle.explains(chosen):
            for policy in policies:
                decision = self.decisions[policy]
                key = self.puzzle.key(chosen)
                if key in decision.labelled or not self.admits(policy, chosen):
                    continue
                decision.labelled[key] = chosen
                decision.seen += 1
                decision.systems |= 1 << system
                if system != self.own and decision.witness is None:
                    decision.witness = chosen
        return system

    # ------------------------------------------------------------------ deciding

    def decide(self, policies: tuple[Known, ...]) -> dict[Known, Decision]:
        """Decide all these policies, tight ones first: their witnesses serve the looser ones."""
        puzzle = self.puzzle
        if Known.fewest in policies:
            self._find_fewest()
        self.consider(puzzle.truth, policies)
        if not puzzle.any_pair(puzzle.clashes, puzzle.every):
            self.consider(puzzle.every, policies)
        for policy in sorted(policies, reverse=True):
            decision = self.decisions[policy]
            if decision.status != Uniqueness.not_done:
                continue
            if policy == Known.fewest and Known.counts in policies and self.least == puzzle.counts:
                continue  # the same question
            if policy == Known.physical and not puzzle.is_physical(puzzle.truth):
                decision.status = Uniqueness.inadmissible
                continue
            self._by_chance(policy, policies, DRAWS)
            try:
                self._decide(policy, decision, policies)
            except OutOfBudget:
                self._answers_by_chance(policy, policies)
                self._leave(decision, Undecided.conflicts)
            except TooMany:
                self._answers_by_chance(policy, policies)
                self._leave(decision, Undecided.operations)
        if self.decisions[Known.fewest].status == Uniqueness.not_done:
            self.decisions[Known.fewest] = self.decisions[Known.counts]
        return {policy: self.decisions[policy] for policy in policies}

    def _leave(self, decision: Decision, reason: Undecided) -> None:
        """No answer, but for what chance may still find."""
        if decision.status == Uniqueness.not_done:
            different = decision.systems.bit_count() > 1
            decision.status = Uniqueness.undetermined if different else Uniqueness.unknown
            decision.reason = Undecided.none if different else reason

    def _find_fewest(self) -> None:
        decision = self.decisions[Known.fewest]
        try:
            self.least = fewest(self.puzzle, self.budget.seconds, self.puzzle.truth)
        except OutOfBudget:
            self._leave(decision, Undecided.seconds)
            return
        if self.least is None:
            decision.status = Uniqueness.inadmissible

    def _by_chance(self, policy: Known, policies: tuple[Known, ...], times: int) -> None:
        """Try explanations at random until two have different systems: cheap, no proof."""
        decision = self.decisions[policy]
        for turn in range(times):
            if decision.systems.bit_count() > 1:
                return
            if turn % 2 and self.levels is not None and (self.puzzle.atom < 0).any():
                self.consider(permuted(self.levels, self.puzzle.truth, self.rng), policies)
            else:
                counts = self._counts(policy) or {}
                physical = policy == Known.physical
                self.consider(left_over(self.puzzle, counts, physical, self.rng), policies)

    def _answers_by_chance(self, policy: Known, policies: tuple[Known, ...]) -> None:
        """The same with answers of the solver, which is asked for nothing but an explanation."""
        decision = self.decisions[policy]
        self._by_chance(policy, policies, CHANCES)
        try:
            questions = self._questions(policy)
            for _ in range(DRAWS):
                if decision.systems.bit_count() > 1:
                    return
                answer = questions.ask()
                if answer is None:
                    return
                self.consider(answer, policies)
        except OutOfBudget:
            return

    def _counts(self, policy: Known) -> dict[int, int] | None:
        """Atoms by species that a policy asks for."""
        return {Known.any: None, Known.fewest: self.least}.get(policy, self.puzzle.counts)

    def _questions(self, policy: Known) -> Questions:
        """Those of the policy's counts; physical ones are asked under a condition."""
        counts = self._counts(policy)
        key = None if counts is None else tuple(counts.items())
        if key not in self._asked:
            self._asked[key] = Questions(
                self.puzzle, self.symmetries, counts, self.budget.conflicts, self.rng
            )
        questions = self._asked[key]
        questions.assumed = (questions.physical,) if policy == Known.physical else ()
        return questions

    def close(self) -> None:
        """Free the solvers."""
        for questions in self._asked.values():
            questions.close()
        self._asked.clear()

    def _decide(self, policy: Known, decision: Decision, policies: tuple[Known, ...]) -> None:
        puzzle = self.puzzle
        if puzzle.size > self.budget.places:
            raise TooMany
        if policy == Known.fewest and not self.admits(policy, puzzle.truth):
            first = next(iter(decision.labelled.values()), None)
            if first is None:
                first = self._questions(policy).ask()
            if first is None:
                decision.status = Uniqueness.inadmissible
                return
            decision.reference = self.consider(first, policies)
        else:
            first = puzzle.truth
        if decision.systems.bit_count() < 2:
            if not self._several(policy, decision, first):
                decision.status, decision.best = Uniqueness.unique, decision.reference
                return
            self._search(policy, decision, policies)
        if decision.systems.bit_count() > 1:
            decision.status = Uniqueness.undetermined
        self._best(policy, decision, policies)

    def _several(self, policy: Known, decision: Decision, first: np.ndarray) -> bool:
        """Whether there is a second explanation."""
        if decision.seen > 1:
            return True
        # No phantom: counts leave the truth alone.
        if policy in (Known.counts, Known.physical) and not (self.puzzle.atom < 0).any():
            return False
        questions = self._questions(policy)
        return questions.ask(questions.other_than(first)) is not None

    def _search(self, policy: Known, decision: Decision, policies: tuple[Known, ...]) -> None:
        """Look for an explanation of another system than the reference, or prove there is none."""
        for order, axes, wanted in self._against(decision.reference):
            if wanted and self.symmetries.axes(order) < axes:
                continue
            questions = self._questions(policy)
            condition = (questions.has if wanted else questions.lacks)(order, axes)
            if condition is None:
                continue
            if not self._exhausted(decision, questions, condition, policies):
                if decision.systems.bit_count() < 2:
                    decision.status, decision.reason = Uniqueness.unknown, Undecided.limit
                return
        for translations in self.symmetries.finer:
            questions = self._questions(policy)
            condition = questions.moved_by(translations)
            if not self._exhausted(decision, questions, condition, policies):
                if decision.systems.bit_count() < 2:
                    decision.status, decision.reason = Uniqueness.unknown, Undecided.translations
                return
        decision.status = Uniqueness.determined

    def _exhausted(
        self,
        decision: Decision,
        questions: Questions,
        condition: int,
        policies: tuple[Known, ...],
    ) -> bool:
        """Whether all explanations under a condition were labelled, and are of one system."""
        for _ in range(self.budget.limit):
            answer = questions.ask(condition)
            if answer is None:
                return True
            if self.consider(answer, policies) == System.none or decision.systems.bit_count() > 1:
                return False
            questions.not_this(condition, answer)
        return False

    @staticmethod
    def _against(system: System) -> Iterator[tuple[int, int, bool]]:
        """Order of a rotation, about how many axes, and whether it must be there, not be lacking.

        One of them holds of every crystal that is not of this system.
        """
        for other, order, axes in MADE_BY:
            if other == system:
                yield order, axes, False
                return
            yield order, axes, True

    def _best(self, policy: Known, decision: Decision, policies: tuple[Known, ...]) -> None:
        """The highest system of any explanation."""
        if decision.status == Uniqueness.determined:
            decision.best = decision.reference
            return
        if decision.status == Uniqueness.unknown:
            return

        def highest() -> System:
            seen = [system for system in System if decision.systems >> system & 1]
            return max(seen, key=HOLOHEDRY.__getitem__)

        for system, order, axes in sorted(MADE_BY, key=lambda one: -HOLOHEDRY[one[0]]):
            if HOLOHEDRY[system] <= HOLOHEDRY[highest()]:
                break
            if self.symmetries.axes(order) < axes:
                continue
            questions = self._questions(policy)
            condition = questions.has(order, axes)
            if condition is None:
                continue
            for _ in range(self.budget.limit):
                answer = questions.ask(condition)
                if answer is None:
                    break
                self.consider(answer, policies)
                if HOLOHEDRY[highest()] >= HOLOHEDRY[system]:
                    break
                questions.not_this(condition, answer)
            else:
                return
        decision.best = highest()

    # ------------------------------------------------------------------ one at random

    def random(self) -> System:
        """System of one explanation with known counts, drawn at random; none where none is drawn.

        Two views: all equally likely that do not clash. More: an answer of the solver.
        """
        puzzle = self.puzzle
        if not (puzzle.atom < 0).any():
            return self.own
        if self.levels is not None:
            draws = Draws(self.levels, puzzle.counts)
            for _ in range(MANY_DRAWS):
                try:
                    chosen = draws.draw(self.rng)
                except OverflowError:
                    chosen = permuted(self.levels, puzzle.truth, self.rng)
                if puzzle.explains(chosen):
                    return self.system_of(chosen)
        if puzzle.size > self.budget.places:
            return System.none
        try:
            answer = self._questions(Known.counts).ask()
        except OutOfBudget:
            return System.none
        return System.none if answer is None else self.system_of(answer)
