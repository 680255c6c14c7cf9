"""Stages without a broker: Faust's events, producers that record, feeds and localizers that do."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from builders.streams.ping_records import START_S, message, ping
from localizer.localizer import Localizer, LocalizerOutput
from schemas import topics
from schemas.documents.incident import Incident, decode_incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.requests.evidence import Evidence
from schemas.documents.topology import Topology
from schemas.wire import window_chunks
from streams.kafka.messages import InMessage, OutMessage
from streams.readers.operator_feed import OperatorDocument, OperatorFeed
from streams.windowing.partition import PartitionWorker

Acked = list[tuple[int, int]]  # partition, offset


class RecordingProducer:
    """Records what is sent; fails when it is told to."""

    def __init__(self) -> None:
        self.sent: list[OutMessage] = []
        self.fails = False

    async def send(self, messages: Sequence[OutMessage]) -> None:
        await asyncio.sleep(0)
        if self.fails:
            raise RuntimeError("the broker is gone")
        self.sent += messages

    def headers(self) -> list[window_chunks.Header]:
        """Headers of what was sent to skh.windows, in order."""
        return [
            window_chunks.Header.from_kafka(dict(each.headers))
            for each in self.sent
            if each.topic == topics.WINDOWS.name
        ]

    def panes(self) -> list[int]:
        """Seconds after START_S of the panes that were sent, in order."""
        return [each.start_s - START_S for each in self.headers() if each.kind == "pane"]

    def incidents(self, fabric: str) -> list[Incident]:
        """Documents of a fabric's incidents, in order."""
        docs = [decode_incident(o.value) for o in self.sent if o.topic == topics.INCIDENTS.name]
        return [each for each in docs if each.fabric == fabric]

    def dead_letters(self) -> list[OutMessage]:
        return [each for each in self.sent if each.topic == topics.DEAD_LETTER.name]


class Event:
    """What Faust hands to an agent; acknowledged events are noted in ``acked``."""

    def __init__(self, message: InMessage, partition: int, acked: Acked) -> None:
        self.value: bytes | None = message.value
        self.message = SimpleNamespace(
            value=message.value, headers=list(message.headers.items()), offset=message.offset,
            partition=partition, timestamp=message.time_ms / 1000, key=message.key,
        )  # fmt: skip
        self.acked = acked

    def ack(self) -> None:
        self.acked.append((self.message.partition, self.message.offset))


class BatchEvent:
    """What Faust hands to the agent of skh.pings: messages of a partition, in order.

    time_kind  of the messages' time stamps, as aiokafka has it: 1 is the broker's clock
    """

    def __init__(
        self, messages: Sequence[InMessage], partition: int, acked: Acked, time_kind: int = 0
    ) -> None:
        self.message = SimpleNamespace(
            partition=partition, offset=messages[-1].offset,
            value=[
                SimpleNamespace(
                    offset=each.offset, timestamp=each.time_ms, timestamp_type=time_kind,
                    headers=tuple(each.headers.items()), key=each.key, value=each.value,
                )
                for each in messages
            ],
        )  # fmt: skip
        self.value = self.message.value
        self.acked = acked

    def ack(self) -> None:
        self.acked.append((self.message.partition, self.message.offset))


class FixedFeed(OperatorFeed):
    """An operator feed with fixed documents; without any, operators are silent."""

    def __init__(self, *documents: OperatorDocument) -> None:
        super().__init__({})
        self.documents = list(documents)

    async def begin(self) -> None:
        """There is nothing to read."""

    @property
    def known(self) -> list[OperatorDocument]:
        return self.documents


class RecordingLocalizer:
    """Records what it is given, and finds nothing."""

    repeated = 0
    open_incidents = 0
    judged_s: int | None = None

    def __init__(self) -> None:
        self.observed: list[tuple[str, int, bytes]] = []  # kind, end, body
        self.restored: list[Incident] | None = None

    def restore(self, incidents: list[Incident]) -> None:
        self.restored = incidents

    @property
    def suppressed_s(self) -> Counter[str]:
        return Counter()

    def judges_at(self, header: window_chunks.Header) -> bool:
        return header.kind == "punctuation"

    def sizes(self) -> dict[str, int]:
        return {"observed": len(self.observed)}

    def coverage(self) -> None:
        """It knows no topology."""

    def place(self, documents: Iterable[Placement]) -> None:
        assert not [*documents], "operators are silent"

    def follow(self, documents: Iterable[Topology]) -> None:
        assert not [*documents], "operators are silent"

    def hear(self, documents: Iterable[Evidence]) -> None:
        """Evidence of hosts says nothing here."""

    def maintain(self, documents: Iterable[Maintenance]) -> None:
        assert not [*documents], "operators are silent"

    def observe(
        self, header: window_chunks.Header, batch: pa.RecordBatch | None, body: bytes = b""
    ) -> LocalizerOutput:
        assert (batch is None) == (header.kind == "punctuation")
        self.observed.append((header.kind, header.end_s, body))
        return LocalizerOutput()


def recording_localizer(fabric: str) -> Any:
    """A RecordingLocalizer where a localizer is wanted."""
    return RecordingLocalizer()


def plain_localizer(fabric: str) -> Localizer:
    return Localizer()


async def no_incidents() -> list[Incident]:
    return []


def minute(first: int = 0, last: int = 60) -> list[InMessage]:
    """Pings of three hosts, one message a second; each second's offset is its number."""
    return [message(s, [ping(s + 0.5, src=f"h{h}") for h in (1, 2, 3)]) for s in range(first, last)]


def windows_messages(count: int) -> list[InMessage]:
    """Panes, windows and punctuations of so many seconds, as messages of skh.windows."""
    worker = PartitionWorker(0, epoch=1)
    out = [o for m in minute(last=count) for o in worker.step([m])] + worker.finish()
    return [
        InMessage(offset, int(headers["end_s"]) * 1000, each.value, headers)
        for offset, each in enumerate(out)
        for headers in [dict(each.headers)]
    ]


def punctuation(offset: int, second: int, fabric: str = "bad") -> InMessage:
    """A punctuation that arrives at the second it is about."""
    header = window_chunks.Header("punctuation", fabric, second, second)
    return InMessage(offset, second * 1000, b"", dict(header.to_kafka()))
