"""Documents of operators: an invalid one is refused in one line, in files and on topics."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas import topics
from schemas.documents import maintenance, placement, topology
from schemas.documents.decoding import DocumentError
from streams.readers import operator_feed

WORK = {
    "component": "tor:a1", "from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z",
    "reason": "optics",
}  # fmt: skip
READY = {"node_id": "c1", "node_sn": "h1", "state": "ready", "valid_from": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("topic", "document", "what"),
    [
        ("skh.maintenance", {**WORK, "fabrik": "f1"}, "unknown field 'fabrik'; did you mean 'fabr"),
        ("skh.maintenance", {**WORK, "component": "tor:"}, "'tor:' is no component id"),
        ("skh.maintenance", {**WORK, "until": "soon"}, "time 'soon' is not RFC 3339"),
        ("skh.maintenance", {**WORK, "until": WORK["from"]}, "is not before"),
        ("skh.maintenance", {**WORK, "fabric": ""}, "fabric is empty"),
        ("skh.maintenance", [WORK], "Expected `object`, got `array`"),
        ("skh.placement", {**READY, "nodesn": "h1"}, "unknown field 'nodesn'; did you mean 'node"),
        ("skh.placement", {**READY, "valid_from": "2026-01-01"}, "has no zone"),
        ("skh.placement", {**READY, "node_id": ""}, "node_id '' is empty"),
        ("skh.placement", {**READY, "state": "on"}, "Invalid enum value 'on'"),
        ("skh.placement", {**READY, "endpoints": [{"ip": "a", "real_ip": "b", "x": 1}]},
         "unknown field 'x' at `$.endpoints[0]`; known: ip, real_ip"),
    ],
)  # fmt: skip
def test_a_bad_document_on_a_topic_is_a_value_error_of_one_line(
    topic: str, document: Any, what: str
) -> None:
    with pytest.raises(DocumentError) as why:
        operator_feed.decode(topic, json.dumps(document).encode())
    assert what in str(why.value)
    assert "\n" not in str(why.value)


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"\xff", b"[" * 100_000, json.dumps({"a" * 10_000: 1}).encode()]
)
def test_the_reason_is_short_for_any_bytes(raw: bytes) -> None:
    for topic in (topics.PLACEMENT.name, topics.MAINTENANCE.name):
        with pytest.raises(DocumentError) as why:
            operator_feed.decode(topic, raw)
        assert len(str(why.value)) <= 400
    with pytest.raises(topology.TopologyError):
        topology.parse(raw)


def test_a_document_error_is_a_value_error() -> None:
    assert issubclass(DocumentError, ValueError)


def test_valid_documents_are_read() -> None:
    assert maintenance.parse(json.dumps(WORK).encode()).component == "tor:a1"
    assert placement.parse(json.dumps(READY).encode()).node_sn == "h1"


def test_a_container_that_is_gone_needs_no_host() -> None:
    gone = {**READY, "state": "gone", "node_sn": ""}
    assert placement.parse(json.dumps(gone).encode()).state == "gone"


def test_the_time_of_a_topology_is_checked() -> None:
    raw = b'{"hosts": [{"node_sn": "h1", "rnics": [{"real_ip": "r1"}]}], "valid_from": "%s"}'
    assert topology.parse(raw % b"2026-01-01T00:00:00Z").valid_from == "2026-01-01T00:00:00Z"
    with pytest.raises(topology.TopologyError, match="valid_from: time 'soon' is not RFC 3339"):
        topology.parse(raw % b"soon")
