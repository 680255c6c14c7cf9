"""skh.evidence -> rows of ``port_counters``. Pure; BadMessage as in ``streams.sink.rows``."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.documents.times import milliseconds_of
from streams.admission.admission import Admission
from streams.kafka.messages import InMessage
from streams.readers.request_feed import answer
from streams.sink.rows import BadMessage

_LAST_MS: Final = 1000 * 2**32  # as other times of the store
_MOST: Final = 2**63 - 1
_NAMES: Final = ("fabric", "node_sn", "rnic", "device", "counter", "incident_id", "request_id")
_ROW: Final = pa.schema(
    [
        *((name, pa.string()) for name in _NAMES),
        ("time", pa.timestamp("ms", "UTC")),
        ("value", pa.int64()),
    ]
)


def port_counters(admission: Admission, message: InMessage, partition: int) -> pa.Table:
    """Rows of what a host reads of its own ports, one for each counter; raises BadMessage.

    No row where the document has no counters, or is of a container's own agent, which sees its
    container and not the ports of the host.
    """
    try:
        found, client = answer(admission, message, partition)
        times = [milliseconds_of(each.time) for each in found.counters]
    except ValueError as why:  # Refused is one too
        raise BadMessage(str(why)) from why
    shared = {
        "fabric": found.fabric, "node_sn": found.node_sn, "incident_id": found.incident_id,
        "request_id": found.request_id,
    }  # fmt: skip
    rows = []
    for port, time_ms in zip(found.counters, times, strict=True):
        if not 0 <= time_ms < _LAST_MS:
            raise BadMessage(f"evidence: time {port.time!r} is not of our age")
        for counter, value in port.values.items():
            if not 0 <= value <= _MOST:
                raise BadMessage(f"evidence: {counter[:100]} of {port.device[:100]} is {value}")
            rows.append({
                **shared, "rnic": port.rnic, "device": port.device, "counter": counter,
                "time": time_ms, "value": value,
            })  # fmt: skip
    return pa.Table.from_pylist([] if client else rows, _ROW)
