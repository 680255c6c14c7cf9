"""A TCP port of this machine's loopback, in the loopback of namespaces too.

It is what a management network is to hosts: their agents reach the controller apart from the fabric
whose faults they measure.
"""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from testbed.netns import machine

_CLONE_NEWNET: Final = 0x40000000
_LOOPBACK: Final = "127.0.0.1"
_BUFFER_BYTES: Final = 64 * 1024


class LoopbackPort:
    """Forwards connections to ``port`` while it is open; a context manager.

    spaces  names of namespaces; raises OSError where one cannot be entered or has the port in use
    """

    def __init__(self, spaces: Iterable[str], port: int) -> None:
        self._port = port
        self._open: set[socket.socket] = set()
        self._servers = [_listen_in(space, port) for space in spaces]
        for server in self._servers:
            threading.Thread(target=self._accept, args=(server,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for each in [*self._servers, *self._open]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # ends what waits for it in another thread
        for server in self._servers:
            server.close()

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        with client:
            try:
                served = socket.create_connection((_LOOPBACK, self._port))
            except OSError:
                return
            with served:
                self._open |= {client, served}
                back = threading.Thread(target=_copy, args=(served, client), daemon=True)
                back.start()
                _copy(client, served)
                back.join()
                self._open -= {client, served}


def _copy(source: socket.socket, target: socket.socket) -> None:
    """All that comes, and then its end."""
    with suppress(OSError):
        while data := source.recv(_BUFFER_BYTES):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _listen_in(space: str, port: int) -> socket.socket:
    """A listening socket of a namespace: it stays there, whichever thread uses it."""
    made: list[socket.socket | OSError] = []

    def make() -> None:
        try:
            with open(machine.NAMESPACES / space) as entrance:
                if ctypes.CDLL(None, use_errno=True).setns(entrance.fileno(), _CLONE_NEWNET):
                    code = ctypes.get_errno()
                    raise OSError(code, f"{space}: {os.strerror(code)}")
            made.append(socket.create_server((_LOOPBACK, port)))
        except OSError as why:
            made.append(why)

    thread = threading.Thread(target=make)  # only this thread enters the namespace, and ends
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]
