"""Latencies that are in another unit than microseconds -> one line that says so.

Read as microseconds, milliseconds are too short for any deviation to count, so that faults would be
missed in silence; nanoseconds make a deviation of every jitter. What is too short for any network
is refused. What is too long for a data center is noted only: a wide-area network is as slow.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import identity
from skeletonhunter.diagnosis.files.column_map import UNMAPPED, ColumnMap
from skeletonhunter.errors import BadInput

#: No median round trip between two hosts is shorter [us]: the PCIe of the rnics takes longer.
_SHORTEST_US: Final = 0.5
#: Longer than the median of a data center [us], shorter than the fastest rnic in ns read as us.
_LONG_US: Final = 2000.0


def check(records: pa.RecordBatch, columns: ColumnMap | None) -> list[str]:
    """Refuse latencies that are too short; raises BadInput, which names the median and the factor.

    records  accepted by ``schemas.wire.codecs``, with the columns that windows use
    columns  how files name the columns, where they do not as ping records do
    returns  a note on latencies that are too long for a data center; empty: they are plausible
    """
    latency = _between_hosts(records)
    if not latency.size:
        return []
    median = float(np.median(latency))
    names = columns or UNMAPPED
    figure = f"{median:,.0f}" if median >= _LONG_US else f"{median:.3g}"
    seen = f"the median latency between hosts is {figure} us"
    if median == 0:
        return [f"{seen}; leave latency out of records where it was not measured"]
    if median < _SHORTEST_US:
        in_ms = median * 1000 >= _SHORTEST_US
        times, unit = ("1_000", "of ms; 1_000_000 of s") if in_ms else ("1_000_000", "of s")
        raise BadInput(
            f"{seen}: no round trip is so short, the unit is another one; write "
            f"{names.scaled('latency', times)} ({unit}) into a file for --columns, or multiply "
            "the column"
        )
    if median > _LONG_US:
        return [
            f"{seen}, long for a data center; if the column is in ns, write "
            f"{names.scaled('latency', '0.001')} into a file for --columns"
        ]
    return []


def _between_hosts(records: pa.RecordBatch) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Latencies of answered probes from one host to another [us]."""
    if "latency" not in records.schema.names:
        return np.empty(0)
    source, target = (identity.filled(records, f"{end}_node_sn") for end in ("src", "dst"))
    apart = pc.and_(pc.not_equal(source, target), records.column("latency").is_valid())
    found = records.column("latency").filter(apart)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.float64)
