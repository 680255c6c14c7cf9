"""skh.throughput: bytes that each rnic of a host sent and received, per second.

An Arrow table (Parquet in a file) of these columns, one row per rnic and second, from the counters
of the host's port: they include probes, storage and all other traffic.
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
