"""Open requests: each ends once, counts add up, room is never exceeded."""

from __future__ import annotations

from typing import Any

from builders.controller.clusters import T0_MS
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.requests.open_requests import OpenRequests
from controller.requests.parameters import RequestParameters
from schemas.documents.requests.evidence import Evidence
from schemas.documents.requests.request import Request, Target
from schemas.documents.times import rfc3339_of_ms

KNOWN = RequestParameters(host_requests=2, fabric_requests=4, host_rate=10.0, fabric_rate=25.0)
TARGET = Target(
    src_ip="10.0.0.1", ip="10.0.1.1", real_ip="10.0.1.1", node_sn="h9", layer="underlay",
    src_ports=[52_000], port=65_300,
)  # fmt: skip


def request(number: int, host: int, interval_s: float, now_ms: int) -> Request:
    return Request(
        request_id=f"r{number}", kind="probe", node_sn=f"h{host}", fabric="f1", reason="a test",
        targets=[TARGET], interval_s=interval_s, asked_at=rfc3339_of_ms(now_ms),
        expires=rfc3339_of_ms(now_ms + 10_000),
    )  # fmt: skip


def evidence(of: Request, number: int, state: str, node_sn: str = "") -> Evidence:
    return Evidence(
        request_id=of.request_id,
        kind=of.kind,
        node_sn=node_sn or of.node_sn,
        fabric=of.fabric,
        number=number,
        time=of.asked_at,
        state=state,  # type: ignore[arg-type]
    )


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(0, 3), st.sampled_from([0.1, 0.2, 1.0])),
        st.tuples(st.just("answer"), st.integers(0, 8),
                  st.sampled_from(["running", "complete", "refused", "expired"])),
        st.tuples(st.just("withdraw"), st.integers(0, 8), st.none()),
        st.tuples(st.just("wait"), st.integers(0, 20_000), st.none()),
    ),
    max_size=40,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(_STEPS)
def test_each_request_ends_once_and_the_room_is_never_exceeded(steps: Any) -> None:
    open_, now_ms = OpenRequests(KNOWN), T0_MS
    asked: list[Request] = []
    for what, number, more in steps:
        if what == "ask":
            new = request(len(asked), number, more, now_ms)
            if open_.too_much(new) is None:
                open_.add(new)
                asked.append(new)
        elif what == "wait":
            now_ms += number
            open_.expire(now_ms)
        elif number < len(asked):
            if what == "answer":
                open_.answered(evidence(asked[number], 1, more))
            else:
                open_.withdraw(asked[number].request_id, "a test")
        for host in range(4):
            load = open_.host_load(("f1", f"h{host}"))
            assert load.requests <= KNOWN.host_requests
            assert load.rate <= KNOWN.host_rate + 1e-9
        assert open_.fabric_load("f1").requests == len(open_) <= KNOWN.fabric_requests
        assert open_.fabric_load("f1").rate <= KNOWN.fabric_rate + 1e-9
        ended = ("complete", "refused", "expired", "withdrawn")
        assert open_.counts["asked"] == sum(open_.counts[each] for each in ended) + len(open_)


def test_evidence_counts_once_and_only_from_the_host_that_was_asked() -> None:
    open_ = OpenRequests(KNOWN)
    made = request(0, 1, 1.0, T0_MS)
    open_.add(made)
    assert open_.answered(evidence(made, 1, "complete", node_sn="h2")) is None
    assert open_.answered(evidence(made, 1, "running")) == made
    assert open_.answered(evidence(made, 1, "complete")) is None
    assert open_.answered(evidence(made, 4, "complete")) == made
    assert open_.answered(evidence(made, 5, "complete")) is None
    assert open_.counts == {
        "asked": 1, "complete": 1, "unknown": 2, "repeated": 1, "missing": 2,
    }  # fmt: skip


def test_an_expired_request_is_not_read_and_is_over_a_while_later() -> None:
    open_ = OpenRequests(KNOWN)
    made = request(0, 1, 1.0, T0_MS)
    open_.add(made)
    host = ("f1", "h1")
    etag = open_.etag(host, T0_MS)
    assert open_.of_host(host, T0_MS + 9_999) == [made]
    assert open_.of_host(host, T0_MS + 10_000) == []
    assert open_.etag(host, T0_MS + 10_000) != etag
    late_ms = round(1000 * KNOWN.late_s)
    assert open_.expire(T0_MS + 10_000 + late_ms - 1) == []
    assert open_.expire(T0_MS + 10_000 + late_ms) == [made]
