"""A request is bounded in every respect, or it is no request."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from builders.schemas.documents import EVIDENCE, REQUEST, TARGET

from schemas.documents.requests import evidence, request
from schemas.documents.requests.request import Request

MANY = msgspec.structs.replace(TARGET, src_ports=list(range(20_000, 20_129)))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"request_id": ""}, "request_id is empty"),
        ({"reason": " "}, "reason is empty"),
        ({"targets": []}, "a probe request needs targets"),
        ({"kind": "counters"}, "a counters request takes no targets"),
        ({"count": 0}, "count 0 is not between 1 and 1000"),
        ({"count": 1001}, "count 1001"),
        ({"interval_s": 0.01}, "interval_s 0.01"),
        ({"targets": [MANY]}, "129 five-tuples; it may have 128"),
        ({"targets": [msgspec.structs.replace(TARGET, src_ports=[])]}, "there is none"),
        ({"targets": [msgspec.structs.replace(TARGET, port=0)]}, "not between 1 and 65535"),
        ({"expires": REQUEST.asked_at}, "it lasts 0 s"),
        ({"expires": "2026-01-01T00:15:01Z"}, "it lasts 901 s; it may last 900 s"),
        ({"expires": "soon"}, "not RFC 3339"),
    ],
)
def test_a_request_without_bounds_is_not_read(changes: dict[str, Any], reason: str) -> None:
    fields = msgspec.to_builtins(REQUEST) | msgspec.to_builtins(changes)
    with pytest.raises(ValueError, match=reason.replace("(", r"\(")):
        request.parse(msgspec.json.encode(fields))


def test_a_misspelt_field_of_a_request_is_an_error_that_names_the_nearest_one() -> None:
    fields = msgspec.to_builtins(REQUEST) | {"intervall_s": 1}
    with pytest.raises(ValueError, match="did you mean 'interval_s'"):
        request.parse(msgspec.json.encode(fields))


def test_the_cost_of_a_request_counts_each_packet_that_its_agent_sends() -> None:
    assert (REQUEST.five_tuples, REQUEST.packets, REQUEST.rate) == (2, 20, 4.0)
    routes: Request = msgspec.structs.replace(REQUEST, kind="traceroute", interval_s=2.0)
    assert (routes.packets, routes.rate) == (12, 6.0)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"answered": 2}, "counts contradict"),
        ({"number": 0}, "counts contradict"),
        ({"node_sn": ""}, "node_sn is empty"),
        ({"time": "now"}, "not RFC 3339"),
        ({"state": "perhaps"}, "Invalid enum value"),
    ],
)
def test_evidence_that_contradicts_itself_is_not_read(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        evidence.parse(msgspec.json.encode(msgspec.to_builtins(EVIDENCE) | changes))


def test_a_document_over_the_limit_is_not_decoded() -> None:
    for parse in (request.parse, evidence.parse):
        with pytest.raises(ValueError, match="it may have 262144 B"):
            parse(b" " * 262_145)
