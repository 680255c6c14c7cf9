"""Which partitions have stalled, and which are only late with the whole worker."""

from __future__ import annotations

from streams.merge.event_time_merge import Partition
from streams.merge.parameters import MERGE
from streams.merge.stall_detector import PartitionProgress, StallDetector

P: Partition = ("t", 0)
Q: Partition = ("t", 1)
UPDATE_S = 0.1  # a worker that keeps up


class Worker:
    """Two partitions on a clock of their own; P has ten messages that have not come."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.detector = StallDetector()
        self.progress = {
            P: PartitionProgress(5, 15, True, 0),
            Q: PartitionProgress(100, 100, False, 50),
        }
        self.update()

    def update(self, after_s: float = 0.0) -> list[Partition]:
        self.now_s += after_s
        return self.detector.update(self.now_s, self.progress)

    def advance(self, key: Partition, messages: int = 1, *, more: int = 0) -> None:
        """The broker has ``more`` of the partition than what has come now."""
        known = self.progress[key]
        position = known.position + messages
        self.progress[key] = PartitionProgress(
            position, max(known.end, position + more), more > 0, known.event_time_s
        )

    def without_p(self, seconds: float, every_s: float = UPDATE_S) -> list[Partition]:
        """Q advances at every update."""
        found = []
        for _ in range(round(seconds / every_s)):
            self.advance(Q)
            found += self.update(every_s)
        return found


def test_a_partition_that_does_not_advance_while_others_do_is_reported_stalled_once() -> None:
    worker = Worker()
    assert worker.without_p(MERGE.stall_s - 2 * UPDATE_S) == []
    assert worker.without_p(10) == [P]
    assert worker.detector.stalled == {P}


def test_a_stalled_partition_is_waited_for_again_when_it_advances() -> None:
    worker = Worker()
    worker.without_p(10)
    worker.advance(P, more=9)
    assert worker.update(UPDATE_S) == []
    assert worker.detector.stalled == set()
    assert worker.without_p(MERGE.stall_s - 2 * UPDATE_S) == [], "its time begins anew"
    assert worker.without_p(1) == [P]


def test_no_partition_stalls_while_the_worker_gets_no_time() -> None:
    worker = Worker()
    for _ in range(1000):
        assert worker.update(60) == [], "no partition advances"


def test_a_long_pause_of_the_worker_counts_as_one_step() -> None:
    worker = Worker()
    worker.advance(Q)
    assert worker.update(3600) == []
    assert worker.without_p(MERGE.stall_s - MERGE.step_s - 2 * UPDATE_S) == []
    assert worker.without_p(1) == [P]


def test_a_slow_worker_updates_as_often_as_the_stall_time_has_steps() -> None:
    worker = Worker()
    slow_s = 30.0
    assert worker.without_p((MERGE.stall_s / MERGE.step_s - 1) * slow_s, slow_s) == []
    assert worker.without_p(2 * slow_s, slow_s) == [P]


def test_a_burst_of_updates_stalls_no_partition() -> None:
    worker = Worker()
    for _ in range(10_000):
        worker.advance(Q)
        assert worker.update(0.0001) == []
        if worker.now_s > MERGE.stall_s / 2:
            break


def test_a_backlog_that_is_read_one_partition_after_another_stalls_none() -> None:
    worker = Worker()
    worker.progress[Q] = PartitionProgress(0, 100_000, True, 50)
    worker.detector = StallDetector()
    worker.update()
    for _ in range(999):
        worker.advance(Q, 100, more=1)
        assert worker.update(UPDATE_S) == [], "older than the missing messages may be"
    worker.advance(Q, 100)
    assert worker.without_p(10) == [P], "newer than the missing messages"


def test_a_partition_that_advances_slowly_has_not_stalled() -> None:
    worker = Worker()
    for _ in range(8):
        assert worker.without_p(MERGE.stall_s - 1) == []
        worker.advance(P, more=1)


def test_a_partition_that_is_read_to_its_end_never_stalls() -> None:
    worker = Worker()
    worker.progress[P] = PartitionProgress(15, 15, False, 0)
    assert worker.without_p(60) == []


def test_the_only_partition_of_a_worker_never_stalls() -> None:
    worker = Worker()
    worker.progress = {P: worker.progress[P]}
    assert all(worker.update(10) == [] for _ in range(100))


def test_two_partitions_can_stall_while_a_third_advances() -> None:
    worker, third = Worker(), ("heartbeats", 0)
    worker.progress = {
        P: PartitionProgress(5, 15, True, 0), Q: PartitionProgress(7, 15, True, 0),
        third: PartitionProgress(1, 1, False, 9),
    }  # fmt: skip
    found = []
    for _ in range(100):
        worker.advance(third)
        found += worker.update(UPDATE_S)
    assert found == [P, Q]


def test_a_revoked_partition_is_not_stalled() -> None:
    worker = Worker()
    worker.without_p(10)
    del worker.progress[P]
    worker.update(UPDATE_S)
    assert worker.detector.stalled == set()
