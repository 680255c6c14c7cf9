"""New versions of incidents are sent to all open streams, each at least once."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from builders.api_service import Put, served
from builders.schemas.incidents import INCIDENT, NIC, RESOLVED

from api import incident_feed, serving
from api.incident_feed import IncidentFeed
from api.queries.database import Database
from store.client import Store

WAIT_S = 60.0


def events(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """The events of a stream: id, and the incident."""
    event: dict[str, Any] = {}
    for line in response.iter_lines():
        name, _, value = line.partition(": ")
        if not line and event:
            yield event
            event = {}
        elif name == "id":
            event["id"] = int(value)
        elif name == "data":
            event["incident"] = json.loads(value)
        elif line == ": connected":
            yield {"connected": True}


def opened(client: httpx.Client, **headers: str) -> Any:
    return client.stream("GET", "/api/v1/stream", headers=headers, timeout=WAIT_S)


def test_a_version_is_sent_as_soon_as_it_is_stored(client: httpx.Client, put: Put) -> None:
    put(INCIDENT)  # is there already
    with opened(client) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        found = events(response)
        assert next(found) == {"connected": True}
        put(RESOLVED, NIC)
        wanted = {("AAAA", 2), ("BBBB", 1)}
        for event in found:
            incident = event["incident"]
            wanted.discard((incident["incident_id"], incident["version"]))
            if not wanted:
                break


def test_who_was_away_gets_what_was_stored_meanwhile(client: httpx.Client, put: Put) -> None:
    put(INCIDENT)
    with opened(client, **{"Last-Event-ID": str(int(time.time()) - 5)}) as response:
        found = events(response)
        assert next(found) == {"connected": True}
        event = next(found)
        assert event["incident"]["incident_id"] == "AAAA"
        assert abs(event["id"] - time.time()) < WAIT_S


def test_a_storm_of_incidents_is_read_page_by_page(
    client: httpx.Client, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incident_feed, "_PAGE", 2)
    put(*(msgspec.structs.replace(INCIDENT, incident_id=f"I{number}") for number in range(7)))
    wanted = {f"I{number}" for number in range(7)}
    with opened(client, **{"Last-Event-ID": str(int(time.time()) - 5)}) as response:
        for event in events(response):
            wanted.discard(event.get("incident", {}).get("incident_id"))
            if not wanted:
                break


def test_a_last_event_id_that_is_no_number_is_refused(client: httpx.Client) -> None:
    assert client.get("/api/v1/stream", headers={"Last-Event-ID": "x"}).status_code == 422


def test_more_streams_than_are_served_are_refused(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incident_feed, "MOST_STREAMS", 0)
    response = client.get("/api/v1/stream")
    assert response.status_code == 503
    assert "too many streams" in response.json()["detail"]


def test_a_server_that_stops_ends_its_streams(store: Store) -> None:
    with httpx.Client(timeout=WAIT_S) as listener:
        with served(store) as client:
            url = f"{client.base_url}".rstrip("/") + "/api/v1/stream"
            response = listener.send(listener.build_request("GET", url), stream=True)
            lines = response.iter_lines()
            assert next(lines) == ": connected"
            began = time.monotonic()
        stopped_s = time.monotonic() - began
        assert [line for line in lines if line] == []
    assert stopped_s < serving.GRACE_S, "the server waits so long for what does not end"


@pytest.mark.slow
def test_clients_that_come_and_go_leave_nothing_behind_and_miss_nothing() -> None:
    script = Path(__file__).parents[2] / "scripts/stream_soak.py"
    done = subprocess.run(
        [sys.executable, script, "--reconnects", "300"], capture_output=True, text=True,
        check=False, timeout=800, env={**os.environ, "PYTHONPATH": str(script.parents[1])},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["reconnects"] >= 280
    assert found["events"] >= 5000
    assert found["streams_meanwhile"] > 0, "the server counts them"


# --- the feed, with a store whose rows the test sets -------------------------------------------


class Script:
    """A store whose rows are set by the test."""

    def __init__(self) -> None:
        self.rows_now: list[dict[str, Any]] = []

    def rows(self, sql: str, parameters: object = None) -> list[dict[str, Any]]:
        return [{"now_s": 1000}] if "now()" in sql else list(self.rows_now)

    def add(self, incident_id: str, version: int = 1, stored_s: int = 1000) -> None:
        self.rows_now.append({
            "incident_id": incident_id, "version": version, "stored_s": stored_s,
            "document": json.dumps({"incident_id": incident_id}),
        })  # fmt: skip


def test_a_row_that_shows_late_is_sent_and_none_is_sent_twice() -> None:
    async def story() -> list[bytes]:
        script = Script()
        script.add("known")
        feed = IncidentFeed(Database(script), poll_s=0.01)
        stream = await feed.open(None)
        out = [await anext(stream)]
        script.add("new", stored_s=1001)
        out.append(await anext(stream))
        script.add("late", stored_s=999)
        out.append(await anext(stream))
        feed.close()
        return out + [each async for each in stream]

    found = asyncio.run(asyncio.wait_for(story(), WAIT_S))
    assert [each.partition(b"\n")[0] for each in found] == [b": connected", b"id: 1001", b"id: 999"]


def test_a_client_that_does_not_read_is_dropped_and_the_others_get_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(incident_feed, "_MOST_WAITING", 2)

    async def story() -> tuple[list[bytes], int]:
        script = Script()
        feed = IncidentFeed(Database(script), poll_s=0.01)
        stalled, reader = await feed.open(None), await feed.open(None)
        for stream in (stalled, reader):
            await anext(stream)
        for number in range(3):
            script.add(f"i{number}", stored_s=1001)
            await anext(reader)
        return [each async for each in stalled], feed.streams

    rest, streams = asyncio.run(asyncio.wait_for(story(), WAIT_S))
    assert rest == []
    assert streams == 1


def test_a_stream_whose_client_is_gone_before_it_begins_is_not_open() -> None:
    async def story() -> int:
        feed = IncidentFeed(Database(Script()), poll_s=0.01)
        await feed.open(None)
        return feed.streams

    assert asyncio.run(asyncio.wait_for(story(), WAIT_S)) == 0
