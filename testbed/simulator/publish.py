"""Messages of skh.pings and skh.throughput as agents send them: one host each, in batches."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from testbed.simulator.counter_rng import name_hash, uniform
from testbed.simulator.records import plain
from testbed.simulator.simulator import SECOND_NS, Second

_TIMEOUT_NS: Final = SECOND_NS // 2


class Message(NamedTuple):
    """One message: key, value (an Arrow IPC stream of ``records`` rows), when it is produced.

    publish_ns  wall time of the agent's flush on the simulation's time axis [ns since the epoch]
    """

    publish_ns: int
    node_sn: str
    records: int
    value: bytes


def messages(
    second: Second, *, seed: int = 0, max_records: int = 512, flush_s: float = 0.5
) -> list[Message]:
    """Cut a second into messages by source host and flush, in the order they are published.

    A record is complete when its answer is there, or half a second after it was sent; the agent
    flushes what is complete every ``flush_s`` seconds and needs up to half a second more.
    """
    pings = second.pings
    if pings.num_rows == 0:
        return []
    sources = pings.column("src_node_sn")
    host = sources.indices.to_numpy()
    names = sources.dictionary.to_pylist()
    base = pings.column("task_start_time").to_numpy()
    # a host's wrong clock moves its time stamps, not when it sends: take the phase alone
    into = (pings.column("ping_time").to_numpy() - base) % SECOND_NS
    into = into + np.where(pings.column("lost").to_numpy() > 0, _TIMEOUT_NS, 0)
    flush_ns = int(flush_s * SECOND_NS)
    flush = into // flush_ns
    order = np.lexsort((into, flush, host))
    rows = plain(pings.take(pa.array(order)))
    host, flush = host[order], flush[order]
    cut = np.flatnonzero(np.diff(host) | np.diff(flush)) + 1
    late = uniform(seed, 30, second.index, np.arange(len(names)))
    out = []
    for first, last in zip([0, *cut.tolist()], [*cut.tolist(), len(order)], strict=True):
        agent = int(host[first])
        due = second.start_ns + (int(flush[first]) + 1) * flush_ns
        for at in range(first, last, max_records):
            size = min(max_records, last - at)
            out.append(
                Message(
                    due + int(late[agent] * SECOND_NS / 2),
                    names[agent],
                    size,
                    encode(rows.slice(at, size)),
                )
            )
    out.sort(key=lambda message: message.publish_ns)
    return out


def published(
    seconds: Iterable[Second], *, seed: int = 0, max_records: int = 512, flush_s: float = 0.5
) -> Iterator[Message]:
    """The messages of many seconds in the order of their publication."""
    waiting: list[tuple[int, int, Message]] = []
    serial = 0
    for second in seconds:
        while waiting and waiting[0][0] < second.start_ns:
            yield heapq.heappop(waiting)[2]
        for message in messages(second, seed=seed, max_records=max_records, flush_s=flush_s):
            heapq.heappush(waiting, (message.publish_ns, serial, message))
            serial += 1
    while waiting:
        yield heapq.heappop(waiting)[2]


def throughput_messages(seconds: Sequence[pa.RecordBatch]) -> Iterator[tuple[str, bytes]]:
    """(node_sn, message) of skh.throughput for each host, with all of these seconds.

    seconds  as ``testbed.workload.throughput`` makes them
    """
    table = pa.Table.from_batches([plain(each) for each in seconds])
    for node_sn in table.column("node_sn").unique().to_pylist():
        own = table.filter(pc.equal(table.column("node_sn"), node_sn)).combine_chunks()
        yield node_sn, encode(own.to_batches()[0])


def encode(rows: pa.RecordBatch) -> bytes:
    """An Arrow IPC stream of one batch; compression is Kafka's business."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    value: bytes = sink.getvalue().to_pybytes()
    return value


def partition_of(node_sn: str, partitions: int) -> int:
    """The partition of a key, where no Kafka client computes it."""
    return name_hash(node_sn) % partitions
