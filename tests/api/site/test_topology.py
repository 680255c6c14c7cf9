"""A fabric: from its document or from windows, with health, incidents and the paths of one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import pyarrow as pa
import pytest
from builders.api_service import Put
from builders.monitoring.path_windows import window
from builders.monitoring.small_site import SITE, put_placement, put_route, put_topology
from builders.schemas.incidents import CHILD, INCIDENT, RESOLVED

from api.queries.site.first_minute import first_minute
from schemas.documents.times import seconds_of
from schemas.documents.topology import Switch
from store.client import Store

PutWindows = Callable[..., None]
NOON = int(seconds_of(INCIDENT.opened_at))


def asked(client: httpx.Client, **parameters: str) -> dict[str, Any]:
    response = client.get("/api/v1/topology", params=parameters)
    assert response.status_code == 200
    return dict(response.json())


def put_bad_path(store: Store) -> None:
    """Path 1 is bad in the incident AAAA."""
    store.insert("anomalies", pa.table({
        "fabric": ["f1"], "path_id": pa.array([1], pa.uint64()), "layer": ["underlay"],
        "src_node_sn": ["h1"], "incident_id": ["AAAA"],
    }))  # fmt: skip


def test_the_newest_document_that_holds_is_drawn(client: httpx.Client, store: Store) -> None:
    put_topology(store, msgspec.structs.replace(SITE, links=[]), 1_600_000_000)
    put_topology(store)
    put_topology(store, msgspec.structs.replace(SITE, links=[]), int(time.time()) + 3600)
    found = asked(client)
    names = [each[1] for each in found["switches"]]
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
    put_bad_path(store)
    put_route(store, bad, NOON - 60)
    paths = asked(client, incident="AAAA")["paths"]
    (drawn,) = paths["bad"]
    assert drawn["hops"] == ["t1", "a1", "s1", "a2", "t2"]
    assert (drawn["traced"], drawn["lost"], drawn["sent"]) == (True, 15, 30)
    (other,) = paths["good"]
    assert (other["hops"], other["traced"]) == (["t1", "t2"], False)
    assert paths["bad_total"] == 1


def test_the_loss_of_an_incident_is_that_of_its_own_seconds(
    client: httpx.Client, store: Store, put: Put, put_windows: PutWindows
) -> None:
    put_topology(store)
    put(msgspec.structs.replace(
        RESOLVED, opened_at="2026-01-31T12:00:20Z", closed_at="2026-01-31T12:00:49Z"
    ))  # fmt: skip
    put_windows(
        window(NOON, 1, lost=10), window(NOON + 20, 1, lost=29), window(NOON + 30, 1, lost=19),
        window(NOON + 50, 1),
    )  # fmt: skip
    put_bad_path(store)
    found = asked(client, incident="AAAA")
    assert (found["since_s"], found["until_s"]) == (NOON + 20, NOON + 50)
    assert found["rnics"][0][4:6] == [30, 29]
    assert next(each for each in found["switches"] if each[1] == "t2")[3:5] == [30, 29]
    assert [(each["sent"], each["lost"]) for each in found["paths"]["bad"]] == [(30, 29)]


@pytest.mark.parametrize(
    ("opened", "closed", "since", "until"),
    [
        ("12:00:23", None, 20, 80), ("12:00:00", "12:10:00", 0, 60),
        ("12:00:20", "12:01:00", 20, 50), ("12:00:20", "12:01:10", 20, 80),
        ("12:00:00", "12:00:02", 0, 30),
    ],
)  # fmt: skip
def test_the_first_minute_ends_about_when_the_incident_does(
    opened: str, closed: str | None, since: int, until: int
) -> None:
    incident = msgspec.structs.replace(
        INCIDENT, opened_at=f"2026-01-31T{opened}Z",
        closed_at=None if closed is None else f"2026-01-31T{closed}Z",
    )  # fmt: skip
    assert first_minute(incident) == (NOON + since, NOON + until)


ENDS = {"src_ip": "10.0.0.1", "dst_ip": "10.0.1.2", "dst_port": 4791}


def over(client: httpx.Client) -> dict[str, list[Any]]:
    """Switch -> probes over it, lost ones, round trip."""
    return {each[1]: each[3:] for each in asked(client)["switches"]}


def test_a_switch_has_the_losses_of_the_paths_whose_routes_cross_it(
    client: httpx.Client, store: Store, put_windows: PutWindows
) -> None:
    now = int(time.time()) // 30 * 30
    put_topology(store, msgspec.structs.replace(
        SITE, switches=[*SITE.switches, Switch("s2", "dsw")],
        links=[*SITE.links, ("a1", "s2"), ("a2", "s2")],
    ))  # fmt: skip
    first = window(now - 30, 1, lost=6, src_port=50001, rtt_p50_us=12.0, **ENDS)
    second = window(now - 30, 2, src_port=50002, **ENDS)
    untraced = window(now - 30, 3, src_port=50003, **ENDS)
    put_windows(first, second, untraced)
    put_route(store, first, now - 100)
    put_route(store, second, now - 100, '["t1", "a1", null, "a2", "t2"]')
    put_route(store, second, now - 90, '["t1", "a1", "s2", "a2", "t2"]')
    assert over(client) == {
        "t1": [90, 6, 10.0], "t2": [90, 6, 10.0], "a1": [60, 6, 11.0], "a2": [60, 6, 11.0],
        "s1": [30, 6, 12.0], "s2": [30, 0, 10.0],
    }  # fmt: skip


def test_hops_that_are_addresses_are_the_switches_that_have_them(
    client: httpx.Client, store: Store, put: Put, put_windows: PutWindows
) -> None:
    now = int(time.time()) // 30 * 30
    put_topology(store, msgspec.structs.replace(
        SITE, switches=[*SITE.switches[:4], Switch("s1", "dsw", "", ["10.9.9.1", "10.9.9.2"])],
    ))  # fmt: skip
    paths = [window(now - 30, n, lost=1, src_port=50000 + n, **ENDS) for n in (1, 2)]
    put_windows(*paths)
    for n, path in enumerate(paths, 1):
        put_route(store, path, now - 100, f'["t1", "a1", "10.9.9.{n}", "a2", "t2"]')
    assert over(client)["s1"][:2] == [60, 2]


def test_losses_that_an_rnic_explains_are_not_those_of_switches(
    client: httpx.Client, store: Store, put_windows: PutWindows
) -> None:
    now = int(time.time()) // 30 * 30
    put_topology(store)
    for n in range(4):  # four rnics below t1, of which one is dead
        address = f"10.0.0.{n}"
        path = window(
            now - 30, n, lost=30 * (n == 3), src_real_ip=address, src_port=50000 + n,
            **ENDS | {"src_ip": address, "dst_ip": f"10.0.1.{n}"}, dst_real_ip=f"10.0.1.{n}",
            dst_asw="", src_asw="t1",
        )  # fmt: skip
        put_windows(path)
        put_route(store, path, now - 100)
    assert over(client)["s1"][:2] == [90, 0]
    assert over(client)["t1"][:2] == [90, 0]


def test_an_unknown_incident_is_a_404(client: httpx.Client) -> None:
    response = client.get("/api/v1/topology", params={"incident": "none"})
    assert response.status_code == 404
    assert response.json()["detail"] == "there is no incident 'none'"
