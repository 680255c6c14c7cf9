"""skh.throughput -> rows of ``throughput``. Pure; BadMessage as in ``streams.sink.rows``."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from schemas.limits import LIMITS
from streams.admission.admission import Admission
from streams.kafka.messages import InMessage
from streams.readers.throughput_rows import ThroughputRows, admitted
from streams.sink.rows import BadMessage, Place

_NS: Final = 1_000_000_000
_LAST_S: Final = 2**32  # of a DateTime
_NAMES: Final = ("fabric", "node_sn", "real_ip")
_SECONDS: Final = pa.timestamp("s", "UTC")


def throughput(admission: Admission, message: InMessage, place: Place) -> pa.Table:
    """Rows of a message, which the controller reads too; raises BadMessage."""
    try:
        return rows(admitted(admission, message, place.partition), place)
    except ValueError as why:  # Refused and CodecError are such
        raise BadMessage(str(why)) from why


def rows(samples: ThroughputRows, place: Place) -> pa.Table:
    """Rows of samples, each of the second nearest to its time, as the controller has them.

    Raises BadMessage.
    """
    second = (samples.time + _NS // 2) // _NS
    wrong = np.flatnonzero((second < 0) | (second >= _LAST_S))
    if len(wrong):
        first = int(wrong[0])
        raise BadMessage(f"throughput: time {samples.time[first]} of row {first} is not of our age")
    for name in _NAMES:
        if (longest := max(map(len, getattr(samples, name)), default=0)) > LIMITS.name_bytes:
            raise BadMessage(f"throughput: {name} of {longest} characters is no name")
    count = len(second)
    return pa.table({
        **{name: pa.array(getattr(samples, name), pa.string())
           for name in _NAMES},
        "time": pa.array(second, pa.int64()).cast(_SECONDS),
        "tx_bytes": pa.array(samples.tx_bytes, pa.uint64()),
        "rx_bytes": pa.array(samples.rx_bytes, pa.uint64()),
        "source_partition": pa.repeat(pa.scalar(place.partition, pa.uint16()), count),
        "source_offset": pa.repeat(pa.scalar(place.offset, pa.uint64()), count),
    })  # fmt: skip
