"""The schedule: every flow once per interval, spread, without drift."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from random import Random

import pytest
from builders.agents.virtual_loop import VirtualLoop
from builders.agents.waiting import Until

from probers.net.five_tuple import FiveTuple
from probers.probing.schedule import Schedule
from probers.process.loop import Loop

SECOND = 10**9
FLOWS = [FiveTuple(("10.0.0.1", 61100 + n), ("10.0.0.2", 65300)) for n in range(20)]


@pytest.fixture
def virtual() -> Iterator[VirtualLoop]:
    made = VirtualLoop()
    yield made
    made.close()


class Turns:
    """A schedule in virtual time, and when it fired each flow [s since the begin]."""

    def __init__(self, virtual: VirtualLoop) -> None:
        self.loop, self._begin_ns = virtual, virtual.now_ns
        self.of: defaultdict[FiveTuple, list[float]] = defaultdict(list)
        self.schedule = Schedule(virtual, self._fire, Random(1), virtual.now)

    def _fire(self, flow: FiveTuple) -> None:
        self.of[flow].append((self.loop.now_ns - self._begin_ns) / SECOND)


def test_every_flow_has_its_turn_once_per_interval_without_drift(virtual: VirtualLoop) -> None:
    turns = Turns(virtual)
    turns.schedule.replace(FLOWS, 0.2)
    virtual.advance(200 * SECOND)
    assert set(turns.of) == set(FLOWS)
    for times in turns.of.values():
        assert 999 <= len(times) <= 1000
        phases = [time - turn * 0.2 for turn, time in enumerate(times)]
        assert max(phases) - min(phases) <= 0.02 + 0.05, "late by jitter and grid only"
    firsts = sorted(times[0] for times in turns.of.values())
    assert firsts[-1] - firsts[0] > 0.1, "spread over the interval"


def test_turns_missed_while_the_process_was_stopped_are_skipped(virtual: VirtualLoop) -> None:
    turns = Turns(virtual)
    turns.schedule.replace(FLOWS, 1.0)
    virtual.advance(10 * SECOND)
    virtual.now_ns += 60 * SECOND
    virtual.advance(10 * SECOND)
    for times in turns.of.values():
        assert sum(10 < time < 70 for time in times) == 0
        assert 9 <= sum(time >= 70 for time in times) <= 11


def test_a_replaced_schedule_fires_nothing_of_the_old_one(loop: Loop, run_until: Until) -> None:
    fired: list[FiveTuple] = []
    schedule = Schedule(loop, fired.append, Random(1))
    schedule.replace(FLOWS[:10], 0.05)
    schedule.replace(FLOWS[10:], 0.05)
    run_until(lambda: len(fired) > 30)
    assert set(fired) == set(FLOWS[10:])


def test_an_empty_schedule_fires_nothing(virtual: VirtualLoop) -> None:
    turns = Turns(virtual)
    turns.schedule.replace([], 1.0)
    virtual.advance(10 * SECOND)
    assert not turns.of


def fail(what: str = "injected") -> None:
    raise RuntimeError(what)


@pytest.fixture
def errors() -> list[Exception]:
    return []


@pytest.fixture
def loop(errors: list[Exception]) -> Iterator[Loop]:
    made = Loop(errors.append)
    yield made
    made.close()


def test_a_flow_whose_probe_fails_has_its_next_turn_and_so_do_the_others(
    loop: Loop, run_until: Until
) -> None:
    fired: list[FiveTuple] = []

    def fire(flow: FiveTuple) -> None:
        fired.append(flow)
        if flow == FLOWS[2] and loop.errors < 3:
            fail()

    Schedule(loop, fire, Random(1)).replace(FLOWS, 0.05)
    run_until(lambda: all(fired.count(flow) >= 5 for flow in FLOWS))
    assert loop.errors == 3


def test_flows_that_stay_retain_their_turns_however_often_the_list_changes(
    virtual: VirtualLoop,
) -> None:
    turns = Turns(virtual)
    for number in range(1000):  # 10 s, a new list every 10 ms
        extra = FiveTuple(("10.0.0.1", 20_000 + number), ("10.0.0.2", 65300))
        turns.schedule.replace([*FLOWS, extra], 0.5)
        virtual.advance(SECOND // 100)
    assert all(19 <= len(turns.of[flow]) <= 20 for flow in FLOWS)


def test_replaced_schedules_leave_no_timers_behind(loop: Loop) -> None:
    schedule = Schedule(loop, lambda _: None, Random(1))
    for turn in range(5000):
        flows = [FiveTuple(("10.0.0.1", 20_000 + turn), ("10.0.0.2", n)) for n in range(1, 21)]
        schedule.replace(flows, 3600.0, 3600.0)
    assert len(schedule) == 20
    assert loop.timers < 100
