"""The notifier as a service: incidents of Kafka in, notifications over HTTP out."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from api.monitoring import Monitoring
from notifier.configuration.document import Channel, Configuration
from notifier.configuration.reading import ConfigurationError, read
from notifier.decisions.changes import Notification, after
from notifier.delivery.formats import format_of
from notifier.delivery.post import Poster
from notifier.messages.samples import example
from notifier.service import Notifier
from schemas import topics
from skeletonhunter import terminal
from skeletonhunter.errors import BadInput, DependencyUnreachable
from skeletonhunter.services import health
from skeletonhunter.services.broker import client_settings
from skeletonhunter.services.lifecycle import command_error, stop_signals, until_stopped
from skeletonhunter.settings import Settings
from streams.errors import LostLeadership
from streams.kafka.leadership import Leadership

#: Notifiers of the same topics are members; the one with partition 0 of skh.incidents sends.
_GROUP: Final = "skh-notifier"


def configuration(file: Path, page_url: str | None = None) -> Configuration:
    """A file's; raises BadInput. page_url: given on the command line, None: the file's."""
    try:
        found = read(file, os.environ)
        if page_url is None:
            return found
        return Configuration.model_validate({**found.model_dump(), "page_url": page_url})
    except ConfigurationError as why:
        if len(why.mistakes) == 1:
            raise BadInput(f"{file}: {why.mistakes[0]}") from why
        raise BadInput(
            f"{file}: {len(why.mistakes)} mistakes, the first: {why.mistakes[0]}; "
            f"`skeletonhunter notify check {file}` lists them"
        ) from why
    except ValueError as why:
        raise BadInput("--page-url: must be an http:// or https:// URL") from why


async def serve(config: Settings, wanted: Configuration) -> int:
    """Notify until stopped; raises what ended it."""
    leadership = Leadership(client_settings(config), topics.INCIDENTS.name, _GROUP)
    notifier = Notifier(client_settings(config), wanted, os.environ)
    stop = stop_signals()
    monitoring = Monitoring([notifier.samples], [notifier.not_ready])
    with health.served(config, "notify", monitoring):
        working = asyncio.create_task(_lead(leadership, notifier, terminal.announce))

        async def ended() -> BaseException | None:
            await asyncio.wait({working})
            return working.exception() or RuntimeError("the notifier stopped by itself")

        try:
            failure = await until_stopped(ended, stop)
        finally:
            working.cancel()
            await asyncio.wait({working})
            await leadership.close()
    if failure is not None:
        raise command_error(failure) from failure
    return 0


async def _lead(leadership: Leadership, notifier: Notifier, report: Callable[[str], None]) -> None:
    """Send while this process leads; raises LostLeadership when another one may."""
    await leadership.acquire()
    running = asyncio.create_task(notifier.run())
    lost = asyncio.create_task(leadership.lost())
    started = asyncio.create_task(notifier.started.wait())
    try:
        await asyncio.wait({running, lost, started}, return_when=asyncio.FIRST_COMPLETED)
        if started.done():
            report("notifying")
        await asyncio.wait({running, lost}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            await lost
            raise LostLeadership("another notifier sends now; start this one again to stand by")
    finally:
        for each in (lost, started, running):
            each.cancel()
        await asyncio.wait({running})
    if (why := running.exception()) is not None:
        raise why


async def send_test(wanted: Configuration, name: str, environ: Mapping[str, str]) -> None:
    """Send a made-up incident to a channel; raises BadInput, and DependencyUnreachable for a
    receiver that did not take it.
    """
    channel = wanted.channels.get(name)
    if channel is None:
        raise BadInput(f"--test: no channel {name!r}; there are {', '.join(wanted.channels)}")
    opened = Notification("opened", example())
    await _send(channel, name, opened, wanted, environ)
    if channel.kind in ("pagerduty", "alertmanager"):  # an alert would stay open there
        await _send(
            channel, name, Notification("resolved", opened.incident, after(opened)), wanted, environ
        )


async def _send(
    channel: Channel,
    name: str,
    notification: Notification,
    wanted: Configuration,
    environ: Mapping[str, str],
) -> None:
    form = format_of(channel, wanted.page_url, wanted.storm.window_s, environ)
    outcome = await Poster(channel, environ).send(form.one(notification, time.time()))
    if outcome.result != "delivered":
        raise DependencyUnreachable(f"channel {name}: {outcome.reason}")
    terminal.echo(f"channel {name}: the receiver took the {notification.change} test notification")
