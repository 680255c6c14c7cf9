"""skh.windows (and skh.placement, skh.maintenance) -> skh.incidents, skh.anomalies."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import faust
import pyarrow as pa

from localizer.engine import Findings, Localizer
from localizer.maintenance import Cause
from schemas import incident, topics, windows
from schemas.incident import Incident
from schemas.maintenance import Maintenance
from schemas.placement import Placement
from streams import dead_letters
from streams.held import in_message
from streams.messages import InMessage, OutMessage
from streams.notices import Notice, Notices
from streams.plausible import check_times
from streams.publish import Outbox
from streams.reading import Reading

_log = logging.getLogger(__name__)
#: Event time that the detectors look back: 10 windows of 30 s, and one to be sure.
MEMORY_S: Final = 330
_LOOK_S: Final = 1.0

#: Makes the localiser of a fabric; restored incidents are handed to it before its first message.
MakeLocalizer = Callable[[str], Localizer]
#: Reads skh.incidents from its beginning to its present end.
ReadIncidents = Callable[[], Awaitable[list[Incident]]]


class _Held(NamedTuple):
    offset: int
    fabric: str
    end_s: int
    arrival_s: float
    event: Any


@dataclass(slots=True)
class _Lane:
    """One partition of skh.windows in one assignment: its fabrics and what they may need again."""

    localizers: dict[str, Localizer] = field(default_factory=dict)
    newest_s: dict[str, int] = field(default_factory=dict)
    held: deque[_Held] = field(default_factory=deque)
    arrival_s: float = 0.0  # newest message's


class Localise:
    """Gives every message of a fabric to its localiser, in order, and publishes its findings.

    Messages within the localiser's memory are not acknowledged, so a restart reads them again and
    its detectors are as they were; incidents that are open come back from skh.incidents, and
    what people and the controller say is read from its beginning.
    """

    def __init__(
        self,
        outbox: Outbox,
        make: MakeLocalizer,
        read_incidents: ReadIncidents,
        notices: Notices,
        reading: Reading | None = None,
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        self._outbox = outbox
        self._reading = reading or Reading()
        self._clock_s = clock_s
        self._make = make
        self._read_incidents = read_incidents
        self._notices = notices
        self._lanes: dict[int, _Lane] = {}
        self._restored: list[Incident] | None = None
        self.messages = self.incidents = self.anomalies = self.dead_lettered = self.repeated = 0
        self.suppressed: Counter[Cause] = Counter()
        #: Age of the newest message judged, while there are more, and event time that waits [s].
        self.lag_s = 0.0

    def judged_s(self, fabric: str) -> int | None:
        """Newest second of a fabric that has been judged here."""
        found = [lane.localizers.get(fabric) for lane in self._lanes.values()]
        return max((one.judged_s or 0 for one in found if one is not None), default=None)

    @property
    def missing(self) -> int:
        """Messages that the broker no longer had."""
        return self._reading.missing

    async def look(self) -> None:
        """Once a second: see how late judging is."""
        await self._reading.refresh()
        self.lag_s = max(map(self._lag_s, self._lanes), default=0.0)

    def _lag_s(self, partition: int) -> float:
        lane = self._lanes[partition]
        behind_s = self._clock_s() - lane.arrival_s if self._reading.behind(partition) else 0.0
        waiting_s = (  # within a localiser, for other partitions
            lane.newest_s[fabric] - localizer.judged_s - 1
            for fabric, localizer in lane.localizers.items()
            if localizer.judged_s is not None and fabric in lane.newest_s
        )
        return max(behind_s, 0.0) + max(waiting_s, default=0)

    async def take(self, event: Any) -> None:
        """One message of skh.windows."""
        message = event.message
        self._reading.take(message.partition, message.offset)
        lane = self._lanes.get(message.partition)
        if lane is None or (lane.held and message.offset <= lane.held[-1].offset):
            lane = self._lanes[message.partition] = _Lane()  # Faust went back to the commit
            self._restored = None
        if self._restored is None:
            self._restored = await self._read_incidents()
            await self._notices.begin()
        if news := self._notices.news():
            for each in self._lanes.values():
                for localizer in each.localizers.values():
                    _tell(localizer, news)
        incoming = in_message(event)
        self.messages += 1
        out = self._notices.letters()
        try:
            header, batch = self._decode(lane, incoming)
            out += await self._observe(lane, header, batch, incoming)
        except windows.WindowsError as why:
            self.dead_lettered += 1
            header = windows.Header("punctuation", "", 0, 0)
            out += [
                dead_letters.message(
                    topics.WINDOWS.name,
                    message.partition,
                    incoming.offset,
                    incoming.value,
                    str(why),
                )
            ]
        await self._outbox.send(out)
        if self._lanes.get(message.partition) is lane:
            arrival_s = lane.arrival_s = incoming.time_ms / 1000
            lane.held.append(_Held(incoming.offset, header.fabric, header.end_s, arrival_s, event))
            self._acknowledge(lane, arrival_s)

    def _decode(
        self, lane: _Lane, message: InMessage
    ) -> tuple[windows.Header, pa.RecordBatch | None]:
        """The message in full, so that nothing of it can surprise a localiser; None: a punctuation.

        Raises WindowsError.
        """
        header = windows.Header.from_kafka(message.headers)
        batch = None
        if header.kind == "punctuation":
            windows.check_body(message.value)
        else:
            batch = windows.decode(header.kind, message.value)
            windows.check_whole(header.kind, batch)
        newest_s = lane.newest_s.get(header.fabric)
        if check_times(header, newest_s, self._clock_s()):
            _log.warning("fabric %s: its time was ahead and begins anew", header.fabric[:100])
            lane.localizers.pop(header.fabric, None)
            lane.newest_s.pop(header.fabric, None)
        return header, batch

    async def _observe(
        self,
        lane: _Lane,
        header: windows.Header,
        batch: pa.RecordBatch | None,
        message: InMessage,
    ) -> list[OutMessage]:
        localizer = lane.localizers.get(header.fabric)
        if localizer is None:
            localizer = lane.localizers[header.fabric] = self._make(header.fabric)
            localizer.restore([i for i in self._restored or () if i.fabric == header.fabric])
            _tell(localizer, self._notices.known)
        if header.kind != "heartbeats":  # an agent's clock must not move what is kept
            newest = lane.newest_s.get(header.fabric, 0)
            lane.newest_s[header.fabric] = max(newest, header.end_s)
        body = message.value if batch is None else b""
        # In a thread: judging ten thousand paths must not stop the event loop.
        before, repeated = localizer.suppressed_s, localizer.repeated
        findings = await asyncio.to_thread(localizer.observe, header, batch, body)
        self.suppressed += localizer.suppressed_s - before
        self.repeated += localizer.repeated - repeated
        self.incidents += len(findings.incidents)
        self.anomalies += len(findings.anomalies)
        return messages(findings)

    def _acknowledge(self, lane: _Lane, now_s: float) -> None:
        while lane.held:
            head = lane.held[0]
            old = head.end_s < lane.newest_s.get(head.fabric, 0) - MEMORY_S
            # A fabric that fell silent must not hold back the commit of the others for ever.
            if not old and head.fabric and head.arrival_s > now_s - 2 * MEMORY_S:
                return
            lane.held.popleft().event.ack()

    def forget(self) -> None:
        """A rebalance has begun: new owners read again from the commit."""
        self._lanes.clear()
        self._reading.forget()
        self._restored = None


def _tell(localizer: Localizer, notices: list[Notice]) -> None:
    """It leaves out what is said of other fabrics."""
    localizer.place(each for each in notices if isinstance(each, Placement))
    localizer.maintain(each for each in notices if isinstance(each, Maintenance))


def messages(findings: Findings) -> list[OutMessage]:
    """What a localiser found, as messages."""
    anomalies = [
        OutMessage(topics.ANOMALIES.name, each.path_id.encode(), incident.encode(each), [])
        for each in findings.anomalies
    ]
    return anomalies + [
        OutMessage(topics.INCIDENTS.name, each.incident_id.encode(), incident.encode(each), [])
        for each in findings.incidents
    ]


def attach(
    app: faust.App,
    outbox: Outbox,
    make: MakeLocalizer,
    read_incidents: ReadIncidents,
    notices: Notices,
    reading: Reading,
) -> Localise:
    """Make the agent of skh.windows; returns the stage for its counts."""
    inbox = app.topic(
        topics.WINDOWS.name, key_serializer="raw", value_serializer="raw", value_type=bytes
    )
    stage = Localise(outbox, make, read_incidents, notices, reading)

    @app.agent(inbox, name="streams.localise")
    async def localise(stream: Any) -> AsyncIterator[None]:
        async for event in stream.noack().events():
            await stage.take(event)
            yield None

    @app.task  # type: ignore[untyped-decorator]  # Faust ships no types
    async def look() -> None:
        while not app.should_stop:
            await asyncio.sleep(_LOOK_S)
            await stage.look()

    @app.on_partitions_revoked.connect(weak=False)
    async def revoked(*_: Any, **__: Any) -> None:
        stage.forget()

    return stage
