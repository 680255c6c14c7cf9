"""The notifier at work: reads, decides, hands over to the channels, records what they did."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from notifier.configuration.document import Configuration
from notifier.decisions.changes import Notification
from notifier.decisions.judging import JudgingProgress
from notifier.decisions.reports import Reports
from notifier.decisions.routes import Route
from notifier.decisions.storms import StormGate, StormLimits
from notifier.delivery.channel import Channel, ChannelOptions
from notifier.delivery.formats import format_of
from notifier.delivery.pauses import DEFAULT, Pauses
from notifier.delivery.post import Poster
from notifier.feed import sent_log
from notifier.feed.in_flight import InFlight
from notifier.feed.sent_log import Positions, SentLog, Stored
from notifier.feed.topic_reader import Place, Read, TopicReader
from notifier.watchdog import Watchdog
from schemas import topics
from schemas.documents.incident import Incident, read_incident
from schemas.metrics import Sample
from schemas.metrics import notifier as metrics
from schemas.printable import printable

_log = logging.getLogger(__name__)
_INCIDENTS: Final = topics.INCIDENTS.name
_COVERAGE: Final = topics.COVERAGE.name
_GROUP: Final = "skh-notifier"
#: Positions are stored so often where they have changed [s].
_STORE_S: Final = 0.5


class Notifier:
    """One notifier for one event loop; ``run`` ends only by an error or when it is cancelled.

    kafka    librdkafka settings of the broker
    environ  where secrets are that the configuration refers to
    pauses   between attempts
    Raises SecretError.

    started  set when all that was there before is known and its positions are in the log: what
             comes now is notified, by this notifier or by the next one
    """

    def __init__(
        self,
        kafka: Mapping[str, Any],
        configuration: Configuration,
        environ: Mapping[str, str],
        pauses: Pauses = DEFAULT,
    ) -> None:
        self._kafka, self._configuration = dict(kafka), configuration
        self._environ, self._pauses = environ, pauses
        self._channels: dict[str, Channel] = {}
        self._places: dict[tuple[str, str], Place] = {}
        self._counts: Counter[str] = Counter()
        self._reports: Reports | None = None
        self._ready = False
        self.started = asyncio.Event()
        self._log: SentLog | None = None
        self._in_flight = InFlight({})
        self._stored: Positions | None = None
        self._posters = {
            name: Poster(channel, environ) for name, channel in configuration.channels.items()
        }
        self._watchdog = self._make_watchdog()

    def not_ready(self) -> str | None:
        """Why no notification would be sent now, or None."""
        return None if self._ready else "the notifier reads what was reported, or stands by"

    def samples(self) -> Iterator[Sample]:
        """Metrics; called on another thread."""
        yield Sample(metrics.NOTIFIER_LEADS, self._ready)
        yield Sample(metrics.NOTIFIER_VERSIONS, self._counts["versions"])
        for topic in (_INCIDENTS, _COVERAGE):
            yield Sample(metrics.NOTIFIER_INVALID, self._counts[topic], (topic,))
        if self._reports is not None:
            yield Sample(metrics.NOTIFIER_INCIDENTS, len(self._reports.open_incidents))
        for channel in list(self._channels.values()):
            yield from channel.samples()
        if self._watchdog is not None:
            yield from self._watchdog.samples()

    async def run(self) -> None:
        """Begin where the last notifier stopped; raises ConnectionError without a broker."""
        stored = await asyncio.to_thread(sent_log.read, self._kafka)
        wanted = [_INCIDENTS] if self._watchdog is None else [_INCIDENTS, _COVERAGE]
        reader = await asyncio.to_thread(TopicReader, self._kafka, wanted, _GROUP)
        self._log = log = SentLog(self._kafka)
        try:
            reports = self._begin(stored, reader)
            known, live = await asyncio.to_thread(self._read_before, reader, stored)
            self._restore(reports, stored, known, log)
            # Without positions in the log, the notifier after this one takes its start for the
            # first, and stays quiet about all that is published meanwhile.
            await asyncio.to_thread(log.wait_stored)
            await self._follow(reader, live)
        except BaseExceptionGroup as group:
            raise _first(group) from group
        finally:
            self._ready = False
            self._store_positions()
            await asyncio.to_thread(reader.close)
            await asyncio.to_thread(log.close)

    async def _follow(self, reader: TopicReader, live: list[Read]) -> None:
        """For ever; what fails of it ends all of it."""
        async with asyncio.TaskGroup() as tasks:
            for channel in self._channels.values():
                tasks.create_task(channel.run())
            if self._watchdog is not None:
                tasks.create_task(self._watchdog.run())
            tasks.create_task(self._store())
            for each in live:
                self._take(each)
            self._ready = True
            self.started.set()
            while True:
                for each in await asyncio.to_thread(reader.next):
                    self._take(each)

    def _begin(self, stored: Stored, reader: TopicReader) -> Reports:
        """Where reading goes on: at the first start, behind what there is already."""
        positions = {partition: end for (name, partition), end in reader.ends.items()
                     if name == _INCIDENTS}  # fmt: skip
        if stored.positions is not None:
            for partition, end in positions.items():
                reached = stored.positions.partitions.get(partition, 0)
                # Beyond the end: the topic was made anew, and all that is in it is new.
                positions[partition] = reached if reached <= end else 0
        self._in_flight = InFlight(positions)
        routes = [
            Route(**route.model_dump()) for route in self._configuration.routes
        ]  # fmt: skip
        reports = Reports(routes, list(self._configuration.channels), stored.heard)
        storm = StormLimits(**self._configuration.storm.model_dump())
        for name, channel in self._configuration.channels.items():
            form = format_of(channel, self._configuration.page_url, storm.window_s, self._environ)
            options = ChannelOptions(channel.give_up_s, channel.queue, self._pauses, random.random)
            self._channels[name] = Channel(
                name, self._posters[name], form, StormGate(storm, form.groupable), reports,
                self._settled, options,
            )  # fmt: skip
        self._reports = reports
        return reports

    def _read_before(
        self, reader: TopicReader, stored: Stored
    ) -> tuple[dict[str, Incident], list[Read]]:
        """What is on the topics now: incidents as they were at the positions, and what follows.

        Of those that were over then, only such as the log knows.
        """
        positions = self._in_flight.positions
        newest: dict[str, Incident] = {}
        live = []
        for each in reader.to_end():
            if each.place.topic == _COVERAGE:
                self._take_coverage(each)
            elif each.place.offset >= positions.get(each.place.partition, 0):
                live.append(each)
            elif (incident := self._parsed(each)) is not None:
                if incident.state != "resolved" or incident.incident_id in stored.heard:
                    newest[incident.incident_id] = incident
                else:
                    newest.pop(incident.incident_id, None)
        return newest, live

    def _restore(
        self, reports: Reports, stored: Stored, known: dict[str, Incident], log: SentLog
    ) -> None:
        """Nothing is notified of what was there before; new channels stay quiet about it."""
        before = set() if stored.positions is None else set(stored.positions.channels)
        new = [name for name in self._configuration.channels if name not in before]
        for incident in known.values():
            if reports.restore(incident, new):
                log.forget(incident.incident_id)
            elif new and incident.state != "resolved":
                log.heard(incident.incident_id, reports.heard(incident.incident_id))
        self._store_positions()

    def _take(self, read: Read) -> None:
        if read.place.topic == _COVERAGE:
            self._take_coverage(read)
            return
        self._counts["versions"] += 1
        incident = self._parsed(read)
        found = [] if incident is None or self._reports is None else self._reports.observe(incident)
        self._in_flight.read(read.place, len(found))
        for channel, notification in found:
            self._places[channel, notification.key] = read.place
            self._channels[channel].put(notification)

    def _take_coverage(self, read: Read) -> None:
        if self._watchdog is None or not read.value:
            return
        try:
            self._watchdog.read(read.value, read.time_ms)
        except ValueError as why:
            self._invalid(read, why)

    def _parsed(self, read: Read) -> Incident | None:
        """None for a tombstone and for what is no incident: a reason to skip, never to stop."""
        if not read.value:
            return None
        try:
            return read_incident(read.value)
        except Exception as why:  # whatever a decoder raises would stop every start from here on
            self._invalid(read, why)
            return None

    def _invalid(self, read: Read, why: Exception) -> None:
        self._counts[read.place.topic] += 1
        _log.error(
            "%s: partition %d, offset %d: %s",
            *read.place, printable(" ".join(str(why).split())[:300]),
        )  # fmt: skip

    def _settled(self, channel: str, notification: Notification) -> None:
        """A channel is done with a notification."""
        if self._reports is None or self._log is None:
            return
        incident_id = notification.incident.incident_id
        self._log.heard(incident_id, self._reports.heard(incident_id))
        self._in_flight.settled(self._places.pop((channel, notification.key)))

    async def _store(self) -> None:
        while True:
            await asyncio.sleep(_STORE_S)
            self._store_positions()

    def _store_positions(self) -> None:
        now = Positions(self._in_flight.positions, list(self._configuration.channels))
        if self._log is not None and now != self._stored and now.partitions:
            self._log.positions(now)
            self._stored = now

    def _make_watchdog(self) -> Watchdog | None:
        wanted = self._configuration.watchdog
        if wanted is None:
            return None
        progress = JudgingProgress(wanted.behind_s, wanted.fabrics)
        return Watchdog(Poster(wanted, self._environ), progress, wanted.every_s, time.time)


def _first(why: BaseException) -> BaseException:
    """The first error of a group of errors."""
    while isinstance(why, BaseExceptionGroup):
        why = why.exceptions[0]
    return why
