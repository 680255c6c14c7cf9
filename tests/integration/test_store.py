"""produce -> windows -> incidents -> store, each part a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from schemas import topics
from testbed.simulator.simulator import Second

from .conftest import START_NS, Broker, Command, IncidentReader, all_resolved, query


def test_records_that_were_produced_are_judged_and_stored(
    broker: Broker,
    run: Callable[..., Command],
    read_incidents: IncidentReader,
    seconds: list[Second],
    topology_file: Path,
    expected: set[tuple[Any, ...]],
    tmp_path: Path,
) -> None:
    url = f"chdb:{tmp_path / 'chdb'}"
    environment = {"SKH_KAFKA": broker.bootstrap, "SKH_CLICKHOUSE_URL": url}
    migrate = run("migrate", "apply", **environment)
    assert migrate.process.wait(300) == 0, migrate.log.read_text()

    worker = run("stream", "--topology", str(topology_file), **environment)
    sink = run("sink", **environment)
    records = broker.publish_seconds(seconds)
    headers = {topics.CONTENT_TYPE: topics.NDJSON.encode()}
    broker.produce(topics.PINGS.name, "x", b'{"task_type": "PIGEON"}', START_NS, headers)
    read_incidents.wait(all_resolved(len(expected)), "every incident over", 90)
    assert worker.stop() == 0
    sink.wait_for(lambda: broker.lag("skh-sink") == 0, "the sink has stored everything")
    assert sink.stop() == 0, sink.log.read_text()

    pings, windows, incidents, letters = query(
        url,
        "SELECT count() AS n FROM pings_unique",
        "SELECT count() AS n FROM path_windows_latest",
        "SELECT incident_id, component, state FROM incidents_latest",
        "SELECT reason, topic, line FROM dead_letters FINAL",
    )
    assert pings == [{"n": records}]
    assert windows[0]["n"] > 0
    assert {(i["incident_id"], i["component"]) for i in incidents} == {e[:2] for e in expected}
    assert {i["state"] for i in incidents} == {"resolved"}
    assert [(letter["topic"], letter["line"]) for letter in letters] == [("skh.pings", 1)]
    assert "required and missing" in letters[0]["reason"]
