"""Fixtures of the probers' tests: a key, a loop that runs until a condition holds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agent_site import Site

from probers.net.packet import Key
from probers.net.responder import Responder
from probers.net.socket_pool import SocketPool
from probers.process.loop import Loop
from probers.publishing.relay import Relay

Until = Callable[[Callable[[], bool]], None]
PATIENCE_S = 300.0  # a busy machine is slow, not wrong


@pytest.fixture
def key() -> Key:
    return Key(b"a key for the tests only")


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


@pytest.fixture
def sockets(loop: Loop, key: Key) -> Iterator[SocketPool]:
    made = SocketPool(loop, key, Responder(key), max_rate=10_000)
    yield made
    made.close_except(())


@pytest.fixture
def run_until(loop: Loop) -> Until:
    """Serve the loop until a condition holds; fails after a minute."""

    def serve(holds: Callable[[], bool]) -> None:
        give_up_at = time.monotonic() + PATIENCE_S
        done: list[bool] = []

        def look() -> None:
            if not done and (holds() or time.monotonic() > give_up_at):
                done.append(holds())
                loop.stop()

        loop.call_every(1_000_000, look)
        loop.run()
        assert done == [True], f"the condition did not hold within {PATIENCE_S:g} s"

    return serve


@pytest.fixture
def eventually() -> Until:
    """Wait for something that another thread or process does; fails after a minute."""

    def wait(holds: Callable[[], bool]) -> None:
        give_up_at = time.monotonic() + PATIENCE_S
        pause = threading.Event()
        while not holds():
            assert time.monotonic() < give_up_at, (
                f"the condition did not hold within {PATIENCE_S:g} s"
            )
            pause.wait(0.01)

    return wait


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    with Relay(tmp_path / "relay.sock", made.sink):
        yield made
        made.close()
