"""The api's database: a hanging or busy store is answered in bounded time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from builders.api_service import LONG_S, Hanging, many, served

from api.queries.database import Database


def test_liveness_answers_while_every_statement_hangs(hanging: Hanging) -> None:
    with (
        served(Database(hanging, wait_s=LONG_S)) as client,
        many(client) as others,
        ThreadPoolExecutor(100) as pool,
    ):
        stuck = [pool.submit(others.get, "/api/v1/summary") for _ in range(100)]
        assert hanging.asked.wait(LONG_S)
        for _ in range(20):
            assert client.get("/healthz", timeout=LONG_S).json()["status"] == "alive"
            assert client.get("/", timeout=LONG_S).status_code == 200
        assert not any(each.done() for each in stuck)
        hanging.go_on.set()
        assert {each.result().status_code for each in stuck} == {200}


def test_a_hanging_database_is_503_in_bounded_time(hanging: Hanging) -> None:
    with served(Database(hanging, threads=2, wait_s=0.5, ready_s=0.5)) as client:
        for path in ("/api/v1/summary", "/api/v1/incidents", "/api/v1/incidents/A") * 4:
            response = client.get(path, timeout=LONG_S)
            assert response.status_code == 503, path
            assert response.json()["detail"] == "the database does not answer"
        ready = client.get("/readyz", timeout=LONG_S)
        assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
        assert "skh_api_ready 0.0" in client.get("/metrics", timeout=LONG_S).text.splitlines()
        hanging.go_on.set()
        assert client.get("/readyz", timeout=LONG_S).status_code == 200
        assert client.get("/api/v1/summary", timeout=LONG_S).json()["paths_watched"] == 7


def test_readiness_does_not_queue_behind_data_routes() -> None:
    class Slow(Hanging):
        """Answers what readiness asks, and nothing else."""

        def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Any:
            return [] if "LIMIT 0" in sql else super().rows(sql, parameters)

    slow = Slow()
    with (
        served(Database(slow, threads=2, wait_s=LONG_S, ready_s=LONG_S)) as client,
        many(client) as others,
        ThreadPoolExecutor(10) as pool,
    ):
        stuck = [pool.submit(others.get, "/api/v1/summary") for _ in range(10)]
        assert slow.asked.wait(LONG_S)
        assert client.get("/readyz", timeout=LONG_S).status_code == 200
        assert not any(each.done() for each in stuck)
        slow.go_on.set()


def test_queries_beyond_the_waiting_limit_are_refused_at_once(hanging: Hanging) -> None:
    database = Database(hanging, threads=1, waiting=3, wait_s=LONG_S)
    with served(database) as client, many(client) as others, ThreadPoolExecutor(12) as pool:
        first = pool.submit(others.get, "/api/v1/summary")
        assert hanging.asked.wait(LONG_S), "the only thread is taken"
        # Different questions: equal ones would share an answer.
        asked = [pool.submit(others.get, f"/api/v1/incidents/{each}") for each in range(11)]
        until = time.monotonic() + LONG_S
        while len(refused := [each for each in asked if each.done()]) < 8:
            assert time.monotonic() < until, "eight of eleven find three waiting"
            time.sleep(0.02)
        assert {each.result().status_code for each in refused} == {503}
        assert "too many requests" in refused[0].result().json()["detail"]
        hanging.go_on.set()
        rest = {each.result().status_code for each in [first, *asked] if each not in refused}
        assert rest == {200, 404}
