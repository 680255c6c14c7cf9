"""How often paths are probed is learnt from when they were."""

from __future__ import annotations

import numpy as np

from localizer.baselines.cadence import Cadence

PAIR = np.array([0, 0, 1, 1])


class Probes:
    """Four paths, two of each pair, probed in given seconds."""

    def __init__(self) -> None:
        self.cadence = Cadence()
        self.cadence.grow(4)
        self.seen = np.full(4, -1)

    def at(self, second: int, *paths: int) -> None:
        rows = np.array(paths, np.int64)
        self.cadence.observe(second, rows, self.seen)
        self.seen[rows] = second

    def every(self, step_s: int, paths: tuple[int, ...], start: int, times: int) -> int:
        for turn in range(times):
            self.at(start + turn * step_s, *paths)
        return start + times * step_s

    def sparse(self, second: int) -> dict[int, float]:
        rows, round_s = self.cadence.sparse(PAIR, self.seen, second)
        return dict(zip(rows.tolist(), round_s.tolist(), strict=True))


def test_a_path_probed_each_forty_seconds_is_sparse_and_one_probed_each_second_is_not() -> None:
    probes = Probes()
    for second in range(81):
        probes.at(second, *([0] if second % 40 else [0, 2]))
    assert probes.sparse(81).keys() == {2, 3}
    assert probes.cadence.interval_s[2] == 40


def test_the_round_of_a_pair_is_shorter_than_the_interval_of_its_five_tuples() -> None:
    probes = Probes()
    for second in range(0, 161, 20):
        probes.at(second, (second // 20) % 2, 2)
    assert probes.sparse(161) == {0: 20.0, 1: 20.0, 2: 20.0, 3: 20.0}


def test_a_five_tuple_that_was_probed_once_has_the_cadence_of_its_pair() -> None:
    probes = Probes()
    probes.every(30, (2,), 0, 5)
    probes.at(130, 0, 1, 3)
    probes.every(1, (0, 1), 131, 3)
    assert probes.sparse(134).keys() == {2, 3}


def test_a_new_cadence_is_known_after_three_probes() -> None:
    probes = Probes()
    now = probes.every(1, (0,), 0, 20)
    assert probes.sparse(now) == {}
    now = probes.every(25, (0,), now + 25, 3)
    assert 0 in probes.sparse(now)
    now = probes.every(1, (0,), now, 5)
    assert 0 not in probes.sparse(now)


def test_an_outage_is_no_cadence() -> None:
    probes = Probes()
    now = probes.every(1, (0, 1, 2, 3), 0, 60)
    probes.every(1, (0, 1, 2, 3), now + 300, 1)
    assert probes.sparse(now + 300) == {}


def test_a_path_is_live_while_its_next_probe_is_not_overdue() -> None:
    probes = Probes()
    probes.every(180, (0,), 0, 4)
    probes.at(540, 1)
    probes.sparse(541)
    live = probes.cadence.live(probes.seen, 800, 90, 900)
    assert live.tolist() == [True, True, False, False]
    assert not probes.cadence.live(probes.seen, 1100, 90, 900).any()


def test_the_columns_follow_dropped_paths() -> None:
    probes = Probes()
    probes.every(40, (3,), 0, 3)
    probes.cadence.retain(np.array([False, False, True, True]))
    assert probes.cadence.interval_s.tolist() == [0.0, 40.0]
