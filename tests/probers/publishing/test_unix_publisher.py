"""The unix publisher: buffers while the relay is away, counts what it drops."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.agents.relay_messages import StoredMessages, connected
from builders.agents.waiting import Until

from probers.publishing.publisher import PublishError
from probers.publishing.relay import Relay
from probers.publishing.unix import UnixPublisher
from schemas import topics

PINGS = topics.PINGS.name


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "relay.sock"


def test_a_publisher_reconnects_after_the_relays_restart(path: Path, eventually: Until) -> None:
    stored = StoredMessages()
    with Relay(path, stored):
        publisher = connected(path)
        publisher.publish(PINGS, "x", b"before", topics.ARROW)
        eventually(lambda: len(stored.messages) == 1)
    with Relay(path, stored):

        def arrived() -> bool:
            # What the kernel took for the dead relay is gone; the next one must get through.
            publisher.publish(PINGS, "x", b"after", topics.ARROW)
            return any(payload == b"after" for *_, payload in stored.messages)

        eventually(arrived)
        publisher.close(60.0)


def test_overflow_while_the_relay_is_away_is_counted_and_the_newest_are_stored(
    path: Path, eventually: Until
) -> None:
    stored = StoredMessages()
    with Relay(path, stored):
        publisher = connected(path, max_bytes=10_000)
    payloads = [b"%04d" % number + b"x" * 996 for number in range(50)]
    for payload in payloads:
        assert publisher.publish(PINGS, "x", payload, topics.ARROW)
    with Relay(path, stored):
        eventually(lambda: any(payload == payloads[-1] for *_, payload in stored.messages))
        assert publisher.close(60.0) == 0
    assert publisher.counts["overflow"] >= 39
    assert publisher.counts["queued"] == 50
    assert publisher.counts["delivered"] + publisher.counts["overflow"] == 50


def test_closing_reports_how_many_messages_were_not_sent(path: Path) -> None:
    with Relay(path, StoredMessages()):
        publisher = connected(path)
    publisher.publish(PINGS, "x", b"1", topics.ARROW)
    publisher.publish(PINGS, "x", b"2", topics.ARROW)
    assert 1 <= publisher.close(0.3) <= 2  # the first write may still meet the dead socket


def test_a_missing_relay_is_an_error_of_one_line(path: Path) -> None:
    with pytest.raises(PublishError, match="is the relay") as why:
        UnixPublisher(str(path)).connect(0.0)
    assert "\n" not in str(why.value)
