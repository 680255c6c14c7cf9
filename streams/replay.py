"""Records in, incidents out, without services: what ``diagnose`` and the trials run.

The code is that of the stream workers (PartitionWorker, Localizer), without Faust and brokers: a
list takes the place of skh.windows. tests/streams/test_replay.py checks what it loads.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import pyarrow as pa

from localizer.localizer import Localizer, LocalizerOutput
from localizer.options import Options
from localizer.suppression.log import Suppressed
from schemas import topics
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.requests.evidence import Evidence
from schemas.documents.topology import Topology
from schemas.wire import window_chunks
from streams.kafka.messages import OutMessage
from streams.localize.retention import idle_limit_s
from streams.replay_coverage import Judged
from streams.windowing.chunk_writer import heartbeat_chunks
from streams.windowing.partition import PartitionWorker
from streams.windowing.record_counts import RecordCounts


class Replay:
    """One partition, and a localizer for each fabric."""

    def __init__(self, *, topology: Topology | None = None, options: Options | None = None) -> None:
        self.options = options or Options()
        self._worker = PartitionWorker(0, 0, self.options.timing)
        self._topology = topology
        self._localizers: dict[str, Localizer] = {}
        self._measured_s: dict[str, int] = {}  # newest second of a fabric with measurements
        self._suppressed: list[Suppressed] = []  # in fabrics that were evicted
        self._topologies: list[Topology] = []
        self._placements: list[Placement] = []
        self._maintenance: list[Maintenance] = []
        self._evidence: list[Evidence] = []
        self._offset = 0
        self.judged: dict[str, Judged] = {}  # by fabric
        self.dead_letters: list[OutMessage] = []
        self.judging_s: list[float] = []  # time that the localizer took for each feed

    def place(self, documents: Iterable[Placement]) -> None:
        """Add documents of where containers run and in which state; at any time, for any time."""
        new = list(documents)
        self._placements += new
        for localizer in self._localizers.values():
            localizer.place(new)

    def maintain(self, documents: Iterable[Maintenance]) -> None:
        """Add documents of components under maintenance; at any time, for any time."""
        new = list(documents)
        self._maintenance += new
        for localizer in self._localizers.values():
            localizer.maintain(new)

    def hear(self, documents: Iterable[Evidence]) -> None:
        """Add what hosts answered to requests about incidents; at any time, in any order."""
        new = list(documents)
        self._evidence += new
        for localizer in self._localizers.values():
            localizer.hear(new)

    def follow(self, documents: Iterable[Topology]) -> None:
        """Add topology documents; each holds from its ``valid_from`` on."""
        new = list(documents)
        self._topologies += new
        for localizer in self._localizers.values():
            localizer.follow(new)

    @property
    def suppressed(self) -> list[Suppressed]:
        """Reports that were suppressed, and why."""
        now = [each for one in self._localizers.values() for each in one.suppressed]
        return [*self._suppressed, *now]

    @property
    def counts(self) -> RecordCounts:
        """Where every record went."""
        return self._worker.counts

    @property
    def fabrics(self) -> int:
        """Fabrics with a localizer [count]."""
        return len(self._localizers)

    @property
    def hosts(self) -> int:
        """Hosts that are remembered, over all fabrics [count]."""
        return sum(localizer.hosts for localizer in self._localizers.values())

    @property
    def paths(self) -> int:
        """Paths that the localizers know [count]."""
        return sum(localizer.paths for localizer in self._localizers.values())

    def feed(
        self,
        batch: pa.RecordBatch,
        beats: Iterable[Heartbeat],
        arrival_ns: int,
        placements: Iterable[Placement] = (),
    ) -> LocalizerOutput:
        """Ingest records with the heartbeats and placements of the same time.

        batch       records that ``schemas.wire.codecs`` accepted
        arrival_ns  when they arrived [ns since the epoch]
        returns     the incidents and anomalies that they completed
        """
        self.place(placements)
        found = LocalizerOutput()
        self.judging_s.append(0.0)
        by_fabric: dict[str, list[Heartbeat]] = {}
        for beat in beats:
            by_fabric.setdefault(beat.fabric, []).append(beat)
        for fabric, group in by_fabric.items():
            self._deliver(heartbeat_chunks(0, fabric, group), found)
        self._deliver(self._worker.feed(batch, self._offset, arrival_ns), found)
        self._offset += 1
        return found

    def finish(self) -> LocalizerOutput:
        """Close and judge everything: the input has ended."""
        found = LocalizerOutput()
        self._deliver(self._worker.finish(), found)
        for fabric, localizer in self._localizers.items():
            _add(found, localizer.finish())
            self.judged[fabric].sample(localizer, last=True)
        return found

    def _deliver(self, messages: list[OutMessage], found: LocalizerOutput) -> None:
        for message in messages:
            if message.topic != topics.WINDOWS.name:
                self.dead_letters.append(message)
                continue
            header = window_chunks.Header.from_kafka(dict(message.headers))
            localizer = self._localizers.get(header.fabric)
            if header.kind != "punctuation":
                self._measured_s[header.fabric] = header.end_s
            else:
                self._evict_idle(header.end_s)
                if header.fabric not in self._localizers:
                    continue
            if localizer is None:
                topology = self._topology
                if topology is not None and topology.fabric != header.fabric:
                    topology = None  # a topology is of one fabric only
                localizer = Localizer(topology=topology, options=self.options)
                localizer.follow(self._topologies)
                localizer.place(self._placements)
                localizer.maintain(self._maintenance)
                localizer.hear(self._evidence)
                self._localizers[header.fabric] = localizer
            before, chunk = localizer.judged_s, None
            started = time.perf_counter()
            if header.kind == "punctuation":
                _add(found, localizer.observe(header, None, message.value))
            else:
                chunk = window_chunks.decode(header.kind, message.value)
                _add(found, localizer.observe(header, chunk))
            self.judging_s[-1:] = [sum(self.judging_s[-1:]) + time.perf_counter() - started]
            judged = self.judged.setdefault(header.fabric, Judged())
            if header.kind == "pane" and chunk is not None:
                judged.add_pane(header.end_s - 1, chunk)
            elif localizer.judged_s != before:
                judged.sample(localizer)

    def _evict_idle(self, second: int) -> None:
        """Evict fabrics without measurements, as a stream worker does."""
        for fabric, localizer in list(self._localizers.items()):
            idle_s = second - self._measured_s.get(fabric, second)
            if len(self._localizers) > 1 and idle_s > idle_limit_s(localizer.open_incidents):
                self._suppressed += localizer.suppressed
                del self._localizers[fabric]
                self._measured_s.pop(fabric, None)


def _add(to: LocalizerOutput, more: LocalizerOutput) -> None:
    to.incidents += more.incidents
    to.anomalies += more.anomalies
