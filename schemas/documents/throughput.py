"""skh.throughput: what each rnic of a host sent and received, second by second.

An Arrow table (Parquet in a file) of these columns, one row per rnic and second, with the counters
of the host's own port: probes, storage and everything else is in them.
"""

from __future__ import annotations

from typing import Final

from schemas.documents.ping import Column

COLUMNS: Final[tuple[Column, ...]] = (
    Column("fabric", "string", "fabric of the rnic"),
    Column("node_sn", "string", "host serial number; the topic's key"),
    Column("real_ip", "string", "address of the host's rnic"),
    Column("time", "int64", "start of the second [ns since the epoch]"),
    Column("tx_bytes", "int64", "bytes sent in this second"),
    Column("rx_bytes", "int64", "bytes received in this second"),
)
