"""The brokers of a site, and what can happen to them and to what they hold."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its __init__ has no __all__
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from schemas import topics
from schemas.topics import Topic
from streams.kafka import admin as kafka_topics
from streams.sink import batch
from testbed.services import kafka_server
from testbed.services.kafka_server import KafkaServer


class Brokers:
    """Apache Kafka with all topics.

    folder     for logs and data
    count      brokers of the cluster
    overtaken  by partition, offsets deleted before they were read
    """

    def __init__(self, folder: Path, count: int = 1) -> None:
        self._folder, self._count = folder, count
        self.all: list[KafkaServer] = []
        self.overtaken: list[range] = []

    def start(self) -> None:
        """Start them, and create the topics."""
        self._folder.mkdir(exist_ok=True)
        if self._count > 1:
            self.all += kafka_server.cluster(self._folder, self._count)
        else:
            self.all.append(KafkaServer(self._folder))
        kafka_topics.create({"bootstrap.servers": self.bootstrap})

    @property
    def bootstrap(self) -> str:
        """Their addresses."""
        return ",".join(each.bootstrap for each in self.all)

    @property
    def first(self) -> KafkaServer:
        """The only one of most faults."""
        return self.all[0]

    def kill_leader(self) -> None:
        """End the broker that leads the first partition of skh.pings."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        partitions = admin.list_topics(timeout=60).topics[topics.PINGS.name].partitions
        self.all[partitions[0].leader - 1].kill()

    def restart(self) -> None:
        """Start the brokers that have ended."""
        for each in self.all:
            if each.process.poll() is not None:
                each.start()

    def keep_times(self, *of: Topic) -> None:
        """Let topics have the time stamps of their producer, so that a past can be written."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        change = ConfigEntry(
            "message.timestamp.type", "CreateTime", incremental_operation=AlterConfigOpType.SET
        )
        wanted = [
            ConfigResource(ResourceType.TOPIC, topic.name, incremental_configs=[change])
            for topic in of
        ]
        for future in admin.incremental_alter_configs(wanted).values():
            future.result(60)

    def delete_unread(self, topic: Topic) -> None:
        """Let the broker forget all of a topic, as retention does; ``overtaken`` counts the gap."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        partitions = [TopicPartition(topic.name, p) for p in range(topic.partitions)]
        consumer = self._consumer("skh-stream")
        try:
            committed = consumer.committed(partitions, timeout=60)
            ends = [consumer.get_watermark_offsets(at, timeout=60)[1] for at in partitions]
        finally:
            consumer.close()
        wanted = [TopicPartition(topic.name, p, end) for p, end in enumerate(ends)]
        for future in admin.delete_records(wanted).values():
            future.result(60)
        self.overtaken = [
            range(max(at.offset, 0), end) for at, end in zip(committed, ends, strict=True)
        ]

    def sink_lag(self) -> int:
        """Messages that the sink has not stored and committed [count]."""
        consumer = self._consumer("skh-sink")
        behind = 0
        try:
            for topic in batch.TOPICS:
                partitions = [TopicPartition(topic.name, p) for p in range(topic.partitions)]
                for at in consumer.committed(partitions, timeout=60):
                    low, high = consumer.get_watermark_offsets(at, timeout=60)
                    behind += max(0, high - max(at.offset, low))
        finally:
            consumer.close()
        return behind

    def _consumer(self, group: str) -> Consumer:
        return Consumer({"bootstrap.servers": self.bootstrap, "group.id": group, "log_level": 2})

    def close(self) -> None:
        """End them."""
        for each in self.all:
            each.stop()
