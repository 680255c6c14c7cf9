"""The dead man's switch: an outside service is asked as long as judging goes on.

When the requests stop (judging has stopped, or the notifier, the broker, the machine, the network),
that service alerts somebody, by a path that needs no part of the pipeline.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Protocol

from notifier.decisions.judging import JudgingProgress
from notifier.delivery.post import Outcome
from notifier.messages.requests import Request
from schemas.documents import coverage
from schemas.documents.times import seconds_of
from schemas.metrics import Sample
from schemas.metrics import notifier as metrics
from schemas.printable import printable

_log = logging.getLogger(__name__)


class Sender(Protocol):
    """Makes one attempt."""

    async def send(self, request: Request) -> Outcome: ...


class Watchdog:
    """Asks every ``every_s`` seconds, unless judging has stopped."""

    def __init__(
        self,
        sender: Sender,
        progress: JudgingProgress,
        every_s: float,
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        self._sender, self._progress = sender, progress
        self._every_s, self._clock_s = every_s, clock_s
        self._outcomes: Counter[str] = Counter()
        self._judging = False

    def read(self, raw: bytes, time_ms: int) -> None:
        """A message of skh.coverage; raises ValueError for one that is none."""
        document = coverage.parse(raw)
        self._progress.judged(document.fabric, seconds_of(document.at), time_ms / 1000)

    async def run(self) -> None:
        """For ever."""
        while True:
            await self.step()
            await asyncio.sleep(self._every_s)

    async def step(self) -> None:
        """Ask once, if judging goes on; each change is logged."""
        reason = self._progress.why_not(self._clock_s())
        if self._judging and reason is not None:
            _log.error("the watchdog is not asked: %s", printable(reason))
        self._judging = reason is None
        if reason is not None:
            return
        outcome = await self._sender.send(Request(None))
        self._outcomes["delivered" if outcome.result == "delivered" else "failed"] += 1
        if outcome.result != "delivered":
            _log.warning("the watchdog could not be asked: %s", printable(outcome.reason))

    def samples(self) -> Iterator[Sample]:
        """Metrics; called on another thread."""
        yield Sample(metrics.NOTIFIER_JUDGING, self._judging)
        for outcome in ("delivered", "failed"):
            yield Sample(metrics.NOTIFIER_WATCHDOG, self._outcomes[outcome], (outcome,))
