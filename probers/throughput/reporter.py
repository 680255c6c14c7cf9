"""Counters of this host's rnics -> skh.throughput, in a thread of its own.

Reading a counter may ask the device's firmware, which hangs on some broken rnics: in the loop's
thread that would stop the probing.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from random import Random
from time import monotonic_ns, time_ns
from typing import Final, Protocol

from probers.ping_list.document import JobRnics
from probers.process.log import log_event
from probers.process.thread_failures import describe_error
from probers.publishing.encoding.encode import ArrowEncoder, Encode, to_ndjson
from probers.publishing.publisher import Publisher
from probers.publishing.record import Record
from probers.throughput.port_counters import RETRY_S, Unreadable
from probers.throughput.seconds import NS, Reading, Sample, Seconds
from schemas import topics
from schemas.documents.throughput import COLUMNS

#: Seconds of a message: a tenth of a message a second and host, far below the 240 s of throughput
#: that an inference needs.
BATCH_S: Final = 10
#: Rnics of a host, and so 640 rows of a message.
MAX_RNICS: Final = 64
_EARLY_NS: Final = NS // 4  # a wait may end a little before its time
_CLOSE_S: Final = 2.0
#: For devices that count in the background, below ``seconds.MAX_OFFSET_NS``.
_PREPARED_S: Final = 0.02

_ENCODINGS: Final[dict[str, tuple[str, Encode]]] = {
    "arrow": (topics.ARROW, ArrowEncoder(COLUMNS)),
    "ndjson": (topics.NDJSON, to_ndjson),
}


class Counters(Protocol):
    """``probers.throughput.port_counters.PortCounters``."""

    def prepare(self, rnics: Iterable[str]) -> bool:
        """Before reading; whether to wait a moment."""

    def doubt(self, real_ip: str) -> str:
        """Why the counters may lack most of the traffic, or nothing."""

    def read(self, real_ip: str) -> Reading:
        """The counters now; raises Unreadable."""


class ThroughputReporter:
    """Reads at each whole second of the wall clock and publishes every BATCH_S; while no container
    uses an rnic of the host it reads and sends nothing.

    used    called each second: the rnics to measure
    phase   which second of BATCH_S messages are sent at, so that hosts do not send all at once
    """

    def __init__(
        self,
        publisher: Publisher,
        node_sn: str,
        encoding: str,
        used: Callable[[], JobRnics],
        counters: Counters,
        *,
        phase: int | None = None,
        wall_ns: Callable[[], int] = time_ns,
        running_ns: Callable[[], int] = monotonic_ns,
    ) -> None:
        self._publisher, self._node_sn, self._used = publisher, node_sn, used
        self._content_type, self._encode = _ENCODINGS[encoding]
        self._counters, self._seconds = counters, Seconds()
        self._wall_ns, self._running_ns = wall_ns, running_ns
        self._phase = Random().randrange(BATCH_S) if phase is None else phase  # noqa: S311  # no secret
        self._rows: list[Record] = []
        self._sources: dict[str, str] = {}  # by rnic: which counter, or why there is none
        self._over = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="throughput", daemon=True)
        #: Seconds that failed by a defect of the agent.
        self.failed = 0

    @property
    def counts(self) -> Counter[str]:
        """Rnic-seconds by outcome, as of ``Seconds``, and failed."""
        return Counter({**self._seconds.counts, "failed": self.failed})

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Publish what was measured; a reading that hangs is abandoned."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_S)

    def _run(self) -> None:
        while not self._stop.wait(self._until_next_s()):
            try:
                self.measure()
            except Exception as why:  # a defect costs this second, not the probing or the thread
                self.failed += 1
                log_event("error", "throughput-failed", why=describe_error(why))
        self.flush()

    def _until_next_s(self) -> float:
        now_ns = self._wall_ns()
        return (((now_ns + _EARLY_NS) // NS + 1) * NS - now_ns) / NS

    def measure(self) -> None:
        """Read all counters: at the end of each second."""
        used = self._used()
        rnics = used.addresses[:MAX_RNICS]
        if self._over != (over := len(used.addresses) > MAX_RNICS):
            self._over = over
            if over:
                log_event("error", "throughput-left-out", rnics=len(used.addresses) - MAX_RNICS,
                          why=f"at most {MAX_RNICS} rnics of a host are measured")  # fmt: skip
        self._seconds.retain(rnics)
        self._sources = {ip: found for ip, found in self._sources.items() if ip in rnics}
        if self._counters.prepare(rnics):
            self._stop.wait(_PREPARED_S)
        for real_ip in rnics:
            if (sample := self._sample(real_ip)) is not None:
                self._add(used.fabric, sample)
        second = (self._wall_ns() + _EARLY_NS) // NS
        if second % BATCH_S == self._phase or len(self._rows) >= MAX_RNICS * BATCH_S:
            self.flush()

    def flush(self) -> None:
        """Publish what was measured since the last message, if it is anything."""
        rows, self._rows = self._rows, []
        if rows:
            self._publisher.publish(
                topics.THROUGHPUT.name, self._node_sn, self._encode(rows), self._content_type
            )

    def _sample(self, real_ip: str) -> Sample | None:
        wall_ns, running_ns = self._wall_ns(), self._running_ns()
        reading: Reading | None = None
        try:
            reading = self._counters.read(real_ip)
        except Unreadable as why:
            self._note(real_ip, str(why), readable=False)
        else:
            self._note(real_ip, reading.source, readable=True)
        took_ns = self._running_ns() - running_ns
        return self._seconds.take(real_ip, reading, wall_ns, running_ns, took_ns)

    def _note(self, real_ip: str, what: str, *, readable: bool) -> None:
        """Log which counters an rnic has, or why none: once, and again when that changes."""
        if self._sources.get(real_ip) == what:
            return
        self._sources[real_ip] = what
        if readable:
            doubt = self._counters.doubt(real_ip)
            level, more = ("warning", {"but": doubt}) if doubt else ("info", {})
            log_event(level, "throughput-source", rnic=real_ip, source=what, **more)
        else:
            log_event("error", "throughput-unreadable", rnic=real_ip, why=what,
                      retry=f"every {RETRY_S:g} s")  # fmt: skip

    def _add(self, fabric: str, sample: Sample) -> None:
        self._rows.append({
            "fabric": fabric, "node_sn": self._node_sn, "real_ip": sample.real_ip,
            "time": sample.second * NS, "tx_bytes": sample.tx, "rx_bytes": sample.rx,
        })  # fmt: skip
