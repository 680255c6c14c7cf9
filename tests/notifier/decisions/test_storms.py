"""Storms: few messages one by one, the rest of a window in one."""

from __future__ import annotations

from collections import deque

from builders.schemas.incident_histories import version
from hypothesis import given
from hypothesis import strategies as st

from notifier.decisions.changes import Notification
from notifier.decisions.storms import StormGate, StormLimits

LIMITS = StormLimits(most=3, window_s=30)


def opened(number: int) -> Notification:
    return Notification("opened", version(1, f"incident-{number}"))


def gate() -> StormGate:
    return StormGate(LIMITS, lambda each: each.change == "opened")


def sizes(queue: deque[Notification], at: StormGate, now_s: float) -> list[int]:
    """Sizes of the messages that are sent now."""
    out = []
    while isinstance(found := at.take(queue, now_s), list):
        out.append(len(found))
    return out


def test_up_to_the_limit_each_notification_is_a_message() -> None:
    queue = deque(map(opened, range(3)))
    assert sizes(queue, gate(), 0) == [1, 1, 1]


def test_what_is_more_waits_for_the_end_of_the_window_and_is_one_summary() -> None:
    at, queue = gate(), deque(map(opened, range(20)))
    assert sizes(queue, at, 0) == [1, 1, 1]
    assert at.take(queue, 10) == 20
    queue.append(opened(20))
    assert sizes(queue, at, 30) == [18]


def test_while_a_storm_goes_on_there_is_one_summary_in_a_window() -> None:
    at, queue = gate(), deque(map(opened, range(20)))
    sizes(queue, at, 0)
    sizes(queue, at, 30)
    queue.extend(map(opened, range(30, 40)))
    assert sizes(queue, at, 31) == []
    assert sizes(queue, at, 61) == [10]


def test_after_a_storm_messages_come_one_by_one_again() -> None:
    at, queue = gate(), deque(map(opened, range(20)))
    sizes(queue, at, 0)
    sizes(queue, at, 30)
    queue.append(opened(30))
    assert sizes(queue, at, 100) == [1]


def test_what_no_summary_may_hold_is_sent_at_once_and_not_counted() -> None:
    ends = [Notification("resolved", version(2, str(n), state="resolved")) for n in range(9)]
    queue = deque([*ends, opened(1)])
    assert sizes(queue, gate(), 0) == [1] * 10


@given(st.lists(st.tuples(st.floats(0, 20), st.integers(0, 12)), max_size=30))
def test_nothing_is_lost_and_no_window_has_more_messages_than_allowed(
    arrivals: list[tuple[float, int]],
) -> None:
    """Within any window at most ``most`` messages and a summary."""
    at, queue, now_s, put = gate(), deque[Notification](), 0.0, 0
    sent: list[tuple[float, Notification]] = []
    messages_s: list[float] = []
    for pause_s, count in [*arrivals, (100.0, 0), (100.0, 0)]:
        now_s += pause_s
        queue.extend(map(opened, range(put, put + count)))
        put += count
        while isinstance(found := at.take(queue, now_s), list):
            sent += [(now_s, each) for each in found]
            messages_s.append(now_s)
    assert [each for _, each in sent] == list(map(opened, range(put)))
    for first_s in messages_s:
        within = [each for each in messages_s if first_s <= each < first_s + LIMITS.window_s]
        assert len(within) <= LIMITS.most + 1, messages_s
