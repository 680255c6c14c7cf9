"""Fetching a list is bounded in size and time, whatever the other side sends."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.agents.raw_server import Handler, drips, hangs, serving

from probers.ping_list.document import PingListError
from probers.ping_list.fetch import fetch

LIST = msgspec.json.encode(
    {
        "version": 1, "fabric": "f1", "node_sn": "host-1",
        "endpoints": [{"ip": "10.0.0.1", "real_ip": "10.0.0.1", "layer": "underlay"}],
        "targets": [],
    }
)  # fmt: skip
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
ENDPOINT = {"ip": "10.0.0.1", "real_ip": "10.0.0.1", "layer": "underlay"}
TARGET = {
    "src_ip": "10.0.0.1", "ip": "10.0.0.2", "real_ip": "10.0.0.2", "node_sn": "host-2",
    "layer": "underlay", "src_ports": [51000, 51001],
}  # fmt: skip


@pytest.mark.parametrize(
    "handler",
    [
        hangs,
        drips(b"", b"HTTP/1.1 200 OK and on and on", 0.05),
        drips(HEAD, b"X: y\r\n", 0.05),
        drips(HEAD + b"Content-Length: 99999\r\n\r\n", LIST, 0.05),
        drips(CHUNKED, b"1\r\nx\r\n", 0.05),
    ],
    ids=["never answers", "status drips", "headers drip", "body drips", "chunks drip"],
)
def test_a_slow_response_ends_at_the_deadline_for_all_of_it(handler: Handler) -> None:
    with serving(handler) as server:
        begin = time.monotonic()
        with pytest.raises(PingListError, match=r"in time|timed out"):
            fetch(server.url, deadline_s=0.5)
        assert time.monotonic() - begin >= 0.4, "each byte came in time, all of them did not"


def test_a_response_without_end_is_bounded() -> None:
    block = b"HTTP/1.1 100 Continue\r\n\r\n" * 1000

    def floods(connection: object, _over: threading.Event) -> None:
        while True:
            connection.sendall(block)  # type: ignore[attr-defined]  # until the client hangs up

    with serving(floods) as server, pytest.raises(PingListError, match=r"too long|in time"):
        fetch(server.url)


@pytest.mark.parametrize("name", ["pipe", "device"])
def test_a_pipe_or_device_in_place_of_the_list_is_refused_at_once(
    tmp_path: Path, name: str
) -> None:
    path = {"pipe": tmp_path / "pipe", "device": Path("/dev/zero")}[name]
    if name == "pipe":
        os.mkfifo(path)
    with pytest.raises(PingListError, match="not a regular file"):
        fetch(str(path))


def document(**changes: Any) -> dict[str, Any]:
    base = {"version": 1, "fabric": "f1", "node_sn": "host-1", "interval_s": 1.0}
    return {**base, "endpoints": [ENDPOINT], "targets": [TARGET], **changes}


@pytest.fixture
def controller() -> Iterator[str]:
    """An HTTP server that has one list, one that is too long, and nothing else."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/missing":
                self.send_error(404)
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(msgspec.json.encode(document()))

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("location", ["/nowhere/list.json", "http://127.0.0.1:1/x", "http://"])
def test_a_missing_list_is_an_error_of_one_line(location: str) -> None:
    with pytest.raises(PingListError) as why:
        fetch(location)
    assert str(why.value).startswith(f"{location}: ")
    assert "\n" not in str(why.value)


def test_an_http_error_is_an_error_of_one_line(controller: str) -> None:
    with pytest.raises(PingListError, match="Not Found"):
        fetch(controller + "/missing")
