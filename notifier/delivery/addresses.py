"""Addresses that may be asked: a configured name must not lead into the own network.

Otherwise anyone who may write a URL (or its DNS entry) could make the notifier, which runs inside,
ask services that trust their network: server-side request forgery.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, Final

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

#: IPv6 addresses whose last four bytes are an IPv4 address that a translator will ask.
_CARRIES_IPV4: Final = (
    IPv6Network("::/96"), IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"),
)  # fmt: skip


class RefusedAddress(OSError):
    """An address that must not be asked; one line."""


def reason_against(text: str, *, allow_private: bool) -> str | None:
    """Why an address must not be asked, or None.

    Link-local addresses, those of clouds' metadata services among them, multicast and unspecified
    ones are refused always; private and loopback ones unless ``allow_private``.
    """
    address = _inner(ip_address(text.partition("%")[0]))
    if address.is_multicast or address.is_unspecified or address.is_link_local:
        return "link-local, multicast and unspecified addresses are never asked"
    if not address.is_global and not allow_private:
        return "it is not a public address; `allow_private: true` permits it"
    return None


def check_literal(host: str, *, allow_private: bool) -> None:
    """Raises RefusedAddress where a URL's host is an address that must not be asked.

    Also in the forms of old, 127.1 or 2130706433, which a proxy may understand.
    """
    try:
        text = host if ":" in host else socket.inet_ntoa(socket.inet_aton(host))
        reason = reason_against(text, allow_private=allow_private)
    except (ValueError, OSError):  # a name: the resolver checks what it stands for
        return
    if reason is not None:
        raise RefusedAddress(f"{host}: {reason}")


class PinnedResolver(AbstractResolver):
    """Resolves a name once for a request; the connection then goes to what was checked.

    A name with any address that must not be asked is refused as a whole: which one a second look
    would give is up to its owner.
    """

    def __init__(self, *, allow_private: bool, inner: AbstractResolver | None = None) -> None:
        self._allow_private = allow_private
        self._inner = inner or ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses; raises RefusedAddress, and OSError for a name that is not known."""
        found = await self._inner.resolve(host, port, family)
        for each in found:
            reason = reason_against(each["host"], allow_private=self._allow_private)
            if reason is not None:
                raise RefusedAddress(f"{host} is {each['host']}: {reason}")
        return found

    async def close(self) -> None:
        await self._inner.close()


def _inner(address: Any) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 address stands for, else the address itself."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.sixtofour is not None:
            return address.sixtofour
        if address.teredo is not None:
            return address.teredo[1]
        if int(address) > 1 and any(address in network for network in _CARRIES_IPV4):
            return IPv4Address(int(address) & 0xFFFF_FFFF)
        return address
    assert isinstance(address, IPv4Address)  # noqa: S101 — for the type checker
    return address
