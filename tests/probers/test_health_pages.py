"""/metrics, /healthz and /readyz of an agent: what they say, and that nothing can hold them up."""

from __future__ import annotations

import http.client
import os
import re
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from agent_site import Site, ended
from raw_server import ok, sends, serving

from probers.health import exposition
from probers.health.server import DEADLINE_S, MAX_CONNECTIONS, HealthServer, Page
from schemas import metrics
from schemas.metrics import Metric, Sample

Until = Callable[[Callable[[], bool]], None]
AGENT_METRICS = {
    each
    for name, each in vars(metrics).items()
    if name.startswith("AGENT_") and isinstance(each, Metric)
}


def get(port: int, path: str, method: str = "GET") -> tuple[int, str]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30.0)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture
def server() -> Iterator[HealthServer]:
    def page(path: str, requests: Counter[str]) -> Page:
        if path == "/defect":
            raise RuntimeError("injected")
        if path == "/large":
            return Page(200, "text/plain", b"x" * 5_000_000)
        return Page(200, "text/plain", f"{path} {requests['served']}".encode())

    made = HealthServer("127.0.0.1", 0, page).start()
    yield made
    made.close()


def test_an_answer_is_whole_and_every_request_is_counted(server: HealthServer) -> None:
    assert get(server.port, "/metrics?x=1") == (200, "/metrics 0")
    assert get(server.port, "/large") == (200, "x" * 5_000_000)
    assert get(server.port, "/metrics", "POST")[0] == 405
    assert server.counts["served"] >= 2


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\n\n", b"400"),
        (b"GET /metrics\r\n\r\n", b"400"),
        (b"GET / SPDY/3\r\n\r\n", b"400"),
        (b"GET /" + b"x" * 5000, b"431"),
    ],
)
def test_what_is_no_request_is_refused(server: HealthServer, raw: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30.0) as client:
        client.sendall(raw)
        assert client.recv(100).startswith(b"HTTP/1.1 " + status)


def test_slow_clients_are_dropped_and_hold_up_no_other(server: HealthServer) -> None:
    with ExitStack() as stack:
        slow = []
        for _ in range(3 * MAX_CONNECTIONS):
            client = socket.create_connection(("127.0.0.1", server.port), timeout=30.0)
            stack.enter_context(client)
            client.sendall(b"GET /metrics")
            slow.append(client)
        assert get(server.port, "/metrics")[0] == 200
        for client in slow:
            with suppress(ConnectionResetError):
                assert client.recv(1) == b"", f"dropped after {DEADLINE_S} s at the latest"
    assert server.counts["refused"] == 3 * MAX_CONNECTIONS


def test_a_client_that_does_not_read_its_answer_holds_up_no_other(server: HealthServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30.0) as deaf:
        deaf.sendall(b"GET /large HTTP/1.1\r\n\r\n")
        assert get(server.port, "/metrics")[0] == 200


def test_a_defect_costs_one_request(
    server: HealthServer, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        get(server.port, "/defect")
    assert get(server.port, "/metrics")[0] == 200
    assert server.counts["failed"] == 1
    assert "injected" in capfd.readouterr().err


def test_a_port_that_is_taken_is_said_and_taken_over_when_it_is_free(
    eventually: Until, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = int(other.getsockname()[1])
        server = HealthServer("127.0.0.1", port, lambda *_: Page(200, "text/plain", b"")).start()
        assert server.port == 0
    eventually(lambda: server.port == port)
    assert get(port, "/")[0] == 200
    server.close()
    assert capfd.readouterr().err.count("health-not-served") == 1


def test_the_exposition_is_what_prometheus_reads() -> None:
    pytest.importorskip("prometheus_client")
    from prometheus_client.parser import text_string_to_metric_families

    metric = Metric("skh_x_total", "counter", "What it means", ("why",))
    gauge = Metric("skh_y", "gauge", "A gauge")
    text = exposition.render(
        [Sample(metric, 3, ('a "b" \\ c\nd',)), Sample(gauge, 0.25), Sample(metric, 4, ("e",))]
    ).decode()
    read = {family.name: family for family in text_string_to_metric_families(text)}
    assert [(s.labels, s.value) for s in read["skh_x"].samples] == [
        ({"why": 'a "b" \\ c\nd'}, 3.0), ({"why": "e"}, 4.0),
    ]  # fmt: skip
    assert read["skh_y"].samples[0].value == 0.25
    assert read["skh_x"].documentation == "What it means"


def test_an_agent_shows_every_declared_metric_and_is_ready_only_while_it_probes(
    site: Site, eventually: Until
) -> None:
    site.write_list([site.ips[1]])
    good = sends(ok((site.directory / "list.json").read_bytes()))
    port = free_port()
    with serving(good) as server:
        process = site.start(
            "--ping-list", server.url, "--health-listen", f"127.0.0.1:{port}",
            "--relay-listen", str(site.directory / "own.sock"),
        )  # fmt: skip

        def answered(path: str, status: int) -> bool:
            try:
                return get(port, path)[0] == status
            except OSError:
                return False

        eventually(lambda: answered("/readyz", 200))
        eventually(lambda: bool(site.pings))
        assert get(port, "/healthz") == (200, "ok\n")
        server.handler = sends(b"garbage\r\n\r\n")
        eventually(lambda: answered("/readyz", 503))
        why = get(port, "/readyz")[1]
        assert "could not be read 3 times in a row" in why
        assert "BadStatusLine" in why
        assert get(port, "/healthz")[0] == 200, "it lives, it is not ready"
        eventually(lambda: "skh_agent_ready 0\n" in get(port, "/metrics")[1])
        text = get(port, "/metrics")[1]
        server.handler = good
        eventually(lambda: answered("/readyz", 200))
        code, errors = ended(process)
    assert code == 0, errors
    shown = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    # A family appears with its first sample; all but this one always have one.
    assert shown == {metric.name for metric in AGENT_METRICS}
    for line in ('readings_total{outcome="failed"} ', 'relay_total{event="frames"} 0',
                 'questions_total{reason="over-budget"} 0', 'reason="send-ENOBUFS"} 0',
                 'published_messages_total{outcome="overflow"} 0'):  # fmt: skip
        assert line in text, line
    assert re.search(r"skh_agent_sockets_limit \d+\n", text)


def test_what_the_budget_swallows_is_visible(site: Site, eventually: Until) -> None:
    """A list that asks for more than --max-rate in bursts: no record says so."""
    site.write_list([site.ips[1]], interval_s=0.01)
    port = free_port()
    process = site.start("--max-rate", "1", "--burst", "60", "--health-listen", f"127.0.0.1:{port}")
    over = re.compile(r'questions_total\{reason="over-budget"\} ([1-9]\d*)\n')

    def seen() -> bool:
        try:
            return over.search(get(port, "/metrics")[1]) is not None
        except OSError:
            return False

    eventually(seen)
    code, errors = ended(process)
    assert code == 0, errors


def test_only_loopback_may_be_listened_on(site: Site) -> None:
    for place in ("0.0.0.0:9000", "10.0.0.1:9000", "localhost", ":9000", "127.0.0.1:70000"):
        process = site.start("--health-listen", place)
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 2
        assert b"is not a loopback address" in errors


def test_a_second_agent_of_the_host_is_said_in_one_line_and_shown(
    site: Site, eventually: Until
) -> None:
    site.write_list([site.ips[1]])
    first = site.start()
    eventually(lambda: bool(site.beats))
    port = free_port()
    second = site.start("--health-listen", f"127.0.0.1:{port}")

    def shown() -> bool:
        try:
            return 'endpoints_unbound{why="in_use"} 2\n' in get(port, "/metrics")[1]
        except OSError:
            return False

    eventually(shown)
    eventually(lambda: len({beat.instance for beat in site.beats}) == 2)
    _, errors = ended(second)
    assert errors.count("does another agent of this host run?") == 2, "a line for each endpoint"
    ended(first)


def test_the_agent_imports_no_large_library_and_stays_small(site: Site, eventually: Until) -> None:
    code = (
        "import sys, probers.agent.main, schemas.metrics\n"
        "print(sorted({'prometheus_client', 'numpy', 'pyarrow', 'pydantic', 'asyncio', "
        "'http.server', 'socketserver'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    site.write_list([site.ips[0], site.ips[1]])
    port = free_port()
    process = site.start("--health-listen", f"127.0.0.1:{port}", "--relay-listen",
                         str(site.directory / "own.sock"))  # fmt: skip
    eventually(lambda: len(site.pings) > 100)
    threads = [threading.Thread(target=lambda: [get(port, "/metrics") for _ in range(10)])
               for _ in range(5)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    rss_mb = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    descriptors = len(os.listdir(f"/proc/{process.pid}/fd"))
    code_, errors = ended(process)
    assert code_ == 0, errors
    assert rss_mb <= 35.0
    assert descriptors < 40
