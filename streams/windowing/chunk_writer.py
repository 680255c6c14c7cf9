"""Closed panes, windows and routes, and heartbeats -> messages of skh.windows. No I/O.

Order is part of the contract: for each second its panes, its routes, the windows that end with it,
then a punctuation of its end. A reader that has the punctuation has everything before it, and the
same records give the same messages however they were batched.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from schemas import topics
from schemas.documents.heartbeat import Heartbeat
from schemas.wire import window_chunks
from streams.kafka.messages import OutMessage
from streams.windowing.panes import I32, Pane, Window
from streams.windowing.path_table import PathTable
from streams.windowing.records import Route
from streams.windowing.windower import SECOND, ClosedBatch

_COUNTS = ("records", "sent", "lost", "refused", "rtt_count")
_FEATURES = ("p25", "p50", "p75", "min", "std", "max")


@dataclass(frozen=True, slots=True)
class Punctuation:
    """Progress of a partition: everything before ``until_s`` is closed.

    idle, returning  see ``Header``
    skewed           by fabric, hosts whose clock is off: node_sn -> offset [s]
    counts           of the partition's records since it was assigned, see ``RecordCounts``
    """

    until_s: int
    idle: bool = False
    returning: bool = False
    skewed: dict[str, dict[str, float]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


class Writer:
    """Writes the messages of one partition in one assignment (epoch)."""

    def __init__(self, partition: int, epoch: int, table: PathTable) -> None:
        self._partition = partition
        self._epoch = epoch
        self._table = table
        self._encoder = window_chunks.ChunkEncoder()
        self._fabrics: dict[str, None] = {}  # in order of appearance
        self._until_s = 0

    @property
    def fabrics(self) -> int:
        """Fabrics that punctuations are written for."""
        return len(self._fabrics)

    def drop_unused_fabrics(self) -> list[OutMessage]:
        """Drop fabrics without a path; their last punctuation is idle: none waits."""
        gone = self._fabrics.keys() - self._table.fabrics()
        out = [
            self._punctuation(fabric, Punctuation(self._until_s, idle=True))
            for fabric in self._fabrics
            if fabric in gone
        ]
        self._fabrics = {fabric: None for fabric in self._fabrics if fabric not in gone}
        return out

    def write(
        self, closed: ClosedBatch, routes: list[tuple[int, list[Route]]], now: Punctuation
    ) -> list[OutMessage]:
        """Messages of everything that one step closed, second by second, then the punctuations."""
        self._until_s = now.until_s
        panes = {pane.start_s + 1: pane for pane in closed.panes}
        hops = {second + 1: found for second, found in routes}
        ends: dict[int, list[Window]] = {}
        for window in closed.windows:
            ends.setdefault(window.end_s, []).append(window)
        out: list[OutMessage] = []
        for end_s in sorted({*panes, *hops, *ends}):
            if pane := panes.get(end_s):
                out += self._pane(pane)
            if found := hops.get(end_s):
                out += self._hops(found, end_s)
            for window in ends.get(end_s, ()):
                out += self._window(window)
            if end_s < now.until_s:
                out += self._punctuate(Punctuation(end_s, returning=now.returning))
        return out + self._punctuate(now)

    def _pane(self, pane: Pane) -> list[OutMessage]:
        return self._rows("pane", pane.start_s, pane.start_s + 1, pane, [pane.rtt_mean_us])

    def _window(self, window: Window) -> list[OutMessage]:
        features = [window.features_us[name] for name in ("mean", *_FEATURES)]
        return self._rows("window", window.start_s, window.end_s, window, features)

    def _rows(
        self,
        kind: window_chunks.Kind,
        start_s: int,
        end_s: int,
        rows: Pane | Window,
        rtt: list[np.ndarray],
    ) -> list[OutMessage]:
        schema = window_chunks.PANE if kind == "pane" else window_chunks.WINDOW
        out: list[OutMessage] = []
        for fabric, at in self._by_fabric(rows.path):
            arrays = self._table.describe(rows.path[at])
            arrays += [pa.array(getattr(rows, name)[at]) for name in _COUNTS]
            arrays += [pa.array(values[at]) for values in rtt]
            batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
            out += self._chunks(kind, fabric, start_s, end_s, batch)
        return out

    def _by_fabric(self, path: I32) -> list[tuple[str, np.ndarray | slice]]:
        codes, texts = self._table.fabric_codes(path)
        if not len(codes):
            return []
        if (codes == codes[0]).all():
            return [(texts[codes[0]], slice(None))]
        return [(texts[code], np.flatnonzero(codes == code)) for code in np.unique(codes)]

    def _hops(self, routes: list[Route], end_s: int) -> list[OutMessage]:
        out: list[OutMessage] = []
        for fabric in dict.fromkeys(route.fabric for route in routes):
            columns = zip(*(route for route in routes if route.fabric == fabric), strict=True)
            values = dict(zip(Route._fields, columns, strict=True))
            batch = pa.RecordBatch.from_arrays(
                [pa.array(values[field.name], field.type) for field in window_chunks.ROUTES],
                schema=window_chunks.ROUTES,
            )
            out += self._chunks("routes", fabric, end_s - 1, end_s, batch)
        return out

    def _chunks(
        self, kind: window_chunks.Kind, fabric: str, start_s: int, end_s: int, batch: pa.RecordBatch
    ) -> list[OutMessage]:
        self._fabrics.setdefault(fabric)
        parts = self._encoder.encode(batch)
        header = window_chunks.Header(
            kind, fabric, start_s, end_s, self._partition, self._epoch,
            chunks=len(parts), watermark_ms=end_s * 1000,
        )  # fmt: skip
        return [self._message(header._replace(chunk=i), part) for i, part in enumerate(parts)]

    def _punctuate(self, now: Punctuation) -> list[OutMessage]:
        return [self._punctuation(fabric, now) for fabric in self._fabrics]

    def _punctuation(self, fabric: str, now: Punctuation) -> OutMessage:
        header = window_chunks.Header(
            "punctuation", fabric, now.until_s, now.until_s, self._partition, self._epoch,
            watermark_ms=now.until_s * 1000, idle=now.idle, returning=now.returning,
        )  # fmt: skip
        body = {
            "partition": self._partition,
            "watermark_ms": now.until_s * 1000,
            "idle": now.idle,
            "skewed": now.skewed.get(fabric, {}),
            "counts": now.counts,
        }
        return self._message(header, json.dumps(body).encode())

    @staticmethod
    def _message(header: window_chunks.Header, value: bytes) -> OutMessage:
        return OutMessage(topics.WINDOWS.name, header.fabric.encode(), value, header.to_kafka())


def heartbeat_chunks(
    partition: int, fabric: str, beats: list[Heartbeat], newest_s: int | None = None
) -> list[OutMessage]:
    """Heartbeats of one fabric as messages of skh.windows.

    newest_s  upper limit of the times in their headers, whatever their clocks say [s]; None: none
    """
    schema = window_chunks.HEARTBEATS
    columns = [
        pa.array([getattr(beat, field.name) for beat in beats]).cast(field.type) for field in schema
    ]
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    seconds = [beat.time // SECOND for beat in beats]
    if newest_s is not None:
        seconds = [min(second, newest_s) for second in seconds]
    parts = window_chunks.encode_chunks(batch)
    header = window_chunks.Header(
        "heartbeats", fabric, min(seconds), max(seconds) + 1, partition, chunks=len(parts)
    )
    return [
        OutMessage(
            topics.WINDOWS.name,
            fabric.encode(),
            part,
            header._replace(chunk=i).to_kafka(),
        )
        for i, part in enumerate(parts)
    ]
