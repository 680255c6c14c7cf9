"""Who is stuck, and who is merely late with everybody else."""

from __future__ import annotations

from streams.merge.stall_detector import PATIENCE_S, STEP_S, Key, PartitionProgress, StallDetector

P: Key = ("t", 0)
Q: Key = ("t", 1)
LOOK_S = 0.1  # a worker that keeps up


class Worker:
    """Two partitions on a clock of their own; P has ten messages more than it has said."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.patience = StallDetector()
        self.standings = {
            P: PartitionProgress(5, 15, True, 0),
            Q: PartitionProgress(100, 100, False, 50),
        }
        self.look()

    def look(self, after_s: float = 0.0) -> list[Key]:
        self.now_s += after_s
        return self.patience.look(self.now_s, self.standings)

    def comes(self, key: Key, messages: int = 1, *, more: int = 0) -> None:
        """The broker has ``more`` of the partition than what has come now."""
        at = self.standings[key]
        position = at.position + messages
        self.standings[key] = PartitionProgress(
            position, max(at.end, position + more), more > 0, at.front_s
        )

    def without_p(self, seconds: float, every_s: float = LOOK_S) -> list[Key]:
        """Q comes anew at every look."""
        found = []
        for _ in range(round(seconds / every_s)):
            self.comes(Q)
            found += self.look(every_s)
        return found


def test_a_partition_that_does_not_come_while_others_do_is_stuck_and_said_to_be_once() -> None:
    worker = Worker()
    assert worker.without_p(PATIENCE_S - 2 * LOOK_S) == []
    assert worker.without_p(10) == [P]
    assert worker.patience.stuck == {P}


def test_it_is_waited_for_again_when_it_comes() -> None:
    worker = Worker()
    worker.without_p(10)
    worker.comes(P, more=9)
    assert worker.look(LOOK_S) == []
    assert worker.patience.stuck == set()
    assert worker.without_p(PATIENCE_S - 2 * LOOK_S) == [], "with new patience"
    assert worker.without_p(1) == [P]


def test_a_worker_that_gets_no_time_gives_up_on_nobody() -> None:
    worker = Worker()
    for _ in range(1000):
        assert worker.look(60) == [], "nobody comes"


def test_a_long_pause_counts_as_one_look() -> None:
    worker = Worker()
    worker.comes(Q)
    assert worker.look(3600) == []
    assert worker.without_p(PATIENCE_S - STEP_S - 2 * LOOK_S) == []
    assert worker.without_p(1) == [P]


def test_a_slow_worker_looks_as_often_as_patience_has_steps() -> None:
    worker = Worker()
    slow_s = 30.0
    assert worker.without_p((PATIENCE_S / STEP_S - 1) * slow_s, slow_s) == []
    assert worker.without_p(2 * slow_s, slow_s) == [P]


def test_a_burst_does_not_use_patience_up() -> None:
    worker = Worker()
    for _ in range(10_000):
        worker.comes(Q)
        assert worker.look(0.0001) == []
        if worker.now_s > PATIENCE_S / 2:
            break


def test_a_backlog_that_is_read_one_partition_after_another_is_no_reason() -> None:
    worker = Worker()
    worker.standings[Q] = PartitionProgress(0, 100_000, True, 50)
    worker.patience = StallDetector()
    worker.look()
    for _ in range(999):
        worker.comes(Q, 100, more=1)
        assert worker.look(LOOK_S) == [], "what comes is older than what is missing may be"
    worker.comes(Q, 100)
    assert worker.without_p(10) == [P], "what comes now is newer"


def test_a_partition_that_trickles_is_not_stuck() -> None:
    worker = Worker()
    for _ in range(8):
        assert worker.without_p(PATIENCE_S - 1) == []
        worker.comes(P, more=1)


def test_who_has_nothing_more_to_read_is_never_stuck() -> None:
    worker = Worker()
    worker.standings[P] = PartitionProgress(15, 15, False, 0)
    assert worker.without_p(60) == []


def test_who_is_stuck_alone_is_waited_for() -> None:
    worker = Worker()
    worker.standings = {P: worker.standings[P]}
    assert all(worker.look(10) == [] for _ in range(100))


def test_both_can_be_stuck_while_a_third_comes() -> None:
    worker, third = Worker(), ("heartbeats", 0)
    worker.standings = {
        P: PartitionProgress(5, 15, True, 0), Q: PartitionProgress(7, 15, True, 0),
        third: PartitionProgress(1, 1, False, 9),
    }  # fmt: skip
    found = []
    for _ in range(100):
        worker.comes(third)
        found += worker.look(LOOK_S)
    assert found == [P, Q]


def test_who_is_taken_away_is_forgotten() -> None:
    worker = Worker()
    worker.without_p(10)
    del worker.standings[P]
    worker.look(LOOK_S)
    assert worker.patience.stuck == set()
