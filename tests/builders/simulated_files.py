"""Files of a small healthy cluster, as ``simulate`` writes them."""

from __future__ import annotations

from pathlib import Path

from testbed.scenarios.scenario import load
from testbed.simulator.files import Written, write

SECONDS = 12
_START_NS = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z


def small_cluster(folder: Path) -> Written:
    """SECONDS healthy seconds of eight hosts: pings, topology, heartbeats, placement."""
    return write(load("small").simulation(seed=3, start_ns=_START_NS), folder, SECONDS, "ndjson")
