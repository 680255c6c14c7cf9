"""One partition of skh.pings -> chunks of skh.windows. No I/O.

The stream worker, ``diagnose`` and the benchmarks all drive this class, so they see the same
panes. The output depends on the records and their arrival times only: steps of any size give the
same messages, because records are ingested by the second of their arrival and, until the first
pane has closed, message by message.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from schemas import topics
from schemas.parameters.parameter import parameter
from schemas.parameters.window_timing import DEFAULT_TIMING, WindowTiming
from schemas.wire.batches import Joined, refused
from streams import dead_letters
from streams.admission.admission import Admission
from streams.admission.decoded import Decoded, decode
from streams.admission.replays import Replays
from streams.kafka.messages import InMessage, OutMessage
from streams.windowing import records
from streams.windowing.chunk_writer import Punctuation, Writer
from streams.windowing.panes import I64, Pings
from streams.windowing.path_memory import PathMemory
from streams.windowing.path_quota import Quota
from streams.windowing.record_counts import RecordCounts
from streams.windowing.records import Records
from streams.windowing.traced_routes import OpenRoutes
from streams.windowing.windower import SECOND, ClosedBatch, Windower

DEFAULT_QUOTA: Final = Quota()
_NO_OFFSETS: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class PartitionParameters:
    """How long paths are remembered, and how much event time is ingested at once.

    evict_every_s  from one eviction of paths to the next
    unprobed_s     a path that is not probed for so long is evicted
    slice_s        a step that spans more event time is ingested second by second
    silent_s       where no ping came for so long, the agents may have been cut off together,
    returning_s    and so long after the first one those of other partitions may be on their way
    """

    evict_every_s: int = parameter(
        300, unit="s", source="chosen: pytest tests/streams/windowing/test_partition.py"
    )
    unprobed_s: int = parameter(
        600, unit="s", source="chosen: pytest tests/streams/windowing/test_partition.py"
    )
    slice_s: int = parameter(
        4, unit="s", source="chosen: only steps of a file, a backlog or a slow sender span more"
    )
    silent_s: int = parameter(
        90, unit="s", source="chosen: above the slowest cadence, a probe each 60 s"
    )
    returning_s: int = parameter(
        15, unit="s", source="chosen: clients of agents try again every 10 s"
    )


DEFAULT: Final = PartitionParameters()


class PartitionWorker:
    """Messages in, messages out; holds the open panes and windows of one partition."""

    def __init__(
        self,
        partition: int,
        epoch: int,
        timing: WindowTiming = DEFAULT_TIMING,
        *,
        quota: Quota = DEFAULT_QUOTA,
        admission: Admission | None = None,
    ) -> None:
        """admission  decides which messages and records are accepted; None: all of them"""
        self.partition = partition
        self._admission = admission or Admission()
        self.replays = Replays()
        self.next_offset: int | None = None
        self._timing = timing
        self._windower = Windower(timing)
        self._memory = PathMemory(quota)
        self._routes = OpenRoutes()
        self._writer = Writer(partition, epoch, self._memory.table)
        self._messages = self._dead_lettered = self._gaps = 0
        self._judged_offset = 0  # one past the last message with a ping
        self._evict_s = 0
        self._arrival_ns = 0  # of the newest ping
        self._returned_ns = 0  # of the first one after a long silence
        self._last_punctuation: tuple[object, ...] = ()

    # --- input and time -------------------------------------------------------------------------

    def step(
        self, messages: Sequence[InMessage], decoded: Decoded | None = None
    ) -> list[OutMessage]:
        """Ingest messages in the order of the partition; returns what to publish, in order.

        decoded  the same messages, where they have been decoded
        """
        if decoded is None:
            where = [self.partition] * len(messages)
            decoded = decode(self._admission, messages, where, {self.partition: self.replays})
        out: list[OutMessage] = []
        first = 0
        for at, message in enumerate(messages):
            self._count_gap(message.offset)
            if at > first and message.time_ms // 1000 != messages[first].time_ms // 1000:
                out += self._ingest(messages[first:at], decoded.of(first, at))
                first = at
        if first == 0 and messages:
            out += self._ingest(messages, decoded)
        elif messages:
            out += self._ingest(messages[first:], decoded.of(first, len(messages)))
        return out

    def feed(self, batch: pa.RecordBatch, offset: int, arrival_ns: int) -> list[OutMessage]:
        """Ingest records that were decoded elsewhere, e.g. a second of a merged file."""
        self._messages += 1
        self._count_gap(offset)
        rows = np.arange(batch.num_rows)
        batch = records.used(batch)
        joined = Joined(batch, np.zeros(batch.num_rows, np.int64), rows, [], [])
        decoded = Decoded(joined, records.columns(batch))
        return self._judge(decoded, np.array([offset]), np.array([arrival_ns]))

    def tick(self, now_ns: int) -> list[OutMessage]:
        """Close by wall clock: time has passed though nothing has arrived [ns since the epoch]."""
        self._windower.tick(now_ns)
        return self._close(end_of_input=False) + self._evict()

    def mark_idle(self) -> list[OutMessage]:
        """Publish that localizers need not wait for this partition until it advances again.

        Nothing is closed: open panes are judged when the rest of their records comes.
        """
        if not self._windower.watermark_ns:
            return []
        until_s = self._windower.watermark_ns // SECOND
        self._last_punctuation = ()
        skewed = self._by_fabric(self._windower.skewed())
        punctuation = Punctuation(until_s, idle=True, skewed=skewed, counts=self._counts())
        return self._writer.write(ClosedBatch(), [], punctuation)

    def finish(self) -> list[OutMessage]:
        """Close everything: the input has ended."""
        return self._close(end_of_input=True)

    # --- state ----------------------------------------------------------------------------------

    def needed_offset(self) -> int:
        """The offset to commit: all records below are in panes and windows that have closed."""
        needed = self._windower.needed_offset()
        following = self.next_offset or 0
        if (
            needed >= self._judged_offset
        ):  # no pane is open: messages without pings need not be read again
            needed = following
        return min(needed, self._routes.needed_offset(following))

    @property
    def counts(self) -> RecordCounts:
        """Where every record went."""
        pings, routes = self._windower.counts, self._routes
        return RecordCounts(
            messages=self._messages,
            records=pings.records + routes.records + self._dead_lettered,
            judged=pings.judged + routes.judged,
            late=pings.late + routes.late,
            duplicate=pings.duplicate + routes.duplicate,
            dead_lettered=self._dead_lettered,
            held=self._windower.held() + routes.held(),
            routes=routes.judged,
            ahead=pings.ahead,
            gaps=self._gaps,
        )

    @property
    def watermark_ns(self) -> int:
        """Event time before which everything is closed [ns since the epoch]; 0: none yet."""
        return self._windower.watermark_ns

    # --- steps ----------------------------------------------------------------------------------

    def _count_gap(self, offset: int) -> None:
        if offset == self.next_offset:  # nearly always
            self.next_offset = offset + 1
            return
        if self.next_offset is not None:
            self._gaps += max(0, offset - self.next_offset)
        self.next_offset = max(offset + 1, self.next_offset or 0)

    def _ingest(self, messages: Sequence[InMessage], decoded: Decoded) -> list[OutMessage]:
        joined = decoded.joined
        topic, partition = topics.PINGS.name, self.partition
        offsets = np.array([message.offset for message in messages], np.int64)
        self._messages += len(messages)
        self._dead_lettered += joined.bad
        letters = {
            (index, -1): dead_letters.message(
                topic, partition, messages[index].offset, messages[index].value, str(why)
            )
            for index, why in joined.errors
        } | {
            (index, reject.row): dead_letters.row(topic, partition, messages[index].offset, reject)
            for index, reject in joined.rejects
        }
        out = [letters[at] for at in sorted(letters)]
        if joined.batch.num_rows:
            arrival_ns = np.array([message.time_ms for message in messages], np.int64) * 1_000_000
            used, of_row = np.unique(joined.message, return_inverse=True)
            senders_of = [messages[i] for i in used.tolist()]
            names, known = self._admission.senders(senders_of)
            codes, signed = self._memory.senders(names), np.array(known, bool)
            senders = records.SentBy(codes[of_row], signed[of_row], self._memory.quota)
            kept = [message.offset for message in messages if topics.SPOOLED in message.headers]
            out += self._judge(decoded, offsets, arrival_ns, senders, np.array(kept, np.int64))
        return out

    def _judge(
        self,
        decoded: Decoded,
        offsets: I64,
        arrival_ns: I64,
        senders: records.SentBy | None = None,
        spooled: I64 = _NO_OFFSETS,
    ) -> list[OutMessage]:
        """Window the rows of a batch; offsets and arrivals (messages,) of the messages they came
        in, ascending, and ``spooled`` (n,) offsets of those that their sender had kept on disk."""
        joined, memory = decoded.joined, self._memory
        found = records.split(
            joined.batch, offsets[joined.message], memory.table, memory.sources, senders,
            decoded.columns,
        )  # fmt: skip
        out = [
            dead_letters.row(topics.PINGS.name, self.partition, int(offsets[index]), reject)
            for index, reject in refused(joined.batch, joined.message, joined.row, found.bad)
        ]
        self._dead_lettered += len(found.bad)
        first = 0
        while first < len(offsets):
            # Until the first pane closes each message counts by itself, so that where judging
            # begins does not depend on batches; its paths are known by now.
            end = len(offsets) if self._windower.watermark_ns else first + 1
            whole = end - first == len(offsets)
            part = found if whole else found.of(int(offsets[first]), int(offsets[end - 1]))
            out += self._window(part, int(arrival_ns[first:end].max()), spooled)
            first = end
        return out + self._evict()

    def _window(self, found: Records, arrival_ns: int, spooled: I64) -> list[OutMessage]:
        """Put pings and routes into their seconds, and close what the watermark passes."""
        out: list[OutMessage] = []
        routes = deque(sorted(found.routes, key=lambda route: route.time_ns))
        if len(found.pings):
            self._judged_offset = max(self._judged_offset, int(found.pings.offset.max()) + 1)
            if self._fell_silent(arrival_ns, int(found.pings.time_ns.max())):
                out += self._close(end_of_input=True)
            if self._arrival_ns and arrival_ns - self._arrival_ns > DEFAULT.silent_s * SECOND:
                self._returned_ns = arrival_ns
            self._arrival_ns = max(self._arrival_ns, arrival_ns)
            self._record_last_seen(found.pings)
        for rows, end_s in _by_second(found.pings.time_ns):
            # With the pings of their seconds: those ahead of the watermark by much are dropped.
            while routes and routes[0].time_ns // SECOND < end_s:
                self._routes.add(routes.popleft())
            who = None if found.sender is None else found.sender[rows]
            pings = found.pings.select(rows)
            kept = np.isin(pings.offset, spooled) if len(spooled) else None
            self._windower.ingest(pings, arrival_ns, who, kept)
            out += self._close(end_of_input=False)
        for route in routes:
            self._routes.add(route)
        return out

    def _fell_silent(self, arrival_ns: int, newest_ns: int) -> bool:
        """Whether no record can still be on its way, although no pane has closed.

        So it is in a sparse file, and when agents are started one by one. Where the newest record
        that has come now follows those before without a gap in event time, it was the broker that
        stalled, or a spool that was sent, and records of the same seconds follow.
        """
        if not self._arrival_ns or self._windower.watermark_ns:
            return False
        idle_ns = self._timing.idle_s * SECOND
        return (
            arrival_ns - self._arrival_ns > idle_ns
            and newest_ns - self._windower.median_ns > idle_ns
        )

    def _record_last_seen(self, pings: Pings) -> None:
        """Record when each path was last seen; a clock far ahead must not retain paths for ever."""
        latest_s = int(self._arrival_ns / SECOND + self._timing.skew_s)
        second = np.minimum(pings.time_ns // SECOND, latest_s)
        np.maximum.at(self._memory.table.last_seen_s, pings.path, second)

    def _close(self, *, end_of_input: bool) -> list[OutMessage]:
        windower = self._windower
        closed = windower.close(end_of_input=end_of_input)
        if not windower.watermark_ns:
            return []
        until_s = windower.watermark_ns // SECOND
        routes = self._routes.close(
            until_s, int(until_s + self._timing.lateness_s + self._timing.skew_s) + 1
        )
        idle, returning = windower.idle, self._returning()
        skewed = windower.skewed()
        punctuation = (until_s, idle, returning, tuple(skewed))
        if (
            punctuation == self._last_punctuation
            and not closed.panes
            and not closed.windows
            and not routes
        ):
            return []
        self._last_punctuation = punctuation
        return self._writer.write(
            closed, routes,
            Punctuation(until_s, idle, returning, self._by_fabric(skewed), self._counts()),
        )  # fmt: skip

    def _returning(self) -> bool:
        """Whether the first records after a long silence came seconds ago."""
        now_ns = self._windower.clocks.arrival_ns
        return bool(self._returned_ns) and now_ns - self._returned_ns < DEFAULT.returning_s * SECOND

    def _counts(self) -> dict[str, int]:
        return self.counts.as_dict()

    def _by_fabric(self, skewed: dict[int, float]) -> dict[str, dict[str, float]]:
        out: dict[str, dict[str, float]] = {}
        for code, offset_s in skewed.items():
            fabric, node_sn = self._memory.sources.names[code]
            out.setdefault(fabric, {})[node_sn] = round(offset_s, 3)
        return out

    def _evict(self) -> list[OutMessage]:
        """Drop paths that are not probed any more; call it when no path index is in use."""
        now_s = self._windower.watermark_ns // SECOND
        if self._evict_s == 0:
            self._evict_s = now_s
        if now_s - self._evict_s < DEFAULT.evict_every_s:
            return []
        self._evict_s = now_s
        self._memory.evict(now_s - DEFAULT.unprobed_s, self._windower)
        return self._writer.drop_unused_fabrics()

    def sizes(self) -> dict[str, int]:
        """Entries in memory, by kind [count]."""
        return {**self._memory.sizes(), "fabrics": self._writer.fabrics}


def _by_second(time_ns: I64) -> Iterator[tuple[I64 | slice, int]]:
    """Rows and the second after the newest of them [s]: all at once, or second by second when they
    span much event time.

    A file, a slow sender or a backlog makes such batches.
    """
    if not len(time_ns):
        return
    second = time_ns // SECOND
    if int(time_ns.max()) - int(time_ns.min()) <= DEFAULT.slice_s * SECOND:
        yield slice(None), int(second.max()) + 1
        return
    order = np.argsort(second, kind="stable")
    edges = np.flatnonzero(np.diff(second[order])) + 1
    for rows in np.split(order, edges):
        yield rows, int(second[rows[0]]) + 1
