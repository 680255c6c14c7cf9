"""The bytes of a ping list, from a file or by one HTTP request; bounded in size and total time.

The standard library bounds each read of a response, not all of them together, and not its size.
"""

from __future__ import annotations

import http.client
import io
import os
import socket
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from time import monotonic
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from probers.ping_list.document import MAX_BYTES, PingListError

#: For connecting, requesting and reading the whole response together.
DEADLINE_S: Final = 10.0
_MAX_OVERHEAD_BYTES: Final = 256 * 1024  # headers, chunk sizes, trailers
_PORTS: Final = {"http": 80, "https": 443}
_MAX_REASON: Final = 200  # characters quoted from a server or a library


class Answer(NamedTuple):
    """An HTTP answer. status: 200, or 304 to a request with an ETag; etag: quoted, as sent."""

    status: int
    etag: str
    body: bytes


def fetch(location: str, deadline_s: float = DEADLINE_S) -> bytes:
    """Bytes of a file or http(s) URL, at most MAX_BYTES + 1; raises PingListError with one line.

    A URL is requested directly (no proxy), and the response must be the list itself: a redirect, a
    content encoding or a truncated response is an error. Only the system's resolver bounds name
    resolution, and only the file system bounds reading a file: see
    ``PingListPoller.watchdog_tick``.
    """
    if location.startswith(("http://", "https://")):
        return ask(location, deadline_s).body
    with _in_one_line(location):
        return _read(location)


def ask(
    location: str,
    deadline_s: float = DEADLINE_S,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> Answer:
    """GET an http(s) URL, or POST a body to it; bounded as ``fetch``, and raises as it does."""
    with _in_one_line(location):
        return _ask(location, monotonic() + deadline_s, headers or {}, body)


@contextmanager
def _in_one_line(location: str) -> Iterator[None]:
    """Every error of a fetch is a PingListError."""
    try:
        yield
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
    # Without O_NONBLOCK, open() of a pipe without a writer never returns.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise PingListError(f"{path}: is not a regular file; give a readable list")
        return file.read(MAX_BYTES + 1)


class _BoundedSocket:
    """The part of a connected socket that http.client uses, with a deadline and a limit on bytes,
    at whatever pace the other side sends."""

    def __init__(self, connection: socket.socket, deadline: float, max_bytes: int) -> None:
        self.connection, self.deadline, self.bytes_left = connection, deadline, max_bytes

    def sendall(self, data: bytes) -> None:
        self.connection.settimeout(_seconds_left(self.deadline))
        self.connection.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self))

    def close(self) -> None:
        """Does nothing: http.client closes before it reads the body; ``_get`` closes at the end."""


class _Reader(io.RawIOBase):
    def __init__(self, bounded: _BoundedSocket) -> None:
        self._bounded = bounded

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        bounded = self._bounded
        bounded.connection.settimeout(_seconds_left(bounded.deadline))
        count = bounded.connection.recv_into(buffer)
        bounded.bytes_left -= count
        if bounded.bytes_left < 0:
            raise ValueError("the answer is too long")
        return count


def _ask(location: str, deadline: float, headers: Mapping[str, str], body: bytes | None) -> Answer:
    parts = urlsplit(location)
    if not parts.hostname:
        raise ValueError("no host given")
    with closing(_connect(parts, deadline)) as connection:
        bounded = _BoundedSocket(connection, deadline, MAX_BYTES + _MAX_OVERHEAD_BYTES)
        client = http.client.HTTPConnection(parts.hostname, parts.port or _PORTS[parts.scheme])
        client.sock = bounded
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        method = "GET" if body is None else "POST"
        client.request(method, path, body, headers={"Connection": "close", **headers})
        with closing(client.getresponse()) as answer:
            etag = answer.getheader("ETag", "")
            if answer.status == http.client.NOT_MODIFIED and "If-None-Match" in headers:
                return Answer(answer.status, etag, b"")
            return Answer(answer.status, etag, _body(location, answer))


def _connect(parts: SplitResult, deadline: float) -> socket.socket:
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    refused: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(_seconds_left(deadline))
            connection.connect(address)
            if parts.scheme == "https":
                connection.settimeout(_seconds_left(deadline))
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


def _seconds_left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError("the whole answer did not come in time")
    return left


def _line(text: str) -> str:
    """One printable line of text from a server or a library."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return shown if len(shown) <= _MAX_REASON else shown[:_MAX_REASON] + "…"
