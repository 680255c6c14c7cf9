"""The start of a notifier: what it promises is in the log before it says that it notifies."""

from __future__ import annotations

import asyncio
import threading

import pytest

from notifier.configuration.document import Configuration
from notifier.feed import sent_log
from notifier.feed.sent_log import Positions, SentLog
from notifier.service import Notifier

from ..conftest import Broker

pytestmark = pytest.mark.slow
CONFIGURATION = Configuration.model_validate({
    "channels": {"hook": {"kind": "webhook", "url": "https://hook.example/"}},
    "routes": [{"to": ["hook"]}],
})  # fmt: skip


def test_the_first_start_is_over_only_when_the_log_has_its_positions(
    embedded: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the next notifier would be quiet about what is published after this one is killed."""
    kafka = {"bootstrap.servers": embedded.bootstrap}
    waits, go_on = threading.Event(), threading.Event()
    wait_stored = SentLog.wait_stored

    def held(self: SentLog) -> None:
        waits.set()
        assert go_on.wait(300)
        wait_stored(self)

    monkeypatch.setattr(SentLog, "wait_stored", held)

    async def start() -> None:
        notifier = Notifier(kafka, CONFIGURATION, {})
        running = asyncio.create_task(notifier.run())
        assert await asyncio.to_thread(waits.wait, 300)
        assert notifier.not_ready() is not None
        assert not notifier.started.is_set()
        go_on.set()
        async with asyncio.timeout(300):
            await notifier.started.wait()
        stored = await asyncio.to_thread(sent_log.read, kafka)
        assert stored.positions is not None
        assert stored.positions.channels == ["hook"]
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(start())


def test_a_broker_that_does_not_answer_is_said_with_what_is_not_stored() -> None:
    log = SentLog({"bootstrap.servers": "127.0.0.1:1"})
    log.positions(Positions({0: 7}, ["hook"]))
    with pytest.raises(ConnectionError, match=r"skh\.notified: not stored .* 0.1 s: 1 entr"):
        log.wait_stored(0.1)
