"""Validated ping records -> what the windower counts, and the routes of traceroutes. Pure."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from schemas import identity
from schemas.documents import ping
from schemas.wire import window_chunks
from schemas.wire.batches import BadRow
from schemas.wire.ping_columns import column
from streams.admission.senders import Sources
from streams.windowing.panes import I32, I64, NO_RTT, U32, U64, Pings
from streams.windowing.path_quota import PathQuota
from streams.windowing.path_table import PathTable
from streams.windowing.source_clocks import SECOND

Bool = npt.NDArray[np.bool_]

_TRACEROUTE: Final = "TRACEROUTE"
_route_decoder: Final = msgspec.json.Decoder(list[str | None])

#: Columns that windowing reads; the others are for the sink only.
USED: Final = frozenset(
    {
        *ping.REQUIRED, "src_idc", "latency", "p50_us", "loss_rate", "sent", "lost", "route",
        *(name for name in window_chunks.PATH_STRINGS if name not in ("fabric", "layer")),
        "src_port", "dst_port",
    }
)  # fmt: skip


#: What a traceroute may call its sender, or its receiver: no switch, though tools list it as a hop.
_OWN: Final = ("ip", "real_ip", "node_sn")
_ROUTE_COLUMNS: Final = frozenset(
    {"src_idc", "agent_type", "src_port", "dst_port", "ping_time", "route"}
    | {f"{end}_{name}" for end in ("src", "dst") for name in _OWN}
)


_OVER_QUOTA: Final = (
    "its sender may add no more paths or fabrics; limits: streams/windowing/path_quota.py"
)

_OF_ANOTHER: Final = (
    "its path is one that another sender probes: their source container and address are the same"
)


class Route(NamedTuple):
    """One traceroute: who, when, over which hops (None for a silent one)."""

    path_id: int
    time_ns: int
    offset: int
    fabric: str
    layer: str
    src_ip: str
    dst_ip: str
    src_port: int
    dst_port: int
    hops: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Records:
    """A batch, split; rows = len(pings) + len(routes) + len(bad)."""

    pings: Pings
    routes: list[Route]
    bad: list[BadRow]
    sender: I32 | None = None  # (pings,) code of each ping's sender

    def of(self, first: int, last: int) -> Records:
        """Pings and routes of the messages with offsets from ``first`` to ``last``; the batch has
        its messages in the order of offsets."""
        low, high = np.searchsorted(self.pings.offset, [first, last + 1]).tolist()
        begin, end = (
            bisect_left(self.routes, at, key=lambda route: route.offset) for at in (first, last + 1)
        )
        return Records(
            self.pings.select(slice(low, high)),
            self.routes[begin:end],
            [],
            None if self.sender is None else self.sender[low:high],
        )


class Columns(NamedTuple):
    """What is counted of each record of a batch, one row a record.

    traced   (rows,) whether it is a traceroute
    ids      (rows,) path_id
    time_ns  (rows,) when it was sent; rtt_ns (rows,): NO_RTT where nothing answered
    sent, lost, refused  (rows,) probes
    """

    traced: Bool
    ids: U64
    time_ns: I64
    rtt_ns: U32
    sent: U32
    lost: U32
    refused: U32

    def of(self, rows: slice) -> Columns:
        """Those of some rows."""
        return Columns(
            self.traced[rows], self.ids[rows], self.time_ns[rows], self.rtt_ns[rows],
            self.sent[rows], self.lost[rows], self.refused[rows],
        )  # fmt: skip


def used(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns that windowing reads."""
    return batch.select([name for name in batch.schema.names if name in USED])


def columns(batch: pa.RecordBatch) -> Columns:
    """Columns of a batch that ``schemas.wire.codecs`` accepted."""
    traced = pc.equal(batch.column("task_type"), _TRACEROUTE).to_numpy(zero_copy_only=False)
    time_ns = batch.column("ping_time").to_numpy(zero_copy_only=False)
    return Columns(traced, identity.path_ids(batch), time_ns, _rtt_ns(batch), *probes(batch))


class SentBy(NamedTuple):
    """Who sent the rows of a batch.

    code    (rows,) code of each row's sender
    signed  (rows,) whether it is known to be that sender: then a path is one sender's
    quota   what each sender may add, and whose each path is
    """

    code: I32
    signed: Bool
    quota: PathQuota


def split(
    batch: pa.RecordBatch,
    offset: I64,
    table: PathTable,
    sources: Sources,
    senders: SentBy | None = None,
    read: Columns | None = None,
) -> Records:
    """Split a validated batch into pings and routes; new paths are added to ``table``.

    batch    ping records that ``schemas.wire.codecs`` accepted
    offset   (rows,) offset of the message that each row came in
    senders  of the rows; None: everything is added
    read     the batch's columns, where they have been read
    """
    read = columns(batch) if read is None else read
    traced, ids = read.traced, read.ids
    routes: list[Route] = []
    bad: list[BadRow] = []
    if traced.any():
        routes, bad = _routes(batch, ids, np.flatnonzero(traced), offset)
    rows = np.flatnonzero(~traced)
    if senders is None:
        path = table.index(batch, ids, rows)
        return Records(_pings(read, rows, path, offset, table, sources), routes, bad)
    path = table.index(batch, ids, rows, lambda new: _admitted(batch, senders, new))
    rows, path = _without(path < 0, rows, path, _OVER_QUOTA, bad)
    if (signed := senders.signed[rows]).any():
        second = read.time_ns[rows] // SECOND
        other = np.zeros(len(rows), bool)
        other[signed] = senders.quota.others(
            path[signed], senders.code[rows[signed]], second[signed], table.last_seen_s
        )
        rows, path = _without(other, rows, path, _OF_ANOTHER, bad)
    pings = _pings(read, rows, path, offset, table, sources)
    return Records(pings, routes, bad, senders.code[rows])


def _admitted(batch: pa.RecordBatch, senders: SentBy, new: I64) -> Bool:
    """new (n,) rows, each the first of a path that is not known yet"""
    fabric = identity.filled(batch, "fabric").take(pa.array(new))
    return senders.quota.admit(senders.code[new], fabric)


def _without(mask: Bool, rows: I64, path: I32, reason: str, bad: list[BadRow]) -> tuple[I64, I32]:
    """The rows and paths that are not masked; the others are appended to ``bad``."""
    if not mask.any():
        return rows, path
    bad += [BadRow(row, None, reason, reason) for row in rows[mask].tolist()]
    return rows[~mask], path[~mask]


def _pings(
    read: Columns, rows: I64, path: I32, offset: I64, table: PathTable, sources: Sources
) -> Pings:
    """rows  records to take; path (rows,) their indices in the table"""
    return Pings(
        path=path,
        time_ns=read.time_ns[rows],
        rtt_ns=read.rtt_ns[rows],
        sent=read.sent[rows],
        lost=read.lost[rows],
        refused=read.refused[rows],
        source=sources.of(table, path),
        offset=offset[rows],
    )


def probes(batch: pa.RecordBatch) -> tuple[U32, U32, U32]:
    """(rows,) probes sent, lost and refused by each record.

    ``sent`` is 1 where the record does not say. ``lost`` is what the record says, else its
    loss_rate times sent, else everything that timed out or was unreachable; a time-out with a
    loss_rate of 0 is a default that was not filled in. A probe that a peer's kernel refused was
    delivered, so it is not lost; over TCP and ICMP a kernel's refusal is as good an answer as any,
    and does not count as one. After an error of the prober itself nothing was sent.
    """
    rows = batch.num_rows
    dial = batch.column("dial")
    sent = _whole(batch, "sent", 1)
    no_answer = _is(dial, "timeout") | _is(dial, "unreachable")
    lost = np.where(no_answer, sent, 0)
    if _has(batch, "loss_rate"):
        rate = column(batch, "loss_rate", 0.0).to_numpy(zero_copy_only=False)
        by_rate = np.rint(rate * sent).astype(np.int64)
        lost = np.where(no_answer & (rate == 0), lost, by_rate)
    if _has(batch, "lost"):
        count = _whole(batch, "lost", -1)
        lost = np.where(count >= 0, np.minimum(count, sent), lost)
    refused = np.zeros(rows, np.int64)
    if (was := _is(dial, "refused")).any():
        refused = np.where(was & ~_agentless(batch), sent, 0)
        lost = np.where(was, 0, lost)
    if (broken := _is(dial, "error")).any():
        sent, lost = np.where(broken, 0, sent), np.where(broken, 0, lost)
    return sent.astype(np.uint32), lost.astype(np.uint32), refused.astype(np.uint32)


def _agentless(batch: pa.RecordBatch) -> Bool:
    """(rows,) records of probes that a peer's kernel answers."""
    found = pc.is_in(batch.column("task_type"), pa.array(ping.AGENTLESS))
    return np.asarray(found.to_numpy(zero_copy_only=False), bool)


def _rtt_ns(batch: pa.RecordBatch) -> U32:
    """(rows,) round trip of each record: of a burst the median, which no single probe moves."""
    if not _has(batch, "latency"):
        return np.full(batch.num_rows, NO_RTT, np.uint32)
    us = column(batch, "latency", np.nan).to_numpy(zero_copy_only=False)
    if _has(batch, "p50_us"):
        median = column(batch, "p50_us", np.nan).to_numpy(zero_copy_only=False)
        us = np.where(~np.isnan(us) & np.isfinite(median) & (median > 0), median, us)
    ns = np.minimum(np.nan_to_num(us, nan=0.0) * 1e3, float(NO_RTT) - 1)
    return np.where(np.isnan(us), NO_RTT, np.rint(ns).astype(np.uint32))


def _routes(
    batch: pa.RecordBatch, path_ids: U64, at: I64, offset: I64
) -> tuple[list[Route], list[BadRow]]:
    """at  rows of the traceroutes"""
    rows = batch.select([n for n in batch.schema.names if n in _ROUTE_COLUMNS]).take(pa.array(at))
    ids = path_ids[at].tolist()
    names = [
        identity.filled(rows, name).to_pylist() for name in ("fabric", "layer", "src_ip", "dst_ip")
    ]
    ports = [column(rows, name, 0).to_pylist() for name in ("src_port", "dst_port")]
    times = rows.column("ping_time").to_pylist()
    texts = column(rows, "route", "").to_pylist()
    senders, receivers = (
        [set(of) for of in zip(*(column(rows, f"{end}_{name}", "").to_pylist() for name in _OWN),
                               strict=True)]
        for end in ("src", "dst")
    )  # fmt: skip
    routes: list[Route] = []
    bad: list[BadRow] = []
    for i, text in enumerate(texts):
        try:
            hops = _route_decoder.decode(text) if text.strip() not in ("", "null") else []
        except msgspec.MsgspecError as why:
            rule = "route: not a JSON array of hop names"
            bad.append(BadRow(int(at[i]), "route", f"{rule}: {why}", rule))
            continue
        fabric, layer, src_ip, dst_ip = (values[i] for values in names)
        src_port, dst_port = (values[i] for values in ports)
        routes.append(
            Route(
                ids[i], times[i], int(offset[at[i]]), fabric, layer, src_ip, dst_ip,
                src_port, dst_port, _between(hops, senders[i], receivers[i]),
            )
        )  # fmt: skip
    return routes, bad


def _between(
    hops: list[str | None], sender: set[str], receiver: set[str]
) -> tuple[str | None, ...]:
    """The hops between two endpoints: a trace that arrives lists its receiver last, as a rule."""
    first, end = 0, len(hops)
    while end > first and hops[end - 1] in receiver:
        end -= 1
    while first < end and hops[first] in sender:
        first += 1
    return tuple(hops[first:end])


def _has(batch: pa.RecordBatch, name: str) -> bool:
    index = batch.schema.get_field_index(name)
    return bool(index >= 0 and batch.column(index).null_count < batch.num_rows)


def _whole(batch: pa.RecordBatch, name: str, default: int) -> I64:
    if not _has(batch, name):
        return np.full(batch.num_rows, default, np.int64)
    values: I64 = column(batch, name, default).to_numpy(zero_copy_only=False).astype(np.int64)
    return values


def _is(values: pa.Array, text: str) -> Bool:
    same: Bool = pc.equal(values, text).to_numpy(zero_copy_only=False)
    return same
