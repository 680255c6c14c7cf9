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

from localizer.localizer import Localizer
from localizer.suppression.log import Cause
from schemas import topics
from schemas.documents.incident import Incident
from schemas.wire import window_chunks
from streams import dead_letters
from streams.kafka.messages import InMessage, OutMessage
from streams.kafka.publisher import MessageProducer
from streams.localize.fabric import Fabric, Services, Sleep, sizes
from streams.localize.operator_feed import OperatorFeed
from streams.localize.plausible_times import check_times
from streams.localize.reread import OpenReader
from streams.localize.retention import LOOKBACK_S, idle_limit_s, restorable
from streams.merge.consumer_progress import SETTLED_S, ConsumerProgress
from streams.merge.pending_acks import in_message

_log = logging.getLogger(__name__)
_LOOK_S: Final = 1.0
_MOST_STOPPED: Final = 10_000

#: Makes the localizer of a fabric; restored incidents are handed to it before its first message.
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

    fabrics: dict[str, Fabric] = field(default_factory=dict)
    stopped: dict[str, None] = field(default_factory=dict)  # fabrics that were forgotten
    held: deque[_Held] = field(default_factory=deque)
    arrival_s: float = 0.0  # newest message's


class LocalizeStage:
    """Gives every message to its fabric, in order, and publishes what that finds.

    Messages within the localizer's memory are not acknowledged, so a restart reads them again and
    its detectors are as they were; incidents that are open come back from skh.incidents, and
    what people and the controller say is read from its beginning.
    """

    def __init__(
        self,
        outbox: MessageProducer,
        make: MakeLocalizer,
        read_incidents: ReadIncidents,
        notices: OperatorFeed,
        reading: ConsumerProgress | None = None,
        clock_s: Callable[[], float] = time.time,
        open_reader: OpenReader | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._outbox = outbox
        self._reading = reading or ConsumerProgress()
        self._clock_s = clock_s
        self._notices = notices
        self._services = Services(
            outbox, make, read_incidents, lambda: notices.known, open_reader, sleep
        )
        self._lanes: dict[int, _Lane] = {}
        self._restored: list[Incident] | None = None
        self.messages = self._dead_lettered = 0
        #: Age of the newest message judged, while there are more, and event time that waits [s].
        self.lag_s = 0.0

    @property
    def incidents(self) -> int:
        """Documents published."""
        return self._services.incidents

    @property
    def anomalies(self) -> int:
        """Documents published."""
        return self._services.anomalies

    @property
    def repeated(self) -> int:
        """Chunks that were there already, or came after their second was judged."""
        return self._services.repeated

    @property
    def dead_lettered(self) -> int:
        """Messages that could not be read or judged."""
        return self._dead_lettered + self._services.dead_lettered

    @property
    def suppressed(self) -> Counter[Cause]:
        """Reports suppressed, counted once a second and component, by reason."""
        return self._services.suppressed

    @property
    def failures(self) -> Counter[str]:
        """Errors in judging, by fabric."""
        return self._services.failures

    @property
    def catching_up(self) -> bool:
        """A re-reading of skh.windows has begun, at a start or a rebalance, and is not over."""
        return self._reading.catching_up

    @property
    def fabrics(self) -> list[Fabric]:
        """All that are judged here."""
        return [each for lane in list(self._lanes.values()) for each in list(lane.fabrics.values())]

    def failing(self) -> dict[str, str]:
        """Fabrics that are not judged after an error -> that error."""
        return {each.name: why for each in self.fabrics if (why := each.failing) is not None}

    def sizes(self) -> Counter[str]:
        """How much is remembered, by what."""
        total = sizes(self.fabrics)
        total["fabrics"] = len(self.fabrics)
        total["messages_held"] = sum(len(lane.held) for lane in list(self._lanes.values()))
        total["notices"] = len(self._notices)
        return total

    def judged_s(self, fabric: str) -> int | None:
        """Newest second of a fabric that has been judged here."""
        found = [each.judged_s or 0 for each in self.fabrics if each.name == fabric]
        return max(found, default=None)

    @property
    def missing(self) -> int:
        """Messages that the broker no longer had."""
        return self._reading.missing

    async def look(self) -> None:
        """Once a second: see how late judging is, and who has stopped."""
        await self._reading.refresh()
        self.lag_s = max(map(self._lag_s, self._lanes), default=0.0)
        if self.lag_s < SETTLED_S:
            self._reading.settle()
        for lane in self._lanes.values():
            for fabric in list(lane.fabrics.values()):
                # One that is alone takes no room from others, and may be back.
                if len(lane.fabrics) > 1 and _stopped(fabric, lane.arrival_s):
                    fabric.cancel()
                    del lane.fabrics[fabric.name]
                    lane.stopped[fabric.name] = None
                    if len(lane.stopped) > _MOST_STOPPED:
                        del lane.stopped[next(iter(lane.stopped))]
        judged = [each.judged_s for each in self.fabrics]
        if judged and None not in judged:
            self._notices.forget(min(each or 0 for each in judged) - LOOKBACK_S)

    def _lag_s(self, partition: int) -> float:
        lane = self._lanes[partition]
        behind_s = self._clock_s() - lane.arrival_s if self._reading.behind(partition) else 0.0
        waiting_s = (  # within a localizer, for other partitions
            fabric.newest_s - fabric.judged_s - 1
            for fabric in lane.fabrics.values()
            if fabric.judged_s is not None and fabric.newest_s
        )
        return max(behind_s, 0.0) + max(waiting_s, default=0)

    async def take(self, event: Any) -> None:
        """One message of skh.windows."""
        message = event.message
        self._reading.take(message.partition, message.offset)
        lane = self._lanes.get(message.partition)
        if lane is None or (lane.held and message.offset <= lane.held[-1].offset):
            if lane is not None:
                _cancel(lane)
            lane = self._lanes[message.partition] = _Lane()  # Faust went back to the commit
            self._restored = None
        if self._restored is None:
            self._restored = restorable(await self._services.read_incidents())
            await self._notices.begin()
        incoming = in_message(event)
        at_s = incoming.time_ms // 1000
        if news := self._notices.news():
            for each in self.fabrics:
                await self._outbox.send(each.tell(news, at_s))
        self.messages += 1
        out = self._notices.letters()
        try:
            header = window_chunks.Header.from_kafka(incoming.headers)
            out += await self._judge(lane, header, message.partition, incoming)
        except window_chunks.WindowsError as why:
            self._dead_lettered += 1
            header = window_chunks.Header("punctuation", "", 0, 0)
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

    async def _judge(
        self, lane: _Lane, header: window_chunks.Header, partition: int, message: InMessage
    ) -> list[OutMessage]:
        name = header.fabric
        fabric = lane.fabrics.get(name)
        newest_s = fabric.newest_s or None if fabric is not None else None
        if check_times(header, newest_s, self._clock_s()) and fabric is not None:
            _log.warning("fabric %s: its time was ahead and begins anew", name[:100])
            fabric.cancel()
            del lane.fabrics[name]
            fabric = None
        if name in lane.stopped and header.kind == "punctuation":
            return []  # time passes in its partition, but nothing is measured in it
        out: list[OutMessage] = []
        start = lane.held[0].offset if lane.held else message.offset
        if fabric is None:
            incidents = self._restored or []
            if name in lane.stopped:  # it has had incidents since those were read
                del lane.stopped[name]
                incidents = await self._services.read_incidents()
            fabric = lane.fabrics[name] = Fabric(name, partition, self._services)
            fabric.arrival_s = message.time_ms / 1000
            out += fabric.begin(incidents, message, start)
        return out + await fabric.take(header, message, start)

    def _acknowledge(self, lane: _Lane, now_s: float) -> None:
        while lane.held:
            head = lane.held[0]
            fabric = lane.fabrics.get(head.fabric)
            old = fabric is None or head.end_s < fabric.newest_s - LOOKBACK_S
            # A fabric that fell silent must not hold back the commit of the others for ever.
            if not old and head.fabric and head.arrival_s > now_s - 2 * LOOKBACK_S:
                return
            lane.held.popleft().event.ack()

    def forget(self) -> None:
        """A rebalance has begun: new owners read again from the commit."""
        for lane in self._lanes.values():
            _cancel(lane)
        self._lanes.clear()
        self._reading.forget()
        self._restored = None


def _cancel(lane: _Lane) -> None:
    for fabric in lane.fabrics.values():
        fabric.cancel()


def _stopped(fabric: Fabric, now_s: float) -> bool:
    """Whether nothing is measured in it for so long that its localizer is in the way."""
    if fabric.repairing or fabric.localizer is None:
        return False
    idle_s = now_s - fabric.arrival_s
    return idle_s > idle_limit_s(fabric.localizer.open_incidents)


def attach(
    app: faust.App,
    outbox: MessageProducer,
    make: MakeLocalizer,
    read_incidents: ReadIncidents,
    notices: OperatorFeed,
    reading: ConsumerProgress,
    open_reader: OpenReader | None = None,
) -> LocalizeStage:
    """Make the agent of skh.windows; returns the stage for its counts."""
    inbox = app.topic(
        topics.WINDOWS.name, key_serializer="raw", value_serializer="raw", value_type=bytes
    )
    stage = LocalizeStage(outbox, make, read_incidents, notices, reading, open_reader=open_reader)

    @app.agent(inbox, name="streams.localize.stage")
    async def localize(stream: Any) -> AsyncIterator[None]:
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
