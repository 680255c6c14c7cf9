"""Containers of a host's ping list, and which of them a network namespace is. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from probers.ping_list.document import PingList


class Ambiguous(Exception):
    """A namespace has the addresses of several containers; one line: which."""


class Placed(NamedTuple):
    """A container: all of its addresses, and its tenant, empty where that is not known."""

    node_id: str
    tenant: str
    addresses: frozenset[str]


def placed(document: PingList | None) -> tuple[Placed, ...]:
    """The containers of a host's whole document."""
    addresses: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for own in document.endpoints if document is not None else ():
        if own.layer == "overlay" and own.node_id:
            addresses[own.node_id, own.tenant_id].add(own.ip)
    return tuple(Placed(*names, frozenset(found)) for names, found in addresses.items())


def of_namespace(containers: Iterable[Placed], here: Collection[str]) -> Placed | None:
    """The container whose addresses are all among those of a namespace; raises Ambiguous."""
    found = [each for each in containers if each.addresses.issubset(here)]
    if len(found) > 1:
        names = ", ".join(each.node_id for each in found)
        raise Ambiguous(f"it has the addresses of {names[:200]}")
    return found[0] if found else None
