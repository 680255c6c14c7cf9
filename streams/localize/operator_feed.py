"""skh.placement, skh.maintenance -> the localizers: what people and the controller say of a fabric.

Every worker reads both topics whole and follows them: whichever partition a document is in, the
fabric that it speaks of may be judged here.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from confluent_kafka import Consumer, TopicPartition

from schemas import topics
from schemas.documents import decoding
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.times import seconds_of
from schemas.limits import LIMITS
from streams import dead_letters
from streams.errors import BrokerUnreachable
from streams.kafka.fetch import FETCH
from streams.kafka.messages import OutMessage
from streams.localize.restore import extents

_log = logging.getLogger(__name__)
_TIMEOUT_S: Final = 10.0
_AT_ONCE: Final = 500
#: Documents of one key that are kept: a container's last states matter to seconds judged late.
_KEPT: Final = 8
#: Dead letters that wait to be published, and documents that had one in this process [count].
_MOST_LETTERS: Final = 64
_MOST_LETTERED: Final = 65_536
#: What is over is kept for so long, as localizers do, and looked for so often [s of event time].
_KEPT_S: Final = 3600
_FORGET_EVERY_S: Final = 60

Notice: TypeAlias = Placement | Maintenance
_KINDS: Final[dict[str, type[Notice]]] = {
    topics.PLACEMENT.name: Placement,
    topics.MAINTENANCE.name: Maintenance,
}


class OperatorFeed:
    """Both topics from their beginning, and what is added to them. For one event loop."""

    def __init__(
        self, kafka: Mapping[str, Any], heard: Callable[[Notice], None] = lambda _: None
    ) -> None:
        """heard  called with every document as it is read"""
        self._kafka = dict(kafka)
        self._heard = heard
        self._consumer: Consumer | None = None
        self._known: dict[tuple[str, bytes], deque[Notice]] = {}
        self._letters: list[OutMessage] = []
        self._lettered: set[tuple[str, int, int]] = set()
        #: By topic, documents that could not be used; only rises.
        self.refused: Counter[str] = Counter()
        self._forgot_s = 0

    @property
    def known(self) -> list[Notice]:
        """What holds now, and the last that held before, in order of arrival by key."""
        return [each for said in self._known.values() for each in said]

    def __len__(self) -> int:
        """Keys of which something is known."""
        return len(self._known)

    async def begin(self) -> None:
        """Read both topics to their present ends, anew; raises BrokerUnreachable."""
        await asyncio.to_thread(self.read)

    def news(self) -> list[Notice]:
        """What has arrived since; does not wait."""
        found: list[Notice] = []
        while self._consumer is not None:
            messages = self._consumer.consume(_AT_ONCE, 0)
            found += [said for each in messages if (said := self._hear(each)) is not None]
            if len(messages) < _AT_ONCE:
                break
        return found

    def letters(self) -> list[OutMessage]:
        """Dead letters since the last call, one for each document, however often it is read."""
        letters, self._letters = self._letters, []
        return letters

    def forget(self, second: int) -> None:
        """Drop containers that were gone and maintenance that was over long before a second, and
        with a container what held before."""
        if second - self._forgot_s < _FORGET_EVERY_S:
            return
        self._forgot_s = second
        for key, said in list(self._known.items()):
            last = said[-1]
            if isinstance(last, Maintenance):
                over_s = seconds_of(last.until)
            elif last.state == "gone":
                over_s = seconds_of(last.valid_from)
            else:
                continue
            if over_s < second - _KEPT_S:
                del self._known[key]

    def close(self) -> None:
        """Follow them no longer."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def read(self) -> None:
        """``begin`` for a thread that may wait."""
        self.close()
        self._known.clear()
        self._consumer = consumer = Consumer({
            **self._kafka, **FETCH, "group.id": "skh-notices", "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "log_level": 4,
        })  # fmt: skip
        left = {}
        start = []
        for name in _KINDS:
            if not (found := extents(consumer, name)):
                _log.warning("%s does not exist; `skeletonhunter topics --create` makes it", name)
            for partition, (low, high) in found.items():
                start.append(TopicPartition(name, partition, low))
                if high > low:
                    left[name, partition] = high
        consumer.assign(start)
        while left:
            message = consumer.poll(_TIMEOUT_S)
            if message is None:
                missing = ", ".join(sorted({name for name, _ in left}))
                raise BrokerUnreachable(
                    str(self._kafka.get("bootstrap.servers")),
                    f"{missing} cannot be read to its end",
                )
            self._hear(message)
            at = (message.topic() or "", message.partition() or 0)
            if message.error() is None and (message.offset() or 0) + 1 >= left.get(at, 0):
                left.pop(at, None)

    def _hear(self, message: Any) -> Notice | None:
        if message.error() is not None:
            _log.warning("notices: %s", message.error())  # librdkafka tries again by itself
            return None
        topic, raw = message.topic(), message.value()
        key = (topic, message.key() or raw or b"")
        if not raw:  # a tombstone: nothing is said of it any more
            self._known.pop(key, None)
            return None
        try:
            said = decode(topic, raw)
        except Exception as why:  # whatever escapes a decoder costs its document
            self._refuse((topic, message.partition(), message.offset()), raw, str(why))
            return None
        self._known.setdefault(key, deque(maxlen=_KEPT)).append(said)
        self._heard(said)
        return said

    def _refuse(self, place: tuple[str, int, int], raw: bytes, why: str) -> None:
        """Count it; of a topic that is read again at every rebalance, say it once."""
        if place in self._lettered or len(self._lettered) >= _MOST_LETTERED:
            return
        self._lettered.add(place)
        self.refused[place[0]] += 1
        letter = dead_letters.message(*place, raw, why)
        _log.warning("%s: offset %d is left out: %s", place[0], place[2], why[:300])
        if len(self._letters) < _MOST_LETTERS:
            self._letters.append(letter)


def decode(topic: str, raw: bytes) -> Notice:
    """Raises ValueError, in one line, when it is not what the topic holds."""
    if len(raw) > LIMITS.document_bytes:
        raise ValueError(f"document of {len(raw)} B; it may have {LIMITS.document_bytes} B")
    return decoding.decode(raw, _KINDS[topic])
