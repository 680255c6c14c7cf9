"""Who has connected to a unix socket is known from the kernel, not from what it says."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from probers.containers.peers import Peer, UnknownPeer, local_addresses, peer_of

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


def test_the_process_at_the_other_end_and_its_namespace_are_the_kernels_word() -> None:
    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there, closing(peer_of(here)) as peer:
        assert (peer.pid, peer.uid) == (os.getpid(), os.getuid())
        found = peer.namespace()
    assert found.number == os.stat("/proc/self/ns/net").st_ino
    assert "127.0.0.1" in found.addresses


def connected(path: Path, before: list[str], script: str) -> Iterator[socket.socket]:
    """A connection from a process that runs a script; in it, ``peer`` is the connected socket."""
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(str(path))
        server.listen()
        code = f"import os, socket, sys, time; peer = socket.socket(socket.AF_UNIX); {script}"
        child = subprocess.Popen([*before, sys.executable, "-c", code], stdin=subprocess.PIPE)
        server.settimeout(60.0)
        connection, _ = server.accept()
        with connection:
            yield connection
        child.communicate()


def look_until_refused(peer: Peer) -> None:
    """The process may still be about to end; a test that hangs has failed."""
    while True:
        peer.namespace()


def test_a_process_that_has_ended_does_not_speak_through_what_it_has_left(tmp_path: Path) -> None:
    path = tmp_path / "s"
    fork = f"peer.connect({str(path)!r}); os.fork() or (peer.send(b'x'), sys.stdin.read())"
    for connection in connected(path, [], f"{fork}; os._exit(0)"):
        assert connection.recv(1) == b"x"
        with closing(peer_of(connection)) as peer, pytest.raises(UnknownPeer):
            look_until_refused(peer)


@pytest.mark.netns
def test_a_network_that_a_process_has_made_for_itself_is_none_of_a_container(
    tmp_path: Path,
) -> None:
    if not shutil.which("unshare"):
        pytest.skip("needs unshare (apt install util-linux)")
    path = tmp_path / "s"
    own = ["unshare", "--user", "--map-root-user", "--net"]
    for connection in connected(path, own, f"peer.connect({str(path)!r}); sys.stdin.read()"):
        with closing(peer_of(connection)) as peer, pytest.raises(UnknownPeer, match="any address"):
            peer.namespace()
