"""Documents of people: what cannot be used is refused in one line, in files and on topics."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas import topics
from schemas.documents import maintenance, placement, topology
from schemas.documents.decoding import DocumentError
from schemas.documents.known_components import Known, of_topology
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.topology import Host, Rnic, Switch, Topology
from streams.localize import operator_feed

WORK = {
    "component": "tor:a1", "from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z",
    "reason": "optics",
}  # fmt: skip
BOX = {"node_id": "c1", "node_sn": "h1", "state": "ready", "valid_from": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("topic", "document", "what"),
    [
        ("skh.maintenance", {**WORK, "fabrik": "f1"}, "unknown field 'fabrik'; did you mean 'fabr"),
        ("skh.maintenance", {**WORK, "component": "tor:"}, "'tor:' is no component id"),
        ("skh.maintenance", {**WORK, "until": "soon"}, "time 'soon' is not RFC 3339"),
        ("skh.maintenance", {**WORK, "until": WORK["from"]}, "is not before"),
        ("skh.maintenance", {**WORK, "fabric": ""}, "fabric is empty"),
        ("skh.maintenance", [WORK], "Expected `object`, got `array`"),
        ("skh.placement", {**BOX, "nodesn": "h1"}, "unknown field 'nodesn'; did you mean 'node"),
        ("skh.placement", {**BOX, "valid_from": "2026-01-01"}, "has no zone"),
        ("skh.placement", {**BOX, "node_id": ""}, "node_id '' is empty"),
        ("skh.placement", {**BOX, "state": "on"}, "Invalid enum value 'on'"),
        ("skh.placement", {**BOX, "endpoints": [{"ip": "a", "real_ip": "b", "x": 1}]},
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
def test_whatever_the_bytes_the_reason_is_short(raw: bytes) -> None:
    for topic in (topics.PLACEMENT.name, topics.MAINTENANCE.name):
        with pytest.raises(DocumentError) as why:
            operator_feed.decode(topic, raw)
        assert len(str(why.value)) <= 400
    with pytest.raises(topology.TopologyError):
        topology.parse(raw)


def test_a_document_error_is_the_value_error_that_the_topic_s_reader_expects() -> None:
    assert issubclass(DocumentError, ValueError)


def test_good_documents_are_read() -> None:
    assert maintenance.parse(json.dumps(WORK).encode()).component == "tor:a1"
    assert placement.parse(json.dumps(BOX).encode()).node_sn == "h1"


def test_a_container_that_is_gone_needs_no_host() -> None:
    gone = {**BOX, "state": "gone", "node_sn": ""}
    assert placement.parse(json.dumps(gone).encode()).state == "gone"


SITE = Topology(
    fabric="f1",
    hosts=[Host("h1", [Rnic("r1", asw="a1")], pod="p1")],
    switches=[Switch("a1", "asw"), Switch("s1", "dsw")],
    links=[("a1", "s1")],
)


def work(component: str) -> Maintenance:
    return maintenance.parse(json.dumps({**WORK, "component": component}).encode())


def box(**changes: str) -> Placement:
    return placement.parse(json.dumps({**BOX, **changes}).encode())


@pytest.mark.parametrize(
    "component",
    ["fabric:f1", "pod:p1", "host:h1", "agent:h1", "vswitch:h1", "rnic:r1", "tor:a1", "spine:s1",
     "link:rnic:r1|tor:a1", "link:spine:s1|tor:a1"],
)  # fmt: skip
def test_everything_in_a_topology_is_known(component: str) -> None:
    known = Known(frozenset({"f1"}), frozenset(of_topology(SITE)), complete=True)
    assert known.unknown_component(work(component)) is None


def test_what_is_not_known_is_named_with_the_nearest() -> None:
    known = Known(frozenset({"f1"}), frozenset(of_topology(SITE)), complete=True)
    assert "did you mean 'tor:a1'?" in str(known.unknown_component(work("tor:a11")))
    assert "no agg is known" in str(known.unknown_component(work("agg:x")))
    assert known.unknown_component(work("link:spine:s1|rnic:r1")) is not None
    assert "did you mean 'f1'?" in str(known.foreign("f11"))
    assert known.unknown_host(box()) is None
    assert "host 'h9', which is neither in" in str(known.unknown_host(box(node_sn="h9")))
    assert known.unknown_host(box(node_sn="h9", state="gone")) is None


def test_without_a_topology_traced_switches_and_links_between_known_ends_are_known() -> None:
    known = Known(frozenset({"f1"}), frozenset({"tor:a1"}), hops=frozenset({"s1"}))
    assert known.has("spine:s1")
    assert known.has("link:spine:s1|tor:a1")
    assert not known.has("link:spine:s2|tor:a1")
    assert not known.has("link:spine:s1")
