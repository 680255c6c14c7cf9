"""Real packets over IPv6: probes, answers, traceroutes and the overlay's tunnels; a lossy link is
named by the addresses and switches of its fabric."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders.fabric_site import Row, Site, diagnosed, running_site

from schemas.component_ids import component, link
from testbed.netns import Plan

pytestmark = [pytest.mark.netns, pytest.mark.slow]

LOSSY = ("tor-0", "spine-1")
CLEAN_S, LOSSY_S = 20.0, 25.0
HANG_S = 300.0
WHOLE = ("success", "refused")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """8 hosts x 2 NICs with a container each, 4 ToRs, 2 spines; probed by UDP, TCP and ICMP."""
    plan = Plan(hosts=8, nics=2, hosts_per_tor=4, spines=2, containers=1, ipv6=True)
    engines = ("--engine", "tcp", "--engine", "icmp")
    with running_site(tmp_path_factory.mktemp("site"), plan, engines) as running:
        yield running


def routes(site: Site) -> dict[tuple[str, int, str, int], list[str]]:
    """Switches of complete traceroutes, by five-tuple."""
    switch_of = {
        address: switch.id
        for switch in site.fabric.topology.switches
        for address in switch.addresses
    }
    return {
        (row["src_ip"], row["src_port"], row["dst_ip"], row["dst_port"]): [
            switch_of.get(hop, "?") for hop in json.loads(row["route"])
        ]
        for row in site.collected.records("TRACEROUTE")
        if row["dial"] in WHOLE
    }


def of(rows: list[Row], task: str, layer: str) -> list[Row]:
    return [row for row in rows if row["task_type"] == task and row["agent_type"] == layer]


def test_every_engine_gets_answers_in_both_layers(site: Site) -> None:
    def all_answered() -> bool:
        rows = [row for row in site.collected.records() if row["dial"] in WHOLE]
        return all(
            {row["src_real_ip"] for row in of(rows, f"{task}_PING", layer)}
            == {rnic.real_ip for host in site.fabric.topology.hosts for rnic in host.rnics}
            for task in ("UDP", "TCP", "ICMP")
            for layer in ("underlay", "overlay")
        )

    site.collected.wait(all_answered, HANG_S, "an answer over every rnic, by every engine")
    for task in ("UDP_PING", "ICMP_PING"):
        answered = [row for row in site.collected.records(task) if row["dial"] == "success"]
        assert {row["timestamp"] for row in answered} == {"kernel"}
        assert all(":" in row["src_ip"] and ":" in row["dst_ip"] for row in answered)


def test_a_lossy_link_is_named(site: Site, tmp_path: Path) -> None:
    """The routes of UDP probes through both spines are known from ICMPv6 errors."""
    site.collected.wait(lambda: len(routes(site)) >= 8 * 2 * 8 * (4 + 4 + 1), HANG_S, "all routes")
    crossed = {route[1] for route in routes(site).values() if len(route) == 3}
    assert crossed == {"spine-0", "spine-1"}
    passed(site, time.time_ns(), CLEAN_S)
    site.fabric.loss(LOSSY, 30.0)
    passed(site, time.time_ns(), LOSSY_S)
    found = diagnosed(site, tmp_path)
    network = [each["component"] for each in found if each["layer"] in ("underlay", "overlay")]
    assert network == [link(*(component(name.partition("-")[0], name) for name in LOSSY))], found


def passed(site: Site, begin_ns: int, seconds: float) -> None:
    """Wait until probes were sent so long after a time, however slowly agents publish."""
    until = begin_ns + int(seconds * 1e9)
    site.collected.wait(lambda: bool(site.collected.records("UDP_PING", until)), HANG_S, "probes")
