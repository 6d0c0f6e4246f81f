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

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial

import numpy as np

from rc_hpc.core.vocabulary import Known, System, Undecided, Uniqueness
from rc_hpc.kernels.covers import judged
from rc_hpc.oracle.chance import left_over
from rc_hpc.oracle.decision import LOOSER, Budget, Decision
from rc_hpc.oracle.explanations import Puzzle
from rc_hpc.oracle.fewest import fewest
from rc_hpc.oracle.levels import Draws, permuted, sparse
from rc_hpc.oracle.rotations import Metric
from rc_hpc.oracle.solving import OutOfBudget, Questions
from rc_hpc.oracle.symmetries import HOLOHEDRY, MADE_BY, Symmetries, TooMany
from rc_hpc.oracle.systems import Systems

#: Explanations of one policy that are tried by chance: at first, and where no solver ends.
DRAWS, CHANCES = 3, 48
#: Draws of a random explanation before the floor's refusals are given up.
MANY_DRAWS = 8


class Cell:
    """One structure and view subset under all policies.

    Parameters
    ----------
    puzzle, metric
        With the drawn lattice.
    label
        System of a choice of places, by spglib.
    own
        System of the truth's places.
    budget, rng
    """

    def __init__(
        self,
        puzzle: Puzzle,
        metric: Metric | None,
        label: Callable[[np.ndarray], System],
        own: System,
        budget: Budget,
        rng: np.random.Generator,
    ):
        self.puzzle, self.own, self.budget, self.rng = puzzle, own, budget, rng
        self.systems = self._named(label, metric)
        self.decisions = {policy: Decision(reference=own) for policy in Known}
        self.levels = puzzle.levels
        self.least: dict[int, int] | None = None
        self._near: np.ndarray | None = None
        self._asked: dict[tuple[tuple[int, int], ...] | None, Questions] = {}

    @cached_property
    def draws(self) -> Draws:
        """Of the levels of two views."""
        assert self.levels is not None
        return Draws(self.levels, self.puzzle.counts)

    def _named(self, label: Callable[[np.ndarray], System], metric: Metric | None) -> Systems:
        """What names choices of places."""
        assert metric is not None, "a crystal has a lattice"
        return Systems(self.puzzle, Symmetries(self.puzzle, metric), label, self.own)

    def admits(self, policy: Known, chosen: np.ndarray) -> bool:
        """Whether a choice of places is an explanation under a policy."""
        return bool(self._admitting(chosen[None], (policy,))[0])

    def _admitting(self, chosen: np.ndarray, policies: tuple[Known, ...]) -> list[list[Known]]:
        """The policies under which N choices of places, (N, C) bool, are explanations."""
        puzzle = self.puzzle
        explains, physical, numbers = judged(
            chosen, puzzle.points, puzzle.kinds, puzzle.clashes, puzzle.crowded, puzzle.outside
        )
        counted = explains & self._has(numbers, puzzle.counts)
        admitted = {
            Known.any: explains,
            Known.counts: counted,
            Known.physical: counted & physical,
            Known.fewest: explains & self._has(numbers, self.least or {}),
        }
        return [[one for one in policies if admitted[one][n]] for n in range(len(chosen))]

    def _has(self, numbers: np.ndarray, counts: dict[int, int]) -> np.ndarray:
        wanted = [counts.get(kind, -1) for kind in self.puzzle.species.tolist()]
        return np.asarray((numbers == wanted).all(axis=1))

    def meet(self, chosen: np.ndarray, policies: tuple[Known, ...]) -> None:
        """Take note of N choices of places, (N, C) bool, under the policies that admit them.

        Of what operations do not tell a label is asked only where it may be news.
        """
        admitting = self._admitting(chosen, policies)
        rows = {self.puzzle.key(chosen[n]): n for n, names in enumerate(admitting) if names}
        self.systems.look(chosen[list(rows.values())])
        for key, n in rows.items():
            decisions = [self.decisions[policy] for policy in admitting[n]]
            decisions = [one for one in decisions if key not in one.labelled]
            if all(one.systems.bit_count() > 1 for one in decisions):
                system = self.systems.known.get(key, System.none)
            else:
                system = self.systems.of(chosen[n])
            for decision in decisions if system != System.none else ():
                decision.labelled[key] = chosen[n]
                decision.seen += 1
                decision.systems |= 1 << system
                if system != self.own and decision.witness is None:
                    decision.witness = chosen[n]

    def consider(self, chosen: np.ndarray, policies: tuple[Known, ...]) -> System:
        """Take note of one explanation, and name its system."""
        self.meet(chosen[None], policies)
        return self.systems.of(chosen)

    def decide(self, policies: tuple[Known, ...]) -> dict[Known, Decision]:
        """Decide all these policies.

        Chance first, for all of them; then loose ones first: where all explanations of one have
        one system, those of the tighter ones have.
        """
        puzzle = self.puzzle
        if Known.fewest in policies:
            self._find_fewest()
        if Known.physical in policies and not puzzle.is_physical(puzzle.truth):
            self.decisions[Known.physical].status = Uniqueness.inadmissible
        self.meet(np.stack([puzzle.truth, puzzle.every]), policies)
        same = Known.counts in policies and self.least == puzzle.counts
        asked = tuple(
            policy
            for policy in sorted(policies)
            if self.decisions[policy].status == Uniqueness.not_done
            and not (same and policy == Known.fewest)
        )
        self._by_chance(asked, policies, DRAWS)
        for policy in asked:
            self._try(policy, policies)
        # What is left once more, near the truth; a witness of tight ones serves the looser ones.
        self._near = puzzle.truth
        left = (Uniqueness.unknown, Uniqueness.undetermined)
        for policy in reversed(asked):
            decision = self.decisions[policy]
            if decision.status in left and decision.best == System.none:
                self._try(policy, policies)
        if self.decisions[Known.fewest].status == Uniqueness.not_done:
            self.decisions[Known.fewest] = self.decisions[Known.counts]
        return {policy: self.decisions[policy] for policy in policies}

    def _try(self, policy: Known, policies: tuple[Known, ...]) -> None:
        """Decide one policy, as far as the budget allows."""
        decision = self.decisions[policy]
        decision.status, decision.reason = Uniqueness.not_done, Undecided.none
        try:
            self._decide(policy, decision, policies)
        except OutOfBudget:
            self._answers_by_chance(policy, policies)
            self._leave(decision, Undecided.conflicts)
        except TooMany:
            self._answers_by_chance(policy, policies)
            self._leave(decision, Undecided.operations)

    @staticmethod
    def _leave(decision: Decision, reason: Undecided) -> None:
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

    def _by_chance(self, asked: Iterable[Known], policies: tuple[Known, ...], times: int) -> None:
        """Try explanations at random under some policies: cheap, no proof."""
        asked = [one for one in asked if self.decisions[one].systems.bit_count() < 2]
        if not asked:
            return
        puzzle, levels = self.puzzle, self.levels
        least = [self._counts(policy) or {} for policy in asked for _ in range(times)]
        physical = np.repeat(np.array(asked) == Known.physical, times)
        tried = [left_over(puzzle, least, physical, self.rng)]
        if levels is not None and (puzzle.atom < 0).any():
            tried.append(permuted(levels, puzzle.truth, self.rng, times))
            if Known.fewest in asked and not self.admits(Known.fewest, puzzle.truth):
                tried.append(sparse(levels, puzzle.size, self.rng, times))
        self.meet(np.concatenate(tried), policies)

    def _answers_by_chance(self, policy: Known, policies: tuple[Known, ...]) -> None:
        """The same with answers of the solver, which is asked for nothing but an explanation."""
        decision = self.decisions[policy]
        self._by_chance((policy,), policies, CHANCES)
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
                self.puzzle, self.systems.symmetries, counts, self.budget.conflicts, self.rng
            )
        questions = self._asked[key]
        questions.near = self._near
        questions.assumed = (questions.physical,) if policy == Known.physical else ()
        return questions

    def close(self) -> None:
        """Free the solvers."""
        while self._asked:
            self._asked.popitem()[1].close()

    def _decide(self, policy: Known, decision: Decision, policies: tuple[Known, ...]) -> None:
        puzzle = self.puzzle
        if puzzle.size > self.budget.places:
            raise TooMany
        first: np.ndarray | None
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
            looser = {self.decisions[one].status for one in LOOSER[policy]}
            if Uniqueness.unique in looser or not self._several(policy, decision, first):
                decision.status, decision.best = Uniqueness.unique, decision.reference
                return
            if Uniqueness.determined in looser:
                decision.status = Uniqueness.determined
            else:
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
            if wanted and self.systems.symmetries.axes(order) < axes:
                continue
            questions = self._questions(policy)
            if wanted:
                found = questions.has(order, axes)
                if found is None:
                    continue
                condition, ask = found, partial(questions.ask, found)
            else:
                condition = questions.lacks(order, axes, self.puzzle.truth)
                ask = partial(questions.lacking, order, axes)
            if not self._exhausted(decision, questions, condition, ask, policies):
                if decision.systems.bit_count() < 2:
                    decision.status, decision.reason = Uniqueness.unknown, Undecided.limit
                return
        for translations in self.systems.symmetries.finer:
            questions = self._questions(policy)
            condition = questions.moved_by(translations)
            ask = partial(questions.ask, condition)
            if not self._exhausted(decision, questions, condition, ask, policies):
                if decision.systems.bit_count() < 2:
                    decision.status, decision.reason = Uniqueness.unknown, Undecided.translations
                return
        decision.status = Uniqueness.determined

    def _exhausted(
        self,
        decision: Decision,
        questions: Questions,
        condition: int,
        ask: Callable[[], np.ndarray | None],
        policies: tuple[Known, ...],
    ) -> bool:
        """Whether all explanations under a condition were labelled, and are of one system."""
        for _ in range(self.budget.limit):
            answer = ask()
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
            if self.systems.symmetries.axes(order) < axes:
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

    def random(self) -> System:
        """System of one explanation with known counts, drawn at random; none where none is drawn.

        Two views: all equally likely that do not clash. More: an answer of the solver.
        """
        puzzle = self.puzzle
        if not (puzzle.atom < 0).any():
            return self.own
        if self.levels is not None:
            for _ in range(MANY_DRAWS):
                try:
                    chosen = self.draws.draw(self.rng)
                except OverflowError:
                    chosen = permuted(self.levels, puzzle.truth, self.rng, 1)[0]
                if puzzle.explains(chosen):
                    return self.systems.of(chosen)
        if puzzle.size > self.budget.places:
            return System.none
        try:
            answer = self._questions(Known.counts).ask()
        except OutOfBudget:
            return System.none
        return System.none if answer is None else self.systems.of(answer)
