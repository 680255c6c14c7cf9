"""Liveness, readiness and metrics of a process with an api."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from builders.api_service import Put, Unavailable, served
from builders.schemas.incidents import CHILD, INCIDENT, NIC, RESOLVED
from msgspec import structs

from api.monitoring import Monitoring
from api.queries.incidents import MOST_ACTIVE
from schemas.metrics import Sample
from schemas.metrics import sink as metrics
from store.client import Store


def get(path: str, store: Any, **options: Any) -> tuple[int, str]:
    with served(store, **options) as client:
        response = client.get(path)
        return response.status_code, response.text


def test_a_process_without_its_database_is_alive_but_not_ready() -> None:
    assert get("/healthz", Unavailable()) == (200, '{"status":"alive","reason":null}')
    status, text = get("/readyz", Unavailable())
    assert (status, "the database does not answer" in text) == (503, True)


def test_a_process_is_ready_when_tables_and_all_checks_are(store: Store) -> None:
    assert get("/readyz", store, ready=[lambda: None])[0] == 200
    status, text = get("/readyz", store, ready=[lambda: None, lambda: "no partitions yet"])
    assert (status, "no partitions yet" in text) == (503, True)


def test_a_process_that_stops_is_alive_but_not_ready() -> None:
    monitoring = Monitoring()
    assert asyncio.run(monitoring.readyz()).status_code == 200
    monitoring.stop()
    refused = asyncio.run(monitoring.readyz())
    assert (refused.status_code, b"stopping" in bytes(refused.body)) == (503, True)
    assert asyncio.run(monitoring.healthz()).status_code == 200


@pytest.mark.parametrize("view", ["incidents_latest", "incident_handling"])
def test_a_process_is_not_ready_before_the_migrations(store: Store, view: str) -> None:
    store.execute(f"RENAME TABLE {view} TO elsewhere")
    status, text = get("/readyz", store)
    store.execute(f"RENAME TABLE elsewhere TO {view}")
    assert (status, "skeletonhunter migrate" in text) == (503, True)


def test_metrics_contain_the_samples_of_every_source_and_of_the_database(
    store: Store, put: Put, watch: Callable[[int], None]
) -> None:
    put(INCIDENT)
    watch(3)
    sources = [
        lambda: [Sample(metrics.SINK_ROWS, 5, ("pings",))],
        lambda: [Sample(metrics.SINK_ROWS, 2, ("incidents",))],
    ]
    status, text = get("/metrics", store, counters=sources)
    assert status == 200
    lines = text.splitlines()
    assert "# TYPE skh_sink_rows_total counter" in lines
    assert 'skh_sink_rows_total{table="pings"} 5.0' in lines
    assert 'skh_sink_rows_total{table="incidents"} 2.0' in lines
    assert "skh_paths_watched 3.0" in lines
    assert 'skh_incidents_active{severity="P1"} 1.0' in lines
    assert "skh_api_ready 1.0" in lines


def test_each_active_incident_is_a_series_until_it_is_resolved(store: Store, put: Put) -> None:
    put(INCIDENT, NIC, CHILD)
    lines = get("/metrics", store)[1].splitlines()
    labels = (
        'component="tor:asw-3-1",fabric="f1",incident_id="AAAA",issue_type="switch_packet_loss",'
        'kind="tor",layer="underlay",severity="P1",symptom="loss"'
    )
    assert f"skh_incident_active{{{labels}}} 1.0" in lines
    assert 'skh_incident_detected_timestamp_seconds{incident_id="AAAA"} 1.7698608045e+09' in lines
    assert sum(line.startswith("skh_incident_active{") for line in lines) == 2, "no child"
    put(RESOLVED)
    lines = get("/metrics", store)[1].splitlines()
    left = [line for line in lines if line.startswith("skh_incident_active{")]
    assert not any('incident_id="AAAA"' in line for line in left)
    assert len(left) == 2, "its child is not resolved, and has a series from now on"


def test_a_storm_of_incidents_is_bounded_and_the_most_urgent_are_kept(
    store: Store, put: Put
) -> None:
    many = [structs.replace(CHILD, incident_id=f"c{n}", parent=None) for n in range(MOST_ACTIVE)]
    put(*many, NIC)
    lines = get("/metrics", store)[1].splitlines()
    series = [line for line in lines if line.startswith("skh_incident_active{")]
    assert len(series) == MOST_ACTIVE
    assert sum('severity="P0"' in line for line in series) == 1


def test_the_age_of_what_is_stored_is_known_when_something_is(
    store: Store, watch: Callable[[int], None]
) -> None:
    assert "skh_stored_age_seconds" not in get("/metrics", store)[1]
    watch(1)
    (line,) = [
        line for line in get("/metrics", store)[1].splitlines()
        if line.startswith("skh_stored_age_seconds ")
    ]  # fmt: skip
    assert 0 <= float(line.split()[1]) < 600


def test_metrics_are_served_without_the_database() -> None:
    status, text = get("/metrics", Unavailable())
    assert (status, "skh_api_ready 0.0" in text.splitlines()) == (200, True)
