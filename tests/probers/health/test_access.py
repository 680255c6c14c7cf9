"""Who may ask the agent's health server: addresses and names."""

from __future__ import annotations

import http.client
from collections import Counter
from contextlib import closing
from ipaddress import ip_network

import pytest
from builders.agents.waiting import HANG_S

from probers.health.access import HealthAccess
from probers.health.server import HealthServer, Page

OWN = HealthAccess.of(
    "10.0.0.7", [ip_network("10.9.0.0/16"), ip_network("fd00:9::/32")], ["Host-17"]
)


@pytest.mark.parametrize(
    ("peer", "admitted"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("10.0.0.7", True),  # the kubelet of this host
        ("10.9.4.1", True),
        ("fd00:9::4", True),
        ("10.0.0.8", False),  # another host, a pod on its network
        ("10.10.0.1", False),
        ("fd00:8::4", False),
        ("fe80::1%eth0", False),
    ],
)
def test_this_host_and_the_networks_that_were_named_may_ask(peer: str, admitted: bool) -> None:
    assert OWN.admits(peer) is admitted


def test_without_networks_only_this_host_may_ask() -> None:
    assert not HealthAccess("10.0.0.7").admits("10.9.4.1")
    assert HealthAccess("127.0.0.1").admits("127.0.0.1")


@pytest.mark.parametrize(
    ("host", "accepted"),
    [
        (b"10.0.0.7:8772", True),  # the kubelet, Prometheus
        (b"[fd00::7]:8772", True),
        (b"fd00::7", True),
        (b"localhost:8772", True),
        (b"host-17:8772", True),
        (b"HOST-17", True),
        (b"evil.example.com", False),
        (b"host-17.evil.example.com:8772", False),
        (b"localhost.evil.example.com", False),
        (b"10.0.0.7.evil.example.com:8772", False),
        (b"", False),
    ],
)
def test_a_host_header_names_this_host_or_an_address(host: bytes, accepted: bool) -> None:
    head = b"GET /metrics HTTP/1.1\r\nAccept: */*\r\nhOst: " + host + b"\r\n\r\n"
    assert OWN.accepts_host(head) is accepted


def test_a_second_host_header_is_checked_too_and_none_is_accepted() -> None:
    lines = b"GET / HTTP/1.1\r\nHost: 10.0.0.7\r\nHost: evil.example.com\r\n\r\n"
    assert not OWN.accepts_host(lines)
    assert OWN.accepts_host(b"GET / HTTP/1.0\r\n\r\n")
    assert OWN.accepts_host(b"GET / HTTP/1.0\r\nX-Host: evil.example.com\r\n\r\n")


class _From(HealthAccess):
    """One address of loopback only, as if it were another host's."""

    def admits(self, peer: str) -> bool:
        return peer == "127.0.0.3"


def test_the_server_closes_connections_of_others_and_refuses_other_names() -> None:
    def page(path: str, requests: Counter[str]) -> Page:
        return Page(200, "text/plain", f"{path} {requests['refused']}".encode())

    def get(source: str, host: str = "10.0.0.7:8772") -> tuple[int, bytes]:
        with closing(http.client.HTTPConnection(
            "127.0.0.1", server.port, timeout=HANG_S, source_address=(source, 0)
        )) as connection:  # fmt: skip
            connection.request("GET", "/metrics", headers={"Host": host})
            response = connection.getresponse()
            return response.status, response.read()

    server = HealthServer("127.0.0.1", 0, page, access=_From("127.0.0.1")).start()
    with closing(server):
        with pytest.raises(ConnectionError):
            get("127.0.0.2")
        assert get("127.0.0.3") == (200, b"/metrics 1")
        status, body = get("127.0.0.3", "evil.example.com")
        assert status == 400
        assert b"Host" in body
