"""Each part alone: what it needs, what it says of its health, and what it withstands."""

from __future__ import annotations

import contextlib
import json
import re
import resource
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from skeletonhunter import malloc

from .conftest import Broker, Command

LONG_S = 300.0
ANY = {"SKH_HEALTH_PORT": "0"}


@pytest.fixture
def database(run: Callable[..., Command], tmp_path: Path) -> str:
    """A migrated embedded database that no process holds."""
    url = f"chdb:{tmp_path / 'chdb'}"
    migrate = run("migrate", "apply", SKH_CLICKHOUSE_URL=url)
    assert migrate.process.wait(LONG_S) == 0, migrate.log.read_text()
    return url


def health(part: Command) -> httpx.Client:
    """A client of the machine endpoints of a part that has started."""
    pattern = re.compile(r"health and metrics (http://\S+/)")
    part.wait_for(lambda: bool(pattern.search(part.log.read_text())), "it says so", LONG_S)
    found = pattern.search(part.log.read_text())
    assert found
    return httpx.Client(base_url=found[1], timeout=LONG_S, headers={"host": "10.1.2.3"})


def wait_until_ready(part: Command, client: httpx.Client) -> None:
    part.wait_for(lambda: client.get("/readyz").status_code == 200, "it is ready", LONG_S)


def test_a_stream_worker_needs_only_kafka_and_serves_its_health(
    embedded: Broker, run: Callable[..., Command]
) -> None:
    worker = run("stream", SKH_KAFKA=embedded.bootstrap, **ANY)
    with health(worker) as client:
        assert client.get("/healthz").json()["status"] == "alive"
        wait_until_ready(worker, client)
        worker.wait_for(lambda: "judging" in worker.log.read_text(), "it judges", LONG_S)
        text = client.get("/metrics").text
    assert 'skh_stream_records_total{outcome="judged"} 0.0' in text.splitlines()
    assert "skh_stream_lag_seconds" in text
    assert ('skh_process_malloc_bytes{state="used"}' in text) == (malloc.heap() is not None)
    assert worker.stop() == 0, worker.log.read_text()


def test_every_line_of_a_worker_is_json_where_that_is_asked_for(
    embedded: Broker, run: Callable[..., Command]
) -> None:
    """Those of its start, of Faust, and of librdkafka when the broker goes away."""
    environment = {"SKH_LOG_FORMAT": "json", "SKH_KAFKA": embedded.bootstrap, **ANY}
    worker = run("stream", **environment)
    with health(worker) as client:
        wait_until_ready(worker, client)
        embedded.owner = None  # type: ignore[attr-defined]  # which ends the broker
        worker.wait_for(lambda: "librdkafka" in worker.log.read_text(), "it says so", LONG_S)
    worker.stop()
    lines = [json.loads(line) for line in worker.log.read_text().splitlines()]
    assert {"skeletonhunter", "librdkafka"} <= {line["logger"] for line in lines}
    assert all(line["message"] for line in lines)


def test_a_sink_serves_its_health(
    embedded: Broker, run: Callable[..., Command], database: str
) -> None:
    sink = run("sink", SKH_KAFKA=embedded.bootstrap, SKH_CLICKHOUSE_URL=database, **ANY)
    with health(sink) as client:
        assert client.get("/healthz").status_code == 200
        wait_until_ready(sink, client)
        assert "skh_sink_waiting 0.0" in client.get("/metrics").text.splitlines()
    assert sink.stop() == 0, sink.log.read_text()


@contextlib.contextmanager
def descriptors(soft: int) -> Iterator[None]:
    """This process may have so many files open meanwhile."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_an_api_needs_only_its_database_and_outlives_half_open_connections(
    run: Callable[..., Command], database: str
) -> None:
    """1,100 of them: more than the 1,024 files that the process may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2000:
        pytest.skip(f"{hard} file descriptors are too few for 1,100 connections")
    api = run("api", "--port", "0", SKH_CLICKHOUSE_URL=database, **ANY)
    with health(api) as machine, descriptors(max(soft, 2000)), contextlib.ExitStack() as stack:
        wait_until_ready(api, machine)
        # Only now: the embedded engine raises a soft limit that it inherits.
        resource.prlimit(api.process.pid, resource.RLIMIT_NOFILE, (1024, 1024))
        page = re.search(r"page (http://\S+/)", api.log.read_text())
        assert page
        at = httpx.URL(page[1])
        for _ in range(1100):
            half = socket.create_connection((at.host, at.port or 0), timeout=LONG_S)
            stack.callback(half.close)
            half.sendall(b"GET /api/v1/inci")
        for _ in range(3):
            assert httpx.get(at.join("/healthz"), timeout=LONG_S).status_code == 200
            assert httpx.get(at.join("/api/v1/summary"), timeout=LONG_S).status_code == 200
            assert machine.get("/healthz").status_code == 200
            assert machine.get("/readyz").status_code == 200
        assert "skh_api_ready 1.0" in machine.get("/metrics").text.splitlines()
    assert api.stop() == 0, api.log.read_text()


def test_an_api_that_drains_is_not_ready_but_answers_until_a_second_signal(
    run: Callable[..., Command], database: str
) -> None:
    """What a load balancer that looks at /readyz needs to lose no request at a restart."""
    environment = {"SKH_CLICKHOUSE_URL": database, "SKH_API_DRAIN_S": "300", **ANY}
    api = run("api", "--port", "0", **environment)
    with health(api) as machine:
        wait_until_ready(api, machine)
        page = re.search(r"page (http://\S+/)", api.log.read_text())
        assert page
        api.process.send_signal(signal.SIGTERM)
        api.wait_for(lambda: machine.get("/readyz").status_code == 503, "it drains", LONG_S)
        assert machine.get("/readyz").json()["reason"] == "stopping"
        assert machine.get("/healthz").status_code == 200
        assert httpx.get(f"{page[1]}api/v1/summary", timeout=LONG_S).status_code == 200
        api.wait_for(lambda: "answers for 300 s more" in api.log.read_text(), "it says so", LONG_S)
    assert api.stop() == 0, api.log.read_text()


def test_an_api_reports_another_port_and_refuses_an_address_not_of_its_machine(
    run: Callable[..., Command], database: str
) -> None:
    environment = {"SKH_CLICKHOUSE_URL": database, **ANY}
    lost = run(
        "api", SKH_API_HOST="192.0.2.1", SKH_API_WITHOUT_TOKENS="read", **environment
    )  # fmt: skip
    assert lost.process.wait(LONG_S) == 2
    assert lost.log.read_text().count("\n") == 1, lost.log.read_text()
    assert "SKH_API_HOST: 192.0.2.1" in lost.log.read_text()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        api = run("api", "--port", port, **environment)
        health(api).close()
        assert f"port {port} is taken; another one was chosen" in api.log.read_text()
    api.wait_for(lambda: "health and" in api.log.read_text(), "it has started", LONG_S)
    assert api.stop() == 0, api.log.read_text()


@pytest.mark.slow
def test_an_api_whose_database_never_answers_ends_with_three(
    run: Callable[..., Command],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        at = f"127.0.0.1:{mute.getsockname()[1]}"
        api = run("api", SKH_CLICKHOUSE_URL=f"http://me:secret@{at}/default")
        try:
            assert api.process.wait(LONG_S) == 3
        except subprocess.TimeoutExpired:
            pytest.fail("it waits for ever")
        said = api.log.read_text()
    assert said.count("\n") == 1, said
    assert at in said
    assert "secret" not in said
