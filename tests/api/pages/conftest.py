"""Views in a real browser, which must not complain."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import msgspec
import pyarrow as pa
import pytest
from builders.api_service import Put
from builders.monitoring.path_windows import window
from builders.monitoring.small_site import (
    beat,
    put_heartbeats,
    put_placement,
    put_route,
    put_skeleton,
    put_topology,
)
from builders.schemas.incidents import INCIDENT
from builders.streams.sink_messages import COVERAGE

from schemas.documents.coverage import encode as encode_coverage
from schemas.documents.times import seconds_of
from schemas.documents.topology import Endpoint
from store.client import Store
from streams.sink import rows as sink_rows

NOON = int(seconds_of(INCIDENT.opened_at))
TOR = msgspec.structs.replace(
    INCIDENT, component="tor:t1", tie_set=["tor:t1", "link:agg:a1|tor:t1"], jobs=["llm"]
)
PutWindows = Callable[..., None]
Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any, client: httpx.Client) -> Iterator[Open]:
    """opened(path, width=..., scheme=...) is a page that must not complain."""
    complaints: list[str] = []
    contexts = []

    def visit(path: str, width: int = 1440, scheme: str = "light") -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=False
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: complaints.append(said.text) if said.type == "error" else None,
        )
        page.goto(str(client.base_url).rstrip("/") + path)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def site(store: Store, put: Put, put_windows: PutWindows) -> None:
    """A fabric with an active incident, its paths, a job, agents, coverage and a dead letter."""
    now = int(time.time()) // 30 * 30
    put_topology(store)
    put(TOR)
    put_placement(store, "c1", "h1", endpoints=[Endpoint("172.16.0.1", "10.0.0.1")])
    put_placement(store, "c2", "h2", endpoints=[Endpoint("172.16.0.2", "10.0.1.2")])
    put_skeleton(store)
    put_heartbeats(store, beat("h1", time.time()), beat("h2", time.time() - 60))
    store.insert("coverage", sink_rows.coverage(encode_coverage(COVERAGE)))
    store.execute("INSERT INTO dead_letters (topic, offset, reason) VALUES ('skh.pings', 1, 'bad')")
    ends = {"src_ip": "10.0.0.1", "dst_ip": "10.0.1.2", "dst_port": 4791}
    bad = window(NOON + 30, 1, lost=15, src_port=50001, **ends)
    put_windows(
        bad, window(NOON + 30, 2, src_port=50002, **ends),
        *(window(now - ago, path, lost=3) for ago in (30, 60, 90) for path in (1, 2)),
    )  # fmt: skip
    store.insert("anomalies", pa.table({
        "fabric": ["f1"], "path_id": pa.array([1], pa.uint64()), "layer": ["underlay"],
        "src_node_sn": ["h1"], "incident_id": ["AAAA"],
    }))  # fmt: skip
    put_route(store, bad, NOON - 60)
