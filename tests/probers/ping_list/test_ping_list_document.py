"""The ping list: an invalid document is one line that names the place and the fault."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

import msgspec
import pytest

from probers.ping_list import document as ping_list
from probers.ping_list.document import PingListError

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
        (document(endpoints=[{**ENDPOINT, "ip": "host-1"}]), "'host-1' is not an IP address"),
        (document(endpoints=[{**ENDPOINT, "layer": "middle"}]), "middle"),
        (document(endpoints=[]), "none of endpoints"),
        (target(ip="::1"), "10.0.0.1 cannot reach ::1"),
        (target(ip="10.0.0.256"), "not an IP address"),
        (target(ip="fe80::1%eth0"), "not an IP address"),
        (target(ip="::ffff:10.0.0.1"), "not an IP address"),
        (target(ip="2001:DB8:0::1"), "is 2001:db8::1 in its canonical spelling; write that"),
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


def test_targets_outside_the_allowed_networks_are_separated() -> None:
    read = ping_list.parse(
        msgspec.json.encode(document(targets=[TARGET, {**TARGET, "ip": "8.8.8.8"}])), "list"
    )
    inside, outside = ping_list.split_by_permission(read.targets, [IPv4Network("10.0.0.0/8")])
    assert [t.ip for t in inside] == ["10.0.0.2"]
    assert [t.ip for t in outside] == ["8.8.8.8"]
