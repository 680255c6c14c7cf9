"""How many file descriptors an agent has, and who may use how many of them."""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import Final, NamedTuple

from probers.net.socket_pool import MAX_SOCKETS

#: For all but probing and the relay: standard streams, selectors, brokers, the list, health.
RESERVE: Final = 64
MAX_CONNECTIONS: Final = 512  # of the relay


class Shares(NamedTuple):
    """Descriptors for probing sockets and for the relay's connections."""

    sockets: int
    connections: int


def raise_file_limit() -> int:
    """Raise the soft limit on open files to the hard one; returns the limit now in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # some systems refuse a hard limit that is "unlimited"
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return soft if soft != resource.RLIM_INFINITY else 2**31


def shares(limit: int) -> Shares:
    """Divide ``limit`` descriptors so that no part can use up what another needs.

    A list that names too many source ports, or too many clients of the relay, then fail on their
    own share, while the list can still be read and records published.
    """
    connections = max(1, min(MAX_CONNECTIONS, limit // 4))
    return Shares(max(1, min(MAX_SOCKETS, limit - connections - RESERVE)), connections)
