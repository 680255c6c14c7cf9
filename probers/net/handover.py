"""Open sockets pass from an agent to its successor on the same host, so that no probe meets a
closed port while an agent is updated.

The successor connects to the predecessor's unix socket when it starts. The predecessor ends its
probes, releases what two processes cannot have at once (relays, spool), says so, and goes on
answering. When the successor can answer, it says so and gets the UDP sockets, with what has arrived
in them.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from probers.process.log import log_event
from probers.process.loop import Loop

#: A predecessor that has not released everything, or sent its sockets, by then is given up [s].
TAKE_S: Final = 30.0
_SEND_S: Final = 5.0
_AT_ONCE: Final = 200  # descriptors in a message; Linux allows 253
_RELEASED, _READY, _SOCKETS, _END = b"released", b"ready", b"sockets", b"end"
_LONGEST: Final = 16  # bytes of a message
_CREDENTIALS: Final = struct.Struct("=iII")  # pid, uid, gid


class HandoverError(RuntimeError):
    """Sockets cannot be passed on; one line: where, what, what to do."""


class Predecessor:
    """The end of the agent that serves; for the loop's thread, but ``give``."""

    def __init__(
        self,
        loop: Loop,
        path: Path,
        on_successor: Callable[[], None],
        on_ready: Callable[[], None],
    ) -> None:
        """Raises HandoverError where the path cannot be served.

        on_successor  called once, when a process of this user, or of root, wants to take over; it
                      must lead to ``released``
        on_ready      called once, when that process can serve the sockets, or has gone; it must
                      lead to ``give``
        """
        self._loop, self._path = loop, path
        self._on_successor, self._on_ready = on_successor, on_ready
        self._successor: socket.socket | None = None
        self._server = _listen(path)
        loop.add_reader(self._server.fileno(), self._accept)

    @property
    def asked(self) -> bool:
        """Whether a successor has asked for the sockets."""
        return self._successor is not None

    def released(self) -> None:
        """Tell the successor that it can open what this process has closed."""
        self._stop_listening()
        if self._successor is not None:
            self._loop.add_reader(self._successor.fileno(), self._when_ready)
            try:
                self._successor.send(_RELEASED)
            except OSError:
                self._when_ready()

    def give(self, descriptors: Sequence[int]) -> None:
        """Send open sockets to the successor; raises HandoverError when it has gone. They stay open
        here too, until this process ends."""
        if self._successor is None:
            return
        try:
            self._successor.settimeout(_SEND_S)
            if self._successor.recv(_LONGEST) != _READY:
                raise HandoverError(f"{self._path}: the successor ended before it was ready")
            for first in range(0, len(descriptors), _AT_ONCE):
                some = descriptors[first : first + _AT_ONCE]
                socket.send_fds(self._successor, [_SOCKETS], some)
            self._successor.send(_END)
        except OSError as why:
            raise HandoverError(f"{self._path}: the successor has gone ({why.strerror})") from why
        finally:
            self._successor.close()

    def close(self) -> None:
        """Listen no more, where no successor has asked."""
        if self._successor is None:
            self._stop_listening()

    def _stop_listening(self) -> None:
        if self._server.fileno() >= 0:
            self._server.close()
            self._path.unlink(missing_ok=True)

    def _accept(self) -> None:
        try:
            asking, _ = self._server.accept()
        except OSError:
            return
        raw = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, user, _ = _CREDENTIALS.unpack(raw)
        if user not in (0, os.geteuid()):
            log_event("warning", "handover-refused", pid=pid, user=user)
            asking.close()
            return
        log_event("info", "handover", to_pid=pid)
        self._successor = asking
        self._loop.remove_reader(self._server.fileno())
        self._on_successor()

    def _when_ready(self) -> None:
        if self._successor is not None:
            self._loop.remove_reader(self._successor.fileno())
            self._on_ready()


class Successor:
    """The end of the agent that takes over."""

    def __init__(self, predecessor: socket.socket) -> None:
        self._predecessor = predecessor

    @classmethod
    def ask(cls, path: Path, timeout_s: float = TAKE_S) -> Successor | None:
        """Wait until the agent that serves ``path`` has released what it has; None: there is no
        such agent, or it failed to, which is logged."""
        asking = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        asking.settimeout(timeout_s)
        why = "it ended"
        try:
            asking.connect(str(path))
            if asking.recv(_LONGEST) == _RELEASED:
                return cls(asking)
        except (FileNotFoundError, ConnectionRefusedError):
            asking.close()
            return None
        except OSError as error:
            why = str(error)
        asking.close()
        log_event("warning", "handover-failed", path=str(path), why=why)
        return None

    def take(self) -> list[int]:
        """Descriptors of the predecessor's sockets; those that came, where it fails meanwhile."""
        taken: list[int] = []
        said, why = b"", "it ended"
        with self._predecessor:
            try:
                self._predecessor.send(_READY)
                while (said := self._receive(taken)) == _SOCKETS:
                    pass
            except OSError as error:
                said, why = b"", str(error)
        if said != _END:
            log_event("warning", "handover-failed", sockets=len(taken), why=why)
        return taken

    def _receive(self, taken: list[int]) -> bytes:
        said, descriptors, _, _ = socket.recv_fds(self._predecessor, _LONGEST, _AT_ONCE)
        taken += descriptors
        return said


def _listen(path: Path) -> socket.socket:
    """For this user only; a stale socket file is replaced."""
    try:
        if stat.S_ISSOCK(path.lstat().st_mode):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
                if other.connect_ex(str(path)) == 0:
                    raise HandoverError(
                        f"{path}: another process serves it; stop that one or give another path"
                    )
            path.unlink()
    except FileNotFoundError:
        pass
    except OSError as why:
        raise HandoverError(f"{path}: {why.strerror}; give a path in a writable folder") from why
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        server.bind(str(path))
        os.chmod(path, 0o600)  # before listen(): until then connections are refused
        server.listen(1)
        server.setblocking(False)
    except OSError as why:
        server.close()
        raise HandoverError(
            f"{path}: {why.strerror or why}; give a short path in a writable folder"
        ) from why
    return server
