"""/metrics, /healthz and /readyz of a running agent."""

from __future__ import annotations

import re

from builders.agents.health_client import answered, get, page
from builders.agents.raw_server import ok, sends, serving
from builders.agents.site import Site, ended
from builders.agents.waiting import Until

from schemas.metrics import Metric
from schemas.metrics import agent as metrics
from testbed.services.ports import free_port

AGENT_METRICS = {
    each
    for name, each in vars(metrics).items()
    if name.startswith("AGENT_") and isinstance(each, Metric)
}


def test_an_agent_shows_every_declared_metric_and_is_ready_only_while_it_probes(
    site: Site, eventually: Until
) -> None:
    site.write_list([site.ips[1]])
    good = sends(ok((site.directory / "list.json").read_bytes()))
    port = free_port()
    with serving(good) as server:
        process = site.start(
            "--ping-list", server.url, "--health-listen", f"127.0.0.1:{port}",
            "--relay-listen", str(site.directory / "own.sock"), "--throughput", "net",
            "--containers-listen", str(site.directory / "boxes.sock"), "--engine", "rdma",
            "--engine", "tcp",
        )  # fmt: skip
        eventually(lambda: answered(port, "/readyz", 200))
        eventually(lambda: bool(site.pings))
        assert get(port, "/healthz") == (200, "ok\n")
        server.handler = sends(b"garbage\r\n\r\n")
        eventually(lambda: answered(port, "/readyz", 503))
        why = get(port, "/readyz")[1]
        assert "could not be read 3 times in a row" in why
        assert "BadStatusLine" in why
        assert get(port, "/healthz")[0] == 200, "the agent is alive, and not ready"
        eventually(lambda: "skh_agent_ready 0\n" in get(port, "/metrics")[1])
        text = get(port, "/metrics")[1]
        server.handler = good
        eventually(lambda: answered(port, "/readyz", 200))
        code, errors = ended(process)
    assert code == 0, errors
    shown = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    # A family appears with its first sample; an agent with these options has all but --spool's.
    assert shown == {metric.name for metric in AGENT_METRICS} - {metrics.AGENT_SPOOL.name}
    for line in ('readings_total{outcome="failed"} ', 'relay_total{event="frames"} 0',
                 'questions_total{reason="over-budget"} 0', 'reason="send-ENOBUFS"} 0',
                 'published_messages_total{outcome="overflow"} 0'):  # fmt: skip
        assert line in text, line
    assert re.search(r"skh_agent_sockets_limit \d+\n", text)


def test_requests_over_the_rate_limit_are_visible_in_the_metrics(
    site: Site, eventually: Until
) -> None:
    """A list that asks for more than --max-rate in bursts: no record shows that."""
    site.write_list([site.ips[1]], interval_s=0.01)
    port = free_port()
    process = site.start("--max-rate", "1", "--burst", "60", "--health-listen", f"127.0.0.1:{port}")
    over = re.compile(r'questions_total\{reason="over-budget"\} ([1-9]\d*)\n')

    eventually(lambda: over.search(page(port, "/metrics")) is not None)
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

    in_use = 'endpoints_unbound{why="in_use"} 2\n'
    eventually(lambda: in_use in page(port, "/metrics"))
    eventually(lambda: len({beat.instance for beat in site.beats}) == 2)
    _, errors = ended(second)
    assert errors.count("does another agent of this host run?") == 2, "a line for each endpoint"
    ended(first)
