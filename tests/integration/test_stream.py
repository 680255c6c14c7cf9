"""skh.pings -> skh.windows -> skh.incidents with the real command, on both brokers."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas import topics
from schemas.documents.maintenance import Maintenance
from schemas.documents.times import rfc3339
from testbed.simulator.simulator import Second

from .conftest import START_NS, Broker, Command, IncidentReader, all_resolved, identities

Run = Callable[..., Command]
Expected = set[tuple[Any, ...]]


def stream(run: Run, broker: Broker, topology: Path, **settings: str) -> Command:
    given = {"SKH_CLICKHOUSE_URL": "http://127.0.0.1:1/", "SKH_SESSION_S": "6", **settings}
    return run("stream", "--topology", str(topology), SKH_KAFKA=broker.bootstrap, **given)


def an_incident_is_open(documents: list[Any]) -> bool:
    return bool(documents)


def test_a_worker_killed_in_mid_window_leaves_no_trace_in_the_incidents(
    broker: Broker,
    run: Run,
    read_incidents: IncidentReader,
    seconds: list[Second],
    topology_file: Path,
    expected: Expected,
) -> None:
    broker.publish_seconds(seconds[:52])  # before a worker could take its slowness for silence
    first = stream(run, broker, topology_file)
    read_incidents.wait(an_incident_is_open, "an incident of the first part")

    assert first.stop(signal.SIGKILL) == -signal.SIGKILL
    broker.publish_seconds(seconds[52:])
    second = stream(run, broker, topology_file)
    read_incidents.wait(all_resolved(len(expected)), "every incident over, after the restart")

    assert identities(read_incidents.documents) == expected
    assert second.stop() == 0


@pytest.mark.kafka
@pytest.mark.parametrize("broker", ["apache"], indirect=True)
def test_a_worker_with_a_name_goes_on_before_the_session_of_the_killed_one_is_over(
    broker: Broker,
    run: Run,
    read_incidents: IncidentReader,
    seconds: list[Second],
    topology_file: Path,
    expected: Expected,
) -> None:
    named = {"SKH_INSTANCE": "worker-0", "SKH_SESSION_S": "300"}
    broker.publish_seconds(seconds[:52])  # before a worker could take its slowness for silence
    first = stream(run, broker, topology_file, **named)
    read_incidents.wait(an_incident_is_open, "an incident of the first part")

    first.stop(signal.SIGKILL)
    broker.publish_seconds(seconds[52:])
    second = stream(run, broker, topology_file, **named)
    read_incidents.wait(all_resolved(len(expected)), "every incident over, in time", 290)

    assert identities(read_incidents.documents) == expected
    assert second.stop() == 0


def test_a_fault_under_maintenance_is_reported_when_the_maintenance_is_over(
    broker: Broker,
    run: Run,
    read_incidents: IncidentReader,
    seconds: list[Second],
    topology_file: Path,
    expected: Expected,
) -> None:
    over = rfc3339(START_NS + 58 * 10**9)
    work = Maintenance(
        component="fabric:small", start=rfc3339(START_NS), until=over, reason="new optics",
        fabric="small",
    )  # fmt: skip
    document = msgspec.json.encode(work)
    broker.produce(topics.MAINTENANCE.name, work.component, document, START_NS)
    broker.publish_seconds(seconds)
    worker = stream(run, broker, topology_file)
    read_incidents.wait(an_incident_is_open, "the fault outlasts the maintenance")

    first = read_incidents.documents[0]
    assert all(opened < over for _, _, opened, _ in expected), "else this proves nothing"
    print(first)  # shown whole when this fails, as is the worker's log
    assert first.component in {component for _, component, _, _ in expected}
    assert first.detected_at >= over
    assert worker.stop() == 0


@pytest.mark.kafka
@pytest.mark.parametrize("broker", ["apache"], indirect=True)
def test_of_two_workers_with_one_name_the_older_ends_and_says_why(
    broker: Broker,
    run: Run,
    read_incidents: IncidentReader,
    seconds: list[Second],
    topology_file: Path,
    expected: Expected,
) -> None:
    named = {"SKH_INSTANCE": "worker-0"}
    broker.publish_seconds(seconds[:52])
    first = stream(run, broker, topology_file, **named)
    read_incidents.wait(an_incident_is_open, "an incident of the first part")

    second = stream(run, broker, topology_file, **named)
    assert first.process.wait(60) == 2
    assert first.log.read_text().splitlines()[-1] == (
        "skeletonhunter: SKH_INSTANCE: another member of the group skh-stream has started as "
        "worker-0; give each worker a name of its own"
    )
    broker.publish_seconds(seconds[52:])
    read_incidents.wait(all_resolved(len(expected)), "every incident over", 90)
    assert identities(read_incidents.documents) == expected
    assert second.stop() == 0


#: Settings of two workers without and with names.
NO_NAMES: list[dict[str, str]] = [{}, {}]
NAMES = [{"SKH_INSTANCE": name, "SKH_SESSION_S": "30"} for name in ("worker-0", "worker-1")]


@pytest.mark.kafka
@pytest.mark.parametrize("settings", [NO_NAMES, NAMES], ids=["no-names", "names"])
@pytest.mark.parametrize("broker", ["apache"], indirect=True)
def test_two_workers_and_two_rebalances_find_what_one_undisturbed_worker_finds(
    broker: Broker,
    run: Run,
    read_incidents: IncidentReader,
    seconds: list[Second],
    topology_file: Path,
    expected: Expected,
    settings: list[dict[str, str]],
) -> None:
    broker.publish_seconds(seconds[:52])  # before a worker could take its slowness for silence
    first = stream(run, broker, topology_file, **settings[0])
    read_incidents.wait(an_incident_is_open, "an incident of the first part")

    second = stream(run, broker, topology_file, **settings[1])
    second.wait_for(lambda: broker.members() == 2, "two members share the partitions")
    broker.publish_seconds(seconds[52:66])
    assert first.stop() == 0
    assert broker.members() < 2, "a worker that is stopped leaves the group"
    second.wait_for(lambda: broker.members() == 1, "one member has all partitions")
    broker.publish_seconds(seconds[66:])
    read_incidents.wait(all_resolved(len(expected)), "every incident over", 90)

    why = (read_incidents.errors, first.log.read_text())
    assert identities(read_incidents.documents) == expected, why
    assert second.stop() == 0
