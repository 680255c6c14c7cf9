"""Same-rail ping lists: symmetric, on one rail, valid for an agent."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.ping_lists.same_rail import same_rail
from probers.ping_list import document as ping_list
from schemas.documents.topology import Container, Endpoint, Host, Rnic, Switch, Topology

RAILS = 2


def cluster(hosts: int, rails: int = RAILS) -> Topology:
    #        spine
    #       /     \
    #    tor-0   tor-1      rail r of every host is on tor-r; one container of job j on each host
    return Topology(
        fabric="f1",
        hosts=[
            Host(f"h{h:03}", [Rnic(f"10.{r}.{h}.1", r, f"tor-{r}") for r in range(rails)], "pod-0")
            for h in range(hosts)
        ],
        switches=[Switch("spine", "dsw"), *(Switch(f"tor-{r}", "asw") for r in range(rails))],
        links=[(f"tor-{r}", "spine") for r in range(rails)],
        containers=[
            Container(
                f"c{h}", f"h{h:03}", f"job-{h % 2}", "tenant-a",
                [Endpoint(f"172.{16 + r}.{h}.1", f"10.{r}.{h}.1") for r in range(rails)],
            )
            for h in range(hosts)
        ],
    )  # fmt: skip


def pairs(documents: dict[str, dict[str, Any]]) -> set[tuple[str, str]]:
    return {
        (target["src_ip"], target["ip"])
        for document in documents.values()
        for target in document["targets"]
    }


def rail_of(ip: str) -> int:
    first, second = ip.split(".")[:2]
    return int(second) - 16 if first == "172" else int(second)


@given(st.integers(1, 40), st.integers(1, 20))
def test_an_endpoint_that_is_probed_probes_back(hosts: int, limit: int) -> None:
    found = pairs(same_rail(cluster(hosts), targets_per_endpoint=limit))
    assert {(b, a) for a, b in found} == found


@given(st.integers(2, 40), st.integers(1, 20))
def test_every_endpoint_has_a_peer_and_at_most_the_requested_number(hosts: int, limit: int) -> None:
    found = pairs(same_rail(cluster(hosts), targets_per_endpoint=limit, ring=False))
    sources = [a for a, _ in found if a.startswith("10.")]
    assert len(set(sources)) == hosts * RAILS
    assert max(sources.count(a) for a in set(sources)) <= max(2, limit)


def test_a_small_fabric_has_the_full_mesh_of_each_rail_and_no_other_pairs() -> None:
    found = pairs(same_rail(cluster(8), ring=False))
    underlay = {(a, b) for a, b in found if a.startswith("10.")}
    assert all(rail_of(a) == rail_of(b) for a, b in found)
    assert len(underlay) == 8 * 7 * RAILS


def test_overlay_pairs_stay_within_their_job() -> None:
    overlay = {(a, b) for a, b in pairs(same_rail(cluster(8))) if a.startswith("172.")}
    assert overlay
    assert all(int(a.split(".")[2]) % 2 == int(b.split(".")[2]) % 2 for a, b in overlay)


def test_the_ring_joins_the_rnics_of_one_host_in_both_directions() -> None:
    found = pairs(same_rail(cluster(2, rails=4)))
    assert {("10.0.1.1", "10.1.1.1"), ("10.1.1.1", "10.0.1.1"), ("10.3.1.1", "10.0.1.1")} <= found


def test_agents_accept_every_document() -> None:
    for node_sn, document in same_rail(cluster(8), dscp=26).items():
        read = ping_list.parse(msgspec.json.encode(document), node_sn)
        ping_list.check_owner(read, node_sn, node_sn, "f1")
        assert {target.asw for target in read.targets} <= {"tor-0", "tor-1"}
        assert {target.dsw for target in read.targets} == {"spine"}
        assert all(len(target.src_ports) == 4 for target in read.targets)


def test_a_container_gets_its_own_part_of_its_hosts_document() -> None:
    document = ping_list.parse(msgspec.json.encode(same_rail(cluster(4))["h001"]), "list")
    part = ping_list.restrict(document, layer="overlay", node_id="c1")
    assert {own.ip for own in part.endpoints} == {"172.16.1.1", "172.17.1.1"}
    assert {target.layer for target in part.targets} == {"overlay"}


@pytest.mark.parametrize(("ports", "first"), [(0, 51_000), (4, 80), (10, 65_530)])
def test_ports_outside_the_unprivileged_range_are_refused(ports: int, first: int) -> None:
    with pytest.raises(ValueError, match="source ports"):
        same_rail(cluster(2), ports_per_pair=ports, first_port=first)
