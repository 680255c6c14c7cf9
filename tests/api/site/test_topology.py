"""A fabric: from its document or from windows, with health, incidents and the paths of one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import pyarrow as pa
from builders.api_service import Put
from builders.monitoring.path_windows import window
from builders.monitoring.small_site import SITE, put_placement, put_route, put_topology
from builders.schemas.incidents import CHILD, INCIDENT, RESOLVED

from schemas.documents.times import seconds_of
from store.client import Store

PutWindows = Callable[..., None]
NOON = int(seconds_of(INCIDENT.opened_at))


def asked(client: httpx.Client, **parameters: str) -> dict[str, Any]:
    response = client.get("/api/v1/topology", params=parameters)
    assert response.status_code == 200
    return dict(response.json())


def test_the_newest_document_that_holds_is_drawn(client: httpx.Client, store: Store) -> None:
    put_topology(store, msgspec.structs.replace(SITE, links=[]), 1_600_000_000)
    put_topology(store)
    put_topology(store, msgspec.structs.replace(SITE, links=[]), int(time.time()) + 3600)
    found = asked(client)
    names = [name for _, name, _ in found["switches"]]
    assert sorted(names) == ["a1", "a2", "s1", "t1", "t2"]
    assert len(found["links"]) == 4
    assert found["hosts"] == [["h1", "p1"], ["h2", "p2"]]
    name, host, rail, tor, *probes = found["rnics"][0]
    assert (name, host, rail, names[tor], probes) == ("10.0.0.1", 0, 0, "t1", [0, 0, None])
    assert found["missing"] == ["No probe of the last hour is stored: health is not known."]


def test_the_health_of_an_rnic_is_that_of_the_newest_minute(
    client: httpx.Client, store: Store, put_windows: PutWindows
) -> None:
    now = int(time.time()) // 30 * 30
    put_topology(store)
    put_windows(window(now - 30, 1, lost=3), window(now - 35, 1, lost=30), window(now - 600, 1))
    found = asked(client)
    assert found["rnics"][0][4:] == [30, 3, 10.0]
    assert found["source"] == "document"
    assert found["missing"] == []


def test_without_a_document_windows_show_hosts_rnics_and_tors_and_it_is_said(
    client: httpx.Client, put_windows: PutWindows
) -> None:
    put_windows(window(int(time.time()) // 30 * 30 - 30, 1, src_dsw="s1"))
    found = asked(client)
    assert found["source"] == "records"
    assert [each[0] for each in found["switches"]] == ["tor:t1", "tor:t2", "spine:s1"]
    assert found["links"] == [[0, 2]]
    assert "No topology document" in found["missing"][0]


def test_an_empty_store_draws_nothing_and_says_what_is_missing(client: httpx.Client) -> None:
    found = asked(client)
    assert (found["source"], found["rnics"]) == ("none", [])
    assert "Neither a topology document nor a window" in found["missing"][0]


def test_active_incidents_mark_their_components_and_what_is_in_a_host_marks_the_host(
    client: httpx.Client, store: Store, put: Put
) -> None:
    put_topology(store)
    put_placement(store, "c9", "h2")
    box = msgspec.structs.replace(
        CHILD, incident_id="EEEE", component="container:c9", kind="container", parent=None,
        tie_set=["container:c9", "vswitch:h1"],
    )  # fmt: skip
    put(INCIDENT, box)
    marked = {each["incident_id"]: each for each in asked(client)["incidents"]}
    assert marked["AAAA"]["marks"] == ["tor:asw-3-1"]
    assert marked["EEEE"]["marks"] == ["host:h2"]
    assert marked["EEEE"]["ties"] == ["host:h1"]


def test_the_paths_of_an_incident_cross_what_a_traceroute_of_their_five_tuple_showed(
    client: httpx.Client, store: Store, put: Put, put_windows: PutWindows
) -> None:
    put_topology(store)
    put(RESOLVED)
    ends = {"src_ip": "10.0.0.1", "dst_ip": "10.0.1.2", "dst_port": 4791}
    bad = window(NOON + 30, 1, lost=15, src_port=50001, **ends)
    good = window(NOON + 30, 2, src_port=50002, **ends)
    put_windows(bad, good)
    store.insert("anomalies", pa.table({
        "fabric": ["f1"], "path_id": pa.array([1], pa.uint64()), "layer": ["underlay"],
        "src_node_sn": ["h1"], "incident_id": ["AAAA"],
    }))  # fmt: skip
    put_route(store, bad, NOON - 60)
    paths = asked(client, incident="AAAA")["paths"]
    (drawn,) = paths["bad"]
    assert drawn["hops"] == ["t1", "a1", "s1", "a2", "t2"]
    assert (drawn["traced"], drawn["lost"], drawn["sent"]) == (True, 15, 30)
    (other,) = paths["good"]
    assert (other["hops"], other["traced"]) == (["t1", "t2"], False)
    assert paths["bad_total"] == 1


def test_an_unknown_incident_is_a_404(client: httpx.Client) -> None:
    response = client.get("/api/v1/topology", params={"incident": "none"})
    assert response.status_code == 404
    assert response.json()["detail"] == "there is no incident 'none'"
