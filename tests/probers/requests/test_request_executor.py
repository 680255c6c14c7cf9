"""Requests on an agent: done at their pace, within its limits, and they end by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.agents.requests import PORT, T0_NS, Worker, own, request, target
from hypothesis import given, settings
from hypothesis import strategies as st

from probers.net.five_tuple import FiveTuple
from probers.ping_list.document import PingList
from probers.probing.udp import Burst
from probers.requests.executor import OUTCOMES
from probers.requests.host_facts import HostFacts
from schemas.documents.times import rfc3339


def test_probes_are_spread_over_the_interval_and_answers_come_while_it_runs() -> None:
    worker = Worker()
    worker.offer(request())
    worker.advance(2)
    assert [time for time, _ in worker.sent[:5]] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert worker.states() == ["running"] * 4
    worker.advance(4)
    assert worker.states()[-1] == "complete"
    assert [flow.src for _, flow in worker.sent] == [
        ("10.0.0.1", 52_000 + number % 2) for number in range(20)
    ]
    assert (worker.last().sent, worker.last().answered) == (20, 20)
    assert [each.number for each in worker.evidence] == [*range(1, len(worker.evidence) + 1)]
    assert sum(len(each.probes) for each in worker.evidence) == 20
    assert worker.released == 1
    assert worker.executor.addresses == set()


def test_a_request_that_is_offered_again_is_done_once() -> None:
    worker = Worker()
    for _ in range(3):
        worker.offer(request(count=1))
        worker.advance(1)
    assert len(worker.sent) == 2
    worker.advance(10)
    worker.offer(request(count=1))
    worker.advance(5)
    assert len(worker.sent) == 2


def test_an_expired_request_is_not_executed() -> None:
    worker = Worker()
    worker.offer(request(asked_at=rfc3339(T0_NS - 60 * 10**9), expires=rfc3339(T0_NS)))
    worker.advance(5)
    assert worker.states() == ["expired"]
    assert worker.sent == []


def test_a_request_ends_when_its_time_is_over_whatever_is_left_of_it() -> None:
    worker = Worker()
    worker.offer(request(count=1000))
    worker.advance(60)
    assert worker.states()[-1] == "expired"
    assert max(time for time, _ in worker.sent) < 30


def test_a_request_that_the_controller_does_not_list_any_more_ends() -> None:
    worker = Worker()
    worker.offer(request(), request(request_id="r2", targets=[target(src_ports=[52_100])]))
    worker.advance(1)
    worker.offer(request(request_id="r2", targets=[target(src_ports=[52_100])]))
    worker.advance(5)
    assert worker.states("r1")[-1] == "withdrawn"
    assert worker.states("r2")[-1] == "complete"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"lost": True}, "no valid ping list"),
        ({"document": PingList(node_sn="h1", fabric="f1")}, "no underlay endpoint"),
        ({"allowed": []}, "outside --allow-cidr"),
        ({"document": PingList(node_sn="h1", fabric="f2")}, "it is for host 'h1' of fabric 'f1'"),
    ],
)
def test_a_running_request_ends_when_the_list_does_not_permit_it_any_more(
    change: dict[str, Any], reason: str
) -> None:
    worker = Worker()
    worker.offer(request())
    worker.advance(1)
    sent = len(worker.sent)
    worker.own = own(**change)
    worker.executor.list_changed()
    worker.advance(5)
    assert worker.states()[-1] == "withdrawn"
    assert reason in worker.last().reason
    assert len(worker.sent) == sent


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"node_sn": "h2"}, "it is for host 'h2'"),
        ({"fabric": "f2"}, "of fabric 'f2'"),
        ({"targets": [target(src_ip="10.0.0.2")]}, "10.0.0.2 is no underlay endpoint"),
        ({"targets": [target(src_ip="172.16.0.1")]}, "172.16.0.1 is no underlay endpoint"),
        ({"targets": [target(ip="192.0.2.1")]}, "outside --allow-cidr"),
        ({"targets": [target(ip="a host")]}, "not an IP address"),
        ({"targets": [target(src_ports=[80])]}, "source port 80"),
        ({"targets": [target(src_ports=[PORT])]}, f"source port {PORT}"),
        ({"targets": [target(dscp=64)]}, "dscp 64"),
        ({"interval_s": 0.05}, "over --request-rate 30"),
        ({"targets": [target(src_ports=[*range(52_000, 52_100)])], "interval_s": 10.0},
         "over 64 five-tuples"),
        ({"kind": "flow_table", "targets": []}, "no --flow-table-command"),
        ({"kind": "traceroute", "interval_s": 5.0,
          "targets": [target(src_ip="172.16.0.1", layer="overlay")]}, "inside the overlay"),
    ],
)  # fmt: skip
def test_a_request_beyond_the_agents_endpoints_permissions_or_limits_is_refused(
    changes: dict[str, Any], reason: str
) -> None:
    worker = Worker(rate=30.0, five_tuples=64)
    worker.offer(request(**changes))
    worker.advance(5)
    assert worker.states() == ["refused"]
    assert reason in worker.last().reason
    assert worker.sent == []


@pytest.mark.parametrize(
    ("layer", "done"),
    [("underlay", ["rnics", "counters"]), ("overlay", ["container"])],
)
def test_of_several_agents_of_a_host_the_one_whose_endpoints_are_asked_answers(
    layer: str, done: list[str]
) -> None:
    worker = Worker(facts=HostFacts(root=Path("/nonexistent")))
    known = worker.own.document
    endpoints = [each for each in known.endpoints if each.layer == layer]
    worker.own = own(document=msgspec.structs.replace(known, endpoints=endpoints), part=True)
    inside = target(src_ip="172.16.0.1", ip="172.16.0.2", layer="overlay")
    worker.offer(
        request(request_id="rnics", count=1),
        request(request_id="container", count=1, targets=[inside]),
        request(request_id="counters", kind="counters", targets=[]),
    )
    worker.advance(5)
    assert sorted({each.request_id for each in worker.evidence}) == sorted(done)
    assert {each.state for each in worker.evidence} == {"complete"}


def test_requests_that_come_before_the_first_list_wait_for_it() -> None:
    worker = Worker()
    listed, worker.own = worker.own, own(document=PingList(node_sn="-"), lost=True)
    worker.offer(request(count=1))
    worker.advance(2)
    assert worker.evidence == []
    worker.own = listed
    worker.executor.list_changed()
    worker.advance(5)
    assert worker.states()[-1] == "complete"


def test_the_reply_of_a_probe_is_traced_from_the_responders_port() -> None:
    worker = Worker()
    reply = target(src_ports=[PORT], port=52_000)
    worker.offer(request(kind="traceroute", targets=[reply], interval_s=1.0))
    worker.advance(2)
    assert worker.states()[-1] == "complete"
    (route,) = [route for each in worker.evidence for route in each.routes]
    assert (route.src_port, route.port, route.hops) == (PORT, 52_000, ["10.9.0.1"])


def test_probes_that_the_agents_own_rate_does_not_let_out_are_counted_in_the_reason() -> None:
    worker = Worker()
    worker.answers = lambda flow: None if flow.src[1] == 52_000 else False
    worker.offer(request())
    worker.advance(10)
    assert worker.states()[-1] == "complete"
    assert worker.last().reason == "10 probes were not sent"
    assert (worker.last().sent, worker.last().answered) == (10, 0)


def test_probes_of_the_ping_list_are_no_results_of_a_request() -> None:
    worker = Worker()
    worker.offer(request(count=1))
    flow = worker.sent[0][1]
    same = FiveTuple(flow.src, flow.dst, flow.dscp)
    worker.executor.burst_done(Burst(same, T0_NS, 1, sent_ns=T0_NS, sent=1))
    worker.advance(3)
    assert worker.last().sent == 2


def test_counters_are_read_as_often_as_asked(tmp_path: Any) -> None:
    port = tmp_path / "infiniband" / "mlx5_0" / "ports" / "1" / "hw_counters"
    port.mkdir(parents=True)
    (port / "out_of_sequence").write_text("7\n")
    worker = Worker(facts=HostFacts(root=tmp_path))
    worker.offer(request(kind="counters", targets=[], count=2, interval_s=5.0))
    worker.advance(7)
    assert worker.states() == ["running", "complete"]
    read = [each for evidence in worker.evidence for each in evidence.counters]
    assert [(each.device, each.values) for each in read] == [
        ("mlx5_0/1", {"out_of_sequence": 7})
    ] * 2


def test_each_reading_of_a_flow_table_is_in_evidence_of_its_own() -> None:
    worker = Worker(facts=HostFacts([("/bin/echo", "table=0")]))
    worker.offer(request(kind="flow_table", targets=[], count=3, interval_s=0.1, incident_id="I1"))
    worker.advance(2)
    tables = [each.flow_table for each in worker.evidence if each.flow_table]
    assert tables == ["$ /bin/echo table=0\ntable=0\n"] * 3
    assert {each.incident_id for each in worker.evidence} == {"I1"}


def test_a_flow_table_that_cannot_be_read_is_refused_with_the_reason() -> None:
    worker = Worker(facts=HostFacts([("/bin/false",)]))
    worker.offer(request(kind="flow_table", targets=[]))
    worker.advance(1)
    assert worker.states() == ["refused"]
    assert "/bin/false ended with 1" in worker.last().reason


_REQUESTS = st.lists(
    st.builds(
        lambda name, kind, ports, count, interval_s, lasts_s: request(
            request_id=name,
            kind=kind,
            count=count,
            interval_s=interval_s,
            targets=[target(src_ports=ports)] if kind in ("probe", "traceroute") else [],
            expires=rfc3339(T0_NS + lasts_s * 10**9),
        ),
        st.sampled_from(["r1", "r2", "r3", "r4"]),
        st.sampled_from(["probe", "traceroute", "counters"]),
        st.lists(st.integers(52_000, 52_040), min_size=1, max_size=40, unique=True),
        st.integers(1, 50),
        st.sampled_from([0.05, 0.5, 5.0]),
        st.integers(1, 20),
    ),
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_REQUESTS, max_size=6))
def test_whatever_is_asked_the_rate_holds_and_everything_ends(offers: Any) -> None:
    worker = Worker(rate=20.0, at_once=2, five_tuples=32, facts=HostFacts([("/bin/true",)]))
    for offer in offers:
        worker.offer(*offer)
        worker.advance(2)
    worker.advance(25)
    assert worker.executor.addresses == set()
    counts = worker.executor.counts
    assert counts["taken"] == sum(counts[each] for each in OUTCOMES[1:])
    times = [time for time, _ in worker.sent]
    for start in times:  # each running request may begin a turn at once
        assert sum(start <= time < start + 5 for time in times) <= 20 * 5 + 2
