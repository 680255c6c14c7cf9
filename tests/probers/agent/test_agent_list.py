"""An agent whose list becomes unreadable or too long: it fails closed, and recovers."""

from __future__ import annotations

import json
import os

import msgspec
import pytest
from builders.agents.raw_server import ok, sends, serving
from builders.agents.site import LISTEN_PORT, Site, ended
from builders.agents.waiting import Until

from probers.process import descriptor_limits

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


@pytest.mark.parametrize("what", ["not HTTP", "a chunk size of words", "gzip"])
def test_an_agent_without_a_list_stops_probing_but_not_its_heartbeats(
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


def test_a_list_of_60000_source_ports_is_probed_in_part_and_a_short_one_at_once(
    site: Site, eventually: Until
) -> None:
    site.write_list([site.ips[1]], port=LISTEN_PORT)
    path = site.directory / "list.json"
    short = path.read_text()
    document = json.loads(short)
    document["targets"] = document["targets"][:1]
    document["targets"][0]["src_ports"] = list(range(1024, 61_024))
    path.write_text(json.dumps(document))
    limit = ["prlimit", "--nofile=400:400"]
    site.command = [*limit, *site.command]
    process = site.start(
        "--max-rate", "2000", "--timeout", "5",
        "--relay-listen", str(site.directory / "own.sock"),
    )  # fmt: skip
    eventually(lambda: len({row["src_port"] for row in site.pings}) > 50)
    assert len(os.listdir(f"/proc/{process.pid}/fd")) <= 400
    fresh = site.directory / "short.json"
    fresh.write_text(short)
    fresh.replace(path)
    known = len(site.pings)
    eventually(lambda: any(row["src_port"] == 51000 for row in site.pings[known:]))
    eventually(lambda: len(os.listdir(f"/proc/{process.pid}/fd")) < 40)
    code, errors = ended(process)
    assert code == 0, errors
    assert errors.count("event=five-tuples-left-out") == 1, errors
    assert "sockets=236" in errors, "400 without a quarter for the relay and the reserve"
    assert {row["dial"] for row in site.pings} == {"success"}
    assert descriptor_limits.RESERVE == 64
