"""Paths, their routes and raw pings, over real rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from builders.api_service import Put
from builders.monitoring.path_windows import window
from builders.schemas.incidents import INCIDENT, NIC
from httpx import Client

from schemas.documents.times import seconds_of
from schemas.identity import path_id
from store.client import Store

NOON = int(seconds_of(INCIDENT.opened_at))
TIME = "since=2026-01-31T11:59:00Z&until=2026-01-31T12:10:00Z"
PutWindows = Callable[..., None]


@pytest.fixture
def three(put_windows: PutWindows) -> None:
    """Path 1 is well, path 2 loses a tenth, path 3 goes elsewhere and is slow."""
    put_windows(
        *(window(NOON + begin, 1, src_port=50001) for begin in (0, 5, 30)),
        *(window(NOON + begin, 2, lost=3, src_port=50002) for begin in (0, 5, 30)),
        window(NOON, 3, src_node_sn="h9", src_asw="t9", dst_pod="p9", rtt_p50_us=99.0,
               src_port=50003, layer="overlay", fabric="f2"),
    )  # fmt: skip


def found(client: Client, query: str = "") -> list[str]:
    response = client.get(f"/api/v1/paths?{TIME}{query}")
    assert response.status_code == 200, response.text
    return [each["path_id"].lstrip("0") for each in response.json()["items"]]


@pytest.mark.usefixtures("three")
def test_a_path_has_its_ends_and_each_probe_once(client: Client) -> None:
    page = client.get(f"/api/v1/paths?{TIME}").json()
    worst = page["items"][0]
    assert page["total"] == 3
    assert worst["path_id"] == "0000000000000002"
    assert worst["src"] == {
        "host": "h1", "rnic": "10.0.0.1", "container": "c1", "ip": "", "port": 50002, "tor": "t1",
        "pod": "p1",
    }  # fmt: skip
    assert (worst["windows"], worst["measured"]["sent"], worst["measured"]["lost"]) == (2, 60, 6)
    assert (worst["measured"]["loss"], worst["measured"]["rtt_p50_us"]) == (0.1, 10.0)


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["2", "1", "3"]), ("&order=rtt", ["3", "1", "2"]), ("&order=id", ["1", "2", "3"]),
        ("&limit=1", ["2"]), ("&lossy=true", ["2"]), ("&fabric=f2", ["3"]),
        ("&layer=underlay", ["2", "1"]), ("&src=h9", ["3"]), ("&src=t1", ["2", "1"]),
        ("&dst=p9", ["3"]), ("&at=t9", ["3"]), ("&at=h2", ["2", "1", "3"]), ("&src=h2", []),
        ("&src=h9&src=h1", ["2", "1", "3"]), ("&src=c1&dst=p2", ["2", "1"]),
        ("&src=%27%20OR%201=1%20--", []),
    ],
)  # fmt: skip
def test_each_filter_selects_its_paths(client: Client, query: str, expected: list[str]) -> None:
    assert found(client, query) == expected


@pytest.mark.usefixtures("three")
def test_paths_of_an_incident_are_those_that_were_anomalous(
    client: Client, store: Store, put: Put
) -> None:
    put(INCIDENT, NIC)
    store.insert("anomalies", pa.table({
        "fabric": ["f1"], "path_id": pa.array([1], pa.uint64()), "incident_id": ["AAAA"],
    }))  # fmt: skip
    assert found(client, "&incident=AAAA") == ["1"]
    assert found(client, "&incident=BBBB") == []


@pytest.mark.usefixtures("three")
def test_paths_of_an_incident_that_is_not_known_are_not_found(client: Client) -> None:
    response = client.get(f"/api/v1/paths?{TIME}&incident=nope")
    assert (response.status_code, response.json()["detail"]) == (
        404, "there is no incident 'nope'",
    )  # fmt: skip


@pytest.mark.usefixtures("three")
def test_a_fabric_of_which_nothing_is_known_selects_nothing_in_every_list(client: Client) -> None:
    """It is a filter, and may be of a fabric from which nothing has come yet."""
    for path, items in (("paths", "items"), ("components", "items"), ("matrix", "cells")):
        given = TIME if path != "matrix" else "until=2026-01-31T12:01:00Z"
        response = client.get(f"/api/v1/{path}?{given}&fabric=nope")
        assert (response.status_code, response.json()[items]) == (200, []), path


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("since=-7h", "6 h apart"),
        ("since=2026-01-31T12:00:00Z&until=2026-01-31T12:00:00Z", "before until"),
        ("limit=501", "limit"),
        ("order=worst", "order"),
        ("sorce=h1", "sorce"),
    ],
)
def test_a_question_without_bounds_is_refused(client: Client, query: str, word: str) -> None:
    response = client.get(f"/api/v1/paths?{query}")
    assert (response.status_code, word in response.json()["detail"]) == (422, True)


@pytest.mark.usefixtures("three")
def test_one_path_has_its_windows_once_or_each_five_seconds(client: Client) -> None:
    url = f"/api/v1/paths/0000000000000002?{TIME}"
    once = client.get(url).json()
    often = client.get(f"{url}&step=5").json()
    assert [each["window_start"] for each in once["windows"]] == [
        "2026-01-31T12:00:00.000Z", "2026-01-31T12:00:30.000Z",
    ]  # fmt: skip
    assert len(often["windows"]) == 3
    assert once["windows"][0]["measured"]["lost"] == 3
    assert once["path"]["measured"]["sent"] == 60
    assert once["route"] is None


def test_a_path_without_windows_in_the_time_is_not_found(client: Client) -> None:
    assert client.get("/api/v1/paths/0000000000000002").status_code == 404
    assert client.get("/api/v1/paths/2").status_code == 422


def traced(store: Store, at: str, route: str, src_port: int = 50000) -> None:
    number = path_id(("f1", "underlay", "TRACEROUTE", "h1", "ip1", "h2", "ip2"), src_port, 4791)
    store.execute(
        "INSERT INTO pings (path_id, task_type, ping_time, route)"
        " SELECT {id:UInt64}, 'TRACEROUTE', parseDateTime64BestEffort({at:String}, 9, 'UTC'),"
        " {route:String}",
        {"id": number, "at": at, "route": route},
    )


def test_the_route_is_the_newest_one_of_the_same_five_tuple(
    client: Client, store: Store, put_windows: PutWindows
) -> None:
    ends: dict[str, Any] = {
        "src_node_id": "h1", "src_ip": "ip1", "dst_node_id": "h2", "dst_ip": "ip2",
        "src_port": 50000, "dst_port": 4791,
    }  # fmt: skip
    put_windows(window(NOON, 5, **ends))
    traced(store, "2026-01-31T11:30:00Z", '["t1", "s0", "t2"]')
    traced(store, "2026-01-31T12:00:10Z", '["t1", null, "t2"]')
    traced(store, "2026-01-31T12:00:20Z", '["t1", "s3", "t2"]', src_port=50001)
    traced(store, "2026-01-31T14:00:00Z", '["t1", "s4", "t2"]')
    route = client.get(f"/api/v1/paths/0000000000000005?{TIME}").json()["route"]
    assert route == {"at": "2026-01-31T12:00:10.000Z", "hops": ["t1", None, "t2"]}


def test_pings_are_the_newest_of_the_path_within_the_time(client: Client, store: Store) -> None:
    store.execute(
        "INSERT INTO pings (path_id, task_type, dial, latency_ns, ping_time, sent, lost)"
        " SELECT 7 + (number = 3), 'UDP_PING', if(number % 2, 'timeout', 'success'),"
        " if(number % 2, NULL, 12345), toDateTime64('2026-01-31 12:00:00', 9, 'UTC') + number,"
        " 8, number FROM numbers(6)"
    )
    url = f"/api/v1/paths/0000000000000007/pings?{TIME}"
    items = client.get(url).json()["items"]
    assert [(each["at"][17:19], each["lost"]) for each in items] == [
        ("05", 5), ("04", 4), ("02", 2), ("01", 1), ("00", 0),
    ]  # fmt: skip
    assert (items[1]["dial"], items[1]["latency_us"], items[0]["latency_us"]) == (
        "success", 12.345, None,
    )  # fmt: skip
    assert len(client.get(f"{url}&limit=2").json()["items"]) == 2
    assert client.get(f"{url}&limit=1001").status_code == 422


@pytest.mark.usefixtures("three")
def test_a_path_with_windows_and_without_pings_has_none_and_an_unknown_one_is_not_found(
    client: Client,
) -> None:
    known, unknown = (
        client.get(f"/api/v1/paths/{number:016x}/pings?{TIME}") for number in (1, 0xDEADBEEF)
    )
    assert (known.status_code, known.json()) == (200, {"items": []})
    assert unknown.status_code == 404
    assert unknown.json()["detail"] == (
        "path 00000000deadbeef has neither pings nor windows in this time"
    )
