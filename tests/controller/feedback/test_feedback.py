"""Rounds of requests for an incident: what splits its tie set, within budgets, and an end."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from builders.controller.clusters import T0_MS, two_tiers
from builders.controller.incident_grounds import ground, incident, pods
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.feedback.choice import choose
from controller.feedback.crossings import TieCrossings
from controller.feedback.feedback import Feedback
from controller.feedback.parameters import FeedbackParameters
from controller.requests.open_requests import OpenRequests
from controller.requests.parameters import DEFAULT as REQUESTS
from schemas.documents.incident import Incident
from schemas.documents.requests.evidence import Evidence, RouteResult
from schemas.documents.requests.request import Request
from schemas.documents.times import milliseconds_of

GROUND = ground(pods(3))  # of two pods, all that crosses a spine crosses both of its links
KNOWN = FeedbackParameters()
SPINE = ("spine:spine-0-0", "link:agg:agg-0-0|spine:spine-0-0")
TOR = ("tor:tor-0-0", "link:agg:agg-0-0|tor:tor-0-0")
RNIC = ("rnic:10.0.0.1", "link:rnic:10.0.0.1|tor:tor-0-0")
ROUND_MS = round(1000 * (KNOWN.lasts_s + KNOWN.settle_s))


def planned(
    found: Incident, feedback: Feedback | None = None, now_ms: int = T0_MS
) -> list[Request]:
    """The requests of the next round, taken as asked."""
    known = feedback or Feedback()
    made = known.plan(found, GROUND, OpenRequests().room(), now_ms)
    for each in made:
        known.take(each)
    return made


def by_kind(requests: list[Request]) -> Counter[str]:
    return Counter(each.kind for each in requests)


def five_tuples(requests: list[Request], kind: str) -> set[tuple[str, int, str, int]]:
    return {
        (each.src_ip, port, each.ip, each.port)
        for request in requests
        if request.kind == kind
        for each in request.targets
        for port in each.src_ports
    }


def test_new_five_tuples_split_the_tie_set_as_often_as_wanted_and_from_several_hosts() -> None:
    crossings = TieCrossings(GROUND.topology, TOR)
    found = choose(GROUND, crossings, 2, {}, KNOWN)
    splits = sum(
        each.five_tuples * sum(
            p for mask, p in crossings.round_trip(each.source, each.target).items()
            if mask in (0b01, 0b10)
        )
        for each in found
    )  # fmt: skip
    assert KNOWN.wanted <= splits < KNOWN.wanted + 1
    assert len({each.source.node_sn for each in found}) >= 2
    assert all(each.source.node_sn != each.target.node_sn for each in found)


def test_new_five_tuples_are_in_no_list_and_in_no_earlier_round() -> None:
    feedback, found = Feedback(), incident(*TOR)
    rounds = [
        five_tuples(planned(found, feedback, T0_MS + number * ROUND_MS), "probe")
        for number in range(2)
    ]
    assert all(rounds)
    assert not rounds[0] & rounds[1]
    for a, port, b, to in rounds[0] | rounds[1]:
        entry: Any = GROUND.target(*_ends(a, b), 0, GROUND.entries.get((a, b), 0))
        assert port not in entry["src_ports"]
        assert to == entry["port"]


def _ends(a: str, b: str) -> Any:
    by_ip = {each.ip: each for each in GROUND.endpoints}
    return by_ip[a], by_ip[b]


def test_new_five_tuples_and_their_replies_are_traced() -> None:
    made = planned(incident(*SPINE))
    probes, traced = five_tuples(made, "probe"), five_tuples(made, "traceroute")
    assert probes
    assert probes <= traced
    assert {(b, to, a, port) for a, port, b, to in probes} <= traced
    for each in made:
        if each.kind == "traceroute":
            hosts = {target.src_ip for target in each.targets}
            assert hosts <= {end.ip for end in GROUND.endpoints if end.node_sn == each.node_sn}


def test_listed_five_tuples_that_cross_the_tie_set_are_traced_unless_their_routes_are_known() -> (
    None
):
    first = planned(incident(*RNIC))
    traced = five_tuples(first, "traceroute")
    assert traced
    assert all("10.0.0.1" in (a, b) for a, _, b, _ in traced)
    feedback = Feedback()
    for each in first:
        routes = [
            RouteResult(t.src_ip, port, t.ip, t.port, each.asked_at, "success", [])
            for t in each.targets
            for port in t.src_ports
        ]
        evidence = Evidence(
            request_id=each.request_id, kind=each.kind, node_sn=each.node_sn, fabric="f1",
            number=1, time=each.asked_at, state="complete", routes=routes,
        )  # fmt: skip
        feedback.hear(each, evidence)
    again = planned(incident(*RNIC, incident_id="I2"), feedback)
    assert not five_tuples(again, "traceroute") & traced


def test_what_no_probe_can_split_gets_no_probes_but_the_counters_of_its_host() -> None:
    made = planned(incident(*RNIC))
    assert by_kind(made)["probe"] == 0
    assert [each.node_sn for each in made if each.kind == "counters"] == ["h000"]


def test_counters_are_asked_for_where_few_hosts_are_in_question() -> None:
    assert by_kind(planned(incident(*SPINE)))["counters"] == 0
    single = planned(incident("host:h000"))
    assert by_kind(single) == {"counters": 1}
    many = [f"rnic:{end.ip}" for end in GROUND.endpoints][: KNOWN.counted_hosts + 1]
    assert by_kind(planned(incident(*many)))["counters"] == 0


def test_a_flow_table_is_asked_for_where_the_overlay_is_in_question() -> None:
    site = ground(two_tiers(), boxes=4)
    tie = ("vswitch:h000", "container:c0")
    found = Feedback().plan(
        incident(*tie, layer="overlay"), site, OpenRequests().room(), T0_MS
    )  # fmt: skip
    kinds = {(each.kind, each.node_sn) for each in found}
    assert {("flow_table", "h000"), ("counters", "h000")} <= kinds


def test_the_tables_of_a_vswitch_are_read_several_times_and_once_those_it_talks_to() -> None:
    site = ground(two_tiers(), boxes=4)
    suspect, *others = sorted({e.node_sn for e in site.endpoints if e.layer == "overlay"})
    box = next(e.node_id for e in site.endpoints if e.node_sn == suspect and e.node_id)
    tie = (f"vswitch:{suspect}", f"container:{box}")
    bad = [f"overlay {suspect} 172.16.0.1:5 -> {others[-1]} 172.16.0.9:5"]
    known = FeedbackParameters(peers=2)
    found = Feedback(known).plan(
        incident(*tie, layer="overlay", symptom="loss", evidence={"examples": bad}),
        site, OpenRequests().room(), T0_MS,
    )  # fmt: skip
    tables = [(each.node_sn, each.count) for each in found if each.kind == "flow_table"]
    assert tables == [(suspect, known.table_readings), (others[-1], 1), (others[0], 1)]


def test_of_a_slow_tor_counters_of_hosts_below_it_are_read() -> None:
    slow = planned(incident("tor:tor-0-0", symptom="high_latency"))
    assert [(r.kind, r.node_sn) for r in slow] == [("counters", "h000"), ("counters", "h001")]
    assert planned(incident("tor:tor-0-0", symptom="loss")) == []


@pytest.mark.parametrize("tie", [TOR, SPINE])
def test_a_plan_is_the_same_for_the_same_input(tie: tuple[str, ...]) -> None:
    assert planned(incident(*tie)) == planned(incident(*tie))


def test_rounds_end_after_three_or_when_the_incident_ends_or_another_explains_it() -> None:
    feedback, tied = Feedback(), incident(*TOR)
    now_ms = T0_MS
    for _ in range(KNOWN.rounds):
        assert feedback.due([tied], now_ms) == [tied]
        assert planned(tied, feedback, now_ms)
        assert feedback.due([tied], now_ms + ROUND_MS - 1) == []
        now_ms += ROUND_MS
        resolved = msgspec.structs.replace(tied, state="resolved")
        child = msgspec.structs.replace(tied, parent="I0")
        assert feedback.due([resolved, child], now_ms) == []
    assert feedback.due([tied], now_ms + 10 * ROUND_MS) == []


def test_an_incident_of_which_one_member_was_left_gets_no_other_round() -> None:
    feedback, tied = Feedback(), incident(*TOR)
    assert planned(tied, feedback)
    single = msgspec.structs.replace(tied, tie_set=[TOR[0]])
    assert feedback.due([single], T0_MS + 1000) == []
    assert feedback.due([tied], T0_MS + ROUND_MS) == [], "when its probes have ended"


def test_a_restarted_controller_goes_on_with_what_was_spent() -> None:
    first, tied = Feedback(), incident(*TOR)
    made = [*planned(tied, first), *planned(tied, first, T0_MS + ROUND_MS)]
    second = Feedback()
    for each in made:
        second.take(each)
    assert second.due([tied], T0_MS + ROUND_MS + 1) == []
    now_ms = T0_MS + 2 * ROUND_MS
    assert second.due([tied], now_ms) == [tied]
    assert planned(tied, second, now_ms) == planned(tied, first, now_ms)


def test_where_nothing_can_be_asked_it_is_not_looked_at_again_and_again() -> None:
    feedback, tied = Feedback(), incident("spine:elsewhere", "spine:too")
    assert planned(tied, feedback) == []
    assert feedback.due([tied], T0_MS + ROUND_MS) == []
    changed = msgspec.structs.replace(tied, tie_set=[*TOR])
    assert feedback.due([changed], T0_MS + ROUND_MS) == [changed]
    later_ms = T0_MS + round(1000 * KNOWN.look_again_s)
    assert feedback.due([tied], later_ms) == [tied]


def test_open_requests_end_with_their_incident_and_not_before() -> None:
    feedback, tied = Feedback(), incident(*TOR)
    made = planned(tied, feedback)
    assert not [*feedback.over({"I1": tied}, made)]
    single = msgspec.structs.replace(tied, tie_set=[TOR[0]])
    assert not [*feedback.over({"I1": single}, made)], "what told them apart goes on"
    assert {why for _, why in feedback.over({}, made)} == {"the incident has ended"}
    child = msgspec.structs.replace(tied, parent="I0")
    assert {why for _, why in feedback.over({"I1": child}, made)} == {"incident I0 explains it"}
    demanded = msgspec.structs.replace(made[0], incident_id="", operator="me")
    assert not [*feedback.over({}, [demanded])]


_TIES = st.lists(
    st.sampled_from([*SPINE, *TOR, *RNIC, "agg:agg-0-0", "agg:agg-1-1", "host:h110"]),
    min_size=1, max_size=4, unique=True,
)  # fmt: skip
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["I1", "I2", "I3", "I4", "I5"]),
        _TIES,
        st.sampled_from(["open", "ongoing", "resolved"]),
        st.integers(0, 200_000),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(_STEPS)
def test_budgets_hold_for_any_sequence_of_incidents_and_all_of_it_ends(steps: Any) -> None:
    known = FeedbackParameters(packets=9_000, hour_packets=15_000)
    feedback, open_ = Feedback(known), OpenRequests()
    incidents: dict[str, Incident] = {}
    asked: list[Request] = []
    now_ms = T0_MS
    for name, tie, state, pause_ms in [*steps, *[("", [], "", 100_000)] * 8]:
        now_ms += pause_ms
        if name:
            incidents[name] = incident(*tie, incident_id=name, state=state)
        open_.expire(now_ms)
        current = {key: each for key, each in incidents.items() if each.state != "resolved"}
        for request, why in [*feedback.over(current, open_)]:
            open_.withdraw(request.request_id, why)
        for each in feedback.due(current.values(), now_ms):
            for request in feedback.plan(each, GROUND, open_.room(), now_ms):
                assert open_.too_much(request) is None
                open_.add(request)
                feedback.take(request)
                asked.append(request)
        feedback.forget(current, now_ms)
        for host in {each.node_sn for each in open_}:
            load = open_.host_load(("f1", host))
            assert load.requests <= REQUESTS.host_requests
            assert load.rate <= REQUESTS.host_rate + 1e-6
        assert open_.fabric_load("f1").rate <= REQUESTS.fabric_rate
        in_hour = [r for r in asked if milliseconds_of(r.asked_at) > now_ms - 3_600_000]
        assert sum(each.packets for each in in_hour) <= known.hour_packets
    for name in incidents:
        own = [each for each in asked if each.incident_id == name]
        assert sum(each.packets for each in own) <= known.packets
        assert len({each.asked_at for each in own}) <= known.rounds
    assert len({each.request_id for each in asked}) == len(asked)
    open_.expire(now_ms + 1_000_000)
    assert len(open_) == 0
