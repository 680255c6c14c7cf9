"""How components are: incidents, probes, observability."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from builders.api_service import Put
from builders.monitoring.path_windows import window
from builders.monitoring.small_site import put_topology
from builders.schemas.incidents import INCIDENT, NIC, RESOLVED
from builders.streams.sink_messages import COVERAGE
from httpx import Client
from msgspec.structs import replace

from schemas.documents.coverage import encode
from schemas.documents.times import seconds_of
from store.client import Store
from streams.sink import rows as sink_rows

NOON = int(seconds_of(INCIDENT.opened_at))
TIME = "since=2026-01-31T11:59:00Z&until=2026-01-31T12:05:00Z"
BLAMED = replace(NIC, fabric="f1")
LINK = "link:rnic:10.0.0.1|tor:asw-3-1"
PutWindows = Callable[..., None]


def listed(client: Client, query: str = "") -> list[dict[str, Any]]:
    response = client.get(f"/api/v1/components?{TIME}{query}")
    assert response.status_code == 200, response.text
    return list(response.json()["items"])


@pytest.fixture
def two_paths(put_windows: PutWindows) -> None:
    """From t1 to t2 without loss, from t1 to t3 with a fifth of it lost."""
    put_windows(
        window(NOON, 1), window(NOON, 2, dst_asw="t3", dst_real_ip="10.0.2.2", lost=6),
        window(NOON + 5, 2, dst_asw="t3", lost=30),
    )  # fmt: skip


@pytest.mark.usefixtures("two_paths")
def test_components_that_are_probed_have_what_their_probes_had(client: Client) -> None:
    found = {each["component"]: each for each in listed(client)}
    assert [*found] == ["tor:t3", "tor:t1", "tor:t2"], "the worst first"
    worst = found["tor:t3"]
    assert (worst["health"], worst["observability"], worst["paths"]) == ("ok", "probed", 1)
    assert (worst["measured"]["sent"], worst["measured"]["loss"]) == (30, 0.2)
    assert found["tor:t1"]["measured"]["sent"] == 60


def test_of_a_window_that_was_stored_again_the_version_with_most_records_counts(
    client: Client, put_windows: PutWindows
) -> None:
    for records, lost in ((12, 6), (30, 3), (20, 10)):
        put_windows(window(NOON, 1, records=records, sent=records, lost=lost))
    (rnic,) = (each for each in listed(client, "&kind=rnic") if each["component"].endswith(".0.1"))
    one = client.get(f"/api/v1/components/{rnic['component']}?{TIME}").json()["component"]
    path = client.get(f"/api/v1/paths/{1:016x}?{TIME}").json()["path"]
    for each in (rnic, one, path):
        assert (each["measured"]["sent"], each["measured"]["lost"]) == (30, 3)


@pytest.mark.parametrize("kind", ["tor", "rnic", "host", "pod", "container"])
def test_one_component_has_the_figures_of_the_list(
    client: Client, put_windows: PutWindows, kind: str
) -> None:
    put_windows(
        window(NOON, 1, layer="overlay"),
        window(NOON, 2, layer="overlay", src_asw="t2", dst_asw="t2", dst_real_ip="10.0.2.2",
               src_node_id="c9", lost=6),
    )  # fmt: skip
    items = listed(client, f"&kind={kind}")
    assert len(items) >= 2
    for each in items:
        one = client.get(f"/api/v1/components/{each['component']}?{TIME}").json()["component"]
        assert (one["paths"], one["measured"]) == (each["paths"], each["measured"])


@pytest.mark.usefixtures("two_paths")
def test_a_blamed_component_is_bad_and_one_of_the_tie_set_suspect(client: Client, put: Put) -> None:
    put(BLAMED, replace(INCIDENT, component="tor:t9", tie_set=["tor:t9", "tor:t2"]))
    rnic = listed(client, "&kind=rnic")[0]
    assert (rnic["component"], rnic["health"], rnic["severity"]) == ("rnic:10.0.0.1", "bad", "P0")
    health = {each["component"]: each["health"] for each in listed(client)}
    assert health == {"tor:t9": "bad", "tor:t2": "suspect", "tor:t3": "ok", "tor:t1": "ok"}
    suspects = listed(client, "&health=suspect&health=unknown")
    assert [each["component"] for each in suspects] == ["tor:t2"]


@pytest.mark.usefixtures("two_paths")
def test_a_resolved_incident_makes_no_component_bad(client: Client, put: Put) -> None:
    put(*(replace(each, component="tor:t1", tie_set=["tor:t1"]) for each in (INCIDENT, RESOLVED)))
    assert {each["health"] for each in listed(client)} == {"ok"}
    found = client.get(f"/api/v1/components/tor:t1?{TIME}").json()
    assert [each["state"] for each in found["incidents"]] == ["resolved"]


def test_a_component_that_no_probe_crosses_is_listed_as_such(client: Client, store: Store) -> None:
    store.insert("coverage", sink_rows.coverage(encode(
        replace(COVERAGE, uncovered_names=["tor:t7", "rnic:10.9.9.9"], untraced_names=["link:a|b"])
    )))  # fmt: skip
    (only,) = listed(client)
    assert (only["component"], only["health"], only["observability"]) == (
        "tor:t7", "unknown", "uncovered",
    )  # fmt: skip
    assert only["measured"] is None


@pytest.mark.usefixtures("two_paths")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("&text=T3", ["tor:t3"]), ("&fabric=f1&text=t1", ["tor:t1"]), ("&fabric=f9", []),
        ("&limit=1", ["tor:t3"]), ("&limit=1&offset=1", ["tor:t1"]), ("&kind=host", [
            "host:h1", "host:h2"]),
        ("&kind=pod", ["pod:p1", "pod:p2"]), ("&kind=container", ["container:c1", "container:c2"]),
    ],
)  # fmt: skip
def test_each_filter_selects_its_components(
    client: Client, query: str, expected: list[str]
) -> None:
    assert [each["component"] for each in listed(client, query)] == expected


def test_a_host_is_no_container(client: Client, put_windows: PutWindows) -> None:
    put_windows(window(NOON, 1, src_node_id="h1", dst_node_id="h2"))
    assert listed(client, "&kind=container") == []


def test_any_component_of_an_incident_has_a_page_of_its_own(client: Client, put: Put) -> None:
    put(BLAMED)
    for name, health, blamed in (("rnic:10.0.0.1", "bad", True), (LINK, "suspect", False)):
        found = client.get(f"/api/v1/components/{name}?{TIME}").json()
        assert found["component"]["health"] == health
        assert [(each["incident_id"], each["blamed"]) for each in found["incidents"]] == [
            ("BBBB", blamed)
        ]


def test_the_newest_incidents_of_a_component_come_first_and_are_bounded(
    client: Client, put: Put
) -> None:
    put(*(
        replace(BLAMED, incident_id=f"N{n:02}", opened_at=f"2026-01-31T12:{n:02}:00Z")
        for n in range(60)
    ))  # fmt: skip
    found = client.get(f"/api/v1/components/rnic:10.0.0.1?{TIME}").json()
    assert [each["incident_id"] for each in found["incidents"]] == [
        f"N{n:02}" for n in range(59, 9, -1)
    ]
    assert found["component"]["active"] == 60


def test_a_name_of_two_fabrics_needs_the_fabric(client: Client, put: Put) -> None:
    put(BLAMED, replace(BLAMED, incident_id="DDDD", fabric="f2"))
    url = f"/api/v1/components/rnic:10.0.0.1?{TIME}"
    assert client.get(url).status_code == 409
    assert client.get(f"{url}&fabric=f2").json()["component"]["fabric"] == "f2"


@pytest.mark.parametrize("name", ["tor:none", "router:x", "nothing", "link:a", "tor:", "pod:",
                                  "vswitch:none", "fabric:"])  # fmt: skip
def test_an_unknown_component_is_not_found(client: Client, store: Store, name: str) -> None:
    put_topology(store)
    assert client.get(f"/api/v1/components/{name}").status_code == 404
