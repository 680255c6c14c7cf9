"""Who has connected to a unix socket is known from the kernel, not from what it says."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from probers.containers.peers import Peer, UnknownPeer, addresses_of, local_addresses, peer_of

#: Of a namespace with 172.16.0.1/16 on eth0, as the kernel prints it.
TRIE = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 172.16.0.0/16 2 0 2
        +-- 172.16.0.0/30 2 0 2
           |-- 172.16.0.0
              /16 link UNICAST
           |-- 172.16.0.1
              /32 host LOCAL
        |-- 172.16.0.9
           /32 link UNICAST
        |-- 172.16.255.255
           /32 link BROADCAST
Local:
  +-- 127.0.0.0/8 2 0 2
     |-- 127.0.0.0
        /8 host LOCAL
     |-- 127.0.0.1
        /32 host LOCAL
"""


def test_addresses_are_those_that_the_namespace_has_and_not_those_that_it_reaches() -> None:
    assert local_addresses(TRIE) == {"172.16.0.1", "127.0.0.1"}


def test_the_process_at_the_other_end_and_its_addresses_are_the_kernels_word() -> None:
    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there:
        peer = peer_of(here)
    assert peer == Peer(os.getpid(), os.getuid())
    assert "127.0.0.1" in addresses_of(peer)


def test_a_process_that_has_ended_has_no_addresses() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    with pytest.raises(UnknownPeer, match="fib_trie: "):
        addresses_of(Peer(child.pid, 0))
