"""Requests that wait until the list of their host changes: one wake-up each, no polling."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress

from controller.state import Host


class Waiting:
    """The waiting requests of each host, in one event loop."""

    def __init__(self) -> None:
        self._of_host: defaultdict[Host, set[asyncio.Future[None]]] = defaultdict(set)
        self._closing = asyncio.Event()

    @property
    def closed(self) -> bool:
        """Whether the service ends."""
        return self._closing.is_set()

    def __len__(self) -> int:
        """Requests that wait [count]."""
        return sum(map(len, self._of_host.values()))

    async def changed(self, host: Host, timeout_s: float) -> bool:
        """Wait until the host is woken; False when the time is over or the service ends."""
        if self.closed:
            return False
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._of_host[host].add(woken)
        try:
            done, _ = await asyncio.wait({woken}, timeout=timeout_s)
            return bool(done) and not self.closed
        finally:
            self._of_host[host].discard(woken)
            if not self._of_host[host]:
                del self._of_host[host]

    async def settle(self, delay_s: float) -> None:
        """Let further changes come; shorter when the service ends."""
        with suppress(TimeoutError):
            async with asyncio.timeout(delay_s):
                await self._closing.wait()

    def wake(self, hosts: Iterable[Host]) -> None:
        """The lists of these hosts have changed."""
        for host in hosts:
            for woken in self._of_host.get(host, ()):
                if not woken.done():
                    woken.set_result(None)

    def close(self) -> None:
        """Let all requests return: the service ends."""
        self._closing.set()
        self.wake(list(self._of_host))
