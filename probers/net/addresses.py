"""IPv4 and IPv6 addresses as texts: networks, ports, families. No I/O.

10.0.0.7   10.0.0.7:22        2001:db8::7   [2001:db8::7]:22
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from probers.net.packet import Address
from schemas.addresses import canonical

Network = IPv4Network | IPv6Network

#: What may be probed where no ``--allow-cidr`` is given.
LOOPBACK: Final[tuple[Network, ...]] = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))


def network(text: str) -> Network:
    """A network such as 10.0.0.0/8 or 2001:db8::/32; raises ValueError."""
    return ip_network(text)


def allowed(ip: str, networks: Iterable[Network]) -> bool:
    """Whether an address is in one of the networks; raises ValueError when it is none."""
    address = ip_address(ip)
    return any(address in each for each in networks)


def family_of(ip: str) -> socket.AddressFamily:
    """Which sockets an address needs; the empty one is IPv4's wildcard."""
    return socket.AF_INET6 if ":" in ip else socket.AF_INET


def at_port(address: Address) -> str:
    """``IP:PORT``, or ``[IP]:PORT`` of IPv6."""
    ip, port = address
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def parse_at_port(text: str) -> Address:
    """The address and port of ``IP:PORT`` or ``[IP]:PORT``; raises ValueError."""
    ip, colon, port = text.rpartition(":")
    if not colon or (":" in ip and not (ip.startswith("[") and ip.endswith("]"))):
        raise ValueError(f"{text!r} is not IP:PORT or [IP]:PORT")
    number = int(port)
    if not 1 <= number <= 65535:
        raise ValueError(f"{port} is not a port (1..65535)")
    return canonical(ip.removeprefix("[").removesuffix("]")), number
