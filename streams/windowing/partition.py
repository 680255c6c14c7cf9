"""One partition of skh.pings -> chunks of skh.windows, without a broker. Pure.

The stream worker, ``diagnose`` and the benchmarks all drive this class, so they see the same
panes. What it says depends on the records and their arrival times only: steps of any size give the
same messages, because records are taken in by the second of their arrival and, until the first
pane has closed, message by message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from schemas import topics
from schemas.parameters.window_timing import DEFAULT_TIMING, WindowTiming
from schemas.wire.batches import Joined, refused
from streams import dead_letters
from streams.admission.admission import Admission
from streams.admission.replays import Replays
from streams.kafka.messages import InMessage, OutMessage
from streams.windowing import records
from streams.windowing.chunk_writer import Punctuation, Writer
from streams.windowing.panes import I64, Pings
from streams.windowing.path_memory import PathMemory
from streams.windowing.path_quota import Quota
from streams.windowing.record_counts import RecordCounts
from streams.windowing.traced_routes import RouteBook
from streams.windowing.windower import SECOND, ClosedBatch, Windower

DEFAULT_QUOTA: Final = Quota()

_EVICT_EVERY_S: Final = 300
_KEEP_PATH_S: Final = 600
_SLICE_S: Final = 4  # a step that spans more event time is taken in second by second


class PartitionWorker:
    """Messages in, messages out; remembers what is still open."""

    def __init__(
        self,
        partition: int,
        epoch: int,
        timing: WindowTiming = DEFAULT_TIMING,
        *,
        quota: Quota = DEFAULT_QUOTA,
        admission: Admission | None = None,
    ) -> None:
        """admission  decides which messages and records are taken; None: all of them"""
        self.partition = partition
        self._admission = admission or Admission()
        self._replays = Replays()
        self.next_offset: int | None = None
        self._timing = timing
        self._windower = Windower(timing)
        self._memory = PathMemory(quota)
        self._routes = RouteBook()
        self._writer = Writer(partition, epoch, self._memory.table)
        self._messages = self._dead = self._gaps = 0
        self._judged_offset = 0  # one past the last message that held a ping
        self._evict_s = 0
        self._arrival_ns = 0
        self._said: tuple[object, ...] = ()

    # --- what to do -----------------------------------------------------------------------------

    def step(self, messages: Sequence[InMessage]) -> list[OutMessage]:
        """Take in messages in the order of the partition; returns what to publish, in order."""
        out: list[OutMessage] = []
        waiting: list[InMessage] = []
        for message in messages:
            self._follow(message.offset)
            if waiting and (
                not self._windower.watermark_ns
                or message.time_ms // 1000 != waiting[0].time_ms // 1000
            ):
                out += self._take_in(waiting)
                waiting = []
            waiting.append(message)
        if waiting:
            out += self._take_in(waiting)
        return out

    def feed(self, batch: pa.RecordBatch, offset: int, arrival_ns: int) -> list[OutMessage]:
        """Take in records that were decoded elsewhere, e.g. a second of a merged file."""
        self._messages += 1
        self._follow(offset)
        rows = np.arange(batch.num_rows)
        joined = Joined(batch, np.zeros(batch.num_rows, np.int64), rows, [], [])
        return self._judge(joined, np.array([offset]), arrival_ns)

    def tick(self, now_ns: int) -> list[OutMessage]:
        """Wall-clock punctuation: time has passed though nothing has arrived."""
        self._windower.tick(now_ns)
        return self._close(end_of_input=False) + self._forget()

    def mark_idle(self) -> list[OutMessage]:
        """Nobody need wait for this partition until it comes again. Closes nothing: what is open
        is judged when the rest of it comes.
        """
        if not self._windower.watermark_ns:
            return []
        until_s = self._windower.watermark_ns // SECOND
        self._said = ()
        skewed = self._by_fabric(self._windower.skewed())
        return self._writer.write(
            ClosedBatch(), [], Punctuation(until_s, True, skewed, self._counts())
        )

    def finish(self) -> list[OutMessage]:
        """End of a file: closes everything."""
        return self._close(end_of_input=True)

    # --- what is so -----------------------------------------------------------------------------

    def needed_offset(self) -> int:
        """What a commit may say: everything below is in panes and windows that have closed."""
        needed = self._windower.needed_offset()
        following = self.next_offset or 0
        if needed >= self._judged_offset:  # nothing is held: bad messages need not be read again
            needed = following
        return min(needed, self._routes.needed_offset(following))

    @property
    def counts(self) -> RecordCounts:
        pings, routes = self._windower.counts, self._routes
        return RecordCounts(
            messages=self._messages,
            records=pings.records + routes.records + self._dead,
            judged=pings.judged + routes.judged,
            late=pings.late + routes.late,
            duplicate=pings.duplicate + routes.duplicate,
            dead_lettered=self._dead,
            held=self._windower.held() + routes.held(),
            routes=routes.judged,
            ahead=pings.ahead,
            gaps=self._gaps,
        )

    @property
    def watermark_ns(self) -> int:
        return self._windower.watermark_ns

    # --- how ------------------------------------------------------------------------------------

    def _follow(self, offset: int) -> None:
        if self.next_offset is not None:
            self._gaps += max(0, offset - self.next_offset)
        self.next_offset = max(offset + 1, self.next_offset or 0)

    def _take_in(self, messages: list[InMessage]) -> list[OutMessage]:
        where = [self.partition] * len(messages)
        joined = self._admission.pings(messages, where, self._replays)
        topic, partition = topics.PINGS.name, self.partition
        offsets = np.array([message.offset for message in messages], np.int64)
        self._messages += len(messages)
        self._dead += joined.bad
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
            arrival_ns = max(message.time_ms for message in messages) * 1_000_000
            heard, of_row = np.unique(joined.message, return_inverse=True)
            said = [messages[i] for i in heard.tolist()]
            codes = self._memory.senders(map(self._admission.sender, said))
            signed = np.array([*map(self._admission.signed, said)], bool)
            senders = records.SentBy(codes[of_row], signed[of_row], self._memory.quota)
            out += self._judge(joined, offsets, arrival_ns, senders)
        return out

    def _judge(
        self, joined: Joined, offsets: I64, arrival_ns: int, senders: records.SentBy | None = None
    ) -> list[OutMessage]:
        """offsets (messages,) of each message; senders of the rows"""
        batch = _used(joined.batch)
        found = records.split(
            batch, offsets[joined.message], self._memory.table, self._memory.sources, senders
        )
        out = [
            dead_letters.row(topics.PINGS.name, self.partition, int(offsets[index]), reject)
            for index, reject in refused(batch, joined.message, joined.row, found.bad)
        ]
        self._dead += len(found.bad)
        if found.routes:
            self._routes.take_in(found.routes)
        if len(found.pings):
            self._judged_offset = max(self._judged_offset, int(found.pings.offset.max()) + 1)
            if self._fell_silent(arrival_ns):
                out += self._close(end_of_input=True)
            self._arrival_ns = max(self._arrival_ns, arrival_ns)
            self._see(found.pings)
        for rows in _by_second(found.pings.time_ns):
            who = None if found.sender is None else found.sender[rows]
            self._windower.ingest(found.pings.take(rows), arrival_ns, who)
            out += self._close(end_of_input=False)
        return out + self._forget()

    def _fell_silent(self, arrival_ns: int) -> bool:
        """Nothing came for so long that nothing can still be on its way, and no pane has closed:
        a sparse file, or agents that were started one by one.
        """
        gap_s = (arrival_ns - self._arrival_ns) / SECOND
        return bool(self._arrival_ns) and not self._windower.watermark_ns and (
            gap_s > self._timing.idle_s
        )  # fmt: skip

    def _see(self, pings: Pings) -> None:
        """Note when each path was last heard; a clock far ahead must not keep paths for ever."""
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
        idle = windower.idle
        skewed = windower.skewed()
        said = (until_s, idle, tuple(skewed))
        if said == self._said and not closed.panes and not closed.windows and not routes:
            return []
        self._said = said
        return self._writer.write(
            closed, routes, Punctuation(until_s, idle, self._by_fabric(skewed), self._counts())
        )

    def _counts(self) -> dict[str, int]:
        return self.counts.as_dict()

    def _by_fabric(self, skewed: dict[int, float]) -> dict[str, dict[str, float]]:
        out: dict[str, dict[str, float]] = {}
        for code, offset_s in skewed.items():
            fabric, node_sn = self._memory.sources.names[code]
            out.setdefault(fabric, {})[node_sn] = round(offset_s, 3)
        return out

    def _forget(self) -> list[OutMessage]:
        """Between two steps, when no index is in use: drop paths that are not probed any more."""
        now_s = self._windower.watermark_ns // SECOND
        if self._evict_s == 0:
            self._evict_s = now_s
        if now_s - self._evict_s < _EVICT_EVERY_S:
            return []
        self._evict_s = now_s
        self._memory.forget(now_s - _KEEP_PATH_S, self._windower)
        return self._writer.leave()

    def sizes(self) -> dict[str, int]:
        """What is remembered [count]."""
        return {**self._memory.sizes(), "fabrics": self._writer.fabrics}


def _used(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select([name for name in batch.schema.names if name in records.USED])


def _by_second(time_ns: I64) -> Iterator[I64 | slice]:
    """Rows, all at once, or second by second when they span much event time (a file, a slow
    sender)."""
    if not len(time_ns):
        return
    if int(time_ns.max()) - int(time_ns.min()) <= _SLICE_S * SECOND:
        yield slice(None)
        return
    second = time_ns // SECOND
    order = np.argsort(second, kind="stable")
    edges = np.flatnonzero(np.diff(second[order])) + 1
    yield from np.split(order, edges)
