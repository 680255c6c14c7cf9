"""Whose a container or an rnic is, by the newest topology and placements."""

from __future__ import annotations

import msgspec
from builders.streams.operator_documents import placement
from builders.streams.ping_records import START_S

from schemas.documents.placement import Placement
from schemas.documents.times import rfc3339
from schemas.documents.topology import Container, Host, Rnic, Topology
from streams.admission.ownership import Ownership
from streams.admission.parameters import DEFAULT


def document(
    *hosts: tuple[str, str], boxes: tuple[tuple[str, str], ...] = (), from_s: int | None = None
) -> Topology:
    return Topology(
        fabric="f1",
        hosts=[Host(name, [Rnic(rnic)]) for name, rnic in hosts],
        containers=[Container(box, host, tenant="t1") for box, host in boxes],
        valid_from="" if from_s is None else rfc3339(from_s * 10**9),
    )


def test_a_later_topology_says_whose_a_moved_rnic_and_a_new_host_are() -> None:
    owned = Ownership(document(("h1", "r1"), ("h2", "r2")))
    owned.add(document(("h1", "r2"), ("h3", "r3"), boxes=(("c3", "h3"),)))
    assert owned.hosts_of_rnic("f1", "r2") == ("h1",)
    assert owned.hosts_of_rnic("f1", "r3") == ("h3",)
    assert owned.hosts_of_node("f1", "h3") == ("h3",)
    assert (owned.hosts_of_node("f1", "c3"), owned.tenant("f1", "c3")) == (("h3",), "t1")


def test_what_a_later_topology_leaves_out_keeps_its_owner() -> None:
    owned = Ownership(document(("h1", "r1")))
    owned.add(document(("h2", "r2")))
    assert owned.hosts_of_rnic("f1", "r1") == ("h1",)


def test_a_container_may_send_from_each_host_that_it_was_placed_on() -> None:
    owned = Ownership(document(("h9", "r9"), boxes=(("c1", "h9"),)))
    owned.add(placement("c1", "ready"))
    assert set(owned.hosts_of_node("f1", "c1")) == {"h9", "h1"}


def gone(box: str, at_s: int) -> Placement:
    over = placement(box, "gone")
    return msgspec.structs.replace(over, valid_from=rfc3339(at_s * 10**9))


def test_a_container_that_is_gone_keeps_its_owner_for_a_while() -> None:
    owned = Ownership()
    owned.add(placement("c1", "ready"))
    owned.add(gone("c1", START_S))
    owned.drop_old(START_S + DEFAULT.over_s)
    assert owned.hosts_of_node("f1", "c1") == ("h1",), "what it sent may still arrive"
    owned.drop_old(START_S + DEFAULT.over_s + 1)
    assert owned.hosts_of_node("f1", "c1") == ()


def test_a_container_that_comes_back_keeps_its_owner() -> None:
    owned = Ownership()
    owned.add(gone("c1", START_S))
    owned.add(placement("c1", "ready"))
    owned.drop_old(START_S + 2 * DEFAULT.over_s)
    assert owned.hosts_of_node("f1", "c1") == ("h1",)


def test_a_topology_keeps_the_owners_of_what_it_lists() -> None:
    owned = Ownership(document(("h1", "r1"), boxes=(("c1", "h1"),)))
    owned.add(gone("c1", START_S))
    owned.add(document(("h2", "r2"), from_s=START_S + 60))
    owned.add(document(("h1", "r1"), boxes=(("c1", "h1"),), from_s=START_S + 120))
    owned.drop_old(START_S + 2 * DEFAULT.over_s)
    assert owned.hosts_of_node("f1", "c1") == ("h1",)
    assert (owned.hosts_of_node("f1", "h1"), owned.hosts_of_rnic("f1", "r1")) == (("h1",), ("h1",))
    assert (owned.hosts_of_node("f1", "h2"), owned.hosts_of_rnic("f1", "r2")) == ((), ())


def test_a_placement_keeps_the_owner_of_a_container_that_a_topology_leaves_out() -> None:
    owned = Ownership(document(("h1", "r1"), boxes=(("c1", "h1"),)))
    owned.add(placement("c1", "ready"))
    owned.add(document(("h1", "r1"), from_s=START_S))
    owned.drop_old(START_S + 2 * DEFAULT.over_s)
    assert owned.hosts_of_node("f1", "c1") == ("h1",)


def test_containers_and_hosts_that_come_and_go_do_not_grow_the_memory() -> None:
    owned = Ownership()
    sizes = []
    for number in range(2000):
        at_s = START_S + 60 * number
        owned.add(placement(f"c{number}", "ready"))
        owned.add(gone(f"c{number}", at_s + 30))
        owned.add(document((f"h{number}", f"r{number}"), from_s=at_s))
        owned.drop_old(at_s)
        sizes.append(len(owned))
    assert max(sizes) <= 3 * (DEFAULT.over_s / 60 + 2)
