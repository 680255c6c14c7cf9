"""skh.windows, and documents about the site -> skh.incidents, skh.anomalies."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import faust

from schemas import topics
from schemas.documents.coverage import Coverage
from schemas.documents.incident import Incident
from schemas.wire import window_chunks
from streams import dead_letters
from streams.errors import PublishError
from streams.kafka.faust_client import batches
from streams.kafka.messages import InMessage, OutMessage
from streams.kafka.producer import MessageProducer
from streams.localize.fabric import Fabric, sizes
from streams.localize.partition_state import PartitionState, PendingWindow
from streams.localize.plausible_times import check_times
from streams.localize.retention import RETENTION, restorable
from streams.localize.services import (
    LocalizeCounts,
    MakeLocalizer,
    ReadIncidents,
    Services,
    SiteDocument,
    Sleep,
)
from streams.merge.consumer_progress import ConsumerProgress
from streams.merge.parameters import MERGE
from streams.merge.pending_acks import to_messages
from streams.readers.host_evidence import HostEvidence
from streams.readers.operator_feed import OperatorFeed
from streams.readers.windows_reader import OpenReader

_log = logging.getLogger(__name__)


class LocalizeStage:
    """Hands every message to its fabric, in order, and publishes what the fabric finds.

    Messages within the detectors' history are not acknowledged, so that after a restart they are
    read again and the detectors are as before. Open incidents are restored from skh.incidents, and
    operators' documents are read from the beginning of their topics.

    lag_s  of the slowest partition: age of the newest message judged, while it has more, plus the
           event time that waits in its localizers [s]
    """

    def __init__(
        self,
        producer: MessageProducer,
        make_localizer: MakeLocalizer,
        read_incidents: ReadIncidents,
        operator_feed: OperatorFeed,
        progress: ConsumerProgress | None = None,
        clock_s: Callable[[], float] = time.time,
        open_reader: OpenReader | None = None,
        sleep: Sleep = asyncio.sleep,
        evidence: HostEvidence | None = None,
    ) -> None:
        """evidence  of hosts, about incidents; None: none is read"""
        self._producer = producer
        self._progress = progress or ConsumerProgress()
        self._clock_s = clock_s
        self._operator_feed = operator_feed
        self._evidence = evidence
        self._services = Services(
            producer, make_localizer, read_incidents, self._documents, open_reader, sleep
        )
        self._partitions: dict[int, PartitionState] = {}
        self._incidents: list[Incident] | None = None  # as read at the assignment
        self._coverage_task: asyncio.Task[None] | None = None
        self.lag_s = 0.0

    def _documents(self) -> list[SiteDocument]:
        """All that a new localizer has to know."""
        evidence = [] if self._evidence is None else self._evidence.known
        return [*self._operator_feed.known, *evidence]

    def _new_documents(self) -> list[SiteDocument]:
        evidence = [] if self._evidence is None else self._evidence.new_documents()
        return [*self._operator_feed.new_documents(), *evidence]

    # --- state ----------------------------------------------------------------------------------

    @property
    def counts(self) -> LocalizeCounts:
        """What this stage has done since it started."""
        return self._services.counts

    @property
    def missing(self) -> int:
        """Messages that the broker no longer had [count]."""
        return self._progress.missing

    @property
    def catching_up(self) -> bool:
        """skh.windows is being read again, after a start or a rebalance."""
        return self._progress.catching_up

    @property
    def fabrics(self) -> list[Fabric]:
        """All fabrics of the assigned partitions."""
        return [
            each
            for state in list(self._partitions.values())
            for each in list(state.fabrics.values())
        ]

    def failing(self) -> dict[str, str]:
        """Fabrics that are not judged because of an error -> that error."""
        return {each.name: why for each in self.fabrics if (why := each.failing) is not None}

    def coverage(self) -> list[Coverage]:
        """What probes cross of each fabric whose topology is known."""
        return [each.coverage for each in self.fabrics if each.coverage is not None]

    def sizes(self) -> Counter[str]:
        """Entries in memory, by kind [count]."""
        total = sizes(self.fabrics)
        total["fabrics"] = len(self.fabrics)
        total["messages_held"] = sum(len(each.pending) for each in list(self._partitions.values()))
        total["notices"] = len(self._operator_feed)
        total["evidence"] = 0 if self._evidence is None else len(self._evidence)
        return total

    def judged_s(self, fabric: str) -> int | None:
        """Newest second of a fabric that has been judged here."""
        found = [each.judged_s or 0 for each in self.fabrics if each.name == fabric]
        return max(found, default=None)

    # --- events ---------------------------------------------------------------------------------

    async def tick(self) -> None:
        """Once a second: measure the lag, report silent fabrics, evict what is not needed."""
        await self._progress.refresh()
        if self._evidence is not None:
            await self._evidence.poll()
        self.lag_s = max(map(self._lag_s, self._partitions), default=0.0)
        if self.lag_s < MERGE.caught_up_s:
            self._progress.mark_caught_up()
        for partition, state in list(self._partitions.items()):
            start = state.pending[0].offset if state.pending else self._progress.position(partition)
            read_to_end = not self._progress.has_more(partition)
            for fabric in list(state.fabrics.values()):
                out = fabric.tick(start, read_to_end=read_to_end)
                if out:
                    await self._producer.send(out)
            state.evict_idle()
        self._publish_coverage()
        if self.fabrics and (needed_s := self._documents_needed_s()) is not None:
            self._operator_feed.evict(needed_s - RETENTION.lookback_s)

    def _documents_needed_s(self) -> int | None:
        """Second from which on operators' documents may still be needed; None: of any time.

        A fabric in which nothing is measured any more, or never was, must not hold them for ever:
        its localizer has what has come, and what is to come is of the present.
        """
        needed = []
        now_s = self._clock_s()
        for partition, state in list(self._partitions.items()):
            behind = self._progress.has_more(partition)
            for fabric in list(state.fabrics.values()):
                at = fabric.judged_s
                if at is None and behind:
                    return None
                idle = now_s - fabric.arrival_s > RETENTION.idle_s
                if at is not None and (behind or not idle):
                    needed.append(at)
        return min(needed, default=int(now_s))

    def _publish_coverage(self) -> None:
        """Beside the stream: a broker without the topic must not hold up incidents."""
        if self._coverage_task is not None and not self._coverage_task.done():
            return
        messages = [message for each in self.fabrics for message in each.new_coverage()]
        if messages:
            self._coverage_task = asyncio.create_task(self._send_coverage(messages))

    async def _send_coverage(self, messages: list[OutMessage]) -> None:
        try:
            await self._producer.send(messages)
        except PublishError as why:
            _log.warning("coverage is not published: %s; is the topic there? See topics --create",
                         why)  # fmt: skip

    def _lag_s(self, partition: int) -> float:
        state = self._partitions[partition]
        more = self._progress.has_more(partition)
        behind_s = self._clock_s() - state.arrival_s if more else 0.0
        waiting_s = (  # in a localizer, for other partitions
            fabric.newest_s - fabric.judged_s - 1
            for fabric in state.fabrics.values()
            if fabric.judged_s is not None and fabric.newest_s
        )
        return max(behind_s, 0.0) + max(waiting_s, default=0)

    async def consume(self, event: Any) -> None:
        """Take in a batch of messages of one partition of skh.windows.

        The batch is acknowledged with its last message.
        """
        partition, last = event.message.partition, event.message.offset
        for message, _ in to_messages(event):
            acked = event if message.offset == last else None
            if not await self._take(partition, message, acked):
                return  # the next owner reads the rest of the batch

    async def _take(self, partition: int, message: InMessage, event: Any) -> bool:
        """Take in one message; returns whether the partition is assigned still.

        event  what is acknowledged with the message; None: nothing
        """
        offset = message.offset
        self._progress.record(partition, offset)
        state = self._partitions.get(partition)
        if state is None or (state.pending and offset <= state.pending[-1].offset):
            if state is not None:  # Faust went back to the committed offset
                state.cancel()
            state = self._partitions[partition] = PartitionState()
            state.arrival_s = message.time_ms / 1000  # the lag is measured while this one is judged
            self._incidents = None
        if self._incidents is None:
            self._incidents = restorable(await self._services.read_incidents())
            await self._operator_feed.begin()
        if documents := self._new_documents():
            for each in self.fabrics:
                await self._producer.send(each.update(documents, message.time_ms // 1000))
        self.counts.messages += 1
        out = self._operator_feed.new_dead_letters()
        try:
            header = window_chunks.Header.from_kafka(message.headers)
            out += await self._judge(state, header, partition, message)
        except window_chunks.WindowsError as why:
            self.counts.dead_lettered += 1
            header = window_chunks.Header("punctuation", "", 0, 0)
            out.append(
                dead_letters.message(
                    topics.WINDOWS.name, partition, offset, message.value, str(why)
                )
            )
        await self._producer.send(out)
        if self._partitions.get(partition) is not state:  # it was revoked in the meantime
            return False
        state.arrival_s = message.time_ms / 1000
        state.pending.append(
            PendingWindow(offset, header.fabric, header.end_s, state.arrival_s, event)
        )
        state.acknowledge()
        return True

    async def _judge(
        self,
        state: PartitionState,
        header: window_chunks.Header,
        partition: int,
        message: InMessage,
    ) -> list[OutMessage]:
        name = header.fabric
        fabric = state.fabrics.get(name)
        newest_s = fabric.newest_s or None if fabric is not None else None
        if check_times(header, newest_s, self._clock_s()) and fabric is not None:
            _log.warning("fabric %s: its time was ahead and begins anew", name[:100])
            fabric.cancel()
            del state.fabrics[name]
            fabric = None
        if name in state.evicted and header.kind == "punctuation":
            return []  # time passes in its partition, but nothing is measured in it
        out: list[OutMessage] = []
        start = state.pending[0].offset if state.pending else message.offset
        if fabric is None:
            incidents = self._incidents or []
            if name in state.evicted:  # it may have had incidents since those were read
                del state.evicted[name]
                incidents = await self._services.read_incidents()
            fabric = state.fabrics[name] = Fabric(name, partition, self._services)
            fabric.arrival_s = message.time_ms / 1000
            out += fabric.begin(incidents, message, start)
        return out + await fabric.judge(header, message, start)

    def revoke(self) -> None:
        """A rebalance has begun: the next owners read again from the committed offsets."""
        for state in self._partitions.values():
            state.cancel()
        if self._coverage_task is not None:
            self._coverage_task.cancel()
        self._partitions.clear()
        self._progress.reset()
        self._incidents = None


def attach(
    app: faust.App,
    producer: MessageProducer,
    make_localizer: MakeLocalizer,
    read_incidents: ReadIncidents,
    operator_feed: OperatorFeed,
    progress: ConsumerProgress,
    open_reader: OpenReader | None = None,
    evidence: HostEvidence | None = None,
) -> LocalizeStage:
    """Make the Faust agent of skh.windows and its timer; returns the stage."""
    inbox = app.topic(
        topics.WINDOWS.name, key_serializer="raw", value_serializer="raw", value_type=bytes
    )
    batches.bound(inbox)
    stage = LocalizeStage(
        producer, make_localizer, read_incidents, operator_feed, progress,
        open_reader=open_reader, evidence=evidence,
    )  # fmt: skip

    @app.agent(inbox, name="streams.localize.stage")
    async def localize(stream: Any) -> None:  # no generator: Faust logs each value of one
        async for event in stream.noack().events():
            await stage.consume(event)

    @app.task  # type: ignore[untyped-decorator]  # Faust ships no types
    async def tick() -> None:
        while not app.should_stop:
            await asyncio.sleep(RETENTION.every_s)
            await stage.tick()

    @app.on_partitions_revoked.connect(weak=False)
    async def revoked(*_: Any, **__: Any) -> None:
        stage.revoke()

    return stage
