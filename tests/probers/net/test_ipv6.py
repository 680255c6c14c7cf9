"""UDP probes, answers and traceroutes over IPv6, on loopback."""

from __future__ import annotations

import json
import socket
from ipaddress import ip_network

import pytest
from builders.agents.site import LISTEN_PORT, Site, ended
from builders.agents.waiting import Until

from probers.net import addresses, packet
from probers.net.five_tuple import FiveTuple
from probers.net.packet import Key, Packet
from probers.net.socket_pool import SocketPool
from probers.net.udp_socket import PORT_UNREACHABLE, TIME_EXCEEDED, UNREACHABLE, icmp_error
from probers.probing.traceroute import Trace, Tracer
from probers.probing.udp import Burst, UdpEngine
from probers.process.loop import Loop
from schemas.addresses import canonical, misspelt

HERE = "::1"


def free_port() -> int:
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as asked:
        asked.bind((HERE, 0))
        port: int = asked.getsockname()[1]
        return port


def test_a_probe_is_answered_and_stamped_by_the_kernel(
    loop: Loop, sockets: SocketPool, run_until: Until
) -> None:
    own, peer, done = (HERE, free_port()), (HERE, free_port()), list[Burst]()
    sockets.open(peer)
    UdpEngine(loop, sockets, done.append).probe(FiveTuple(own, peer, 26), 3)
    run_until(lambda: bool(done))
    assert done[0].dials == ["success"] * 3
    assert all(each.kernel for each in done[0].round_trips)


def test_a_closed_port_is_refused(loop: Loop, sockets: SocketPool, run_until: Until) -> None:
    done: list[Burst] = []
    flow = FiveTuple((HERE, free_port()), (HERE, free_port()))
    UdpEngine(loop, sockets, done.append).probe(flow)
    run_until(lambda: bool(done))
    assert (done[0].dials, done[0].lost) == (["refused"], 0)


def test_a_route_ends_where_the_destination_answers(
    loop: Loop, sockets: SocketPool, run_until: Until
) -> None:
    done: list[Trace] = []
    peer = (HERE, free_port())
    sockets.open(peer)
    Tracer(loop, sockets, done.append).trace(FiveTuple((HERE, free_port()), peer))
    run_until(lambda: bool(done))
    assert (done[0].dial, done[0].hops) == ("success", [])


def test_the_mac_is_that_of_both_ends(key: Key) -> None:
    own, peer = ("2001:db8::1", 50_000), ("2001:db8::2", 65_300)
    raw = packet.pack(key, Packet(packet.PROBE, 1, 2, 3, 4), own, peer)
    assert len(raw) == packet.SIZE
    assert packet.verify(key, raw, own, peer) is key
    assert packet.verify(key, raw, ("2001:db8::3", 50_000), peer) is None
    assert packet.verify(key, raw, peer, own) is None


@pytest.mark.parametrize(
    ("kind", "code", "means"),
    [(3, 0, (TIME_EXCEEDED, 0)), (1, 4, (UNREACHABLE, PORT_UNREACHABLE)), (1, 0, (UNREACHABLE, 0)),
     (2, 0, (2, 0))],
)  # fmt: skip
def test_icmpv6_errors_are_those_of_icmp(kind: int, code: int, means: tuple[int, int]) -> None:
    entry = bytes([0, 0, 0, 0, 3, kind, code, 0]) + bytes(8)
    offender = bytes(8) + socket.inet_pton(socket.AF_INET6, "2001:db8::9") + bytes(4)
    found = icmp_error(entry + offender, b"", ("2001:db8::2", 9))
    assert found is not None
    assert (found.offender, found.type, found.code) == ("2001:db8::9", *means)


def test_addresses_have_one_spelling() -> None:
    assert canonical("2001:DB8:0:0::1") == "2001:db8::1"
    assert canonical("10.0.0.7") == "10.0.0.7"
    for text in ("host-1", "::ffff:10.0.0.7", "fe80::1%eth0", "10.0.0.256", ""):
        with pytest.raises(ValueError, match=r".*"):
            canonical(text)
    assert misspelt("2001:db8::0001") == "2001:db8::1"
    assert misspelt("2001:db8::1") == misspelt("10.0.0.7") == misspelt("a:b") == ""


def test_ports_are_behind_brackets() -> None:
    for text in ("10.0.0.7:22", "[2001:db8::7]:22"):
        assert addresses.at_port(addresses.parse_at_port(text)) == text
    for text in ("2001:db8::7:22", "10.0.0.7", "[::1]:0", "[::1]", "10.0.0.7:x"):
        with pytest.raises(ValueError, match=r".*"):
            addresses.parse_at_port(text)


def test_a_network_of_one_version_allows_nothing_of_the_other() -> None:
    networks = [ip_network("10.0.0.0/8"), ip_network("2001:db8::/32")]
    assert addresses.allowed("2001:db8::7", networks)
    assert addresses.allowed("10.1.2.3", networks)
    assert not addresses.allowed("2001:db9::7", networks)
    assert not addresses.allowed("::ffff:10.0.0.1", networks), "it would be sent over IPv4"


def test_an_agent_serves_a_list_of_ipv6_addresses(site: Site, eventually: Until) -> None:
    own = {"ip": HERE, "real_ip": HERE, "layer": "underlay", "asw": "tor-1"}
    target = {"src_ip": HERE, "ip": HERE, "real_ip": HERE, "node_sn": "host-b",
              "layer": "underlay", "src_ports": [51000, 51001], "port": LISTEN_PORT}  # fmt: skip
    site.write_list([])
    file = site.directory / "list.json"
    document = json.loads(file.read_text()) | {"endpoints": [own], "targets": [target]}
    file.write_text(json.dumps(document))
    process = site.start("--engine", "tcp", "--engine", "icmp", "--trace-interval", "1")
    wanted = {"UDP_PING", "TCP_PING", "ICMP_PING", "TRACEROUTE"}
    eventually(lambda: wanted <= {row["task_type"] for row in site.rows} and len(site.pings) > 9)
    code, errors = ended(process)
    assert code == 0, errors
    assert {row["dst_ip"] for row in site.rows} == {HERE}
    assert {row["dial"] for row in site.pings[2:]} == {"success"}
    assert {row["timestamp"] for row in site.pings[2:]} == {"kernel"}
    assert set(site.beats[-1].rnics) == {HERE}
