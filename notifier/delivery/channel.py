"""A channel at work: its queue, its pauses, and what became of each notification."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from notifier.decisions.changes import Notification
from notifier.decisions.reports import Reports
from notifier.decisions.storms import StormGate
from notifier.delivery.formats import Format
from notifier.delivery.pauses import DEFAULT, Pauses
from notifier.delivery.post import Outcome
from notifier.messages.requests import Request
from schemas.metrics import Sample
from schemas.metrics import notifier as metrics
from schemas.printable import printable

_log = logging.getLogger(__name__)


class Sender(Protocol):
    """Makes one attempt."""

    async def send(self, request: Request) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class ChannelOptions:
    """give_up_s, queue  see ``configuration.document.Delivery``
    random       0..1, of the pauses
    clock_s      time of messages [s since the epoch]; monotonic_s: of pauses and windows [s]
    """

    give_up_s: float
    queue: int
    pauses: Pauses = DEFAULT
    random: Callable[[], float] = lambda: 1.0
    clock_s: Callable[[], float] = time.time
    monotonic_s: Callable[[], float] = time.monotonic


class Channel:
    """One receiver; ``run`` for ever on the event loop.

    reports  of all channels, of which this one settles its own part
    settled  called for each notification when it is delivered, dropped or superfluous: with the
             channel's name and the notification
    """

    def __init__(
        self,
        name: str,
        sender: Sender,
        form: Format,
        gate: StormGate,
        reports: Reports,
        settled: Callable[[str, Notification], None],
        options: ChannelOptions,
    ) -> None:
        self.name = name
        self._sender, self._format, self._gate = sender, form, gate
        self._reports, self._settled, self._options = reports, settled, options
        self._queue: deque[Notification] = deque()
        self._queued = asyncio.Event()
        self._outcomes: Counter[tuple[str, str]] = Counter()
        self._failed_attempts = 0
        self._failing_since_s: float | None = None
        self._stopping = False

    def put(self, notification: Notification) -> None:
        """Queue a notification; without waiting. One too many is dropped."""
        if len(self._queue) >= self._options.queue:
            self._drop([notification], f"{self._options.queue} notifications wait already")
            return
        self._queue.append(notification)
        self._queued.set()

    async def run(self) -> None:
        """Send what is queued, for ever; a defect in one message costs that message.

        When it is cancelled, a request that is on its way is waited for: its receiver may have it.
        """
        refreshing = asyncio.create_task(self._refresh())
        try:
            while not self._stopping:
                self._queued.clear()
                found = self._gate.take(self._queue, self._options.monotonic_s())
                if isinstance(found, list):
                    await self._deliver(found)
                elif self._queue:
                    await asyncio.sleep(found)
                else:
                    await self._queued.wait()
            raise asyncio.CancelledError
        finally:
            refreshing.cancel()

    def samples(self) -> Iterator[Sample]:
        """Metrics of the channel; called on another thread."""
        for (change, outcome), count in list(self._outcomes.items()):
            yield Sample(metrics.NOTIFIER_NOTIFICATIONS, count, (self.name, change, outcome))
        yield Sample(metrics.NOTIFIER_FAILED_ATTEMPTS, self._failed_attempts, (self.name,))
        yield Sample(metrics.NOTIFIER_WAITING, len(self._queue), (self.name,))
        since = self._failing_since_s
        failing_s = 0.0 if since is None else self._options.monotonic_s() - since
        yield Sample(metrics.NOTIFIER_FAILING, failing_s, (self.name,))

    async def _deliver(self, taken: Sequence[Notification]) -> None:
        """Send one notification, or several as a summary, as they are after what came before."""
        settled = self._reports.settled(self.name, taken)
        for before, after in zip(taken, settled, strict=True):
            if after is None:
                self._count([before], "superfluous")
                self._settled(self.name, before)
        found = [each for each in settled if each is not None]
        silent = [each for each in found if self._is_silent(each)]
        needed = [each for each in found if each not in silent]
        key = f"summary:{needed[0].key}" if len(needed) > 1 else ""
        if needed:
            reason = await self._try(lambda now_s: self._request(needed, key, now_s))
            if reason is not None:
                self._drop(needed, reason)
                needed = []
        for each in (*needed, *silent):
            self._reports.delivered(self.name, each, key if each.change == "opened" else "")
            self._settled(self.name, each)
        self._count(needed, "delivered")
        self._count(silent, "superfluous")

    def _is_silent(self, notification: Notification) -> bool:
        """Whether it is the end of one incident of a summary whose others go on."""
        before = notification.before
        if self._format.ends_alone or notification.change != "resolved" or before is None:
            return False
        return bool(before.summary) and any(
            other.summary == before.summary and incident_id != notification.incident.incident_id
            for incident_id, other in self._reports.open_on(self.name)
        )

    def _request(self, found: Sequence[Notification], key: str, now_s: float) -> Request:
        if len(found) == 1:
            return self._format.one(found[0], now_s)
        return self._format.several(found, key, now_s)

    async def _try(self, request: Callable[[float], Request]) -> str | None:
        """Until it is delivered, or for ``give_up_s``; returns why it was not, or None."""
        options = self._options
        started_s, failures = options.monotonic_s(), 0
        while True:
            outcome = await self._attempt(request)
            if outcome.result == "delivered":
                self._failing_since_s = None
                return None
            self._failed_attempts += 1
            if self._stopping:
                raise asyncio.CancelledError
            failures += 1
            if self._failing_since_s is None:
                self._failing_since_s = options.monotonic_s()
                _log.warning("channel %s: %s", self.name, printable(outcome.reason))
            pause_s = options.pauses.pause_s(failures, options.random(), outcome.after_s)
            late = options.monotonic_s() + pause_s > started_s + options.give_up_s
            if outcome.result == "refused" or late:
                return outcome.reason
            await asyncio.sleep(pause_s)

    async def _attempt(self, request: Callable[[float], Request]) -> Outcome:
        try:
            sending = asyncio.ensure_future(self._sender.send(request(self._options.clock_s())))
            try:
                return await asyncio.shield(sending)
            except asyncio.CancelledError:
                self._stopping = True
                return await sending
        except Exception as why:  # a defect of ours in one message must not end the channel
            _log.exception("channel %s: a message could not be made or sent", self.name)
            return Outcome("refused", f"internal error: {type(why).__name__}")

    async def _refresh(self) -> None:
        """Keep open what is open, where the receiver needs that."""
        if self._format.refresh_s is None:
            return
        while True:
            known = self._reports.open_incidents
            going_on = [
                (known[incident_id], reported)
                for incident_id, reported in self._reports.open_on(self.name)
                if incident_id in known
            ]
            request = self._format.refresh(going_on, self._options.clock_s())
            if request is not None:
                outcome = await self._attempt(lambda _, found=request: found)  # type: ignore[misc]
                self._failed_attempts += outcome.result != "delivered"
            await asyncio.sleep(self._format.refresh_s)

    def _drop(self, found: Sequence[Notification], reason: str) -> None:
        self._count(found, "dropped")
        for each in found:
            _log.error(
                "channel %s: dropped %s of incident %s: %s",
                self.name, each.change, printable(each.incident.incident_id), printable(reason),
            )  # fmt: skip
            self._reports.dropped(self.name, each)
            self._settled(self.name, each)

    def _count(self, found: Sequence[Notification], outcome: str) -> None:
        self._outcomes.update((each.change, outcome) for each in found)
