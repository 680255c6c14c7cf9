"""Puts the stages together into one Faust worker; nothing is made at import."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import faust
from faust.exceptions import ConsumerNotStarted

from localizer.localizer import Localizer
from localizer.options import Options
from schemas import topics
from schemas.documents.incident import Incident
from schemas.documents.topology import Topology
from schemas.signing.keys import KeyRing
from schemas.topics import Topic
from streams import heartbeats, ingest
from streams.admission.admission import Admission
from streams.admission.ownership import Ownership
from streams.kafka.faust_client import app as faust_app
from streams.kafka.faust_client import membership
from streams.kafka.faust_client import transport as faust_transport
from streams.kafka.offset_ranges import unread_ranges
from streams.kafka.producer import KafkaProducer
from streams.localize import stage
from streams.localize.services import MakeLocalizer
from streams.merge.consumer_progress import ConsumerProgress, UnreadRange
from streams.merge.end_offsets import EndOffsets
from streams.merge.output_merger import OutputMerger
from streams.merge.parameters import MERGE
from streams.readers.host_evidence import HostEvidence
from streams.readers.incidents import read_incidents
from streams.readers.operator_feed import OperatorFeed
from streams.readers.parameters import HOST_EVIDENCE
from streams.readers.request_feed import RequestFeed
from streams.readers.windows_reader import WindowsReader


@dataclass(frozen=True)
class StreamConfig:
    """Settings of a worker.

    bootstrap   host:port,... of the brokers; kafka: further librdkafka settings, of all clients
    group       consumer group; workers of one group share the partitions
    instance    this worker's name in the group: started again under it, a worker has its partitions
                back at once, however it ended; of two with one name the older one ends. None: the
                group waits ``session_s`` for a worker that was killed
    topology    of one fabric; other fabrics are learnt from their records
    fetch_wait_ms  see ``faust_client.transport.use``: small for the embedded broker [ms]
    sender_keys  returns the current key ring: senders must sign; None: they need not
    unsigned_senders  accept messages without a signature although there are sender keys
    commit_s    acknowledged messages that stay uncommitted for this time are reported [s]
    session_s   a worker without a sign of life for this time loses its partitions [s]
    """

    bootstrap: str
    group: str = "skh-stream"
    instance: str | None = None
    topology: Topology | None = None
    options: Options = field(default_factory=Options)
    session_s: float = 10.0
    commit_s: float = 300.0
    fetch_wait_ms: int = 500
    kafka: Mapping[str, Any] = field(default_factory=dict, repr=False)
    sender_keys: Callable[[], KeyRing | None] | None = None
    unsigned_senders: bool = False


class StreamWorker:
    """One Faust worker with the agents of skh.pings, skh.heartbeats and skh.windows.

    ``start`` returns when consumption has begun or is about to; ``wait`` returns when the worker
    has stopped by itself; ``stop`` publishes nothing more and commits what has been acknowledged.

    refused  by topic, documents read at an assignment that are not valid [count]
    """

    def __init__(self, config: StreamConfig, make_localizer: MakeLocalizer | None = None) -> None:
        """make_localizer  of a fabric's name; None: one of the configured topology and options"""
        self.config = config
        self.producer = KafkaProducer(config.bootstrap, config.kafka)
        self.app = faust_app.make(
            config.bootstrap, config.group, config.instance, config.kafka,
            session_s=config.session_s, commit_s=config.commit_s,
            fetch_wait_ms=config.fetch_wait_ms,
        )  # fmt: skip
        self.merger = OutputMerger(self.producer)
        self._end_offsets = EndOffsets(self._kafka())
        ownership = Ownership(config.topology)
        self.admission = Admission(
            config.sender_keys, unsigned=config.unsigned_senders, ownership=ownership
        )
        self._pings = self._progress(topics.PINGS)
        self.ingest = ingest.attach(
            self.app, self.merger, self._pings, config.options.timing, self.admission
        )
        self.heartbeats = heartbeats.attach(
            self.app, self.merger, self._progress(topics.HEARTBEATS), self.admission
        )
        self.operator_feed = OperatorFeed(self._kafka(), ownership.add, on_evict=ownership.drop_old)
        self.evidence = HostEvidence(
            RequestFeed(
                self._kafka(), self.admission, names=(topics.EVIDENCE.name,),
                tail=HOST_EVIDENCE.tail, wait_s=0.0,
            )
        )  # fmt: skip
        self.refused: Counter[str] = Counter()
        self.localize = stage.attach(
            self.app,
            self.producer,
            make_localizer or self._make_localizer,
            self._read_incidents,
            self.operator_feed,
            self._progress(topics.WINDOWS),
            lambda partition, offset: WindowsReader(self._kafka(), partition, offset),
            self.evidence,
        )

    @property
    def lag_s(self) -> float:
        """How far judging is behind the brokers' newest messages, beyond the lateness [s]."""
        return self.ingest.lag_s + self.localize.lag_s

    @property
    def catching_up(self) -> bool:
        """Messages from before a start or a rebalance are still being read.

        The worker is late then, but not overloaded as long as ``lag_s`` shrinks.
        """
        if self.ingest.lag_s < MERGE.caught_up_s:
            self._pings.mark_caught_up()
        return self._pings.catching_up or self.localize.catching_up

    @property
    def commit_stalled(self) -> int:
        """Partitions with acknowledged messages that stay uncommitted [count]."""
        return len(faust_transport.commit_stalled(self.app))

    def _make_localizer(self, fabric: str) -> Localizer:
        known = self.config.topology
        topology = known if known is not None and known.fabric == fabric else None
        return Localizer(topology=topology, options=self.config.options)

    def _kafka(self) -> dict[str, Any]:
        return {**self.config.kafka, "bootstrap.servers": self.config.bootstrap}

    async def _read_incidents(self) -> list[Incident]:
        return await read_incidents(self._kafka(), self.refused)

    def _progress(self, topic: Topic) -> ConsumerProgress:
        async def ranges() -> dict[int, UnreadRange]:
            assigned = {tp.partition for tp in self.app.consumer.assignment()
                        if tp.topic == topic.name}  # fmt: skip
            return await unread_ranges(self._kafka(), self.config.group, topic.name, assigned)

        return ConsumerProgress(
            ranges,
            lambda p: self.app.consumer.highwater(faust.types.TP(topic.name, p)),
            lambda partitions: self._end_offsets.query(topic.name, partitions),
        )

    async def start(self) -> None:
        """Connect and begin to consume."""
        if self.config.sender_keys is not None:  # owners of containers, before any record
            await self.operator_feed.begin()
        self.app.finalize()
        # Faust makes its consumer for the event loop of who asks for it first: that must not be a
        # health check on its own thread, which asks as soon as the app has started.
        _ = self.app.consumer
        await self.app.start()

    async def wait(self) -> None:
        """Return when the worker has stopped by itself."""
        await self.app.wait_until_stopped()

    @property
    def crashed(self) -> BaseException | None:
        """The error that stopped the worker; None when there was none."""
        if not self.app.crashed:
            return None
        reason = membership.cause(self.app.crash_reason)
        return reason or RuntimeError("the worker crashed")

    def not_ready(self) -> str | None:
        """Why the worker is not judging just now; None when it is."""
        if self.app.crashed:
            return "the stream worker has crashed"
        if not self.app.started or self.app.rebalancing or not self._assignment():
            return "the stream worker has no partitions yet"
        if failing := self.localize.failing():
            return "; ".join(f"fabric {name}: {why}" for name, why in sorted(failing.items()))
        return None

    def _assignment(self) -> set[Any]:
        try:
            return set(self.app.consumer.assignment())
        except ConsumerNotStarted:  # the app has started, its consumer's thread has not
            return set()

    async def stop(self) -> None:
        """Stop consuming and close all connections."""
        await self.app.stop()
        await asyncio.to_thread(self.operator_feed.close)
        await self.evidence.close()
        await asyncio.to_thread(self._end_offsets.close)
        await asyncio.to_thread(self.producer.close)
