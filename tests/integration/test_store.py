"""produce -> windows -> incidents -> store, each part a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from schemas import topics
from testbed.simulator.simulator import Second

from .conftest import START_NS, Cluster, Command, IncidentReader, all_resolved, query


def test_what_was_produced_is_judged_and_stored(
    cluster: Cluster,
    run: Callable[..., Command],
    read_incidents: IncidentReader,
    seconds: list[Second],
    topology_file: Path,
    expected: set[tuple[Any, ...]],
    tmp_path: Path,
) -> None:
    url = f"chdb:{tmp_path / 'chdb'}"
    told = {"SKH_KAFKA": cluster.bootstrap, "SKH_CLICKHOUSE_URL": url}
    migrate = run("migrate", "apply", **told)
    assert migrate.process.wait(300) == 0, migrate.log.read_text()

    worker = run("stream", "--topology", str(topology_file), **told)
    sink = run("sink", **told)
    records = cluster.say(seconds)
    headers = {topics.CONTENT_TYPE: topics.NDJSON.encode()}
    cluster.produce(topics.PINGS.name, "x", b'{"task_type": "PIGEON"}', START_NS, headers)
    read_incidents.wait(all_resolved(len(expected)), "every incident over", 90)
    assert worker.stop() == 0
    sink.wait_for(lambda: cluster.lag("skh-sink") == 0, "the sink has stored everything")
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
