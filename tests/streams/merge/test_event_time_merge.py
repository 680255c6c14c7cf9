"""Outputs of several partitions in event-time order, within a bound."""

from __future__ import annotations

from builders.streams.chunk_messages import end_seconds, nothing, panes

from schemas import topics
from streams.merge.event_time_merge import EventTimeMerge

NAME = topics.PINGS.name
P, Q = (NAME, 0), (NAME, 1)


def test_messages_beyond_the_common_event_time_stay_buffered() -> None:
    merge = EventTimeMerge()
    merge.add(P, panes(1, 2, 5, size=10), nothing)
    merge.add(Q, panes(2, 3, size=10), nothing)
    assert end_seconds(merge.release(2).messages) == [1, 2, 2]
    assert merge.buffered_bytes == 20
    assert end_seconds(merge.release(None).messages) == [3, 5]
    assert merge.buffered_bytes == 0


def test_a_full_buffer_releases_the_oldest_messages_in_event_time_order_and_counts_them() -> None:
    merge, done = EventTimeMerge(max_bytes=25), list[str]()
    merge.add(P, panes(10, 12, 14, size=10), lambda: done.append("p"))
    merge.add(Q, panes(11, 13, size=10), lambda: done.append("q"))
    released = merge.release(5)
    assert end_seconds(released.messages) == [10, 11, 12]
    assert released.early == 3
    assert merge.buffered_bytes == 20
    assert done == [], "input whose output is buffered must not be acknowledged"
    assert merge.release(20).early == 0, "that was its time"


def test_discarded_messages_leave_the_buffer() -> None:
    merge = EventTimeMerge()
    merge.add(P, panes(1, size=10), nothing)
    merge.add(Q, panes(1, size=7), nothing)
    merge.discard(NAME, 0)
    assert merge.buffered_bytes == 7
    merge.discard(NAME)
    assert merge.buffered_bytes == 0
