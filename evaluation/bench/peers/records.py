"""The records that all engines get: pings of ``evaluation.bench.input``, decoded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluation.bench.peers.engine import SECOND, Second
from schemas import identity
from schemas.wire import codecs
from streams.windowing import records
from testbed.simulator.simulator import Simulation


def seconds(simulation: Simulation, count: int, one_in: int = 1) -> Iterator[Second]:
    """The first ``count`` seconds; traceroutes, which have no round trip of a path, are left out.

    one_in  take the pings of one path in so many, all of them
    """
    for at in range(count):
        second = simulation.second(at)
        batch = records.used(codecs.conform(second.pings).batch)
        batch = batch.filter(pc.not_equal(batch.column("task_type"), "TRACEROUTE"))
        if one_in > 1:
            chosen = identity.path_ids(batch) % np.uint64(one_in) == 0
            batch = batch.filter(pa.array(chosen))
        yield Second(second.start_ns // SECOND, batch)
