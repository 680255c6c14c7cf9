"""Fixtures of the probers' tests: a key, a loop that runs until a condition holds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from probers.doors import Doors
from probers.loop import Loop
from probers.responder import Responder
from probers.wire import Key

Until = Callable[[Callable[[], bool]], None]


@pytest.fixture
def key() -> Key:
    return Key(b"a key for the tests only")


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


@pytest.fixture
def doors(loop: Loop, key: Key) -> Iterator[Doors]:
    made = Doors(loop, key, Responder(key), max_rate=10_000)
    yield made
    made.keep_only(())


@pytest.fixture
def run_until(loop: Loop) -> Until:
    """Serve the loop until a condition holds; fails after 10 s."""

    def serve(holds: Callable[[], bool]) -> None:
        give_up_at = time.monotonic() + 10.0
        done: list[bool] = []

        def look() -> None:
            if not done and (holds() or time.monotonic() > give_up_at):
                done.append(holds())
                loop.stop()

        loop.every(1_000_000, look)
        loop.run()
        assert done == [True], "the condition did not hold within 10 s"

    return serve


@pytest.fixture
def eventually() -> Until:
    """Wait for something that another thread or process does; fails after 10 s."""

    def wait(holds: Callable[[], bool]) -> None:
        give_up_at = time.monotonic() + 10.0
        pause = threading.Event()
        while not holds():
            assert time.monotonic() < give_up_at, "the condition did not hold within 10 s"
            pause.wait(0.01)

    return wait
