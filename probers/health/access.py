"""Who may ask the agent's health server: addresses, and names in the Host header.

The server shares the host's network, to which network policies of Kubernetes do not apply; so the
agent checks addresses itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from probers.net.addresses import Network

_HOST_LINE: Final = re.compile(rb"^host[ \t]*:[ \t]*([^\r\n]*?)[ \t]*\r?$", re.I | re.M)
_PORT: Final = re.compile(r":\d{1,5}$")


@dataclass(frozen=True, slots=True)
class HealthAccess:
    """Loopback and the served address itself (the kubelet's probes come from there), and networks.

    own        the address that is served
    networks   further addresses that may ask
    names      names of this host: a Host header has one of them, or an address
    """

    own: str
    networks: tuple[Network, ...] = ()
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, own: str, networks: Iterable[Network], names: Iterable[str]) -> HealthAccess:
        """``names`` in any case."""
        return cls(own, tuple(networks), frozenset(each.lower() for each in names))

    def admits(self, peer: str) -> bool:
        """Whether a connection from this address is served."""
        address = ip_address(peer.partition("%")[0])
        return (
            address.is_loopback
            or address == ip_address(self.own)
            or any(address.version == n.version and address in n for n in self.networks)
        )

    def accepts_host(self, head: bytes) -> bool:
        """Whether the Host header names this host or an address. A web page that has its own name
        resolved to this host (DNS rebinding) makes browsers send that name. No header: accepted,
        browsers always send one."""
        values = _HOST_LINE.findall(head)
        return all(self._is_ours(each.decode("latin-1")) for each in values)

    def _is_ours(self, value: str) -> bool:
        host = value.lower()
        if host.startswith("["):
            host = host[1:].partition("]")[0]
        elif host.count(":") == 1:
            host = _PORT.sub("", host)
        if host == "localhost" or host in self.names:
            return True
        try:
            ip_address(host)
        except ValueError:
            return False
        return True
