"""`skeletonhunter-agent probe`: an engine by hand, on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import pytest
from builders.agents.site import LISTEN_PORT, Site
from builders.agents.waiting import Until

from probers.probe.summary import Summary, quantile, sparkline
from probers.probing.udp import Burst, RoundTrip


def probe(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "probers.agent.main", "probe", *arguments],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_tcp_to_a_port_that_listens_and_to_one_that_does_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in (server, closed)]
        to = [word for port in ports for word in ("--to", f"127.0.0.1:{port}")]
        code, text, errors = probe(
            "--engine", "tcp", *to, "--count", "3", "--interval", "0.01", "--burst", "2"
        )
    assert (code, errors) == (0, "")
    first, second = text.splitlines()
    assert first.startswith(f"127.0.0.1:{ports[0]}  sent 6, lost 0 (0.0 %); P50 ")
    assert second.startswith(f"127.0.0.1:{ports[1]}  sent 6, lost 0 (0.0 %), 6 refused; P50 ")


def test_records_as_json_lines() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        code, text, _ = probe(
            "--engine", "tcp", "--to", f"127.0.0.1:{server.getsockname()[1]}", "--count", "2",
            "--interval", "0.01", "--format", "json",
        )  # fmt: skip
    records = [json.loads(line) for line in text.splitlines()]
    assert code == 0
    assert [each["task_type"] for each in records] == ["TCP_PING"] * 2
    assert all(each["latency"] > 0 and each["timestamp"] == "kernel" for each in records)


def test_udp_to_an_agent(site: Site, eventually: Until) -> None:
    site.write_list([site.ips[1]])
    site.start()
    eventually(lambda: bool(site.pings))
    target = f"{site.ips[1]}:{LISTEN_PORT}"
    common = ("--engine", "udp", "--count", "3", "--interval", "0.05", "--from", site.ips[0],
              "--key-file", str(site.directory / "key"))  # fmt: skip
    code, text, errors = probe(*common, "--to", target)
    assert (code, errors) == (0, "")
    assert text.startswith(f"{target}  sent 3, lost 0")

    code, text, _ = probe(*common, "--timeout", "0.1", "--to", f"{site.ips[1]}:1")
    assert "3 refused" in text


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--to", "10.0.0.1:22"), "10.0.0.1 is outside of --allow-cidr"),
        (("--to", "10.0.0.1"), "--to 10.0.0.1: give an address as 10.0.0.7:22 or [::1]:22"),
        (("--to", "127.0.0.1:0"), "give an address as"),
        (("--to", "::1:22"), "give an address as"),
        (("--to", "[::1]:9", "--from", "127.0.0.1"), "from 127.0.0.1:0 to ::1"),
        (("--to", "127.0.0.1:9", "--interval", "0.0001"), "more than 1000 probes a second"),
    ],
)
def test_wrong_usage_is_one_line(arguments: tuple[str, ...], why: str) -> None:
    code, text, errors = probe("--engine", "tcp", *arguments)
    assert (code, text) == (2, "")
    assert errors.count("\n") == 1
    assert why in errors


def test_an_address_of_another_host_is_one_line() -> None:
    code, _, errors = probe("--engine", "tcp", "--to", "127.0.0.1:9", "--from", "203.0.113.9")
    assert code == 2
    assert errors.count("\n") == 1


@pytest.mark.parametrize("to", ["127.0.0.1", "::1"])
def test_echoes_need_no_agent_and_no_port(to: str) -> None:
    arguments = ("--engine", "icmp", "--to", to, "--count", "3", "--interval", "0.01")
    code, text, errors = probe(*arguments)
    assert (code, errors) == (0, "")
    assert text.startswith(f"{to}  sent 3, lost 0 (0.0 %); P50 ")
    code, text, errors = probe(*arguments, "--to", f"[{to}]:22")
    assert (code, text) == (2, "")
    assert "icmp has no port" in errors


def test_tcp_over_ipv6() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        to = f"[::1]:{server.getsockname()[1]}"
        code, text, errors = probe("--engine", "tcp", "--to", to, "--count", "1")
    assert (code, errors) == (0, "")
    assert text.startswith(f"{to}  sent 1, lost 0 (0.0 %); P50 ")


def test_udp_needs_the_key() -> None:
    code, _, errors = probe("--engine", "udp", "--to", "127.0.0.1:9", "--key-file", "/none")
    assert code == 2
    assert "/none" in errors


def burst(*rtts_us: float, lost: int = 0) -> Burst:
    made = Burst(None, 0, len(rtts_us) + lost, sent=len(rtts_us) + lost)  # type: ignore[arg-type]
    made.dials = ["success"] * len(rtts_us) + ["timeout"] * lost
    made.round_trips = [RoundTrip(each, 0.0, None, True) for each in rtts_us]
    return made


def test_a_summary_adds_up() -> None:
    summary = Summary(("10.0.0.7", 22))
    for each in (burst(10.0, 12.0), burst(lost=2), burst(30.0, lost=1)):
        summary.add(each)
    assert (summary.sent, summary.lost) == (6, 3)
    assert summary.line == (
        "10.0.0.7:22  sent 6, lost 3 (50.0 %); P50 12.0 us, P99 30.0 us, worst 30.0 us  ▁x█"
    )


@pytest.mark.parametrize(
    ("values", "line"),
    [([], ""), ([5.0, 5.0], "▁▁"), ([None], "x"), ([1.0, 8.0, None, 4.5], "▁█x▄")],
)
def test_sparkline(values: list[float | None], line: str) -> None:
    assert sparkline(values) == line


def test_quantiles() -> None:
    assert [quantile([1.0, 2.0, 3.0, 4.0], share) for share in (0.5, 0.75, 0.99)] == [2.0, 3.0, 4.0]
