"""Puts the stages together into one Faust worker; nothing is made at import."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import faust
import mode

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
from streams.kafka import security, transport
from streams.kafka.fetch import PARTITION_BYTES
from streams.kafka.publisher import Publisher
from streams.localize import restore, stage
from streams.localize.operator_feed import OperatorFeed
from streams.localize.reread import WindowsReader
from streams.merge.consumer_progress import SETTLED_S, ConsumerProgress, OffsetRange
from streams.merge.end_offsets import EndOffsets
from streams.merge.output_merger import OutputMerger


@dataclass(frozen=True)
class StreamConfig:
    """What a worker is told.

    bootstrap   host:port,... of the brokers; kafka: further librdkafka settings, of all clients
    group       consumer group; workers of one group share the partitions
    topology    of one fabric; other fabrics are learnt from their records
    fetch_wait_ms  see ``transport.use``: small for the embedded broker
    sender_keys  the key ring of this moment: senders must sign; None: they need not
    unsigned_senders  take messages without a signature although there are sender keys
    commit_s    acknowledged messages that are not committed for so long are reported
    session_s   after this time without a sign of life a worker's partitions are given to others
    """

    bootstrap: str
    group: str = "skh-stream"
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
    crashed; ``stop`` publishes nothing more and commits what nobody needs any more.
    """

    def __init__(
        self, config: StreamConfig, make_localizer: Callable[[str], Localizer] | None = None
    ) -> None:
        """make_localizer  of a fabric's name; None: one of the configured topology and options"""
        self.config = config
        self.publisher = Publisher(config.bootstrap, config.kafka)
        self.app = build(config)
        self.confluence = confluence = OutputMerger(self.publisher)
        self._ends = EndOffsets(self._kafka())
        ownership = Ownership(config.topology)
        self.admission = Admission(
            config.sender_keys, unsigned=config.unsigned_senders, ownership=ownership
        )
        self._pings = self._reading(topics.PINGS)
        self.ingest = ingest.attach(
            self.app, confluence, self._pings, config.options.timing, self.admission
        )
        self.heartbeats = heartbeats.attach(
            self.app, confluence, self._reading(topics.HEARTBEATS), self.admission
        )
        self.notices = OperatorFeed(self._kafka(), ownership.hear)
        self.refused: Counter[str] = Counter()
        self.localize = stage.attach(
            self.app,
            self.publisher,
            make_localizer or self._localizer,
            self._read_incidents,
            self.notices,
            self._reading(topics.WINDOWS),
            lambda partition, offset: WindowsReader(self._kafka(), partition, offset),
        )

    @property
    def lag_s(self) -> float:
        """How far judging is behind what the brokers have, beyond the lateness [s]."""
        return self.ingest.lag_s + self.localize.lag_s

    @property
    def catching_up(self) -> bool:
        """What was there at a start or a rebalance is still being read: late, but not overloaded
        as long as ``lag_s`` shrinks.
        """
        if self.ingest.lag_s < SETTLED_S:
            self._pings.settle()
        return self._pings.catching_up or self.localize.catching_up

    @property
    def commit_stalled(self) -> int:
        """Partitions with acknowledged messages whose commit does not come about."""
        return len(transport.stalled(self.app))

    def _localizer(self, fabric: str) -> Localizer:
        known = self.config.topology
        topology = known if known is not None and known.fabric == fabric else None
        return Localizer(topology=topology, options=self.config.options)

    def _kafka(self) -> dict[str, Any]:
        return {**self.config.kafka, "bootstrap.servers": self.config.bootstrap}

    async def _read_incidents(self) -> list[Incident]:
        return await restore.read_incidents(self._kafka(), self.refused)

    def _reading(self, topic: Topic) -> ConsumerProgress:
        async def extents() -> dict[int, OffsetRange]:
            assigned = {tp.partition for tp in self.app.consumer.assignment()
                        if tp.topic == topic.name}  # fmt: skip
            return await restore.read_extents(
                self._kafka(), self.config.group, topic.name, assigned
            )

        return ConsumerProgress(
            extents,
            lambda p: self.app.consumer.highwater(faust.types.TP(topic.name, p)),
            lambda partitions: self._ends.ask(topic.name, partitions),
        )

    async def start(self) -> None:
        if self.config.sender_keys is not None:  # whose containers are whose, before any record
            await self.notices.begin()
        self.app.finalize()
        await self.app.start()

    async def wait(self) -> None:
        """Returns when the worker has stopped by itself."""
        await self.app.wait_until_stopped()

    @property
    def crashed(self) -> BaseException | None:
        """Why the worker stopped by itself, if it did."""
        if not self.app.crashed:
            return None
        reason: BaseException | None = self.app.crash_reason
        return reason or RuntimeError("the worker crashed")

    def not_ready(self) -> str | None:
        """Why the worker judges nothing just now, or None when it does."""
        if self.app.crashed:
            return "the stream worker has crashed"
        if not self.app.started or self.app.rebalancing or not self.app.consumer.assignment():
            return "the stream worker has no partitions yet"
        if failing := self.localize.failing():
            return "; ".join(f"fabric {name}: {why}" for name, why in sorted(failing.items()))
        return None

    async def stop(self) -> None:
        await self.app.stop()
        await asyncio.to_thread(self.notices.close)
        await asyncio.to_thread(self._ends.close)
        await asyncio.to_thread(self.publisher.close)


def build(config: StreamConfig) -> faust.App:
    """The Faust app without agents."""
    logging.getLogger("faust").setLevel(logging.WARNING)
    logging.getLogger("mode").setLevel(logging.WARNING)
    logging.getLogger("aiokafka").setLevel(logging.ERROR)
    app = faust.App(
        config.group,
        broker=";".join(f"kafka://{host}" for host in config.bootstrap.split(",")),
        loop=asyncio.get_running_loop(),
        store="memory://",
        web_enabled=False,
        autodiscover=False,
        datadir="/nonexistent",  # we have no tables; nothing is written
        key_serializer="raw",
        value_serializer="raw",
        broker_credentials=security.credentials(config.kafka),
        topic_partitions=topics.PINGS.partitions,
        topic_allow_declare=False,  # `skeletonhunter topics --create` makes them
        topic_disable_leader=True,
        consumer_auto_offset_reset="earliest",
        stream_wait_empty=False,  # we hold events back for long; waiting for them would hang
        stream_recovery_delay=0.0,
        broker_commit_interval=1.0,
        consumer_max_fetch_size=PARTITION_BYTES,
        broker_commit_livelock_soft_timeout=config.commit_s,
        broker_session_timeout=config.session_s,
        broker_heartbeat_interval=config.session_s / 5,
        broker_rebalance_timeout=max(config.session_s, 10.0),
        agent_supervisor=mode.CrashingSupervisor,  # the default restarts an agent in silence
    )
    transport.use(app, config.fetch_wait_ms)
    return app
