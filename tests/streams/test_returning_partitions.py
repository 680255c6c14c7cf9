"""Agents without a spool that were cut off together send what they have kept in memory.

Of two workers the quicker one reads all of its partitions before the other has begun.
"""

from __future__ import annotations

import pytest
from builders.streams.ping_records import START_S, message, ping

from localizer.localizer import Localizer
from schemas.wire import window_chunks
from streams.kafka.messages import InMessage, OutMessage
from streams.windowing.partition import DEFAULT, PartitionWorker

CUT_S, BACK_S = 60, 360  # the agents are cut off, and back
HOSTS = {0: ("h1", "h2", "h3"), 1: ("h4", "h5", "h6")}


def sent(partition: int, first: int, last: int, *, kept: bool) -> list[InMessage]:
    """A message a second; the kept ones arrive within the three seconds after the agents are
    back."""
    out = []
    for second in range(first, last):
        rows = [ping(second + 0.5, src=host) for host in HOSTS[partition]]
        arrival_s = BACK_S + 3 * (second - CUT_S) / (BACK_S - CUT_S) if kept else second + 0.6
        out.append(message(second, rows, arrival_s=arrival_s))
    return out


class Judged:
    """A localizer that reads what two windowers write."""

    def __init__(self) -> None:
        self.workers = {partition: PartitionWorker(partition, 1) for partition in HOSTS}
        self.localizer = Localizer()

    def step(self, partition: int, messages: list[InMessage]) -> None:
        for each in messages:
            self._observe(self.workers[partition].step([each]))

    def tick(self, at: int) -> None:
        for worker in self.workers.values():
            self._observe(worker.tick((START_S + at) * 10**9))

    def _observe(self, out: list[OutMessage]) -> None:
        for each in out:
            header = window_chunks.Header.from_kafka(dict(each.headers))
            batch = None
            if header.kind != "punctuation":
                batch = window_chunks.decode(header.kind, each.value)
            self.localizer.observe(header, batch, each.value if batch is None else b"")

    @property
    def until(self) -> int:
        """Seconds that have been judged."""
        return (self.localizer.judged_s or 0) + 1 - START_S


@pytest.fixture
def cut_off() -> Judged:
    judged = Judged()
    for second in range(CUT_S):
        for partition in HOSTS:
            judged.step(partition, sent(partition, second, second + 1, kept=False))
    for second in range(CUT_S, CUT_S + 20):
        judged.tick(second)
    assert judged.until == CUT_S
    return judged


def test_what_the_slower_worker_reads_is_judged_too(cut_off: Judged) -> None:
    before = cut_off.localizer.repeated
    for partition in HOSTS:  # one after the other
        cut_off.step(partition, sent(partition, CUT_S, BACK_S, kept=True))
        cut_off.step(partition, sent(partition, BACK_S + 3, BACK_S + 10, kept=False))
    assert cut_off.localizer.repeated == before
    assert cut_off.until >= BACK_S + 5


def test_agents_that_stay_away_are_not_waited_for(cut_off: Judged) -> None:
    cut_off.step(0, sent(0, BACK_S, BACK_S + DEFAULT.returning_s - 2, kept=False))
    assert cut_off.until == CUT_S
    later = BACK_S + DEFAULT.returning_s
    cut_off.step(0, sent(0, later, later + 10, kept=False))
    assert cut_off.until >= later


def test_a_slow_cadence_is_no_return() -> None:
    judged = Judged()
    for second in range(0, 600, 60):
        judged.step(0, sent(0, second, second + 1, kept=False))
        for each in range(second + 1, second + 20):
            judged.tick(each)
        assert not second or judged.until == second + 1
