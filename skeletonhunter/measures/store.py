"""The store on this machine: inserts per core, bytes of a stored ping, queries on many rows.

    python -m skeletonhunter.measures.store store-pings

Prints one line of JSON, as ``evaluation.bench.stages`` does. A rate per core is rows by the CPU
time of the whole process, the engine's threads included. Times of queries are the best of five.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from evaluation.bench.input import START_NS, busy
from evaluation.bench.method.figure import figure
from probers.throughput.reporter import BATCH_S
from schemas import topics
from skeletonhunter.measures.measured_store import empty_store, row_bytes, statement
from skeletonhunter.measures.queries import queries
from store.client import Store
from streams.sink import rows as sink_rows
from streams.sink.batch import Batcher, Message
from streams.sink.rows import Place
from testbed.simulator.publish import encode
from testbed.simulator.records import plain
from testbed.simulator.simulator import Simulation
from testbed.topologies.clos import ClosSpec, build
from testbed.training.cases import training

_SECONDS: Final = 40
_LONG_S: Final = 600
_BATCH_ROWS: Final = 200_000
_PATHS: Final = 4096
#: Of throughput: training jobs of so many rnics each, for so long.
_JOBS, _RNICS, _JOB_S = 4, 64, 3600
_GOALS: Final = {
    "bytes": 8.0,
    "sample_bytes": 10.0,
    "pings": 400_000.0,
    "job_ms": 200.0,
    "day_ms": 300.0,
}


def pings() -> dict[str, Any]:
    """Inserts of ping records as the sink makes them, and their bytes after merges."""
    with empty_store() as store:
        batches = list(_batches(busy(), _SECONDS))
        began = time.process_time()
        total = sum(_insert(store, each) for each in batches)
        rate = total / (time.process_time() - began)
    with empty_store() as store:
        kept = sum(_insert(store, each) for each in _batches(_few_paths(), _LONG_S))
        store.execute("OPTIMIZE TABLE pings FINAL")
        size = row_bytes(store, "pings")
    return {
        **figure(
            "{rate:,.0f} pings/s/core ({total:,} rows); {size:.1f} B a stored ping ({kept:,} rows, "
            "{minutes} min of each path)",
            rate=rate,
            total=total,
            size=size,
            kept=kept,
            minutes=_LONG_S // 60,
        ),
        "goal": f">= {_GOALS['pings']:,.0f}, <= {_GOALS['bytes']:g} B",
        "missed": rate < _GOALS["pings"] or size > _GOALS["bytes"],
    }


def _few_paths() -> Simulation:
    """8 hosts x 8 rnics, 20 targets: names are written once for many records, as in a long run."""
    spec = ClosSpec(
        name="bench", hosts=8, rails=8, hosts_per_segment=8, aggs=8, pods=1, spines=16,
        hosts_per_job=8,
    )  # fmt: skip
    return Simulation(build(spec, 1), seed=1, start_ns=START_NS, targets=20, ports_per_pair=1)


def _batches(simulation: Simulation, seconds: int) -> Iterator[list[Any]]:
    """Records with their places, as many at a time as the sink inserts."""
    parts: list[Any] = []
    waiting = 0
    for number, second in enumerate(simulation.seconds(seconds)):
        batch = plain(second.pings)
        at = np.zeros(batch.num_rows, np.int64)
        parts.append((batch, [Place("skh.pings", 0, number)], at))
        waiting += batch.num_rows
        if waiting >= _BATCH_ROWS or number == seconds - 1:
            yield parts
            parts, waiting = [], 0


def _insert(store: Store, parts: list[Any]) -> int:
    rows = sink_rows.pings(parts)
    store.insert("pings", rows)
    return int(rows.num_rows)


def windows() -> dict[str, Any]:
    """Inserts of windows with and without the tables that are filled from them."""
    rates = []
    for without in (True, False):
        with empty_store() as store:
            if without:
                for view in ("path_half_minutes_writer", "tor_minutes_writer"):
                    store.execute(f"DROP VIEW {view}")
            began, rows = time.process_time(), 360 * _PATHS
            for first in range(0, rows, rows // 6):
                store.execute(statement("fill_windows"), {
                    "start": 1_790_000_000, "paths": _PATHS, "first": first, "rows": rows // 6,
                })  # fmt: skip
            rates.append(rows / (time.process_time() - began))
    return {
        **figure(
            "{rate:,.0f} windows/s/core, {without:,.0f} without half minutes and what is between "
            "ToRs (making the rows included)",
            rate=rates[1],
            without=rates[0],
        ),
        "goal": "",
        "missed": False,
    }


def throughput() -> dict[str, Any]:
    """Inserts of throughput as the sink makes them, and bytes of a sample after merges."""
    with empty_store() as store:
        messages, batcher, total = list(_throughput_messages()), Batcher(), 0
        began = time.process_time()
        for number, message in enumerate(messages, start=1):
            batcher.add(message, 0.0)
            if batcher.due(0.0) or number == len(messages):
                rows = batcher.collect().tables["throughput"]
                store.insert("throughput", rows)
                total += rows.num_rows
        rate = total / (time.process_time() - began)
        store.execute("OPTIMIZE TABLE throughput FINAL")
        size = row_bytes(store, "throughput")
    return {
        **figure(
            "{rate:,.0f} samples/s/core ({total:,} rows, messages of {batch_s} s of 8 rnics); "
            "{size:.1f} B a stored sample ({minutes} min of each rnic)",
            rate=rate,
            total=total,
            batch_s=BATCH_S,
            size=size,
            minutes=_JOB_S // 60,
        ),
        "goal": f"<= {_GOALS['sample_bytes']:g} B",
        "missed": size > _GOALS["sample_bytes"],
    }


def _throughput_messages() -> Iterator[Message]:
    """Of hosts of training jobs, in the order of time, as their agents send them."""
    cases = [
        training(_RNICS, moe=False, impairment="none", seed=seed, duration_s=_JOB_S)
        for seed in range(_JOBS)
    ]
    for offset, begin in enumerate(range(0, _JOB_S, BATCH_S)):
        times = [START_NS + 10**9 * second for second in range(begin, begin + BATCH_S)]
        for job, case in enumerate(cases):
            for host in np.unique(case.host):
                mine = np.flatnonzero(case.host == host)
                batch = pa.table({
                    "fabric": ["bench"] * (BATCH_S * len(mine)),
                    "node_sn": [f"host-{job}-{host}"] * (BATCH_S * len(mine)),
                    "real_ip": [f"10.{job}.{host}.{r}" for _ in times for r in range(len(mine))],
                    "time": np.repeat(times, len(mine)),
                    **{name: getattr(case, name[:2])[mine, begin : begin + BATCH_S].T.ravel()
                       .astype(np.int64) for name in ("tx_bytes", "rx_bytes")},
                })  # fmt: skip
                place = Place("skh.throughput", int(host) % 4, offset)
                yield Message(place, encode(batch.combine_chunks().to_batches()[0]),
                              {topics.CONTENT_TYPE: topics.ARROW.encode()})  # fmt: skip


STAGES: Final = {
    "store-pings": pings, "store-throughput": throughput, "store-windows": windows,
    "store-queries": queries,
}  # fmt: skip

if __name__ == "__main__":
    result = STAGES[sys.argv[1]]()
    result["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result))
