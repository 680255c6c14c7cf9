"""A publisher that keeps messages on disk until the broker has them.

Present messages go first. What was not delivered is sent again in order, at a capped rate, once
messages are delivered again, and with a header that says so: the analyzer stores it, and the clocks
of the present are not judged by it.
"""

from __future__ import annotations

import heapq
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic, time_ns
from typing import Final, Protocol

from probers.process.log import log_event
from probers.publishing.frames import Frame
from probers.publishing.publisher import Publisher, PublishError
from probers.publishing.spool.spool import Spool
from schemas import topics

OnDelivered = Callable[[bool], None]

#: Topics whose messages are of use later. A heartbeat of the past shows nothing.
SPOOLED_TOPICS: Final = frozenset({topics.PINGS.name, topics.THROUGHPUT.name, topics.EVIDENCE.name})
IN_FLIGHT_BYTES: Final = 4 * 1024 * 1024  # given to the broker's client, not delivered
DRAIN_BYTES_PER_S: Final = 1024 * 1024
_DRAIN_IN_FLIGHT: Final = 64  # messages
_FIRST_TRY_S: Final = 1.0  # after a delivery that failed; longer after each further one
_LONGEST_TRY_S: Final = 30.0


class ConfirmingPublisher(Publisher, Protocol):
    """A publisher that says of each message whether it was delivered."""

    def publish(
        self,
        topic: str,
        key: str,
        payload: bytes,
        content_type: str,
        headers: Mapping[str, bytes] | None = None,
        on_delivered: OnDelivered | None = None,
    ) -> bool:
        """As ``Publisher``; ``on_delivered(whether)`` is called once, by ``poll`` or ``close``."""


class SpooledPublisher:
    """``probers.publishing.publisher.Publisher`` on top of one that confirms.

    counts  those of ``publisher``, where failed and overflow are messages that will not be sent
            again, and spooled: kept for later; drained: delivered later; spool-full, spool-aged,
            spool-disk: dropped by the spool; spool-torn: bytes that a crash left half written
    """

    def __init__(
        self,
        publisher: ConfirmingPublisher,
        spool: Spool,
        clock_s: Callable[[], float] = monotonic,
        clock_ns: Callable[[], int] = time_ns,
    ) -> None:
        self._publisher, self._spool = publisher, spool
        self._clock_s, self._clock_ns = clock_s, clock_ns
        self._mutex = threading.Lock()
        self._later = spool.pending()  # numbers; a heap
        self._in_flight = 0  # bytes
        self._draining: set[int] = set()
        self._budget = 0.0  # bytes
        self._polled_s = clock_s()
        self._delivered_s = -1.0
        self._wait_s = _FIRST_TRY_S
        self._failed_s = self._polled_s - _FIRST_TRY_S
        self._own: Counter[str] = Counter()
        if self._later or spool.torn:
            log_event("info", "spool", messages=len(self._later), torn_bytes=spool.torn)

    @property
    def counts(self) -> Counter[str]:
        """A copy."""
        with self._mutex:
            own = Counter(self._own)
        lost = {f"spool-{cause}": count for cause, count in dict(self._spool.lost).items()}
        found = Counter(dict(self._publisher.counts))
        found["failed"] -= own.pop("failed-kept", 0)
        found["overflow"] -= own.pop("overflow-kept", 0)
        return found + own + Counter(lost) + Counter({"spool-torn": self._spool.torn})

    @property
    def left(self) -> int:
        """Messages on disk that the broker does not have yet."""
        return self._spool.left

    @property
    def disk_bytes(self) -> int:
        """Of the files."""
        return self._spool.disk_bytes

    def connect(self, timeout_s: float) -> None:
        """As the publisher's; where it cannot be reached, messages are kept until it can."""
        try:
            self._publisher.connect(timeout_s)
        except PublishError as why:
            log_event("warning", "spooling", why=str(why))

    def publish(
        self,
        topic: str,
        key: str,
        payload: bytes,
        content_type: str,
        headers: Mapping[str, bytes] | None = None,
    ) -> bool:
        """Keep the message, and hand it on unless too much is on its way."""
        number = None
        if topic in SPOOLED_TOPICS:
            frame = Frame(topic, key, content_type, payload, dict(headers or {}))
            number = self._spool.append(frame, self._clock_ns())
        if number is None:
            return self._publisher.publish(topic, key, payload, content_type, headers)
        with self._mutex:
            if self._in_flight + len(payload) > IN_FLIGHT_BYTES:
                self._keep(number)
                return True
            self._in_flight += len(payload)
        on_delivered = partial(self._on_delivered, number, len(payload))
        if not self._publisher.publish(topic, key, payload, content_type, headers, on_delivered):
            with self._mutex:
                self._own["overflow-kept"] += 1
                self._in_flight -= len(payload)
                self._keep(number)
        return True

    def poll(self) -> None:
        """Serve delivery reports, then send what was kept, as far as rate and broker allow."""
        self._publisher.poll()
        now_s = self._clock_s()
        with self._mutex:
            passed_s, self._polled_s = now_s - self._polled_s, now_s
            self._budget = min(self._budget + passed_s * DRAIN_BYTES_PER_S, DRAIN_BYTES_PER_S)
        while (number := self._next(now_s)) is not None:
            self._send_again(number)

    def close(self, timeout_s: float) -> int:
        """Deliver what is on its way; returns how many messages stay on disk for the next start,
        plus those that were not kept and are lost."""
        undelivered = self._publisher.close(timeout_s)
        with self._mutex:
            kept = self._spool.left
            self._own["failed-kept"] += min(undelivered, kept)
        self._spool.close()
        return max(undelivered, kept)

    def _next(self, now_s: float) -> int | None:
        """The oldest message that may be sent again now."""
        with self._mutex:
            reached = self._delivered_s >= self._failed_s or now_s >= self._failed_s + self._wait_s
            if (
                not self._later or not reached or self._budget <= 0
                or len(self._draining) >= _DRAIN_IN_FLIGHT
                or (self._delivered_s < self._failed_s and self._draining)  # one tries it
            ):  # fmt: skip
                return None
            number = heapq.heappop(self._later)
            self._draining.add(number)
            return number

    def _send_again(self, number: int) -> None:
        frame = self._spool.read(number)
        if frame is None:  # dropped by the spool, which has counted it
            with self._mutex:
                self._draining.discard(number)
            return
        size = len(frame.payload)
        with self._mutex:
            self._budget -= size
            self._in_flight += size
        headers = {**frame.headers, topics.SPOOLED: b"1"}
        accepted = self._publisher.publish(
            frame.topic, frame.key, frame.payload, frame.content_type, headers,
            partial(self._on_delivered, number, size),
        )  # fmt: skip
        if not accepted:
            with self._mutex:
                self._own["overflow-kept"] += 1
                self._budget = 0.0
                self._in_flight -= size
                self._draining.discard(number)
                heapq.heappush(self._later, number)

    def _on_delivered(self, number: int, size: int, delivered: bool) -> None:
        with self._mutex:
            self._in_flight -= size
            again = number in self._draining
            self._draining.discard(number)
            if delivered:
                self._delivered_s, self._wait_s = self._clock_s(), _FIRST_TRY_S
                self._own["drained"] += again
            else:
                self._wait_s = min(2 * self._wait_s, _LONGEST_TRY_S)
                self._failed_s = self._clock_s()
                self._own["failed-kept"] += 1
                if again:
                    heapq.heappush(self._later, number)
                else:
                    self._keep(number)
        if delivered:
            self._spool.done(number)

    def _keep(self, number: int) -> None:
        heapq.heappush(self._later, number)
        self._own["spooled"] += 1
