"""Fixtures of the engines' tests: five-tuples on loopback."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from probers.net.five_tuple import FiveTuple
from probers.net.packet import Address
from probers.net.socket_pool import SocketPool


@pytest.fixture
def flow(sockets: SocketPool) -> FiveTuple:
    """From a free port to a responder of the same process."""
    source = sockets.open(("127.0.0.1", 0)).address
    return FiveTuple(source, sockets.open(("127.0.0.1", 0)).address, dscp=26)


@pytest.fixture
def mute() -> Iterator[Address]:
    """An address that receives everything and never replies."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        yield silent.getsockname()
