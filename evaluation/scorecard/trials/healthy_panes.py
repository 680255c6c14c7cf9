"""Panes and windows of a healthy network without pings: straight from the simulator's arrays.

The localizer receives the chunks that it would have received of ``Simulation.seconds`` through a
windower, at a tenth of the cost, so that weeks can be simulated.

Exact: which five-tuples are probed in which second, their round trips (medians, spread, daily
drift, training bursts), the probes of each pane that are lost, the seven features of each window
(computed from the same samples as the panes), the descriptions of paths (the windower's own), the
traced routes and their times, the change of source ports at the hour, heartbeats.

Approximate: draws differ from those of ``Simulation``; a record belongs to the second in which it
is due (clocks and jitter move 1 in 100 records to the next one); records of late agents come in
time; every traceroute is answered; round trips are not rounded to nanoseconds; in a burst a record
is lost only when each of its probes is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas.parameters.window_timing import DEFAULT_TIMING
from schemas.wire import codecs, window_chunks
from schemas.wire.window_chunks import Header
from streams.windowing.partition import PartitionWorker
from testbed.simulator.agents import beats
from testbed.simulator.bursts import median_spread
from testbed.simulator.records import SUCCESS, Measured
from testbed.simulator.simulator import SECOND_NS, Simulation
from testbed.workload.port_epoch import EPOCH_S, PortEpoch

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]

_MINUTE: Final = 60
_FEATURES: Final = ("p25", "p50", "p75", "min", "std", "max")
_PATH_COLUMNS: Final = len(window_chunks.PATH_FIELDS)


class Message(NamedTuple):
    """A message of skh.windows; chunk: its rows, None for a punctuation."""

    header: Header
    chunk: pa.RecordBatch | None


class HealthyPanes:
    """The messages of skh.windows of a simulation without faults, second by second, in order."""

    def __init__(self, simulation: Simulation) -> None:
        """Raises ValueError where something is broken, or containers come and go."""
        if simulation.faults or simulation.schedule.changes:
            raise ValueError("panes are drawn for healthy networks with fixed placement only")
        self._simulation = simulation
        self._fabric = simulation.topology.fabric
        self._hours: dict[int, _Hour] = {}

    def seconds(self, duration_s: int) -> Iterator[list[Message]]:
        """Messages of seconds 0 .. duration_s - 1."""
        for index in range(duration_s):
            yield list(self._second(index))

    def _second(self, index: int) -> Iterator[Message]:
        simulation, hour = self._simulation, index // EPOCH_S
        if hour not in self._hours:
            self._hours = {old: self._hours[old] for old in self._hours if old == hour - 1}
            self._hours[hour] = _Hour(simulation, simulation.epoch(hour))
        at_s = simulation.start_ns // SECOND_NS + index
        rng = simulation.rng(30, index)
        yield self._message("heartbeats", at_s, at_s + 1, self._heartbeats(index, rng))
        yield self._message("pane", at_s, at_s + 1, self._hours[hour].pane(index, rng))
        if (routes := self._hours[hour].routes(index)) is not None:
            yield self._message("routes", at_s, at_s + 1, routes)
        end_s, length = at_s + 1, DEFAULT_TIMING.window_s
        if end_s % DEFAULT_TIMING.hop_s == 0:
            found = (each.window(index + 1, length) for each in self._hours.values())
            parts = [each for each in found if each.num_rows]
            for number, part in enumerate(parts):
                made = self._message("window", end_s - length, end_s, part)
                header = made.header._replace(chunk=number, chunks=len(parts))
                yield Message(header, made.chunk)
        header = Header("punctuation", self._fabric, end_s, end_s, watermark_ms=1000 * end_s)
        yield Message(header, None)

    def _message(
        self, kind: window_chunks.Kind, start_s: int, end_s: int, chunk: pa.RecordBatch
    ) -> Message:
        return Message(Header(kind, self._fabric, start_s, end_s, watermark_ms=1000 * end_s), chunk)

    def _heartbeats(self, index: int, rng: np.random.Generator) -> pa.RecordBatch:
        simulation, epoch = self._simulation, self._simulation.epoch(index // EPOCH_S)
        effects = epoch.effects(simulation.network, (), index)
        made = beats(
            simulation.network, effects, simulation.start_ns + index * SECOND_NS,
            epoch.baseline.clock_ns, [], simulation.seed, rng,
        )  # fmt: skip
        hosts = len(simulation.network.hosts)
        columns = [
            pa.array([self._fabric] * hosts), pa.array(simulation.network.hosts),
            pa.array(made.time_ns), pa.array(np.ones(hosts, np.bool_)),
            pa.array(made.cpu_steal.astype(np.float32)), pa.array(made.delay_us.astype(np.float32)),
        ]  # fmt: skip
        return pa.RecordBatch.from_arrays(columns, schema=window_chunks.HEARTBEATS)


class _Hour:
    """The P five-tuples of one hour, and their newest samples.

    A path's sample of the second ``s`` is in slot (s // cycle) mod K; K slots span a window.
    """

    def __init__(self, simulation: Simulation, epoch: PortEpoch) -> None:
        self._simulation, self._epoch = simulation, epoch
        self._described, self._traces = _described(simulation, epoch)
        self._keep = np.exp(epoch.baseline.log_keep)
        self._cycle = epoch.cadence.cycles(len(epoch.paths))
        slots = math.ceil(DEFAULT_TIMING.window_s / int(self._cycle.min()))
        shape = (len(epoch.paths), slots)
        self._seconds = np.full(shape, -DEFAULT_TIMING.window_s, np.int32)
        self._lost = np.zeros(shape, np.int32)
        self._rtt_us = np.full(shape, np.nan, np.float32)
        self._due: dict[int, tuple[I64, list[pa.Array]]] = {}
        self._period = math.lcm(*np.unique(self._cycle).tolist())

    def pane(self, index: int, rng: np.random.Generator) -> pa.RecordBatch:
        """Draw one second."""
        rows, paths = self._due_paths(index)
        simulation, baseline = self._simulation, self._epoch.baseline
        burst, noise = simulation.burst, simulation.noise
        log_us = baseline.log_median_at(rows, index, simulation.start_ns / SECOND_NS)
        spread = noise.rtt_sigma * median_spread(burst)
        log_us += spread * rng.standard_normal(len(rows), np.float32)
        keep, passed = self._keep[rows], baseline.burst_keep_at(rows, index)
        keep = keep if passed is None else keep * passed
        if burst == 1:
            lost = (rng.random(len(rows)) >= keep).astype(np.int32)
        else:
            lost = rng.binomial(burst, 1.0 - keep).astype(np.int32)
        rtt_us = np.where(lost < burst, np.exp(log_us), np.nan).astype(np.float32)
        slot = (index // self._cycle[rows]) % self._seconds.shape[1]
        self._seconds[rows, slot], self._lost[rows, slot] = index, lost
        self._rtt_us[rows, slot] = rtt_us
        ones = np.ones(len(rows), np.uint32)
        counts = [
            ones, burst * ones, lost.astype(np.uint32), 0 * ones,
            (~np.isnan(rtt_us)).astype(np.uint32), np.nan_to_num(rtt_us),
        ]  # fmt: skip
        columns = [*paths, *map(pa.array, counts)]
        return pa.RecordBatch.from_arrays(columns, schema=window_chunks.PANE)

    def window(self, end: int, length: int) -> pa.RecordBatch:
        """Counts and features of the seconds [end - length, end) since the simulation began."""
        inside = self._seconds >= max(end - length, 0)
        rows = np.flatnonzero(inside.any(axis=1))
        inside = inside[rows]
        records = inside.sum(axis=1).astype(np.uint32)
        lost = (self._lost[rows] * inside).sum(axis=1).astype(np.uint32)
        samples = np.where(inside, self._rtt_us[rows], np.float32(np.nan))
        count, mean, features = window_features(samples)
        counts = [
            records, self._simulation.burst * records, lost, np.zeros(len(rows), np.uint32),
            count.astype(np.uint32), mean,
        ]  # fmt: skip
        every = len(rows) == len(self._keep)
        paths = self._described if every else [c.take(pa.array(rows)) for c in self._described]
        columns = [*paths, *map(pa.array, counts), *(pa.array(features[n]) for n in _FEATURES)]
        return pa.RecordBatch.from_arrays(columns, schema=window_chunks.WINDOW)

    def routes(self, index: int) -> pa.RecordBatch | None:
        """The traceroutes of a second, if there are any."""
        into = index % EPOCH_S
        if into < 2:  # the first time, each within two seconds
            return _joined([each for each in self._traces[into::2] if each is not None])
        return self._traces[into % _MINUTE] if into >= _MINUTE else None

    def _due_paths(self, index: int) -> tuple[I64, list[pa.Array]]:
        at = index % self._period
        if at not in self._due:
            rows = self._epoch.cadence.due(index)
            self._due[at] = rows, [column.take(pa.array(rows)) for column in self._described]
        return self._due[at]


def window_features(samples: F32) -> tuple[I64, F32, dict[str, F32]]:
    """Number, mean and the other features of each row's samples, as ``streams.windowing.panes``.

    samples  (N, K) round trips [us], NaN where there is none
    returns  (N,) count, (N,) mean [us], name -> (N,) [us]; NaN where nothing answered
    """
    ordered = np.sort(samples, axis=1)  # NaN last
    there = ~np.isnan(ordered)
    count = there.sum(axis=1)
    some = np.maximum(count, 1)
    filled = np.where(there, ordered, np.float32(0))
    mean = filled.sum(axis=1) / some
    deviation = np.where(there, ordered - mean[:, None], np.float32(0))
    variance = (deviation * deviation).sum(axis=1) / np.maximum(count - 1, 1)
    row = np.arange(len(samples))
    out = {"min": ordered[:, 0], "max": ordered[row, some - 1], "std": np.sqrt(variance)}
    for name, q in (("p25", 0.25), ("p50", 0.5), ("p75", 0.75)):
        position = q * (some - 1)
        below = position.astype(np.int64)
        low, high = ordered[row, below], ordered[row, np.minimum(below + 1, some - 1)]
        out[name] = low + (high - low) * (position - below)
    none = np.where(count > 0, np.float32(1), np.float32(np.nan))
    features = {name: (out[name] * none).astype(np.float32) for name in _FEATURES}
    return count, (mean * none).astype(np.float32), features


def _described(
    simulation: Simulation, epoch: PortEpoch
) -> tuple[list[pa.Array], list[pa.RecordBatch | None]]:
    """Path columns of all five-tuples in their order, and traceroutes by second of a minute.

    One record of each template goes through a windower, so that both are what it would publish.
    """
    templates, start_ns = epoch.templates, simulation.start_ns
    every = np.arange(len(epoch.paths))
    parts = [(every, 0), *((rows, at) for at, rows in enumerate(epoch.traces))]
    worker = PartitionWorker(0, 0)
    messages = []
    for number, (rows, at) in enumerate(parts):
        rows = rows if number == 0 else np.append(every[:1], rows)  # a ping moves the watermark
        measured = Measured(
            np.full(len(rows), SUCCESS, np.int8),
            np.arange(1.0, len(rows) + 1.0) / 1e3,  # tells the first second's paths apart
            start_ns + at * SECOND_NS + np.arange(len(rows)) + number,
        )
        batch = templates.batch(rows, measured, start_ns)
        messages += worker.feed(
            codecs.conform(batch).batch, number, start_ns + (at + 1) * SECOND_NS
        )
    messages += worker.finish()
    panes: list[pa.RecordBatch] = []
    routes: dict[int, list[pa.RecordBatch]] = {}
    first_s = start_ns // SECOND_NS
    for message in messages:
        header = Header.from_kafka(dict(message.headers))
        if header.kind == "pane" and header.start_s == first_s:
            panes.append(window_chunks.decode("pane", message.value))
        elif header.kind == "routes":
            chunk = window_chunks.decode("routes", message.value)
            routes.setdefault(header.start_s - first_s, []).append(chunk)
    whole = _joined(panes)
    assert whole is not None  # noqa: S101 — the first part probes every path
    # The first path was probed twice in the first second; its mean still is the smallest.
    order = np.argsort(whole.column("rtt_mean_us").to_numpy(), kind="stable")
    columns = [column.take(pa.array(order)) for column in whole.columns[:_PATH_COLUMNS]]
    return columns, [_joined(routes.get(at, [])) for at in range(_MINUTE)]


def _joined(parts: list[pa.RecordBatch]) -> pa.RecordBatch | None:
    if not parts:
        return None
    table = pa.Table.from_batches(parts).unify_dictionaries().combine_chunks()
    (batch,) = table.to_batches()
    return batch
