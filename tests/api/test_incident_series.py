"""Loss and round trips of an incident's bad paths over time, beside other paths of its hosts."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import msgspec
import pyarrow as pa
import pytest
from builders.api_service import Put
from builders.monitoring.path_windows import window
from builders.schemas.incidents import INCIDENT, RESOLVED

from schemas.documents.times import seconds_of
from store.client import Store

NOON = int(seconds_of(INCIDENT.opened_at))
URL = f"/api/v1/incidents/{INCIDENT.incident_id}/series"
PutWindows = Callable[..., None]


@pytest.fixture
def bad_path(store: Store) -> None:
    """Path 1, from h1, was bad in the incident."""
    store.insert("anomalies", pa.table({
        "fabric": ["f1"], "path_id": pa.array([1], pa.uint64()), "layer": ["underlay"],
        "src_node_sn": ["h1"], "incident_id": [INCIDENT.incident_id],
    }))  # fmt: skip


@pytest.mark.usefixtures("bad_path")
def test_bad_paths_are_shown_beside_others_of_their_hosts(
    client: httpx.Client, put: Put, put_windows: PutWindows
) -> None:
    put(INCIDENT, RESOLVED)
    put_windows(
        window(NOON - 60, 1), window(NOON, 1, lost=15, rtt_p50_us=40.0), window(NOON, 2),
        window(NOON, 3, src_node_sn="h7", lost=30),  # of another host
        window(NOON, 4, layer="overlay", lost=30),  # of another layer
        window(NOON + 5, 1, lost=30),  # between two points
        window(NOON - 7200, 1, lost=30), window(NOON + 7200, 1, lost=30),
    )  # fmt: skip
    found = client.get(URL).json()
    assert (found["opened_s"], found["closed_s"], found["step_s"]) == (NOON, NOON + 600, 10)
    assert found["times"] == [NOON - 60, NOON]
    assert found["bad"] == {"sent": [30, 30], "loss": [0.0, 0.5], "rtt_us": [10.0, 40.0]}
    assert found["others"] == {"sent": [0, 30], "loss": [None, 0.0], "rtt_us": [None, 10.0]}


@pytest.mark.usefixtures("bad_path")
def test_a_long_incident_has_fewer_points(client: httpx.Client, put: Put) -> None:
    put(msgspec.structs.replace(RESOLVED, closed_at="2026-01-31T23:00:00Z"))
    found = client.get(URL).json()
    assert found["step_s"] == 40
    assert found["times"] == []


def test_an_incident_without_bad_paths_has_no_points(
    client: httpx.Client, put: Put, put_windows: PutWindows
) -> None:
    put(INCIDENT)
    put_windows(window(NOON, 1))
    found = client.get(URL).json()
    assert found["times"] == []
    assert found["bad"] == {"sent": [], "loss": [], "rtt_us": []}


def test_an_unknown_incident_has_no_series(client: httpx.Client) -> None:
    assert client.get("/api/v1/incidents/none/series").status_code == 404
