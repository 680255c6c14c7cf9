"""One process of a group leads; another one begins when it has left."""

from __future__ import annotations

import asyncio

import pytest

from schemas import topics
from streams.kafka.embedded_broker import EmbeddedBroker
from streams.kafka.leadership import Leadership

LONG_S = 300.0


def test_the_next_one_leads_only_when_the_first_has_left() -> None:
    broker = EmbeddedBroker()

    def member() -> Leadership:
        return Leadership({"bootstrap.servers": broker.bootstrap}, topics.JOBS.name, "group")

    async def story() -> None:
        order: list[str] = []

        async def lead(name: str, own: Leadership) -> None:
            await own.acquire()
            order.append(name)

        first, second = member(), member()
        async with asyncio.timeout(LONG_S):
            await lead("first", first)
            waits = asyncio.create_task(lead("second", second))
            lost = asyncio.create_task(first.lost())
            await asyncio.wait({waits, lost}, timeout=2.0)
            if not lost.done():  # the embedded broker may move it: then the first one is told so
                assert order == ["first"], "two never lead at once"
                await first.close()
            await lost
            await first.close()
            await waits
            assert order == ["first", "second"]
            await second.close()

    asyncio.run(story())


def test_leadership_is_lost_only_after_it_was_asked_for() -> None:
    own = Leadership({"bootstrap.servers": "127.0.0.1:9"}, topics.JOBS.name, "group")
    with pytest.raises(RuntimeError, match="acquire first"):
        asyncio.run(own.lost())
