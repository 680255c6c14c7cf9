"""Suspect five-tuples get a closer look each, within bounds, which ends by itself."""

from __future__ import annotations

import msgspec
import pytest
from builders.controller.clusters import T0_MS
from builders.controller.incident_grounds import ground, pods

from controller.feedback.suspects import SuspectParameters, Suspects
from controller.ping_lists.parameters import FIRST_PORT, RESPONDER_PORT
from controller.requests.open_requests import OpenRequests, Room
from controller.requests.parameters import DEFAULT as REQUESTS
from schemas.documents.incident import Anomaly
from schemas.documents.requests.request import Request
from schemas.documents.times import rfc3339_of_ms

GROUND = ground(pods(2))
#: One entry of each host, then the next one of each.
LISTED = [
    pair
    for _, pair in sorted(
        (sum(other < pair and other[0] == pair[0] for other in GROUND.entries), pair)
        for pair in GROUND.entries
    )
]
LIMITS = SuspectParameters()


def anomaly(number: int = 0, *, second: int = 0, port: int = FIRST_PORT) -> Anomaly:
    """The first five-tuple of an entry of the lists was anomalous."""
    a, b = LISTED[number]
    return Anomaly(
        fabric="f1", path_id="0" * 16, layer="underlay", symptom="loss", src_node_sn="", dst_ip=b,
        src_real_ip=a, src_ip=a, dst_node_sn="", dst_real_ip=b, src_port=port,
        dst_port=RESPONDER_PORT, window_start=rfc3339_of_ms(T0_MS),
        window_end=rfc3339_of_ms(T0_MS + 1000 * second), sent=30, lost=3, loss_rate=0.1,
    )  # fmt: skip


def room() -> Room:
    return OpenRequests(REQUESTS).room()


def look(suspects: Suspects, second: int = 0) -> list[Request]:
    """What is asked at a time, and stored."""
    made = suspects.plan("f1", GROUND, room(), T0_MS + 1000 * second)
    for each in made:
        suspects.recall(each)
    return made


def test_a_suspect_is_probed_densely_and_traced_both_ways_and_then_left_alone() -> None:
    suspects = Suspects()
    suspects.take(anomaly(), T0_MS)
    probe, there, back = look(suspects)
    assert (probe.kind, there.kind, back.kind) == ("probe", "traceroute", "traceroute")
    (target,) = probe.targets
    assert (target.src_ip, target.ip, target.src_ports) == (*LISTED[0], [FIRST_PORT])
    assert probe.count * probe.interval_s == LIMITS.lasts_s
    (reply,) = back.targets
    assert (reply.src_ip, reply.ip) == LISTED[0][::-1]
    assert (reply.src_ports, reply.port) == ([RESPONDER_PORT], FIRST_PORT)
    assert not probe.incident_id
    suspects.take(anomaly(second=1), T0_MS + 1000)
    assert look(suspects, 1) == []
    assert suspects.counts["known"] == 1
    later = round(LIMITS.again_s) + 1
    assert look(suspects, later) == []
    suspects.take(anomaly(second=later), T0_MS + 1000 * later)
    assert len(look(suspects, later)) == 3


def test_a_path_that_no_list_holds_is_not_probed() -> None:
    suspects = Suspects()
    suspects.take(anomaly(port=FIRST_PORT + 900), T0_MS)
    suspects.take(msgspec.structs.replace(anomaly(), dst_ip="192.0.2.1"), T0_MS)
    suspects.take(msgspec.structs.replace(anomaly(), dst_port=22), T0_MS)
    assert look(suspects) == []
    assert suspects.counts["unlisted"] == 3
    assert suspects.fabrics == []


def test_an_old_anomaly_is_stale_when_it_comes_or_while_it_waits() -> None:
    suspects = Suspects()
    old = round(LIMITS.fresh_s) + 1
    suspects.take(anomaly(), T0_MS + 1000 * old)
    suspects.take(anomaly(1), T0_MS)
    assert look(suspects, old) == []
    assert suspects.counts["stale"] == 2


def test_few_are_looked_at_at_once_and_the_next_ones_when_these_have_ended() -> None:
    suspects = Suspects()
    for number in range(2 * LIMITS.together):
        suspects.take(anomaly(number), T0_MS)
    first = look(suspects)
    assert sum(each.kind == "probe" for each in first) == LIMITS.together
    assert look(suspects, 1) == []
    second = look(suspects, round(LIMITS.lasts_s))
    assert sum(each.kind == "probe" for each in second) == LIMITS.together
    assert suspects.fabrics == []
    assert suspects.counts["asked"] == 2 * LIMITS.together


@pytest.mark.parametrize("restarted", [False, True])
def test_a_fabric_has_so_many_packets_in_an_hour(restarted: bool) -> None:
    few = SuspectParameters(hour_packets=2000)
    suspects = Suspects(few)
    stored: list[Request] = []
    for step in range(3600 // round(LIMITS.lasts_s)):
        second = step * round(LIMITS.lasts_s)
        for number in range(len(LISTED)):
            suspects.take(anomaly(number, second=second), T0_MS + 1000 * second)
        stored += look(suspects, second)
    spent = sum(each.packets for each in stored)
    assert 0.9 * few.hour_packets < spent <= few.hour_packets
    if restarted:
        suspects = Suspects(few)
        for each in stored:
            suspects.recall(each)
    suspects.take(anomaly(0, second=3599), T0_MS + 3_599_000)
    assert look(suspects, 3599) == []


def test_no_more_wait_than_can_be_looked_at() -> None:
    suspects = Suspects(SuspectParameters(kept=2))
    for number in range(4):
        suspects.take(anomaly(number), T0_MS)
    suspects.take(anomaly(0), T0_MS)
    assert suspects.counts["left_out"] == 2
    assert suspects.counts["known"] == 1
