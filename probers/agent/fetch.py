"""The bytes of a ping list: a file, or one HTTP answer; bounded in size and in time as a whole."""

from __future__ import annotations

import http.client
import io
import os
import socket
import stat
from contextlib import closing
from time import monotonic
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from probers.agent.ping_list import MAX_BYTES, PingListError

#: For everything together: resolving, connecting, asking, reading the last byte.
DEADLINE_S: Final = 10.0
_MAX_OVERHEAD_BYTES: Final = 256 * 1024  # headers, chunk sizes, trailers
_PORTS: Final = {"http": 80, "https": 443}
_MAX_REASON: Final = 200  # characters of what a server or a library says


def fetch(location: str, deadline_s: float = DEADLINE_S) -> bytes:
    """Bytes of a file or http(s) URL, at most MAX_BYTES + 1; raises PingListError with one line.

    A URL is asked for directly (no proxy), and its answer must be the list itself: a redirect, an
    encoding or an answer that ends early is an error, never half a list. Resolving a name is
    bounded by the system's resolver only, and a file by its file system: see ``Watch.tick``.
    """
    try:
        if location.startswith(("http://", "https://")):
            return _get(location, monotonic() + deadline_s)
        return _read(location)
    except PingListError:
        raise
    except OSError as why:
        text = _line(why.strerror or str(why) or type(why).__name__)
        advice = "is the controller there?" if "://" in location else "give a readable list"
        raise PingListError(f"{location}: {text}; {advice}") from why
    except http.client.HTTPException as why:
        text = _line(f"{type(why).__name__} {why}".strip())
        raise PingListError(f"{location}: not a sound HTTP answer ({text})") from why
    except ValueError as why:  # of the URL, a header or a chunk's size
        raise PingListError(
            f"{location}: {_line(str(why))}; give a file or an http(s) URL"
        ) from why


def _read(path: str) -> bytes:
    # A pipe without a writer would hold the reader in open() for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise PingListError(f"{path}: is not a regular file; give a readable list")
        return file.read(MAX_BYTES + 1)


class _Timed:
    """What http.client needs of a connected socket, ended at a deadline and after so many bytes,
    however slowly or plentifully the other side sends: http.client knows neither bound."""

    def __init__(self, connection: socket.socket, deadline: float, max_bytes: int) -> None:
        self.connection, self.deadline, self.room = connection, deadline, max_bytes

    def sendall(self, data: bytes) -> None:
        self.connection.settimeout(_left(self.deadline))
        self.connection.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self))

    def close(self) -> None:
        """http.client closes before it reads the body; ``_get`` closes in the end."""


class _Reader(io.RawIOBase):
    def __init__(self, timed: _Timed) -> None:
        self._timed = timed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        timed = self._timed
        timed.connection.settimeout(_left(timed.deadline))
        count = timed.connection.recv_into(buffer)
        timed.room -= count
        if timed.room < 0:
            raise ValueError("the answer is too long")
        return count


def _get(location: str, deadline: float) -> bytes:
    parts = urlsplit(location)
    if not parts.hostname:
        raise ValueError("no host given")
    with closing(_connect(parts, deadline)) as connection:
        timed = _Timed(connection, deadline, MAX_BYTES + _MAX_OVERHEAD_BYTES)
        asker = http.client.HTTPConnection(parts.hostname, parts.port or _PORTS[parts.scheme])
        asker.sock = timed
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        asker.request("GET", path, headers={"Connection": "close"})
        with closing(asker.getresponse()) as answer:
            return _body(location, answer)


def _connect(parts: SplitResult, deadline: float) -> socket.socket:
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    refused: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(_left(deadline))
            connection.connect(address)
            if parts.scheme == "https":
                connection.settimeout(_left(deadline))
                return _with_tls(connection, host)
        except OSError as why:
            connection.close()
            refused = why
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise refused or OSError(f"{host} has no address")


def _with_tls(connection: socket.socket, host: str) -> socket.socket:
    import ssl  # only where it is needed: it costs the agent memory

    return ssl.create_default_context().wrap_socket(connection, server_hostname=host)


def _body(location: str, answer: http.client.HTTPResponse) -> bytes:
    def refuse(what: str) -> PingListError:
        return PingListError(f"{location}: {_line(what)}")

    if 300 <= answer.status < 400:
        where = answer.getheader("Location", "")
        raise refuse(f"the server redirects to {where!r}; give the final URL")
    if answer.status != http.client.OK:
        raise refuse(f"the server answered {answer.status} {answer.reason}")
    encoding = answer.getheader("Content-Encoding", "identity")
    if encoding.lower() != "identity":
        raise refuse(f"the server encodes the list as {encoding!r}; serve it as it is")
    if answer.length is not None and answer.length > MAX_BYTES:
        raise refuse(f"over {MAX_BYTES} bytes; split the host's targets")
    body = answer.read(MAX_BYTES + 1)
    if answer.length:
        raise refuse(f"the answer ended {answer.length} bytes early")
    return body


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError("the whole answer did not come in time")
    return left


def _line(text: str) -> str:
    """One printable line of what somebody else wrote."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return shown if len(shown) <= _MAX_REASON else shown[:_MAX_REASON] + "…"
