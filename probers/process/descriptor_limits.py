"""The process's limit on file descriptors, and how probing and the relay share it."""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import Final, NamedTuple

from probers.net.socket_pool import MAX_SOCKETS

#: For everything else: standard streams, selectors, brokers, the ping list, the health server.
RESERVE: Final = 64
MAX_CONNECTIONS: Final = 512  # of the relay


class DescriptorShares(NamedTuple):
    """File descriptors for probing sockets and for the relay's connections."""

    sockets: int
    connections: int


def raise_file_limit() -> int:
    """Raise the soft limit on open files to the hard one; return the limit now in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # some systems refuse a hard limit that is "unlimited"
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return soft if soft != resource.RLIM_INFINITY else 2**31


def shares(limit: int) -> DescriptorShares:
    """Divide ``limit`` descriptors so that no part can use up what another one needs.

    A list with too many source ports, or too many clients of the relay, then exhausts its own
    share, while the list can still be read and records can still be published.
    """
    connections = max(1, min(MAX_CONNECTIONS, limit // 4))
    return DescriptorShares(max(1, min(MAX_SOCKETS, limit - connections - RESERVE)), connections)
