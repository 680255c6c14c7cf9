"""Whatever a list's server sends, the list's thread lives, the agent fails closed and recovers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from agent_site import Site, ended
from raw_server import Handler, drips, hangs, ok, sends, serving

from probers.ping_list.document import PingList, PingListError, check_owner
from probers.ping_list.fetch import fetch
from probers.ping_list.poller import MAX_FAILURES, Check, Fetch, PingListPoller

Until = Callable[[Callable[[], bool]], None]

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


@pytest.mark.parametrize("what", BAD)
def test_a_bad_answer_fails_closed_and_a_good_one_recovers(what: str, eventually: Until) -> None:
    raw, said = BAD[what]
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
    assert said in reader.errors[0]
    for line in reader.errors:
        assert line.startswith(f"{server.url}: ")
        assert line.isprintable()
        assert len(line) < 500


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
def test_a_slow_answer_ends_at_the_deadline_as_a_whole(handler: Handler) -> None:
    with serving(handler) as server:
        begin = time.monotonic()
        with pytest.raises(PingListError, match=r"in time|timed out"):
            fetch(server.url, deadline_s=0.5)
        assert time.monotonic() - begin >= 0.4, "each byte came in time, all of them did not"


def test_an_answer_without_end_is_bounded() -> None:
    block = b"HTTP/1.1 100 Continue\r\n\r\n" * 1000

    def floods(connection: object, _over: threading.Event) -> None:
        while True:
            connection.sendall(block)  # type: ignore[attr-defined]  # until the client hangs up

    with serving(floods) as server, pytest.raises(PingListError, match=r"too long|in time"):
        fetch(server.url)


@pytest.mark.parametrize("name", ["pipe", "device"])
def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    path = {"pipe": tmp_path / "pipe", "device": Path("/dev/zero")}[name]
    if name == "pipe":
        os.mkfifo(path)
    with pytest.raises(PingListError, match="not a regular file"):
        fetch(str(path))


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


@pytest.mark.parametrize("what", ["not HTTP", "a chunk size of words", "gzip"])
def test_an_agent_stops_probing_but_goes_on_beating_and_recovers(
    site: Site, eventually: Until, what: str
) -> None:
    site.write_list([site.ips[1]])
    good = sends(ok((site.directory / "list.json").read_bytes()))
    with serving(good) as server:
        process = site.start("--ping-list", server.url)
        eventually(lambda: bool(site.pings))
        server.handler = sends(BAD[what][0])
        eventually(site.quiet)
        beats = len(site.beats)
        eventually(lambda: len(site.beats) > beats + 1)
        server.handler = good
        known = len(site.pings)
        eventually(lambda: len(site.pings) > known)
        code, errors = ended(process)
    assert code == 0, errors
    assert errors.count("event=probing-stopped") == 1, errors
