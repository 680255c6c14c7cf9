"""The limits of the relay's connections, with times as arguments."""

from __future__ import annotations

import socket
from collections import Counter

from builders.agents.relay_messages import frame

from probers.publishing.frames import FrameReader
from probers.publishing.relay.limits import Connections, Limits, TokenBucket


def test_a_connection_is_late_only_when_one_frame_takes_too_long() -> None:
    clients = Connections(Limits(frame_s=30.0, idle_s=120.0), Counter())
    raw = frame(b"y" * 1000)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader = FrameReader()
        clients.add(ours, reader, 0.0)

        def hear(data: bytes, now: float) -> None:
            clients.received(ours, len(data), len(list(reader.feed(data))), now)

        hear(raw[:500], 0.0)
        for now in range(1, 100):
            hear(raw[500:] + raw[:500], now)
            assert not list(clients.timed_out(now))
        for now in range(100, 129):
            hear(raw[500 + now : 501 + now], now)
            assert not list(clients.timed_out(now))
        assert list(clients.timed_out(129.5)) == [(ours, "slow-frame")]
        clients.remove(ours)
        assert clients.buffered == 0


def test_a_token_bucket_refills_up_to_its_burst_and_returns_the_time_to_wait() -> None:
    allowance = TokenBucket(rate=10.0, burst=20.0, tokens=20.0, updated_s=0.0)
    assert allowance.spend(25.0, 0.0) == 0.5
    assert allowance.spend(0.0, 100.0) == 0.0
    assert allowance.tokens == 20.0
