"""Ports for servers of tests and experiments."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

_PORTS = (10_000, 32_768)


def free_port() -> int:
    """A TCP port of loopback that was free a moment ago.

    It is below those that Linux, by default, gives to sockets without a port: of these none can
    get it meanwhile.
    """
    draw = random.SystemRandom()
    while True:
        port = draw.randrange(*_PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
