"""Input of the benchmarks: simulated records and messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import topics
from schemas.wire import codecs
from schemas.wire.ping_columns import concat
from testbed.simulator.records import plain
from testbed.simulator.simulator import Second, Simulation
from testbed.topologies.clos import ClosSpec, build

SECOND: Final = 1_000_000_000
START_NS: Final = 1_790_000_000 * SECOND


def busy() -> Simulation:
    """64 hosts x 8 rnics, 40 targets: 41,000 records a second on 82,000 five-tuple paths."""
    spec = ClosSpec(
        name="bench", hosts=64, rails=8, hosts_per_segment=64, aggs=8, pods=4, spines=16,
        hosts_per_job=64,
    )  # fmt: skip
    return Simulation(build(spec, 1), seed=1, start_ns=START_NS, targets=40, ports_per_pair=1)


def messages(
    seconds: Iterator[Second], size: int, content_type: str
) -> Iterator[tuple[Second, list[tuple[str, bytes]]]]:
    """(second, [(host, payload)]) with exactly ``size`` records a message, as full hosts send."""
    encode = codecs.encode_arrow if content_type == topics.ARROW else codecs.encode_ndjson
    rest: dict[str, pa.RecordBatch] = {}
    for second in seconds:
        rows = plain(second.pings)
        hosts = rows.column(rows.schema.get_field_index("src_node_sn"))
        out = []
        order = pc.sort_indices(hosts)
        rows = rows.take(order)
        names = rows.column(rows.schema.get_field_index("src_node_sn")).to_numpy(
            zero_copy_only=False
        )
        edges = np.flatnonzero(np.concatenate([[True], names[1:] != names[:-1], [True]]))
        for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            host = str(names[start])
            mine = rows.slice(start, end - start)
            if host in rest:
                mine = concat([rest.pop(host), mine])
            whole = mine.num_rows // size * size
            out += [(host, encode(mine.slice(at, size))) for at in range(0, whole, size)]
            if whole < mine.num_rows:
                rest[host] = mine.slice(whole)
        yield second, out
