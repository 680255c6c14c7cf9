"""The brokers' time by the time stamps of messages, whatever the worker's clock says."""

from __future__ import annotations

from streams.merge.broker_clock import BrokerClock
from streams.merge.parameters import INGEST

SECOND = 10**9
OWN_NS = 5_000 * SECOND  # wrong


class Time:
    """Elapsed time, which the test moves."""

    def __init__(self) -> None:
        self.now_ns = 70 * SECOND
        self.clock = BrokerClock(lambda: OWN_NS, lambda: self.now_ns)

    def read(self, stored_s: float, after_s: float = 1.0) -> None:
        self.now_ns += int(after_s * SECOND)
        self.clock.observe(int(stored_s * SECOND))

    @property
    def brokers_s(self) -> float:
        return self.clock.now_ns() / SECOND


def test_before_the_first_message_it_is_the_own_clock() -> None:
    assert Time().clock.now_ns() == OWN_NS


def test_it_is_the_newest_time_stamp_and_what_has_passed_since() -> None:
    time = Time()
    time.read(1000.0)
    time.read(1000.2)
    assert time.brokers_s == 1001.0, "the second message had waited in the broker"
    time.now_ns += 30 * SECOND
    assert time.brokers_s == 1031.0


def test_old_messages_set_it_back_no_sooner_than_after_minutes_without_newer_ones() -> None:
    time = Time()
    time.read(1000.0)
    time.read(400.0, after_s=INGEST.clock_s)
    assert time.brokers_s == 1000.0 + INGEST.clock_s
    time.read(1000.0, after_s=INGEST.clock_s)
    assert time.brokers_s == 1000.0, "the broker's clock was set back"
