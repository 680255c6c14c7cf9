"""Whose a container or an rnic is, by the newest topology and placements."""

from __future__ import annotations

from builders.streams.operator_documents import placement

from schemas.documents.topology import Container, Host, Rnic, Topology
from streams.admission.ownership import Ownership


def document(*hosts: tuple[str, str], boxes: tuple[tuple[str, str], ...] = ()) -> Topology:
    return Topology(
        fabric="f1",
        hosts=[Host(name, [Rnic(rnic)]) for name, rnic in hosts],
        containers=[Container(box, host, tenant="t1") for box, host in boxes],
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
