"""A namespace fabric with real agents, and what they publish, for the system tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from probers.publishing.relay import Headers, Relay
from schemas import topics
from schemas.documents import heartbeat
from testbed.netns import Fabric, Plan, missing
from testbed.netns.probes.agents import start_agents

Row = dict[str, Any]


class Collected:
    """A relay's sink that keeps records and heartbeats and lets a test wait for them."""

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
        """Return once ``enough()``; fails the test when it is not within the deadline."""
        give_up_at = time.monotonic() + within_s
        with self._changed:
            while not enough():
                left = give_up_at - time.monotonic()
                if left <= 0:
                    pytest.fail(f"not within {within_s} s: {what}")
                self._changed.wait(min(left, 1.0))


class Site(NamedTuple):
    """A running fabric, its agents and what they have said."""

    fabric: Fabric
    collected: Collected
    up_after_s: float


@pytest.fixture
def collected() -> Collected:
    """An empty collection, to be given to a relay."""
    return Collected()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """8 hosts x 2 NICs, 4 ToRs, 2 spines, an agent in each host, one relay."""
    lacks = missing()
    if lacks:
        pytest.skip(f"a namespace fabric needs {', '.join(lacks)}")
    directory: Path = tmp_path_factory.mktemp("site")
    collected = Collected()
    with Relay(directory / "relay.sock", collected) as relay:
        begin = time.monotonic()
        with Fabric(Plan(hosts=8, nics=2, hosts_per_tor=4, spines=2)) as fabric:
            up_after_s = time.monotonic() - begin
            start_agents(fabric, directory, f"unix:{directory / 'relay.sock'}")
            yield Site(fabric, collected, up_after_s)
        assert relay.counts["malformed"] == relay.counts["sink-failed"] == 0
