"""Stages by the ends of their rounds, which a slow replica does not move."""

from __future__ import annotations

import numpy as np
import pytest

from controller.skeleton import profiles
from controller.skeleton.inference import infer
from controller.skeleton.parameters import DEFAULT
from controller.skeleton.series import Throughput
from controller.skeleton.timing import round_ends
from testbed.training.cases import training

PERIOD_S, SECONDS = 20, 400


def rounds(end_s: list[float], busy_s: list[float], seed: int = 0) -> Throughput:
    """Hosts of one rnic that are busy in each round for so long, until so long after its begin."""
    rng = np.random.default_rng(seed)
    begins = np.arange(0, SECONDS, PERIOD_S) + rng.uniform(0, 1, SECONDS // PERIOD_S)
    edge = np.arange(SECONDS + 1.0)
    busy = np.array([
        np.diff(sum(np.clip(edge - (begin + end - length), 0, length) for begin in begins))
        for end, length in zip(end_s, busy_s, strict=True)
    ])  # fmt: skip
    rate = (1e9 * busy).astype(np.float32)
    hosts = np.arange(len(end_s))
    return Throughput(rate, rate.copy(), hosts, np.zeros(len(end_s), np.int64))


def shifts_of(given: Throughput) -> np.ndarray | None:  # type: ignore[type-arg]
    place = profiles.slots(given.host, given.rail)
    return round_ends.host_shifts(given, place, PERIOD_S, DEFAULT)


def test_ends_are_measured_to_a_part_of_a_second_however_long_a_host_was_busy() -> None:
    ends = [12.0, 12.1, 12.7, 12.8, 13.5, 13.6]
    measured = shifts_of(rounds(ends, [6.0, 9.0, 6.0, 9.0, 6.0, 9.0]))
    assert measured is not None
    assert np.ptp(measured - np.array(ends)) < 0.1


def test_hosts_whose_halves_of_the_time_disagree_have_no_shifts() -> None:
    ends = [12.0, 12.5, 13.0, 13.5]
    early, late = rounds(ends, [6.0] * 4), rounds(ends[::-1], [6.0] * 4)
    half = SECONDS // 2
    rate = np.concatenate([early.tx[:, :half], late.tx[:, half:]], axis=1)
    assert shifts_of(early._replace(tx=rate, rx=rate)) is None


def test_a_host_that_only_sends_has_no_ends() -> None:
    given = rounds([12.0, 12.0], [6.0, 6.0])
    given.rx[1] = 0
    place = profiles.slots(given.host, given.rail)
    found = round_ends.ends(given, place, PERIOD_S, DEFAULT)
    assert found[0].max() > 0.9
    assert found[1].max() == 0


@pytest.mark.parametrize(
    ("moe", "impairment", "seed"), [(True, "straggler", 13), (False, "all", 27)]
)
def test_stages_of_two_hosts_are_told_apart_although_one_is_slow(
    moe: bool, impairment: str, seed: int
) -> None:
    made = training(64, moe=moe, impairment=impairment, seed=seed)
    for job in np.unique(made.job):
        own = np.flatnonzero(made.job == job)
        found = infer(Throughput(made.tx, made.rx, made.host, made.rail).rows(own))
        assert not found.declined
        both = set(zip(found.cluster.tolist(), made.position[own].tolist(), strict=True))
        assert len(both) == found.tp_pp == len(np.unique(made.position[own]))
