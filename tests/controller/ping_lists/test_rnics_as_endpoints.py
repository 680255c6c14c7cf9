"""A container on its host's own network: its endpoints are the host's rnics."""

from __future__ import annotations

from builders.controller.clusters import two_tiers

from controller.ping_lists.lists import PingLists
from schemas.documents.placement import Placement
from schemas.documents.topology import Endpoint


def test_a_container_on_the_hosts_network_leaves_the_underlay_as_it_is() -> None:
    topology = two_tiers(4)
    lists, untouched = PingLists(topology), PingLists(topology)
    for host in topology.hosts:
        lists.host(host.node_sn, ready=True)
        untouched.host(host.node_sn, ready=True)
    for state in ("starting", "ready", "gone"):
        for host in topology.hosts:
            own = [Endpoint(each.real_ip, each.real_ip) for each in host.rnics]
            box = Placement(
                node_id=f"job@{host.node_sn}", node_sn=host.node_sn, state=state, job="job",
                fabric=topology.fabric, valid_from="2026-01-01T00:00:00Z", endpoints=own,
            )  # fmt: skip
            assert lists.container(box) == set()
        if state == "ready":
            assert lists.jobs.phase("job").ready == len(topology.hosts)
        for host in topology.hosts:
            assert lists.document(host.node_sn) == untouched.document(host.node_sn)


def test_of_two_endpoints_with_one_address_the_first_is_probed() -> None:
    topology = two_tiers(4)
    lists = PingLists(topology)
    for state in ("starting", "ready", "gone"):
        for number, host in enumerate(topology.hosts):
            own = [Endpoint(f"172.16.{number}.1", each.real_ip) for each in host.rnics] * 2
            box = Placement(
                node_id=f"c{number}", node_sn=host.node_sn, state=state, job="job",
                fabric=topology.fabric, valid_from="2026-01-01T00:00:00Z", endpoints=own,
            )  # fmt: skip
            lists.container(box)
            known = [each for each in lists.own(host.node_sn) if each["layer"] == "overlay"]
            assert len(known) == (0 if state == "gone" else 1)
