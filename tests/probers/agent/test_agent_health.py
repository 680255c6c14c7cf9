"""/metrics, /healthz and /readyz of a running agent."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from builders.agent_site import Site, ended
from builders.health_client import free_port, get
from builders.raw_server import ok, sends, serving
from builders.waiting import Until

from probers.health.server import HealthServer, Page
from schemas import metrics
from schemas.metrics import Metric

AGENT_METRICS = {
    each
    for name, each in vars(metrics).items()
    if name.startswith("AGENT_") and isinstance(each, Metric)
}


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


def test_requests_over_the_rate_limit_are_visible_in_the_metrics(
    site: Site, eventually: Until
) -> None:
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


def test_a_second_agent_of_the_host_is_logged_and_shown_in_the_metrics(
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
