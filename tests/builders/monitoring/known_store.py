"""A store whose content is known: three incidents, five minutes of two paths, one dead letter, a
lost probe, one bad path of the first incident with two traceroutes of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow as pa

from builders.monitoring import path_windows
from builders.schemas.incidents import CHILD, INCIDENT, NIC, RESOLVED
from schemas.documents.incident import encode
from store import migrate
from store.client import Store, open_store
from streams.sink import rows as sink_rows

#: The first incident opens here, and the windows begin [s since the epoch].
NOON: Final = int(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp())


@contextmanager
def known_store(folder: Path) -> Iterator[Store]:
    """The embedded engine with all of it."""
    with closing(open_store(f"chdb:{folder}")) as opened:
        migrate.migrate(opened)
        for incident in (INCIDENT, RESOLVED, NIC, CHILD):
            opened.insert("incidents", sink_rows.incident(encode(incident)))
        opened.insert("path_windows", _windows())
        opened.execute(
            "INSERT INTO coverage (fabric, at, paths, components, uncovered, uncovered_names)"
            f" VALUES ('f1', toDateTime64({NOON}, 6), 2, 9, 1, ['tor:t9'])"
        )
        opened.execute(
            "INSERT INTO anomalies (fabric, path_id, layer, symptom, src_node_sn, dst_node_sn,"
            " src_ip, dst_ip, src_port, dst_port, window_start, window_end, sent, lost, loss_rate,"
            " incident_id) SELECT 'f1', 2, 'underlay', 'loss', 'h1', 'h2', '10.0.0.1', '10.0.1.2',"
            f" 50002, 65300, toDateTime64({NOON}, 6), toDateTime64({NOON + 30}, 6), 30, 3, 0.1,"
            " 'AAAA'"
        )
        for after_s, spine in ((5, "s1"), (20, "s2"), (60, "s3")):
            opened.execute(
                "INSERT INTO pings (path_id, agent_type, task_type, dial, src_idc, src_node_sn,"
                " dst_node_sn, src_ip, dst_ip, src_port, dst_port, ping_time, route) SELECT 3,"
                " 'underlay', 'TRACEROUTE', 'success', 'f1', 'h1', 'h2', '10.0.0.1', '10.0.1.2',"
                f' 50002, 65300, toDateTime64({NOON + after_s}, 9), \'["t1","{spine}",null]\''
            )
        opened.execute(
            "INSERT INTO pings (path_id, agent_type, task_type, dial, src_idc, src_node_sn,"
            " dst_node_sn, src_real_ip, dst_real_ip, src_port, dst_port, ping_time) SELECT 2,"
            " 'underlay', 'UDP_PING', 'timeout', 'f1', 'h1', 'h2', '10.0.0.1', '10.0.1.2',"
            f" 50002, 65300, toDateTime64({NOON + 5}, 9)"
        )
        opened.execute(
            "INSERT INTO dead_letters (topic, partition, offset, line, reason, count)"
            " VALUES ('skh.pings', 0, 7, 3, 'row 3: no dst_ip', 5)"
        )
        yield opened


def _windows() -> pa.Table:
    """Two paths from h1 below ToR t1 to h2 below t2, for five minutes: a window of 30 s each 5 s
    with 30 probes; the second path loses three of them and is twice as slow."""
    rows = [
        {
            "window_start": NOON + begin, "window_end": NOON + begin + 30, "path_id": path,
            "fabric": "f1", "layer": "underlay", "task_type": "UDP_PING", "src_node_sn": "h1",
            "dst_node_sn": "h2", "src_asw": "t1", "dst_asw": "t2", "src_pod": "p1", "dst_pod": "p2",
            "src_real_ip": "10.0.0.1", "dst_real_ip": f"10.0.1.{path}", "src_port": 50000 + path,
            "records": 30, "sent": 30, "lost": 3 * (path - 1), "refused": 0,
            "rtt_count": 30 - 3 * (path - 1), "rtt_p50_us": 10.0 * path,
            "rtt_mean_us": 11.0 * path, "rtt_min_us": 9.0 * path, "rtt_max_us": 30.0 * path,
        }
        for begin in range(0, 275, 5) for path in (1, 2)
    ]  # fmt: skip
    return path_windows.table(rows)
