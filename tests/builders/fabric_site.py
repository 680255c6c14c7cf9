"""A namespace fabric with real agents, and the records and heartbeats that they publish."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pytest

from probers.publishing.relay import Headers, Relay
from schemas import topics
from schemas.documents import heartbeat
from testbed.netns import Fabric, Plan, missing
from testbed.netns.probes.agents import start_agents

Row = dict[str, Any]


class Collected:
    """A relay's sink that holds records and heartbeats and lets a test wait for them."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._records: list[Row] = []
        self._beats: list[heartbeat.Heartbeat] = []

    def __call__(self, topic: str, key: str, headers: Headers, payload: bytes) -> None:
        with self._changed:
            if topic == topics.PINGS.name:
                assert headers[topics.CONTENT_TYPE] == topics.ARROW.encode()
                self._records += pa.ipc.open_stream(payload).read_all().to_pylist()
            else:
                self._beats.append(heartbeat.decode(payload))
            self._changed.notify_all()

    def records(self, task_type: str | None = None, since_ns: int = 0) -> list[Row]:
        with self._changed:
            return [
                row
                for row in self._records
                if row["ping_time"] >= since_ns and task_type in (None, row["task_type"])
            ]

    def beats(self) -> list[heartbeat.Heartbeat]:
        with self._changed:
            return list(self._beats)

    def wait(self, enough: Callable[[], bool], within_s: float, what: str) -> None:
        """Return once ``enough()``; fails the test when that takes longer than ``within_s``."""
        deadline = time.monotonic() + within_s
        with self._changed:
            while not enough():
                left = deadline - time.monotonic()
                if left <= 0:
                    pytest.fail(f"not within {within_s} s: {what}")
                self._changed.wait(min(left, 1.0))


class Site(NamedTuple):
    """A running fabric and what its agents have published; up_after_s: time to build it [s]."""

    fabric: Fabric
    collected: Collected
    up_after_s: float


def diagnosed(
    site: Site, directory: Path, which: Callable[[Row], bool] = lambda _: True
) -> list[Row]:
    """Incidents without a parent that ``diagnose`` finds in some of the records so far."""
    files = [directory / name for name in ("pings.ndjson", "beats.ndjson", "topology.json")]
    rows = sorted(filter(which, site.collected.records()), key=lambda row: int(row["ping_time"]))
    files[0].write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    beats = site.collected.beats()
    files[1].write_bytes(b"".join(heartbeat.encode(beat) + b"\n" for beat in beats))
    files[2].write_bytes(msgspec.json.encode(site.fabric.topology))
    done = subprocess.run(
        [sys.executable, "-m", "skeletonhunter.cli", "diagnose", str(files[0]), "--topology",
         str(files[2]), "--heartbeats", str(files[1]), "--format", "json"],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [each for each in found if "component" in each and each["parent"] is None]


def require_root() -> None:
    """Skip the test where this machine cannot build a fabric."""
    if lacks := missing():
        pytest.skip(f"a namespace fabric needs {', '.join(lacks)}")


@contextmanager
def running_site(directory: Path, plan: Plan, arguments: tuple[str, ...] = ()) -> Iterator[Site]:
    """A fabric with an agent in each host and container, with these options, and one relay."""
    require_root()
    collected, socket = Collected(), directory / "relay.sock"
    with Relay(socket, collected) as relay:
        begin = time.monotonic()
        with Fabric(plan) as fabric:
            up_after_s = time.monotonic() - begin
            start_agents(fabric, directory, f"unix:{socket}", arguments=arguments)
            yield Site(fabric, collected, up_after_s)
        assert relay.counts["malformed"] == relay.counts["sink-failed"] == 0
