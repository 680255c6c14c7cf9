"""Which container of a host's list a network namespace is."""

from __future__ import annotations

import pytest

from probers.containers.placed import Ambiguous, Placed, of_namespace, placed
from probers.ping_list.document import Endpoint, PingList

C1 = Placed("c1", "t1", frozenset({"172.16.0.1", "172.17.0.1"}))
C2 = Placed("c2", "", frozenset({"172.16.0.2"}))


def test_containers_are_those_of_the_overlay_with_all_of_their_addresses() -> None:
    own = [
        Endpoint("172.16.0.1", "10.0.0.1", "overlay", "c1", tenant_id="t1"),
        Endpoint("172.16.0.2", "10.0.0.1", "overlay", "c2"),
        Endpoint("172.17.0.1", "10.0.0.2", "overlay", "c1", tenant_id="t1"),
        Endpoint("10.0.0.1", "10.0.0.1", "underlay"),
    ]
    assert placed(PingList("host-1", endpoints=own)) == (C1, C2)
    assert placed(None) == ()


def test_a_namespace_is_the_container_all_of_whose_addresses_it_has() -> None:
    assert of_namespace((C1, C2), {"172.16.0.1", "172.17.0.1", "127.0.0.1"}) == C1
    assert of_namespace((C1, C2), {"172.16.0.1", "127.0.0.1"}) is None
    assert of_namespace((), {"127.0.0.1"}) is None


def test_a_namespace_with_the_addresses_of_two_containers_is_neither() -> None:
    with pytest.raises(Ambiguous, match="it has the addresses of c1, c2"):
        of_namespace((C1, C2), C1.addresses | C2.addresses)
