"""Real packets: agents in a fabric of network namespaces measure exactly the faults in it."""

from __future__ import annotations

import json
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from builders.fabric_site import Row, Site, require_root, running_site

from testbed.netns import Fabric, FabricError, Plan, build, machine

pytestmark = [pytest.mark.netns, pytest.mark.slow]

FiveTuple = tuple[str, int, str, int]
Link = tuple[str, str]
WHOLE = ("success", "refused")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """8 hosts x 2 NICs, 4 ToRs, 2 spines, an agent in each host."""
    plan = Plan(hosts=8, nics=2, hosts_per_tor=4, spines=2)
    with running_site(tmp_path_factory.mktemp("site"), plan) as running:
        yield running


@pytest.fixture
def healed(site: Site) -> Iterator[Site]:
    """The site; the faults of the test are removed afterwards."""
    yield site
    site.fabric.heal()


def five_tuple(row: Row) -> FiveTuple:
    return row["src_ip"], row["src_port"], row["dst_ip"], row["dst_port"]


def turned_round(flow: FiveTuple) -> FiveTuple:
    return flow[2], flow[3], flow[0], flow[1]


def whole_routes(site: Site) -> dict[FiveTuple, list[str]]:
    """Switch ids in order, by five-tuple, from complete traces."""
    switch_of = {
        address: switch.id
        for switch in site.fabric.topology.switches
        for address in switch.addresses
    }
    return {
        five_tuple(row): [switch_of.get(hop, "?") for hop in json.loads(row["route"])]
        for row in site.collected.records("TRACEROUTE")
        if row["dial"] in WHOLE
    }


def wait_for_routes(site: Site) -> dict[FiveTuple, list[str]]:
    """Routes of all five-tuples and of their replies."""

    def all_known() -> bool:
        routes = whole_routes(site)
        probed = {five_tuple(row) for row in site.collected.records("UDP_PING")}
        return len(probed) == 8 * 2 * 8 * 4 and all(
            flow in routes and turned_round(flow) in routes for flow in probed
        )

    site.collected.wait(all_known, 300.0, "a route of every five-tuple and of its reply")
    return whole_routes(site)


def wait_for_probes(site: Site) -> None:
    """A successful probe from every NIC."""
    nics = {rnic.real_ip for host in site.fabric.topology.hosts for rnic in host.rnics}
    site.collected.wait(
        lambda: {row["src_real_ip"] for row in site.collected.records("UDP_PING")
                 if row["dial"] == "success"} == nics,
        300.0, "a successful probe from every NIC",
    )  # fmt: skip


def crossed(route: list[str]) -> set[frozenset[str]]:
    return {frozenset(step) for step in pairwise(route)}


def lost_and_sent(rows: list[Row]) -> tuple[int, int]:
    return sum(row["lost"] for row in rows), sum(row["sent"] for row in rows)


def test_the_fabric_comes_up_in_less_than_ten_seconds(site: Site) -> None:
    assert site.up_after_s < 10


def test_every_nic_of_every_host_probes_and_every_agent_has_a_heartbeat(site: Site) -> None:
    hosts = {host.node_sn for host in site.fabric.topology.hosts}
    wait_for_probes(site)
    site.collected.wait(
        lambda: {beat.node_sn for beat in site.collected.beats()} == hosts,
        300.0, "a heartbeat from every host",
    )  # fmt: skip


def test_traceroutes_show_the_routes_of_probes_and_replies_through_both_spines(site: Site) -> None:
    routes = wait_for_routes(site)
    assert all(len(route) in (1, 3) and "?" not in route for route in routes.values()), routes
    assert {route[1] for route in routes.values() if len(route) == 3} == {"spine-0", "spine-1"}


def test_loss_on_a_link_hits_only_five_tuples_whose_probe_or_reply_crosses_it(healed: Site) -> None:
    site, link = healed, ("tor-0", "spine-1")
    routes = wait_for_routes(site)
    site.fabric.loss(link, 30.0)
    since = time.time_ns()

    def rows() -> tuple[list[Row], list[Row]]:
        over, around = [], []
        for row in site.collected.records("UDP_PING", since):
            flow = five_tuple(row)
            ways = crossed(routes[flow]) | crossed(routes[turned_round(flow)])
            (over if frozenset(link) in ways else around).append(row)
        return over, around

    site.collected.wait(lambda: len(rows()[0]) >= 500, 300.0, "500 probes across the lossy link")
    over, around = rows()
    lost, sent = lost_and_sent(over)
    assert 0.2 < lost / sent < 0.6, "30 % each way that crosses it"
    lost, sent = lost_and_sent(around)
    assert lost / sent < 0.005, f"{lost} of {sent} lost elsewhere"
    assert site.fabric.dropped(link) > 100


def test_a_nic_that_is_down_shows_as_timeouts_of_its_five_tuples_only(healed: Site) -> None:
    site = healed
    victim = site.fabric.plan.nic_address(5, 1)
    wait_for_probes(site)
    site.fabric.nic_down("host-5", 1)
    since = time.time_ns()

    def dials() -> dict[str, list[str]]:
        found = defaultdict(list)
        for row in site.collected.records("UDP_PING", since):
            side = {row["src_ip"]: "from", row["dst_ip"]: "to"}.get(victim, "alive")
            found[side].append(row["dial"])
        return found

    site.collected.wait(
        lambda: min(len(dials()["from"]), len(dials()["to"])) >= 100,
        300.0, "100 probes from the dead NIC and 100 to it",
    )  # fmt: skip
    found = dials()
    assert set(found["to"]) == {"timeout"}
    # After three seconds without an ARP answer the host's own kernel says that it has no neighbour.
    assert {"timeout"} <= set(found["from"]) <= {"timeout", "unreachable"}
    assert found["alive"].count("success") > 0.995 * len(found["alive"])
    site.collected.wait(
        lambda: any(beat.node_sn == "host-5" and beat.time > since
                    for beat in site.collected.beats()),
        300.0, "a heartbeat of host-5, because heartbeats travel out of band",
    )  # fmt: skip


def test_containers_probe_through_the_overlay_and_share_the_fate_of_their_nic(
    tmp_path: Path,
) -> None:
    plan = Plan(hosts=4, nics=2, hosts_per_tor=2, spines=2, containers=1)
    with running_site(tmp_path, plan) as site:

        def overlay(dial: str, since: int = 0) -> list[Row]:
            rows = site.collected.records("UDP_PING", since)
            return [row for row in rows if row["agent_type"] == "overlay" and row["dial"] == dial]

        pairs = 4 * 3 * 2  # every container to every other, on each of two rails
        site.collected.wait(
            lambda: len({(row["src_ip"], row["dst_ip"]) for row in overlay("success")}) == pairs,
            300.0, "a success on every overlay pair",
        )  # fmt: skip
        assert {row["src_node_id"] for row in overlay("success")} == set(plan.container_names())
        traced = {row["agent_type"] for row in site.collected.records("TRACEROUTE")}
        assert traced <= {"underlay"}, "a trace inside the overlay sees nothing of the fabric"
        site.fabric.nic_down("host-2", 0)
        since = time.time_ns()
        site.collected.wait(
            lambda: len(overlay("timeout", since)) >= 20, 300.0, "20 overlay timeouts"
        )
        cut = plan.nic_address(2, 0)
        assert all(
            cut in (row["src_real_ip"], row["dst_real_ip"]) for row in overlay("timeout", since)
        )


@pytest.fixture
def small() -> Plan:
    require_root()
    return Plan(hosts=2, nics=1, hosts_per_tor=1, spines=1)


def namespaces_of(fabric: Fabric) -> list[Path]:
    prefix = fabric.namespace("host-0").removesuffix("host-0")
    return list(Path("/run/netns").glob(f"{prefix}*"))


def test_a_closed_fabric_leaves_no_process_and_no_namespace(small: Plan) -> None:
    with Fabric(small) as first, Fabric(small) as second:
        process = first.popen("host-0", ["sleep", "60"])
        assert len(namespaces_of(first)) == len(namespaces_of(second)) == 5
        first.loss(("tor-0", "spine-0"), 10.0)
    assert process.returncode is not None
    assert namespaces_of(first) == namespaces_of(second) == []


def test_packets_pass_again_after_healing(small: Plan) -> None:
    address = small.nic_address(1, 0)
    ping = ["ping", "-q", "-c", "1", "-W", "1", address]
    with Fabric(small) as fabric:

        def reachable() -> bool:
            quiet = subprocess.DEVNULL
            source = small.nic_address(0, 0)
            command = [*ping[:-1], "-I", source, address]
            return fabric.popen("host-0", command, stdout=quiet, stderr=quiet).wait() == 0

        assert reachable()
        fabric.loss(("tor-1", "spine-0"), 100.0)
        assert not reachable()
        fabric.heal()
        assert reachable()
        fabric.nic_down("host-1", 0)
        assert not reachable()
        fabric.heal()
        assert reachable()


def test_an_unknown_cable_is_refused_with_both_ends(small: Plan) -> None:
    with pytest.raises(ValueError, match="no cable joins 'tor-0' and 'tor-1'"):
        small.cable("tor-0", "tor-1")


def test_a_machine_without_the_tools_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine.shutil, "which", lambda tool: None)
    with pytest.raises(FabricError, match=r"nft \(apt install nftables\)"), Fabric():
        pass


def test_an_agg_spreads_the_five_tuples_that_a_tor_sends_it_over_all_spines() -> None:
    if not build.has_hash_seeds():
        pytest.skip("this kernel has no net.ipv4.fib_multipath_hash_seed: hashes polarize")
    plan = Plan(hosts=4, nics=1, hosts_per_tor=2, spines=2, aggs=2, pods=2)
    src, dst = plan.nic_address(0, 0), plan.nic_address(2, 0)

    def next_hop(fabric: Fabric, switch: str, port: str, source_port: int) -> str:
        where = f"{dst} from {src} iif {port} ipproto udp sport {source_port} dport 65300"
        space = fabric.namespace(switch)
        return machine.call(["ip", "-n", space, "route", "get", *where.split()]).split()[4]

    with Fabric(plan) as fabric:
        used = set()
        for source_port in range(61_100, 61_164):
            agg = next_hop(fabric, "tor-0", plan.nic_cable(0, 0).upper[1], source_port)
            (cable,) = [c for c in plan.switch_cables() if c.upper[2] == agg]
            used.add((cable.upper[0], next_hop(fabric, cable.upper[0], "tor0", source_port)))
    assert len(used) == 2 * 2, f"links from aggs to spines that carry a five-tuple: {sorted(used)}"
