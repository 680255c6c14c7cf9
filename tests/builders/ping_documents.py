"""Ping records as JSON objects, one probe each."""

from __future__ import annotations

from typing import Any

START_NS = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z


def ping(host: int = 0, at_s: int = 0, **changes: Any) -> dict[str, Any]:
    """A record of one probe to the next host."""
    ends = {
        f"{end}_{name}": value
        for end, number in (("src", host), ("dst", host + 1))
        for name, value in (
            ("ip", f"10.0.0.{number}"), ("node_sn", f"h{number}"), ("real_ip", f"10.0.0.{number}"),
        )
    }  # fmt: skip
    return {
        **ends, "agent_type": "underlay", "dial": "success", "task_type": "UDP_PING",
        "latency": 12.0, "ping_time": START_NS + at_s * 10**9, "src_port": 50_000, **changes,
    }  # fmt: skip
