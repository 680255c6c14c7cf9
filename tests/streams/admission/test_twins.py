"""Two agents in one name are seen; a restart, a sidecar and a late message are none."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import pytest

from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from streams.admission.parameters import DEFAULT
from streams.admission.twins import Twins

START = 1_700_000_000 * 10**9


def beat(instance: str, second: float, node_sn: str = "host-1", scope: str = "") -> Heartbeat:
    return Heartbeat(
        node_sn, START + int(second * 1e9), fabric="f1", instance=instance, scope=scope
    )


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def twins(clock: Clock) -> Twins:
    return Twins(clock)


def feed(twins: Twins, beats: Iterable[Heartbeat]) -> None:
    for each in beats:
        twins.observe(heartbeat.decode(heartbeat.encode(each)))


def test_two_instances_that_take_turns_are_logged_once_with_host_and_instances(
    twins: Twins, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for second in range(300):
            clock.now = second
            feed(twins, [beat("aaaa", second), beat("bbbb", second + 0.4)])
            assert twins.count == (2 * second + 1 >= DEFAULT.twins.returns + 1), "within seconds"
    assert [record.getMessage() for record in caplog.records] == [
        "two agents send heartbeats as host-1 of fabric f1: instances bbbb and aaaa; "
        "is the machine a clone, or an old agent still running?"
    ]
    clock.now += DEFAULT.twins.recent_s + 1
    assert twins.count == 0, "one of them has been stopped"


def test_three_clones_are_detected(twins: Twins) -> None:
    feed(twins, [beat(name, second) for second in range(5) for name in "abc"])
    assert twins.count == 1


def test_twins_whose_heartbeats_come_in_batches_are_detected(twins: Twins) -> None:
    for second in range(0, 50, 10):
        feed(twins, [beat("a", second + n) for n in range(10)])
        feed(twins, [beat("b", second + n) for n in range(10)])
    assert twins.count == 1


def test_clones_whose_clocks_differ_by_seconds_are_detected(twins: Twins) -> None:
    for second in range(20):
        feed(twins, [beat("a", second), beat("b", second + 4.0)])
    assert twins.count == 1


def test_an_agent_that_is_restarted_over_and_over_has_no_twin(twins: Twins) -> None:
    for second in range(1000):
        feed(twins, [beat(f"start-{second}", second), beat(f"start-{second}", second + 0.5)])
    assert twins.count == 0


def test_late_messages_of_an_agent_that_has_ended_are_no_twin(twins: Twins) -> None:
    feed(twins, [beat("old", second) for second in range(10)])
    for late in range(9):
        feed(twins, [beat("new", 20 + late), beat("old", 10 + late)])
    assert twins.count == 0


def test_a_sidecar_in_its_hosts_name_is_no_twin(twins: Twins) -> None:
    for second in range(20):
        feed(
            twins,
            [
                beat("a", second, scope="underlay"),
                beat("b", second, scope="overlay/box-1"),
                beat("c", second, scope="overlay/box-2"),
            ],
        )
    assert twins.count == 0


def test_heartbeats_without_an_instance_are_ignored(twins: Twins) -> None:
    feed(twins, [beat("", second) for second in range(20)])
    assert twins.count == 0


def test_names_that_senders_invent_do_not_grow_the_memory(twins: Twins) -> None:
    for number in range(70_000):
        twins.observe(beat("a", 1, node_sn=f"host-{number}"))
    assert len(twins) == 65_536


def test_a_name_that_is_not_heard_any_more_is_forgotten(twins: Twins, clock: Clock) -> None:
    twins.observe(beat("a", 0, node_sn="h1"))
    clock.now += DEFAULT.twins.kept_s
    twins.observe(beat("b", 1, node_sn="h2"))
    assert len(twins) == 2
    clock.now += 1
    twins.observe(beat("b", 2, node_sn="h2"))
    assert len(twins) == 1
