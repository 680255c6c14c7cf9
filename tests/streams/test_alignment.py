"""What waits, what leaves in which order, and what is done when it must not wait any longer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from schemas import topics
from schemas.wire import window_chunks
from streams.kafka.messages import OutMessage
from streams.merge.consumer_progress import ConsumerProgress
from streams.merge.output_merger import EventTimeMerge, OutputMerger, Stage
from streams.merge.stall_detector import PATIENCE_S

pytestmark = pytest.mark.anyio
NAME = topics.PINGS.name
P, Q = (NAME, 0), (NAME, 1)


def said(*ends: int, size: int = 1) -> list[OutMessage]:
    return [
        OutMessage(
            topics.WINDOWS.name,
            b"f",
            b"x" * size,
            window_chunks.Header("pane", "f", e - 1, e).to_kafka(),
        )
        for e in ends
    ]


def ends(messages: Sequence[OutMessage]) -> list[int]:
    return [int(dict(each.headers)["end_s"]) for each in messages]


def nothing() -> None:
    """Nobody waits for it to be done."""


def test_what_may_not_leave_yet_waits_and_is_weighed() -> None:
    aligner = EventTimeMerge()
    aligner.put(P, said(1, 2, 5, size=10), nothing)
    aligner.put(Q, said(2, 3, size=10), nothing)
    assert ends(aligner.release(2).messages) == [1, 2, 2]
    assert aligner.bytes == 20
    assert ends(aligner.release(None).messages) == [3, 5]
    assert aligner.bytes == 0


def test_beyond_its_bound_the_oldest_leaves_in_order_of_time_and_is_counted() -> None:
    aligner, done = EventTimeMerge(most_bytes=25), list[str]()
    aligner.put(P, said(10, 12, 14, size=10), lambda: done.append("p"))
    aligner.put(Q, said(11, 13, size=10), lambda: done.append("q"))
    released = aligner.release(5)
    assert ends(released.messages) == [10, 11, 12]
    assert released.early == 3
    assert aligner.bytes == 20
    assert done == [], "what is still to be said must not be acknowledged"
    assert aligner.release(20).early == 0, "that was its time"


def test_what_is_forgotten_weighs_nothing() -> None:
    aligner = EventTimeMerge()
    aligner.put(P, said(1, size=10), nothing)
    aligner.put(Q, said(1, size=7), nothing)
    aligner.forget(NAME, 0)
    assert aligner.bytes == 7
    aligner.forget(NAME)
    assert aligner.bytes == 0


class House:
    """A confluence of one topic; P has come to 10 s and stays there, with more to read."""

    def __init__(self, most_bytes: int = 10**6) -> None:
        self.now_s, self.end_s = 0.0, 100
        self.sent: list[OutMessage] = []
        self.left_out: list[int] = []
        self.ends = {0: 10, 1: 0}
        self.reading = ConsumerProgress(highwater=self.ends.get)
        self.fronts = {0: 10, 1: 10}
        self.confluence = OutputMerger(self, lambda: self.now_s, most_bytes)
        self.confluence.join(
            Stage(NAME, self.reading, self.fronts.__getitem__, self.left_out.append)
        )
        self.reading.take(0, 4)

    async def send(self, messages: Sequence[OutMessage]) -> None:
        self.sent += messages

    async def q_says(self, after_s: float) -> None:
        """Another second of Q."""
        self.now_s += after_s
        self.end_s += 1
        self.reading.take(1, self.end_s)
        self.confluence.put(Q, said(self.end_s), nothing)
        await self.confluence.publish()


async def test_a_worker_that_is_slow_waits_for_everybody() -> None:
    house = House()
    for _ in range(5):
        await house.q_says(after_s=120)
    assert house.sent == []
    assert house.confluence.waiting_bytes == 5


async def test_only_the_stuck_partition_is_left_out_and_the_rest_stays_in_order() -> None:
    house = House()
    house.ends[2], house.fronts[2] = 10**6, 105
    house.reading.take(2, 0)  # far from its end, and it comes
    for at in range(100):
        house.reading.take(2, 1 + at)
        await house.q_says(after_s=0.1)
    assert house.left_out == [0]
    assert house.confluence.stuck == 1
    assert ends(house.sent) == [101, 102, 103, 104, 105], "2 is waited for"
    assert house.confluence.early == 0

    house.reading.take(0, 5)
    house.fronts[2] = 110
    await house.q_says(after_s=0.1)
    assert ends(house.sent)[5:] == [], "0 has come again, and is at 10 s"
    house.fronts[0] = 108
    await house.q_says(after_s=0.1)
    assert ends(house.sent)[5:] == [106, 107, 108]


async def test_time_alone_releases_nothing() -> None:
    house = House()
    await house.q_says(after_s=0)
    for _ in range(100):
        house.now_s += PATIENCE_S
        await house.confluence.publish()
    assert house.sent == []


async def test_what_waits_is_bounded_while_nobody_is_given_up_on() -> None:
    house = House(most_bytes=20)
    for _ in range(50):
        await house.q_says(after_s=0.01)
    assert house.confluence.waiting_bytes == 20
    assert ends(house.sent) == list(range(101, 131))
    assert house.confluence.early == 30
    assert house.left_out == []
