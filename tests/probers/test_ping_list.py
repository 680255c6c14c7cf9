"""The ping list: a bad document costs one clear line; a lost one stops the probing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import msgspec
import pytest

from probers.ping_list import document as ping_list
from probers.ping_list.document import PingList, PingListError
from probers.ping_list.fetch import fetch
from probers.ping_list.poller import MAX_FAILURES, PingListPoller

ENDPOINT = {"ip": "10.0.0.1", "real_ip": "10.0.0.1", "layer": "underlay"}
TARGET = {
    "src_ip": "10.0.0.1", "ip": "10.0.0.2", "real_ip": "10.0.0.2", "node_sn": "host-2",
    "layer": "underlay", "src_ports": [51000, 51001],
}  # fmt: skip


def document(**changes: Any) -> dict[str, Any]:
    base = {"version": 1, "fabric": "f1", "node_sn": "host-1", "interval_s": 1.0}
    return {**base, "endpoints": [ENDPOINT], "targets": [TARGET], **changes}


def target(**changes: Any) -> dict[str, Any]:
    return document(targets=[{**TARGET, **changes}])


def test_a_good_document_is_read_and_unknown_fields_are_ignored() -> None:
    read = ping_list.parse(msgspec.json.encode(document(comment="later")), "list")
    assert (read.targets[0].port, read.targets[0].src_ports) == (65300, [51000, 51001])


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"", "truncated"),
        (b"\xff\xfe", "malformed"),
        (b"[]", "Expected `object`"),
        (b"[" * 100_000, "list: "),
        (document(version=2), "version 2"),
        (document(node_sn=""), "node_sn is empty"),
        (document(interval_s=0), "interval_s 0"),
        (document(interval_s=1e-9), "interval_s"),
        (document(endpoints=[ENDPOINT, ENDPOINT]), "appears twice"),
        (document(endpoints=[{**ENDPOINT, "ip": "host-1"}]), "'host-1' is not an IPv4 address"),
        (document(endpoints=[{**ENDPOINT, "layer": "middle"}]), "middle"),
        (document(endpoints=[]), "none of endpoints"),
        (target(ip="::1"), "'::1' is not an IPv4 address"),
        (target(ip="10.0.0.256"), "not an IPv4 address"),
        (target(src_ip="10.0.0.9"), "'10.0.0.9' is none of endpoints"),
        (target(node_sn=""), "node_sn is empty"),
        (target(dscp=64), "dscp 64"),
        (target(port=0), "port 0"),
        (target(src_ports=[]), "src_ports is empty"),
        (target(src_ports=[51000, 51000]), "names a port twice"),
        (target(src_ports=[80]), "80 is not an unprivileged port"),
        (target(src_ports="51000"), "src_ports"),
        (document(targets=[TARGET] * 40_000), "80000 five-tuples"),
    ],
)
def test_a_bad_document_is_one_line_that_names_place_and_fault(raw: Any, what: str) -> None:
    data = raw if isinstance(raw, bytes) else msgspec.json.encode(raw)
    with pytest.raises(PingListError) as why:
        ping_list.parse(data, "list")
    text = str(why.value)
    assert text.startswith("list: ")
    assert "\n" not in text
    assert what in text


def test_a_huge_document_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(PingListError, match="over 16777216 bytes"):
        ping_list.parse(b" " * (ping_list.MAX_BYTES + 1), "list")


def test_a_list_for_another_host_or_fabric_is_refused() -> None:
    read = ping_list.parse(msgspec.json.encode(document()), "list")
    ping_list.check_owner(read, "list", "host-1", None)
    with pytest.raises(PingListError, match="is for node_sn 'host-1' but this agent is 'host-2'"):
        ping_list.check_owner(read, "list", "host-2", None)
    with pytest.raises(PingListError, match="is for fabric 'f1'"):
        ping_list.check_owner(read, "list", "host-1", "f2")


def test_targets_outside_the_allowed_networks_are_kept_apart() -> None:
    read = ping_list.parse(
        msgspec.json.encode(document(targets=[TARGET, {**TARGET, "ip": "8.8.8.8"}])), "list"
    )
    inside, outside = ping_list.split_by_permission(read.targets, [IPv4Network("10.0.0.0/8")])
    assert [t.ip for t in inside] == ["10.0.0.2"]
    assert [t.ip for t in outside] == ["8.8.8.8"]


class Reports:
    """What a watch said."""

    def __init__(self, location: str) -> None:
        self.lists: list[PingList | None] = []
        self.complaints: list[str] = []
        self.poller = PingListPoller(
            location, lambda *_: None, self.lists.append, self.complaints.append, interval_s=60
        )


def test_an_unchanged_list_is_reported_once_and_a_changed_one_again(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_bytes(msgspec.json.encode(document()))
    reports = Reports(str(path))
    reports.poller.poll()
    reports.poller.poll()
    path.write_bytes(msgspec.json.encode(document(targets=[])))
    reports.poller.poll()
    assert [len(read.targets) for read in reports.lists if read] == [1, 0]


def test_three_failures_in_a_row_stop_the_probing_once_and_a_good_list_resumes_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "list.json"
    path.write_bytes(msgspec.json.encode(document()))
    reports = Reports(str(path))
    reports.poller.poll()
    good = path.read_bytes()
    path.write_bytes(b"{")
    for _ in range(MAX_FAILURES - 1):
        reports.poller.poll()
    assert None not in reports.lists, "one bad reading keeps the last good list"
    for _ in range(3):
        reports.poller.poll()
    path.write_bytes(good)
    reports.poller.poll()
    assert [read is None for read in reports.lists] == [False, True, False]
    assert len(reports.complaints) == MAX_FAILURES, "the same failure again is counted, not said"
    assert reports.poller.counts == {"read": 2, "failed": 5}


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
    reports = Reports(controller + "/list")
    reports.poller.poll()
    assert len(reports.lists) == 1


@pytest.mark.parametrize("location", ["/nowhere/list.json", "http://127.0.0.1:1/x", "http://"])
def test_a_list_that_is_not_there_is_one_line(location: str) -> None:
    with pytest.raises(PingListError) as why:
        fetch(location)
    assert str(why.value).startswith(f"{location}: ")
    assert "\n" not in str(why.value)


def test_an_http_error_is_one_line(controller: str) -> None:
    with pytest.raises(PingListError, match="Not Found"):
        fetch(controller + "/missing")
