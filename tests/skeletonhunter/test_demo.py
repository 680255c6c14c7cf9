"""The demo waits for a worker that is slow, and not for one that stands still."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from skeletonhunter.commands import demo
from streams.windowing.record_counts import RecordCounts

pytestmark = pytest.mark.anyio
START_S = 1_000_000


class Worker:
    """Judges a second, or reads a message, at every so many looks of the demo."""

    def __init__(self, *, second_every: int = 0, message_every: int = 0) -> None:
        self.second_every, self.message_every = second_every, message_every
        self.looks = 0
        self.localize = SimpleNamespace(judged_s=self.judged_s, messages=0)
        self.ingest = self

    def judged_s(self, fabric: str) -> int | None:
        self.looks += 1
        if not self.second_every:
            return 0
        return START_S + self.looks // self.second_every

    @property
    def tally(self) -> RecordCounts:
        return RecordCounts(messages=self.looks // self.message_every if self.message_every else 0)


def watch_of(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> demo.WorkerProgress:
    async def no_time(seconds: float) -> None:
        return None

    monkeypatch.setattr(demo.asyncio, "sleep", no_time)
    topology = SimpleNamespace(fabric="f1")
    simulation: Any = SimpleNamespace(start_ns=START_S * 10**9, topology=topology)
    place: Any = SimpleNamespace(worker=worker)
    return demo.WorkerProgress(demo.DemoState(simulation, 300, 60), place)


def nothing() -> None:
    """Nobody looks at a screen."""


async def test_a_slow_worker_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await watch_of(Worker(second_every=250), monkeypatch).until(40, nothing)


async def test_a_worker_that_only_reads_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(message_every=250)

    def begins() -> None:
        if worker.looks == 2000:
            worker.second_every = 1

    assert await watch_of(worker, monkeypatch).until(40, begins)


async def test_a_worker_that_stands_still_is_given_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker()
    assert not await watch_of(worker, monkeypatch).until(40, nothing)
    assert worker.looks == 301
