"""Equal questions share an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from builders.api_service import LONG_S, Hanging, Put, many, served
from builders.schemas.incidents import INCIDENT, NIC
from starlette.types import Message, Receive, Scope, Send

from api.access.callers import Caller
from api.access.tokens import line, parse
from api.answers.shared import SharedAnswers
from api.queries.database import Database
from store.client import Store

LONG_KEPT_S = 1e6
TENANTS = parse(
    "".join(line(Caller(name, "viewer", (name,)), f"skh_{name}") for name in ("red", "blue"))
)


class Counting:
    """A store that counts the statements about a page of incidents."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.asked = 0

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None, **limits: Any) -> Any:
        self.asked += "SELECT document" in sql
        return self._store.rows(sql, parameters, **limits)

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None:
        self._store.execute(sql, parameters)


def test_an_answer_is_given_again_until_it_is_too_old(store: Store, put: Put) -> None:
    counting = Counting(store)
    with served(counting, keep_s=LONG_KEPT_S) as client:
        first = client.get("/api/v1/incidents?limit=5")
        put(INCIDENT)
        again = client.get("/api/v1/incidents?limit=5")
        other = client.get("/api/v1/incidents?limit=6")
    assert first.content == again.content
    assert first.headers == again.headers
    assert other.json()["total"] == 1
    assert counting.asked == 2


def test_an_answer_that_is_not_kept_is_asked_for_each_time(store: Store, put: Put) -> None:
    with served(store) as client:
        client.get("/api/v1/incidents")
        put(INCIDENT)
        assert client.get("/api/v1/incidents").json()["total"] == 1


def test_an_action_is_seen_by_the_next_question(store: Store, put: Put) -> None:
    put(INCIDENT)
    with served(store, keep_s=LONG_KEPT_S) as client:
        url = "/api/v1/incidents/AAAA"
        tag = client.get(url).headers["etag"]
        client.post(f"{url}/actions", json={"kind": "acknowledge", "by": "alice"})
        found = client.get(url, headers={"if-none-match": tag})
    assert found.json()["handling"]["status"] == "acknowledged"


def test_tenants_share_nothing(store: Store, put: Put) -> None:
    put(INCIDENT, NIC)
    with served(store, keep_s=LONG_KEPT_S, tokens=lambda: TENANTS) as client:
        found = [
            client.get("/api/v1/incidents", headers={"authorization": f"Bearer skh_{name}"}).json()
            for name in ("red", "blue", "red")
        ]
    assert [page["items"][0]["incident_id"] for page in found] == ["BBBB", "AAAA", "BBBB"]


def test_an_error_is_not_kept(store: Store, put: Put) -> None:
    with served(store, keep_s=LONG_KEPT_S) as client:
        assert client.get("/api/v1/incidents/AAAA").status_code == 404
        put(INCIDENT)
        assert client.get("/api/v1/incidents/AAAA").status_code == 200


def test_those_who_wait_together_cost_one_statement(hanging: Hanging) -> None:
    database = Database(hanging, threads=1, waiting=2, wait_s=LONG_S)
    with served(database) as client, many(client) as others, ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(others.get, "/api/v1/summary") for _ in range(20)]
        assert hanging.asked.wait(LONG_S)
        until = time.monotonic() + 0.5  # time in which a second statement would be refused
        while time.monotonic() < until and not any(each.done() for each in asked):
            time.sleep(0.02)
        hanging.go_on.set()
        assert {each.result().status_code for each in asked} == {200}


class Numbered:
    """A service whose answers are numbered, behind shared answers that are kept for 1 s."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.asked = 0
        self.go_on = asyncio.Event()
        self.go_on.set()
        self._shared = SharedAnswers(self._app, keep_s=1.0, clock=lambda: self.now_s)

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        body = b"%d" % self.asked
        await self.go_on.wait()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def at(self, now_s: float, path: str = "/api/x") -> int:
        """The number of the answer that a client gets at a time; what it began has ended then,
        unless it waits."""
        self.now_s = now_s
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"",
                 "headers": []}  # fmt: skip
        await self._shared(scope, receive, send)
        for _ in range(10):
            await asyncio.sleep(0)
        return int(b"".join(each.get("body", b"") for each in sent))


def test_an_answer_that_is_asked_for_again_is_renewed_before_it_is_too_old() -> None:
    async def found() -> list[int]:
        service = Numbered()
        return [await service.at(now_s) for now_s in (0.0, 0.7, 0.8, 1.1, 1.7, 2.9)]

    assert asyncio.run(found()) == [1, 1, 1, 2, 2, 4], "asked at 0, 0.8, 1.7 and 2.9"


@pytest.mark.parametrize("path", ["/api/v1/components", "/api/v1/matrix"])
def test_what_is_made_of_half_minutes_is_kept_five_times_as_long(path: str) -> None:
    async def found() -> list[int]:
        service = Numbered()
        return [await service.at(now_s, path) for now_s in (0.0, 1.1, 3.7, 3.8, 5.1, 12.0)]

    assert asyncio.run(found()) == [1, 1, 1, 1, 2, 3], "asked at 0, 3.8 and 12"


def test_an_answer_is_not_given_longer_because_its_renewal_takes_long() -> None:
    async def found() -> tuple[int, int, list[int]]:
        service = Numbered()
        await service.at(0.0)
        service.go_on.clear()
        first, second = await service.at(0.8), await service.at(0.9)
        late = [asyncio.create_task(service.at(1.05)) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(each.done() for each in late)
        service.go_on.set()
        return first, second, await asyncio.gather(*late)

    assert asyncio.run(found()) == (1, 1, [2, 2, 2])
