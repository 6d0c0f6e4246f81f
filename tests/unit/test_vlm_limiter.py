"""Concurrency that follows the endpoint, and budgets per minute; a clock by hand, no seconds."""

import asyncio
import heapq
import random

import pytest

from rc_hpc.vlm.limiter import Budget, Limiter


class Clock:
    now = 0.0

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.now += seconds


def test_a_budget_spreads_requests_over_the_minute():
    clock = Clock()
    budget = Budget(60, clock)
    assert [budget.take() for _ in range(4)] == [0, 1, 2, 3]
    clock.now = 100
    assert [budget.take() for _ in range(3)] == [0, 1, 2]  # an idle time is not saved up


def test_a_budget_may_send_a_second_at_once():
    budget = Budget(600, Clock())
    waits = [budget.take() for _ in range(20)]
    assert waits[:10] == pytest.approx([0] * 10) and waits[10:] == pytest.approx(
        [0.1 * n for n in range(1, 11)]
    )


def test_a_budget_is_corrected_by_what_was_used():
    clock = Clock()
    budget = Budget(6000, clock)
    assert (
        budget.take(500) == 0
    )  # a request larger than a second's worth goes at once, the next one waits for it
    budget.correct(-100)
    assert budget.take(100) == pytest.approx(3.01)
    budget.correct(400)
    assert budget.take(100) == pytest.approx(8.01)
    assert Budget(None).take(1e9) == 0


def rounds(limiter, clock, n, fails):
    """`n` rounds in which all slots are taken, then all come back.

    `fails(slots)` attempts of each meet a 429.
    """

    async def go():
        seen = []
        for _ in range(n):
            slots = int(limiter.limit)
            given = [await limiter.enter(0, clock.sleep) for _ in range(slots)]
            assert limiter.in_flight == slots
            clock.now += 1
            bad = fails(slots)
            for number, at in enumerate(given):
                limiter.complained(at, None) if number < bad else limiter.succeeded()
                await limiter.leave()
            seen.append(slots)
        return seen

    return asyncio.run(go())


def test_slots_double_until_the_first_complaint_then_are_found_again():
    clock = Clock()
    limiter = Limiter(1000, 4, clock=clock)
    seen = rounds(limiter, clock, 5, lambda slots: 0)
    assert seen == [4, 8, 16, 32, 64]
    limiter.complained(clock.now, None)
    before = limiter.limit
    assert before == pytest.approx(128 * Limiter.CUT)
    seen = rounds(limiter, clock, 9, lambda slots: 0)
    assert seen == sorted(seen) and 0.97 * 128 < seen[3] <= 129 and max(seen[:5]) < 1.02 * 128
    assert seen[8] > 1.5 * 128


def replies_per_slot(slots, workers, replies, refuse, seed=0):
    """Share of an endpoint's rate, slots / latency, that workers under a limiter get of it.

    A refused attempt is answered at once and tried again after the client's first pause, and the
    share of attempts that are refused.
    """
    luck, clock = random.Random(seed), Clock()
    limiter = Limiter(workers, clock=clock)
    ready, busy, done, refused = [0.0] * workers, [], 0, 0
    waiting: list[float] = []
    while done < replies:
        while ready and ready[0] <= clock.now and limiter.in_flight < int(limiter.limit):
            heapq.heappop(ready)
            limiter.in_flight += 1
            if len(busy) < slots:
                heapq.heappush(busy, (clock.now + luck.uniform(0.4, 0.6), clock.now))
            elif refuse:
                refused += 1
                limiter.complained(clock.now, None)
                limiter.in_flight -= 1
                heapq.heappush(ready, clock.now + luck.uniform(0.25, 0.5))
            else:
                waiting.append(clock.now)
        times = [busy[0][0]] if busy else []
        if ready and limiter.in_flight < int(limiter.limit):
            times.append(ready[0])
        clock.now = max(clock.now, min(times))
        while busy and busy[0][0] <= clock.now:
            heapq.heappop(busy)
            limiter.in_flight -= 1
            limiter.succeeded()
            done += 1
            heapq.heappush(ready, clock.now)
            if waiting:
                heapq.heappush(busy, (clock.now + luck.uniform(0.4, 0.6), waiting.pop(0)))
    return replies / clock.now / (slots / 0.5), refused / (replies + refused)


@pytest.mark.parametrize(("slots", "workers"), [(16, 64), (64, 128), (100, 128), (5, 64)])
def test_the_rate_of_the_endpoint_is_found_again(slots, workers):
    share, _ = replies_per_slot(slots, workers, 200 * slots, refuse=False)
    assert share > 0.95
    share, refused = replies_per_slot(slots, workers, 200 * slots, refuse=True)
    assert share > 0.9 and refused < 0.2


def test_one_round_is_cut_once():
    clock = Clock()
    limiter = Limiter(64, 64, clock=clock)
    rounds(limiter, clock, 1, lambda slots: 20)
    assert limiter.cuts == 1 and 64 * Limiter.CUT < limiter.limit < 64


def test_slots_stay_between_one_and_the_most():
    clock = Clock()
    limiter = Limiter(64, 64, clock=clock)
    rounds(limiter, clock, 60, lambda slots: slots)
    assert limiter.limit == 1
    limiter = Limiter(10, 8, clock=clock)
    assert max(rounds(limiter, clock, 10, lambda slots: 0)) == 10


def test_the_endpoint_settles_near_what_it_bears():
    clock = Clock()
    limiter = Limiter(500, clock=clock)
    seen = rounds(limiter, clock, 200, lambda slots: max(0, slots - 40))
    late = seen[100:]
    assert 36 <= sum(min(slots, 40) for slots in late) / 100 <= 40 and max(late) <= 42


def test_nothing_is_sent_while_the_endpoint_asks_for_quiet():
    clock = Clock()
    limiter = Limiter(4, 4, clock=clock)

    async def go():
        first = await limiter.enter(0, clock.sleep)
        limiter.complained(first, 7.0)
        limiter.complained(first, 3.0)
        await limiter.leave()
        return await limiter.enter(0, clock.sleep)

    assert asyncio.run(go()) == pytest.approx(7.0)


def test_a_slot_comes_back_when_waiting_is_given_up():
    clock = Clock()
    limiter = Limiter(2, 2, requests=Budget(1, clock), clock=clock)

    async def no(_):
        raise TimeoutError

    async def go():
        await limiter.enter(0, clock.sleep)
        with pytest.raises(TimeoutError):
            await limiter.enter(0, no)
        return limiter.in_flight

    assert asyncio.run(go()) == 1
