"""Where reading goes on: behind what is settled, never behind what waits."""

from __future__ import annotations

from notifier.feed.in_flight import InFlight
from notifier.feed.topic_reader import Place


def at(offset: int, partition: int = 0) -> Place:
    return Place("skh.incidents", partition, offset)


def test_reading_goes_on_behind_versions_without_notifications() -> None:
    flight = InFlight({0: 5})
    assert flight.positions == {0: 5}
    flight.read(at(5), 0)
    assert flight.positions == {0: 6}


def test_reading_goes_on_at_the_first_version_with_a_notification_that_waits() -> None:
    flight = InFlight({0: 0})
    flight.read(at(0), 2)
    flight.read(at(1), 0)
    flight.read(at(2), 1)
    flight.settled(at(2))
    flight.settled(at(0))
    assert flight.positions == {0: 0}
    flight.settled(at(0))
    assert flight.positions == {0: 3}


def test_partitions_do_not_wait_for_each_other() -> None:
    flight = InFlight({0: 0, 1: 7})
    flight.read(at(0), 1)
    flight.read(at(7, partition=1), 0)
    assert flight.positions == {0: 0, 1: 8}
