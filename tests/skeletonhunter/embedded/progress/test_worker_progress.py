"""The demo waits for a slow worker, and gives up on one that has stopped."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from skeletonhunter.embedded.demo_state import DemoState
from skeletonhunter.embedded.pace import Pace
from skeletonhunter.embedded.progress.worker import STALLED_S, WorkerProgress
from streams.windowing.record_counts import RecordCounts

pytestmark = pytest.mark.anyio
START_S = 1_000_000
LOOKS_PER_S = 10


class Worker:
    """Judges a second, or reads a message, at every so many looks of the demo; 0: never."""

    def __init__(self, *, second_every: int = 0, message_every: int = 0) -> None:
        self.second_every, self.message_every = second_every, message_every
        self.looks = 0
        self.localize = SimpleNamespace(judged_s=self.judged_s, counts=SimpleNamespace(messages=0))
        self.ingest = self

    def judged_s(self, fabric: str) -> int | None:
        self.looks += 1
        if not self.second_every:
            return 0
        return START_S + self.looks // self.second_every

    @property
    def counts(self) -> RecordCounts:
        return RecordCounts(messages=self.looks // self.message_every if self.message_every else 0)


def progress_of(worker: Any) -> WorkerProgress:
    async def no_time(seconds: float) -> None:
        return None

    topology = SimpleNamespace(fabric="f1")
    simulation: Any = SimpleNamespace(start_ns=START_S * 10**9, topology=topology)
    return WorkerProgress(DemoState(simulation, Pace(300, 60.0)), worker, sleep=no_time)


def no_screen() -> None:
    """Stands for a screen that shows nothing."""


async def test_the_demo_waits_for_a_worker_that_judges_slowly() -> None:
    assert await progress_of(Worker(second_every=250)).until(40, no_screen)


async def test_the_demo_waits_for_a_worker_that_reads_and_does_not_judge_yet() -> None:
    worker = Worker(message_every=250)

    def begin_to_judge() -> None:
        if worker.looks == 2000:
            worker.second_every = 1

    assert await progress_of(worker).until(40, begin_to_judge)


async def test_the_demo_gives_up_on_a_worker_that_has_stopped() -> None:
    worker = Worker()
    assert not await progress_of(worker).until(40, no_screen)
    assert worker.looks == STALLED_S * LOOKS_PER_S + 1
