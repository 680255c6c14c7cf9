"""A worker without a topology file judges by the one that a command has published."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from schemas.documents.times import rfc3339
from schemas.documents.topology import Topology
from streams.readers.operator_feed import OperatorFeed
from testbed.simulator.simulator import Second
from testbed.topologies import clos

from .conftest import START_NS, Broker, Command, IncidentReader, all_resolved, identities

Run = Callable[..., Command]
LONG_S = 300.0


def test_a_worker_that_is_killed_judges_by_the_published_topology_before_and_after(
    broker: Broker,
    run: Run,
    read_incidents: IncidentReader,
    seconds: list[Second],
    topology_file: Path,
    expected: set[tuple[Any, ...]],
) -> None:
    environment = {"SKH_KAFKA": broker.bootstrap, "SKH_SESSION_S": "6"}
    valid_from = ("--valid-from", rfc3339(START_NS))
    publish = run("topology", "publish", str(topology_file), *valid_from, **environment)
    assert publish.process.wait(LONG_S) == 0, publish.log.read_text()
    broker.publish_seconds(seconds[:52])  # before a worker could take its slowness for silence
    first = run("stream", **environment)
    read_incidents.wait(bool, "an incident of the first part")

    assert first.stop(signal.SIGKILL) == -signal.SIGKILL
    broker.publish_seconds(seconds[52:])
    second = run("stream", **environment)
    read_incidents.wait(all_resolved(len(expected)), "every incident over, after the restart")

    assert identities(read_incidents.documents) == expected
    assert second.stop() == 0


def test_a_document_of_more_than_a_megabyte_passes_the_limit_of_a_broker(
    broker: Broker, run: Run, tmp_path: Path
) -> None:
    spec = clos.ClosSpec(name="f1", hosts=2048, rails=8, hosts_per_segment=64)
    raw = msgspec.json.encode(clos.build(spec, 7))
    assert len(raw) > 2**20
    (tmp_path / "large.json").write_bytes(raw)
    publish = run("topology", "publish", str(tmp_path / "large.json"), SKH_KAFKA=broker.bootstrap)
    assert publish.process.wait(LONG_S) == 0, publish.log.read_text()
    feed = OperatorFeed({"bootstrap.servers": broker.bootstrap})
    feed.read()
    feed.close()
    (document,) = feed.known
    assert isinstance(document, Topology)
    assert len(document.hosts) == spec.hosts
