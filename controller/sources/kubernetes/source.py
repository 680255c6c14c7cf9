"""List, then watch, for ever: keeps a tracker in touch with an API server.

After a lost connection the watch goes on from the version that was read last. Where the API server
has forgotten that version (410 Gone), all pods are listed again, and what is missing is gone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from controller.sources.kubernetes.api_objects import GONE, Change, Pod
from controller.sources.kubernetes.parameters import DEFAULT, PodParameters
from controller.sources.kubernetes.tracker import PodTracker
from controller.tasks.events import AnyEvent
from schemas.metrics import Sample
from schemas.metrics import controller as metrics

_log = logging.getLogger(__name__)


class ApiError(Exception):
    """The API server does not answer, or refuses; one line."""


class VersionExpired(ApiError):
    """The API server has forgotten the version: list again."""


class Listing(NamedTuple):
    """All pods, and the version to watch from."""

    pods: Sequence[Pod]
    version: str


class PodApi(Protocol):
    """The API server; both raise ApiError."""

    async def list(self) -> Listing:
        """All pods of the namespace and selector."""

    def watch(self, version: str) -> AsyncIterator[Change]:
        """Changes after the version, until the API server ends the watch."""


class PodSource:
    """For one event loop; ``run`` returns only by being cancelled.

    apply    takes events in; must not raise
    now_ms   present time [ms since the epoch]
    sleep    waits so many seconds
    jitter   0..1, uniform: of the time before a repetition, so that controllers do not meet
    """

    def __init__(
        self,
        api: PodApi,
        tracker: PodTracker,
        apply: Callable[[Sequence[AnyEvent]], Awaitable[None]],
        *,
        now_ms: Callable[[], int],
        jitter: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        parameters: PodParameters = DEFAULT,
    ) -> None:
        self._api, self._tracker, self._apply = api, tracker, apply
        self._now_ms, self._jitter, self._sleep = now_ms, jitter, sleep
        self._parameters = parameters
        self._version = ""
        self._heard_ms = now_ms()
        self._progress = False
        self._failures = self._lists = 0

    async def run(self) -> None:
        """List, watch, and look at what waits."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow())
            group.create_task(self._look())

    def samples(self) -> Iterator[Sample]:
        """Metrics of the source."""
        silent_ms = max(self._now_ms() - self._heard_ms, 0)
        yield Sample(metrics.CONTROLLER_WATCH_AGE, silent_ms / 1000)
        yield Sample(metrics.CONTROLLER_WATCH_FAILURES, self._failures)
        yield Sample(metrics.CONTROLLER_POD_LISTS, self._lists)
        yield Sample(metrics.CONTROLLER_PODS, self._tracker.containers, ("followed",))
        yield Sample(metrics.CONTROLLER_PODS, len(self._tracker.left_out), ("left_out",))

    async def _follow(self) -> None:
        in_a_row = 0
        while True:
            self._progress = False
            try:
                if not self._version:
                    await self._list()
                await self._watch()
                why = "the watch ended at once" if not self._progress else ""
            except VersionExpired as error:
                self._version, why = "", str(error)
            except ApiError as error:
                why = str(error)
            in_a_row = 0 if self._progress else in_a_row + 1
            if why:
                self._failures += 1
                wait_s = self._backoff_s(in_a_row)
                _log.warning("pods: %s; again in %.1f s", why, wait_s)
                await self._sleep(wait_s)

    async def _list(self) -> None:
        listing = await self._api.list()
        self._lists += 1
        self._heard()
        before = dict(self._tracker.left_out)
        await self._take(self._tracker.listed(listing.pods, self._now_ms()))
        self._version = listing.version
        for name, why in self._tracker.left_out.items():
            if before.get(name) != why:
                _log.warning("pod %s is left out: %s", name, why)

    async def _watch(self) -> None:
        """Until the API server ends the watch; raises ApiError."""
        async for change in self._api.watch(self._version):
            if change.kind == "ERROR":
                message = f"the API server says: {change.message}"
                raise VersionExpired(message) if change.code == GONE else ApiError(message)
            self._heard()
            if change.pod is not None:
                deleted = change.kind == "DELETED"
                await self._take(self._tracker.changed(change.pod, self._now_ms(), deleted=deleted))
            self._version = change.version or self._version

    async def _look(self) -> None:
        while True:
            await self._sleep(self._parameters.look_s)
            await self._take(self._tracker.looked(self._now_ms()))

    async def _take(self, events: Sequence[AnyEvent]) -> None:
        if events:
            await self._apply(events)

    def _heard(self) -> None:
        self._heard_ms = self._now_ms()
        self._progress = True

    def _backoff_s(self, in_a_row: int) -> float:
        """Full jitter: uniform up to a bound that doubles. Source: Brooker, AWS (2015)."""
        most = self._parameters.longest_backoff_s
        steps = min(in_a_row, 16)
        return min(most, self._parameters.backoff_s * 2.0**steps) * self._jitter()
