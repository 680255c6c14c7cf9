"""The poller: three failures in a row lose the list, a valid one restores it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.agents.raw_server import ok, sends, serving
from builders.agents.waiting import Until

from probers.ping_list.document import PingList, check_owner
from probers.ping_list.fetch import fetch
from probers.ping_list.poller import MAX_FAILURES, Check, Fetch, PingListPoller

ENDPOINT = {"ip": "10.0.0.1", "real_ip": "10.0.0.1", "layer": "underlay"}
TARGET = {
    "src_ip": "10.0.0.1", "ip": "10.0.0.2", "real_ip": "10.0.0.2", "node_sn": "host-2",
    "layer": "underlay", "src_ports": [51000, 51001],
}  # fmt: skip
LIST = msgspec.json.encode(
    {
        "version": 1, "fabric": "f1", "node_sn": "host-1",
        "endpoints": [{"ip": "10.0.0.1", "real_ip": "10.0.0.1", "layer": "underlay"}],
        "targets": [],
    }
)  # fmt: skip
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
BAD: dict[str, tuple[bytes, str]] = {
    "no status line": (b"\r\n\r\n", "BadStatusLine"),
    "not HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n", "BadStatusLine"),
    "a status of words": (b"HTTP/1.1 abc OK\r\n\r\n", "BadStatusLine"),
    "a status line without end": (b"HTTP/1.1 200 " + b"x" * 70_000, "LineTooLong"),
    "nothing at all": (b"", "closed connection"),
    "a header without end": (HEAD + b"X: " + b"x" * 70_000, "LineTooLong"),
    # More than the 10,000 that clickhouse_connect allows in the test's own process.
    "too many headers": (HEAD + b"X: y\r\n" * 20_000 + b"\r\n", "got more than"),
    "bytes that are no text": (HEAD + b"\xff\xfe: \xff\r\n\r\n" + LIST[:-1], "truncated"),
    "fewer bytes than promised": (
        HEAD + b"Content-Length: 9999\r\n\r\n" + LIST, f"ended {9999 - len(LIST)} bytes early",
    ),
    "a huge content length": (HEAD + b"Content-Length: 99999999999\r\n\r\n", "over 16777216 bytes"),
    "half a list until the end": (HEAD + b"\r\n" + LIST[:40], "truncated"),
    "an empty body": (ok(b""), "truncated"),
    "a chunk size of words": (CHUNKED + b"zz\r\n" + LIST, "IncompleteRead"),
    "a negative chunk size": (CHUNKED + b"-5\r\n" + LIST, ""),
    "a chunk that ends early": (CHUNKED + b"ffffff\r\n" + LIST, "IncompleteRead"),
    "a chunk size without end": (CHUNKED + b"1" * 70_000, ""),
    "a redirect": (
        b"HTTP/1.1 302 Found\r\nLocation: http://10.6.6.6/list\r\n\r\n", "redirects to",
    ),
    "gzip": (ok(LIST, "Content-Encoding: gzip"), "encodes the list as 'gzip'"),
    "part of the list": (ok(LIST).replace(b"200 OK", b"206 Partial Content"), "206 Partial"),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", "answered 204"),
    "an error": (b"HTTP/1.1 500 \x1b[31mred\r\n\r\n", "answered 500"),
    "the list of another agent": (ok(LIST.replace(b"host-1", b"host-2")), "is for node_sn"),
}  # fmt: skip


def document(**changes: Any) -> dict[str, Any]:
    base = {"version": 1, "fabric": "f1", "node_sn": "host-1", "interval_s": 1.0}
    return {**base, "endpoints": [ENDPOINT], "targets": [TARGET], **changes}


def check_host_1(document: PingList, where: str) -> None:
    check_owner(document, where, "host-1", None)


class Reader:
    """A poller, the lists that it reported and its error lines."""

    def __init__(self, location: str, check: Check = check_host_1, fetch: Fetch = fetch) -> None:
        self.lists: list[PingList | None] = []
        self.errors: list[str] = []
        self.poller = PingListPoller(
            location,
            check,
            self.lists.append,
            self.errors.append,
            interval_s=0.001,
            deadline_s=60.0,
            fetch=fetch,
        )


def test_an_unchanged_list_is_reported_once_and_a_changed_one_again(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_bytes(msgspec.json.encode(document()))
    reader = Reader(str(path))
    reader.poller.poll()
    reader.poller.poll()
    path.write_bytes(msgspec.json.encode(document(targets=[])))
    reader.poller.poll()
    assert [len(read.targets) for read in reader.lists if read] == [1, 0]


def test_three_failures_in_a_row_stop_the_probing_once_and_a_good_list_resumes_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "list.json"
    path.write_bytes(msgspec.json.encode(document()))
    reader = Reader(str(path))
    reader.poller.poll()
    good = path.read_bytes()
    path.write_bytes(b"{")
    for _ in range(MAX_FAILURES - 1):
        reader.poller.poll()
    assert None not in reader.lists, "one bad reading keeps the last good list"
    for _ in range(3):
        reader.poller.poll()
    path.write_bytes(good)
    reader.poller.poll()
    assert [read is None for read in reader.lists] == [False, True, False]
    assert len(reader.errors) == MAX_FAILURES, "the same failure again is counted, not logged"
    assert reader.poller.counts == {"read": 2, "failed": 5}


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


def test_a_list_is_fetched_over_http(controller: str) -> None:
    reader = Reader(controller + "/list")
    reader.poller.poll()
    assert len(reader.lists) == 1


@pytest.mark.parametrize("what", BAD)
def test_an_invalid_response_fails_closed_and_a_valid_one_recovers(
    what: str, eventually: Until
) -> None:
    raw, message = BAD[what]
    with serving(sends(ok(LIST))) as server:
        reader = Reader(server.url)
        reader.poller.start()
        eventually(lambda: len(reader.lists) == 1)
        server.handler = sends(raw)
        eventually(lambda: len(reader.lists) == 2)
        server.handler = sends(ok(LIST))
        eventually(lambda: len(reader.lists) == 3)
        reader.poller.stop()
    assert [read is None for read in reader.lists] == [False, True, False]
    assert reader.poller.counts["failed"] >= MAX_FAILURES
    assert reader.poller.counts["unexpected"] == 0
    assert message in reader.errors[0]
    for line in reader.errors:
        assert line.startswith(f"{server.url}: ")
        assert line.isprintable()
        assert len(line) < 500


@pytest.mark.parametrize("defect", [RuntimeError, MemoryError, RecursionError, KeyError])
def test_a_defect_of_the_agent_costs_a_reading_and_not_the_thread(
    tmp_path: Path, eventually: Until, defect: type[Exception]
) -> None:
    path = tmp_path / "list.json"
    path.write_bytes(LIST)
    broken = threading.Event()

    def check(document: PingList, where: str) -> None:
        if broken.is_set():
            raise defect("injected")

    reader = Reader(str(path), check)
    reader.poller.poll()
    broken.set()
    path.write_bytes(LIST + b" ")
    reader.poller.start()
    eventually(lambda: None in reader.lists)
    broken.clear()
    eventually(lambda: len(reader.lists) == 3)
    reader.poller.stop()
    assert reader.poller.counts["unexpected"] >= MAX_FAILURES
    assert "injected" in reader.errors[0]


def test_a_reading_that_never_returns_stops_the_probing_until_the_next_one(
    tmp_path: Path, eventually: Until
) -> None:
    """A name server or a network file system can hold the thread beyond the fetch's deadline."""
    path = tmp_path / "list.json"
    path.write_bytes(LIST)
    holding, held, go_on = threading.Event(), threading.Event(), threading.Event()

    def hold(location: str, deadline_s: float) -> bytes:
        if holding.is_set():
            held.set()
            go_on.wait()
        return fetch(location, deadline_s)

    reader = Reader(str(path), fetch=hold)
    reader.poller.poll()
    holding.set()
    reader.poller.start()
    assert held.wait(300.0)
    for _ in range(reader.poller.max_ticks - 1):
        reader.poller.watchdog_tick()
    assert None not in reader.lists
    for _ in range(3):
        reader.poller.watchdog_tick()
    assert [read is None for read in reader.lists] == [False, True], "reported once"
    assert "no reading has ended" in reader.poller.last_error
    go_on.set()
    eventually(lambda: len(reader.lists) == 3)
    reader.poller.stop()
    assert reader.poller.counts["hanging"] == 1
    assert reader.poller.last_error == ""
