"""Flink SQL over a file of records; a program of its own, since PyFlink needs an older pyarrow.

    PYTHON flink_job.py RECORDS.csv END_S WINDOW.arrow

Writes the window that ends at END_S, which also warms the JVM up, then prints as JSON the CPU time
of a job that computes all windows and of one that only reads the records. Both drop their output.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.version import __version__

_NAMES: Final = (
    "src_idc", "agent_type", "task_type", "src_node_id", "src_ip", "dst_node_id", "dst_ip",
)  # fmt: skip
_PORTS: Final = ("src_port", "dst_port")
_KEY: Final = ", ".join((*_NAMES, *_PORTS))
_KEY_COLUMNS: Final = ", ".join([f"{n} STRING" for n in _NAMES] + [f"{n} INT" for n in _PORTS])
_READ_COLUMNS: Final = f"{_KEY_COLUMNS}, ping_time BIGINT, latency DOUBLE, sent INT, lost INT"
_RECORDS: Final = """
CREATE TEMPORARY TABLE pings ({columns}, t AS TO_TIMESTAMP_LTZ(ping_time / 1000000, 3),
  WATERMARK FOR t AS t - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv', 'csv.null-literal' = '')
"""
_WINDOWS: Final = f"""
SELECT {_KEY}, window_end, records, sent, lost, rtt_count, `mean`, q[1] AS p25, q[2] AS p50,
  q[3] AS p75, `min`, `std`, `max`
FROM (
  SELECT {_KEY}, window_end, COUNT(*) AS records, SUM(sent) AS sent, SUM(lost) AS lost,
    COUNT(latency) AS rtt_count, AVG(latency) AS `mean`,
    PERCENTILE(latency, ARRAY[0.25, 0.5, 0.75]) AS q, MIN(latency) AS `min`,
    STDDEV_SAMP(latency) AS `std`, MAX(latency) AS `max`
  FROM TABLE(HOP(TABLE pings, DESCRIPTOR(t), INTERVAL '5' SECOND, INTERVAL '30' SECOND))
  GROUP BY {_KEY}, window_start, window_end
)
"""  # noqa: S608 — constants
_SINKS: Final = {
    "windows": f"{_KEY_COLUMNS}, window_end TIMESTAMP(3), records BIGINT, sent INT, lost INT, "
    "rtt_count BIGINT, `mean` DOUBLE, p25 DOUBLE, p50 DOUBLE, p75 DOUBLE, `min` DOUBLE, "
    "`std` DOUBLE, `max` DOUBLE",
    "rows_only": f"{_READ_COLUMNS}, t TIMESTAMP_LTZ(3)",
}
_READ: Final = f"SELECT {_KEY}, ping_time, latency, sent, lost, t FROM pings"  # noqa: S608 — constants


def main(records: str, end_s: int, window: str) -> None:
    """See the module."""
    flink = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in {
        "parallelism.default": "1",
        "pipeline.object-reuse": "true",
        "table.local-time-zone": "UTC",
        "taskmanager.memory.managed.size": "2g",
    }.items():
        flink.get_config().set(name, value)
    path = Path(records).resolve().as_uri()
    flink.execute_sql(_RECORDS.format(columns=_READ_COLUMNS, path=path))
    for name, columns in _SINKS.items():
        flink.execute_sql(
            f"CREATE TEMPORARY TABLE {name} ({columns}) WITH ('connector' = 'blackhole')"
        )
    end = datetime.fromtimestamp(end_s, UTC).strftime("%Y-%m-%d %H:%M:%S")
    one = flink.sql_query(f"SELECT * FROM ({_WINDOWS}) WHERE window_end = TIMESTAMP '{end}'")  # noqa: S608 — constants
    rows = pa.Table.from_pandas(one.to_pandas().drop(columns="window_end"), preserve_index=False)
    with pa.OSFile(window, "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)
    _cpu_s(flink, "rows_only", _READ)  # warm-up
    read_s = _cpu_s(flink, "rows_only", _READ)
    windows_s = _cpu_s(flink, "windows", _WINDOWS)
    print(json.dumps({"version": __version__, "read_s": read_s, "windows_s": windows_s}))


def _cpu_s(flink: Any, sink: str, query: str) -> float:
    """CPU time of a job, by this process and the JVM that it started [s]."""
    started = _used_s()
    flink.execute_sql(f"INSERT INTO {sink} {query}").wait()
    return _used_s() - started


def _used_s() -> float:
    me = os.getpid()
    children = Path(f"/proc/{me}/task/{me}/children").read_text().split()
    ticks = 0
    for process in (str(me), *children):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])  # utime and stime, see proc(5)
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
