"""The Faust app of a stream worker, without agents."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import faust
import mode
from faust.tables.manager import TableManager

from schemas import topics
from streams.kafka import security
from streams.kafka.faust_client import batches, inbox, transport
from streams.kafka.fetch import PARTITION_BYTES


class _NoTables(TableManager):
    """Faust's own waits a second for tables to be declared, at each start; there are none."""

    async def on_start(self) -> None:
        await self._update_channels()
        await self.recovery.start()


def make(
    bootstrap: str,
    group: str,
    instance: str | None,
    kafka: Mapping[str, Any],
    *,
    session_s: float,
    commit_s: float,
    fetch_wait_ms: int,
) -> faust.App:
    """Make the app for the running event loop; nothing is connected yet.

    bootstrap      host:port,... of the brokers; kafka: further librdkafka settings
    group          consumer group
    instance       see ``StreamConfig``
    session_s      a worker without a sign of life for this time loses its partitions [s]
    commit_s       acknowledged messages that stay uncommitted for this time are reported [s]
    fetch_wait_ms  see ``transport.use``
    """
    logging.getLogger("faust").setLevel(logging.WARNING)
    logging.getLogger("mode").setLevel(logging.WARNING)
    logging.getLogger("aiokafka").setLevel(logging.ERROR)
    app = inbox.App(
        group,
        broker=";".join(f"kafka://{host}" for host in bootstrap.split(",")),
        loop=asyncio.get_running_loop(),
        store="memory://",
        web_enabled=False,
        autodiscover=False,
        datadir="/nonexistent",  # there are no tables; nothing is written
        key_serializer="raw",
        value_serializer="raw",
        broker_credentials=security.credentials(kafka),
        topic_partitions=topics.PINGS.partitions,
        topic_allow_declare=False,  # `skeletonhunter topics --create` makes them
        topic_disable_leader=True,
        consumer_auto_offset_reset="earliest",
        stream_wait_empty=False,  # events stay unacknowledged for long; waiting would hang
        stream_recovery_delay=0.0,
        TableManager=_NoTables,
        ConsumerScheduler=batches.BatchScheduler,
        broker_commit_interval=1.0,
        consumer_max_fetch_size=PARTITION_BYTES,
        broker_commit_livelock_soft_timeout=commit_s,
        consumer_group_instance_id=instance,
        broker_session_timeout=session_s,
        broker_request_timeout=max(session_s, 90.0),  # 90 s is Faust's; it must not be shorter
        broker_heartbeat_interval=session_s / 5,
        broker_rebalance_timeout=max(session_s, 10.0),
        agent_supervisor=mode.CrashingSupervisor,  # the default restarts an agent in silence
    )
    transport.use(app, fetch_wait_ms)
    return app
