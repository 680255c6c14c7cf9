"""A controller that is stopped does not wait for an inference."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from controller.service import learning

LONGEST_S = 60  # what a test may hang where the loop waits after all


class Traffic:
    """One attempt is due, whose inference waits until the test ends."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()
        self.late = False
        self.due_now = [SimpleNamespace(key=("f1", "job-a"), given=None)]

    def follow(self, now_ms: int) -> None:
        del now_ms

    def due(self) -> Any:
        return self.due_now.pop() if self.due_now else None

    def infer(self, given: object) -> None:
        assert given is None
        self.begun.set()
        self.late = not self.ended.wait(LONGEST_S)

    def conclude(self, attempt: object, inferred: object) -> None:
        del attempt, inferred


def test_a_loop_that_ends_in_an_inference_does_not_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traffic = Traffic()
    monkeypatch.setattr(learning, "infer", traffic.infer)
    site = cast("Any", SimpleNamespace(traffic=traffic, now_ms=lambda: 0, inferred=None))

    async def stopped_meanwhile() -> None:
        task = asyncio.create_task(learning.learn(site))
        assert await asyncio.to_thread(traffic.begun.wait, LONGEST_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stopped_meanwhile())
    assert not traffic.late
    (inference,) = (each for each in threading.enumerate() if each.name == "inference")
    traffic.ended.set()
    inference.join()
    assert not traffic.late
