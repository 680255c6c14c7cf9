"""Messages -> the broker, of each key the newest; what is not stored yet waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from controller.service.messages import Message

#: Returns when the broker has stored all messages; raises when it has not.
Send = Callable[[Sequence[Message]], Awaitable[None]]


class Publisher:
    """For one event loop. A message that could not be sent is sent again by the next ``flush``."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: dict[tuple[str, str], Message] = {}
        self._sending = asyncio.Lock()

    @property
    def waiting(self) -> int:
        """Documents that the broker has not stored yet [count]."""
        return len(self._waiting)

    def add(self, messages: Iterable[Message]) -> None:
        """Take messages; a newer one of the same key replaces an older one that still waits."""
        for message in messages:
            self._waiting[message.topic, message.key] = message

    async def flush(self) -> None:
        """Return when everything that has been added is stored; raises what ``send`` raises."""
        async with self._sending:
            batch = list(self._waiting.values())
            if not batch:
                return
            await self._send(batch)
            for message in batch:
                place = message.topic, message.key
                if self._waiting.get(place) is message:
                    del self._waiting[place]
